"""Draw the pictures of this folder again: ``python docs/images/draw.py``. Needs hardscape[plot]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hardscape
from hardscape.figures import save_plot

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"

#: Stations of the data, from left to right.
STATIONS = ("a file", "the problem", "one call", "a method", "shards, kernels", "the result")
#: Where each family has them, in its folder.
FLOW = {
    "ising": (
        "formats/",
        "model.py",
        "spectrum.py",
        "methods/",
        "methods/exhaustive/",
        "result.py",
    ),
    "permanents": (
        "formats/",
        "matrix.py",
        "permanent.py",
        "methods/",
        "methods/glynn/",
        "result.py",
    ),
    "xorsat": (
        "formats/",
        "system.py",
        "solve.py",
        "methods/",
        "methods/quasi_greedy/",
        "result.py",
    ),
    "maxsat": ("formats/", "formula.py", "solve.py", "methods/", "methods/cellular/", "result.py"),
    "gauge": ("formats/", "field.py", "fix.py", "methods/", "lattice/", "result.py"),
}
#: Above and below the families: a layer knows those under it only.
ABOVE = (("cli/", "commands and their options"),)
BELOW = (
    (
        "engine/",
        "options, works and shards, devices, kernels, ledger, executors, progress, signals",
    ),
    ("native/", "the compiled core and its types, headers for host and device"),
    ("formats.py  files.py  arrays.py  figures.py  errors.py", "the ground"),
)
_INK, _PALE, _BAND = "#1f2d3d", "#e8eef5", "#f6efe2"


def architecture() -> Any:
    """The layers, and in the families' one the way from a file to a result."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    rows = len(ABOVE) + 1 + len(FLOW) + len(BELOW)
    figure = Figure(figsize=(12, 0.55 * rows + 0.3), layout="tight")
    axes = figure.add_subplot()
    axes.set(xlim=(0, 12), ylim=(rows, 0))
    axes.axis("off")

    def box(x: float, y: float, width: float, text: str, colour: str, **font: Any) -> None:
        axes.add_patch(
            FancyBboxPatch(
                (x + 0.05, y + 0.14),
                width - 0.1,
                0.72,
                "round,pad=0,rounding_size=0.08",
                fc=colour,
                ec=_INK,
                lw=0.6,
            )
        )
        axes.text(x + width / 2, y + 0.5, text, ha="center", va="center", color=_INK, **font)

    def band(y: float, path: str, what: str) -> None:
        box(0, y, 12, "", _BAND)
        axes.text(0.2, y + 0.5, path, va="center", color=_INK, family="monospace", size=9)
        axes.text(11.8, y + 0.5, what, va="center", ha="right", color=_INK, size=9)

    y = 0
    for path, what in ABOVE:
        band(y, path, what)
        y += 1
    width = 10.6 / len(STATIONS)
    for column, station in enumerate(STATIONS):
        middle = 1.4 + (column + 0.5) * width
        axes.text(
            middle, y + 0.6, station, ha="center", va="center", color=_INK, weight="bold", size=9
        )
    y += 1
    for family, places in FLOW.items():
        axes.text(0.2, y + 0.5, family, va="center", color=_INK, weight="bold", size=9)
        for column, place in enumerate(places):
            box(1.4 + column * width, y, width - 0.12, place, _PALE, family="monospace", size=7.5)
            if column:
                left = 1.4 + column * width - 0.19
                axes.add_patch(
                    FancyArrowPatch(
                        (left, y + 0.5),
                        (left + 0.26, y + 0.5),
                        arrowstyle="-|>",
                        mutation_scale=7,
                        color=_INK,
                        lw=0.8,
                    )
                )
        y += 1
    for path, what in BELOW:
        band(y, path, what)
        y += 1
    return figure


def main(folder: Path = HERE) -> None:
    """Write the pictures into `folder`."""
    spectrum = hardscape.spectrum(EXAMPLES / "sk24.txt", 400)
    save_plot(spectrum.plot(), folder / "spectrum.png")
    architecture().savefig(folder / "architecture.png", dpi=150)


if __name__ == "__main__":
    main()
