"""Draw the pictures of this folder again: ``python docs/images/draw.py``. Needs hardscape[plot]."""

from pathlib import Path

import hardscape
from hardscape.figures import save_plot

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"


def main(folder: Path = HERE) -> None:
    """Write the pictures into `folder`."""
    spectrum = hardscape.spectrum(EXAMPLES / "sk24.txt", 400)
    save_plot(spectrum.plot(), folder / "spectrum.png")


if __name__ == "__main__":
    main()
