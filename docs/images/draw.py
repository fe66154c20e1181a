"""Draw the pictures of this folder again: ``python docs/images/draw.py``. Needs hardscape[plot]."""

from __future__ import annotations

import doctest
import re
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import hardscape
from hardscape.figures import COLORS, GREY, finish, new_figure, save_plot

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


def session(page: str) -> dict[str, Any]:
    """Run the Python of a tutorial, and give what it has named: its picture shows what it computed."""
    text = (HERE.parent / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with TemporaryDirectory() as folder, chdir(folder):
        for block in re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for example in doctest.DocTestParser().get_examples(block):
                exec(compile(example.source, page, "single"), names)
    return names


def annealer() -> Any:
    """How often each ground state was found, and the temperature of the samples."""
    page = session("annealer-benchmark")
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2)
    times, expected = np.sort(page["times"])[::-1], page["expected"]
    left.bar(np.arange(1, len(times) + 1), times, color=COLORS[0], width=0.8)
    left.axhline(expected, color=GREY, ls="--")
    for sign in (-1, 1):
        left.axhline(expected + sign * expected**0.5, color=GREY, lw=0.7, ls=":")
    finish(left, "Are ground states found equally often?", "ground state, by rank", "times found")
    mean = page["energies"].mean()
    right.plot(page["betas"], page["mean"], color=COLORS[0])
    right.plot(page["beta"], mean, "o", color=COLORS[1])
    right.annotate("the samples", (page["beta"], mean), (0, 14), textcoords="offset points")
    finish(right, "The temperature of the samples", "inverse temperature", "mean energy")
    return figure


def bosons() -> Any:
    """Frequencies beside probabilities, and what distinguishable photons do."""
    page = session("boson-sampling")
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2)
    order = page["probabilities"].argsort()[::-1]
    ranks = np.arange(1, len(order) + 1)
    left.bar(ranks, page["counts"][order] / 20000, color=COLORS[0], alpha=0.5, label="samples")
    left.plot(ranks, page["probabilities"][order], ".", color=COLORS[1], label="probability")
    finish(left, "20 000 samples of three photons", "output, by rank", "frequency", legend=True)
    overlaps = np.linspace(0, 1, 11)
    shares = [
        page["sample"](page["unitary"], page["photons"], 20000, overlap=overlap, seed=2)
        for overlap in overlaps
    ]
    apart = [(one.occupations.max(axis=1) == 1).mean() for one in shares]
    right.plot(overlaps, apart, "o-", color=COLORS[0])
    finish(right, "Photons that are less than alike", "overlap", "no two in one mode")
    return figure


def times_to_solution() -> Any:
    """The exponential law of one instance, and the growth with the size."""
    page = session("xorsat")
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2)
    sweeps = np.sort(page["measured"].sweeps)
    share = 1 - np.arange(len(sweeps)) / len(sweeps)
    tau = page["measured"].tau_sweeps
    left.semilogy(sweeps, share, drawstyle="steps-post", color=COLORS[0], label="runs")
    left.semilogy(sweeps, np.exp(-sweeps / tau), "--", color=GREY, label="exp(-t / tau)")
    finish(left, "64 variables, 200 runs", "sweeps", "share still searching", legend=True)
    sizes, fit = np.array(page["sizes"]), page["fit"]
    right.semilogy(sizes, page["sweeps"], "o", color=COLORS[0], label="median of seven instances")
    middle = np.exp(np.log(page["sweeps"]).mean() + fit.exponent * (sizes - sizes.mean()))
    right.semilogy(sizes, middle, "--", color=GREY, label=f"exp({fit.exponent:.3f} N)")
    finish(right, "Growth with the size", "variables N", "mean sweeps to solution", legend=True)
    return figure


def roster() -> Any:
    """The roster, with the wishes that were not granted."""
    page = session("maxsat")
    work = page["first"].reshape(5, 7)
    figure = new_figure(5.6, 3.4)
    axes = figure.add_subplot()
    axes.pcolormesh(work[::-1], cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=2)
    for wish, holds in zip(page["wishes"], page["granted"], strict=False):
        if not holds:
            x, y = wish[1] + 0.5, 4.5 - page["people"].index(wish[0])
            axes.text(x, y, f"-{wish[3]}", ha="center", va="center", color="white", weight="bold")
    axes.set_xticks(np.arange(7) + 0.5, ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    axes.set_yticks(np.arange(5) + 0.5, page["people"][::-1])
    axes.tick_params(length=0)
    title = f"Cost {page['best'].cost}: 14 days of work, and three wishes not granted"
    finish(axes, title, "", "")
    axes.spines[:].set_visible(False)
    return figure


def gauge_fixing() -> Any:
    """How a gauge is reached, and the functional of the copies."""
    page = session("gauge")
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2)
    page["found"].plot(left)
    page["best"].plot(right)
    return figure


#: The picture of each tutorial.
TUTORIALS = {
    "annealer": annealer,
    "bosons": bosons,
    "xorsat": times_to_solution,
    "maxsat": roster,
    "gauge": gauge_fixing,
}


def main(folder: Path = HERE) -> None:
    """Write the pictures into `folder`."""
    spectrum = hardscape.spectrum(EXAMPLES / "sk24.txt", 400)
    save_plot(spectrum.plot(), folder / "spectrum.png")
    architecture().savefig(folder / "architecture.png", dpi=150)
    for name, draw in TUTORIALS.items():
        save_plot(draw(), folder / f"tutorial-{name}.png")


if __name__ == "__main__":
    main()
