"""``python -m hardscape``: the command line."""

import sys

from hardscape.cli import main

if __name__ == "__main__":  # workers of an executor import this module too
    sys.exit(main())
