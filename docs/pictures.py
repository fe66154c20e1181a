"""Plots of the documents, drawn from the data in ``results`` when the documents are built.

``{picture} NAME`` shows a plot of `PICTURES`, ``{reproductions} FAMILY`` all figures of the papers of a
family that are in ``results/papers``, as ``hardscape reproduce`` left them there as JSON, with their numbers
beside the papers'.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hardscape.benchmarks.tables import Table
from hardscape.figures import COLORS, GREY, finish, new_figure, save_plot
from hardscape.reproduce import figures, read_reproduction

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAPERS = RESULTS / "papers"
DRAWN = HERE / "_drawn"

#: By family: what a call does, and what its size is.
SIZES = {
    "ising": ("The ground state of a dense spin glass, proven", "spins"),
    "permanents": ("The permanent of a dense real matrix", "side"),
    "xorsat": ("A satisfiable 3-regular 3-XORSAT system", "variables"),
    "maxsat": ("The optimum of random MAX-3-SAT, six clauses a variable", "variables"),
    "gauge": ("Landau gauge of a thermalized SU(3) field", "side of the lattice"),
}


def against_size(family: str) -> Any:
    """Seconds of each tool against size."""
    rows = [row for row in Table.read(RESULTS / "sizes.json").rows if row[0] == family]
    tools = list(dict.fromkeys(str(row[1]) for row in rows))
    axes = new_figure().add_subplot()
    ours = 0
    for tool in tools:
        mine = tool.startswith("hardscape")
        style = {"color": COLORS[ours], "marker": "o"} if mine else {"marker": "s", "ls": "--"}
        if not mine:
            style["color"] = COLORS[-1 - (tools.index(tool) - ours)]
        ours += mine
        points = [(row[2], row[3]) for row in rows if row[1] == tool]
        axes.plot(*zip(*points, strict=True), label=tool, **style)
    axes.set_yscale("log")
    title, size = SIZES[family]
    return finish(axes, title, size, "seconds of one core", whole="x", legend=True)


def kernels() -> Any:
    """States a second of every way to visit all states."""
    rows = [
        (str(row[0]), float(str(row[4])))
        for name in ("spectrum-cores", "spectrum-gpu")
        for row in Table.read(RESULTS / f"{name}.json").rows
        if "bounds" not in str(row[0]) and "memory" not in str(row[0])
    ]
    axes = new_figure(6.4, 0.4 * len(rows) + 1.2).add_subplot()
    names, rates = zip(*rows, strict=True)
    colors = [COLORS[1] if name.startswith("GPU") else COLORS[0] for name in names]
    axes.barh(range(len(rows)), rates, color=colors)
    axes.set_yticks(range(len(rows)), names)
    axes.set_xscale("log")
    axes.invert_yaxis()
    return finish(axes, "Every state of a spin glass visited", "states a second", "")


def small_permanents() -> Any:
    """How many times as long as ours the best peer takes."""
    rows = [row for row in Table.read(RESULTS / "permanents-small.json").rows if row[3]]
    axes = new_figure(6.4, 0.36 * len(rows) + 1.2).add_subplot()
    names = [str(row[0]).partition(";")[0] for row in rows]
    peers = [str(row[2]).rpartition("(")[2].rstrip(")") for row in rows]
    axes.barh(range(len(rows)), [float(str(row[3])) for row in rows], color=COLORS[0])
    axes.set_yticks(range(len(rows)), [f"{n}: {p}" for n, p in zip(names, peers, strict=True)])
    axes.axvline(1, color=GREY, linestyle=":")
    axes.set_xscale("log")
    axes.invert_yaxis()
    title = "The best peer's time over ours, whole calls"
    return finish(axes, title, "times; right of the line we are faster", "")


PICTURES: dict[str, tuple[str, Callable[[], Any]]] = {
    **{
        f"size-{family}": (
            f"{title}: seconds against {size}, hardscape and its peers",
            lambda family=family: against_size(family),
        )
        for family, (title, size) in SIZES.items()
    },
    "spectrum-rates": ("States a second by instruction set, thread and GPU", kernels),
    "permanents-small": ("Small permanents beside the best peer", small_permanents),
}


def drawn(name: str, plot: Callable[[], Any]) -> str:
    """Draw a picture; its path as pages write it."""
    DRAWN.mkdir(exist_ok=True)
    save_plot(plot(), DRAWN / f"{name}.png")
    return f"/_drawn/{name}.png"


class Shown(SphinxDirective):
    """What both have in common: lines of Markdown in their place."""

    required_arguments = 1

    def shown(self, lines: list[str]) -> list[nodes.Node]:
        """Nodes of the lines, all of whose pictures are there."""
        inside = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.arguments[0]), 0, inside)
        pictures = sum(line.startswith("```{image}") for line in lines)
        if len(list(inside.findall(nodes.image))) != pictures:
            raise self.error(f"{pictures} pictures of {self.arguments[0]} are not all shown")
        return [inside]


class Picture(Shown):
    """A plot, with its text for who does not see it."""

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        told, plot = PICTURES[name]
        return self.shown([f"```{{image}} {drawn(name, plot)}", f":alt: {told}", "```"])


class Reproductions(Shown):
    """Figures of the papers of a family, done again."""

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for one in figures():
            path = PAPERS / f"{one.name}.json"
            if one.name.startswith(f"{self.arguments[0]}-") and path.exists():
                lines += self.figure(path)
        if not lines:
            raise self.error(f"no figure of {self.arguments[0]} is in {PAPERS}")
        return self.shown(lines)

    def figure(self, path: Path) -> list[str]:
        """Picture, numbers, and how it was made."""
        self.env.note_dependency(str(path))
        found = read_reproduction(path)
        lines = [f"~~~{{rubric}} {found.shows}: `{found.name}`", "~~~", ""]
        lines += [f"```{{image}} {drawn(found.name, found.plot)}", f":alt: {found.shows}", "```"]
        if found.quantities:
            lines += ["", "| quantity | here | published | |", "| --- | --- | --- | --- |"]
            texts = (quantity.texts() for quantity in found.quantities)
            lines += [
                "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in texts
            ]
        size = "the paper's sizes" if found.full else "small sizes"
        how = f"{found.date}, {size}, {found.seconds:.0f} s; {found.machine}: `{found.command}`"
        return [*lines, "", f"{found.remarks} ({found.paper}; {how}.)", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    app.add_directive("reproductions", Reproductions)
    return {"parallel_read_safe": True}
