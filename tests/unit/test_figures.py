"""One style for all families: ticks, legends and labels where they belong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hardscape
from hardscape import gauge, maxsat, permanents, xorsat
from hardscape.figures import finish, new_figure
from hardscape.ising import density_of_states
from hardscape.xorsat.studies import plots
from helpers.instances import plus_minus_lattice

matplotlib_figure = pytest.importorskip("matplotlib.figure")

LATTICE = plus_minus_lattice(3, 4, seed=2)


def real_couplings(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Fields and couplings of a model whose states all differ in energy."""
    random = np.random.default_rng(1)
    return random.normal(size=n), np.triu(random.normal(size=(n, n)), 1)


def drawn() -> Iterator[tuple[str, Any]]:
    """A plot of each kind that a family has."""
    yield "levels", hardscape.spectrum(LATTICE, 200).plot()
    yield "three states", hardscape.spectrum(LATTICE, 3).plot()
    yield "density", density_of_states(LATTICE).plot()
    yield "density of single states", density_of_states({(0, 1): 0.1, (0, 0): 0.3}).plot()
    yield "density in bins", density_of_states(real_couplings(10)).plot()
    formula = maxsat.Formula.from_clauses([[1], [-1], [1, 2], [-2, 3]], [3, 2, 4, 1])
    yield "cost", maxsat.solve(formula, time_limit=2, seed=1).plot()
    hopeless = maxsat.Formula.from_clauses([[2]], hard=[[1], [-1]])
    yield "no cost", maxsat.solve(hopeless, time_limit=2, seed=1).plot()
    field = gauge.generate((4, 4, 4, 4), 2.3, nc=2, sweeps=3, seed=1)
    one = gauge.fix(field, seed=1)
    yield "history", one.plot()
    yield "copies", gauge.fix(field, copies=4, seed=1).plot()
    cut = gauge.fix(field, copies=2, max_sweeps=4, strict=False, seed=1)
    yield "copies that did not converge", cut.plot()
    yield "propagator", gauge.gluon_propagator([one.fixed()]).plot()
    for kind, matrix in (
        ("dense", np.ones((100, 100))),
        ("signed", np.ones((20, 20)) - 2 * np.eye(20)),
        ("zero", np.eye(4, k=1)),
    ):
        found = permanents.approximate(matrix, num_samples=500, seed=1)
        yield f"approximation, {kind}", found.plot(between=permanents.bounds(matrix))
        yield f"approximation alone, {kind}", found.plot()
    systems = [xorsat.random_regular(24, seed=seed) for seed in range(2)]
    times = [xorsat.time_to_solution(x, 10, device="cpu", seed=1) for x in systems]
    yield "survival", plots.draw_survival(times, labels=["a rather long name.cnf", "b.cnf"])
    yield "estimates", plots.draw_estimates(times)
    yield "timeouts", plots.draw_timeouts(times, [1e-3, 1e-2])
    for k in (3, 4, 10):
        yield f"barrier {k}", plots.draw_barrier(k=k)
        yield f"free energy {k}", plots.draw_free_energy(k=k)
    yield "exponent", xorsat.fit_exponent([128, 256, 320], [0.03, 640, 130e3]).plot()


def test_bins_of_a_density_hold_all_states() -> None:
    drawn = density_of_states(real_couplings(10)).plot().patches[0].get_data()
    assert (10.0 ** drawn.values[drawn.values > 0]).sum() <= 2**10 + 1e-6
    assert (10.0 ** drawn.values[drawn.values > 0]).sum() > 0.9 * 2**10


@pytest.fixture(scope="module")
def axes() -> dict[str, Any]:
    return dict(drawn())


def laid_out(ax: Any) -> Any:
    """A renderer, after which everything has its place."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(ax.figure)
    ax.figure.draw_without_rendering()
    return canvas.get_renderer()


def test_nothing_leaves_the_paper_or_lies_on_something_else(axes: dict[str, Any]) -> None:
    for name, ax in axes.items():
        renderer = laid_out(ax)
        paper = ax.figure.bbox
        texts = [x for x in (*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label) if x.get_text()]
        boxes = {x.get_text(): x.get_window_extent(renderer) for x in texts}
        for text, box in boxes.items():
            inside = paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 <= paper.y1
            assert inside, (name, text)
        ticks = [x.get_window_extent(renderer) for x in ax.get_xticklabels() if x.get_text()]
        shown = sorted((x for x in ticks if paper.x0 < x.x0 < paper.x1), key=lambda x: x.x0)
        assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(shown)), name
        if ax.get_legend() is not None:
            legend = ax.get_legend().get_window_extent(renderer)
            assert not legend.overlaps(ax.get_window_extent(renderer)), name
            assert paper.x0 <= legend.x0, name
            assert legend.x1 <= paper.x1, name


def test_labels_of_temperatures_are_inside_the_axes(axes: dict[str, Any]) -> None:
    for name, ax in axes.items():
        if name.startswith("barrier"):
            renderer, frame = laid_out(ax), ax.bbox
            assert len(ax.texts) >= 2
            for text in ax.texts:
                box = text.get_window_extent(renderer)
                assert frame.x0 <= box.x0 <= box.x1 <= frame.x1, (name, text.get_text())


def test_integers_have_ticks_at_integers_only(axes: dict[str, Any]) -> None:
    counted = {"three states": "xy", "copies": "y", "cost": "y", "history": "x", "estimates": "x"}
    for name, sides in counted.items():
        laid_out(axes[name])
        for side in sides:
            ticks = getattr(axes[name], f"get_{side}ticks")()
            assert np.array_equal(ticks, np.round(ticks)), (name, side)


def test_the_legend_says_what_was_proven(axes: dict[str, Any]) -> None:
    def labels(name: str) -> str:
        return " ".join(x.get_text() for x in axes[name].get_legend().get_texts())

    assert "proven" in labels("cost")
    assert "(certified)" in axes["levels"].get_title()
    assert "4" in labels("copies")
    assert "not converged: 2" in labels("copies that did not converge")


def test_one_style(axes: dict[str, Any]) -> None:
    assert {ax.title.get_fontsize() for ax in axes.values()} == {11.0}
    assert not any(ax.spines["top"].get_visible() for ax in axes.values())


@pytest.mark.parametrize("top", [3.0, 30.0, 3e3, 3e9])
def test_ticks_of_a_logarithmic_axis(top: float) -> None:
    ax = new_figure().add_subplot()
    ax.plot([1, 2], [1.0, top])
    ax.set_yscale("log")
    finish(ax, "title", "x", "y", whole="y")
    laid_out(ax)
    low, high = ax.get_ylim()
    shown = [x for x in ax.get_yticks() if low <= x <= high]
    assert 2 <= len(shown) <= 12


def test_notebooks_show_what_is_drawn_where_nobody_else_does() -> None:
    found = hardscape.spectrum(LATTICE, 3)
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    theirs = matplotlib_figure.Figure().add_subplot()
    assert found.plot(theirs) is theirs
    assert not hasattr(theirs, "_repr_png_")
