"""``python -m hardscape``, and the command ``hardscape``."""

import gc
import signal
import sys

from hardscape.stops import STOPS


def main() -> int:
    """Run the command line; a signal that comes while it is imported is answered when it can be."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    from hardscape.cli import main

    try:
        return main()
    finally:
        gc.freeze()  # else all that was imported is looked through once more, after the answer


if __name__ == "__main__":  # workers of an executor import this module too
    sys.exit(main())
