"""Level diagrams: what is drawn for each level, and files that appear whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection

import hardscape
from hardscape.errors import InputError, MissingDependencyError
from hardscape.figures import PLOT_SUFFIXES, check_plot_path, save_plot
from hardscape.ising import Ising, Spectrum
from hardscape.ising.plots import draw_levels
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice

LATTICE = plus_minus_lattice(3, 4, seed=2)


def drawn_ends(ax) -> list[tuple[float, float]]:
    """(states, energy) of all marks."""
    marks = [x.get_offsets() for x in ax.collections if isinstance(x, PathCollection)]
    return sorted(map(tuple, np.concatenate(marks).tolist()))


def texts(ax) -> set[str]:
    return {text.get_text() for text in ax.texts}


def test_every_level_is_a_line_of_its_degeneracy() -> None:
    found = hardscape.spectrum(LATTICE, 4096)
    ax = draw_levels(found)
    assert drawn_ends(ax) == sorted((x.count, x.energy) for x in found.levels)
    segments = [
        segment
        for lines in ax.collections
        if isinstance(lines, LineCollection) and lines.get_transform() == ax.transData
        for segment in lines.get_segments()
    ]
    assert sorted((end[0], end[1]) for _, end in segments) == drawn_ends(ax)
    assert {str(x.count) for x in found.levels} <= texts(ax)
    assert f"gap {found.gap:.6g}" in texts(ax)
    assert repr(found.levels[0].energy) in ax.get_title()
    assert "units" in ax.get_ylabel()
    assert ax.get_xlabel()


def test_a_cut_level_looks_different() -> None:
    found = hardscape.spectrum(LATTICE, 10)
    cut = found.levels[-1]
    assert not cut.complete
    ax = draw_levels(found)
    assert f"{cut.count} or more" in texts(ax)
    hollow = [
        mark.get_offsets().tolist()
        for mark in ax.collections
        if isinstance(mark, PathCollection)
        and len(mark.get_offsets())
        and mark.get_facecolor()[0].tolist() == [1, 1, 1, 1]
    ]
    assert hollow == [[[cut.count, cut.energy]]]


def test_bounds_are_drawn_against_time() -> None:
    model = dense_integer(6, seed=1)
    found = hardscape.spectrum(model, 5)
    least = float(found.energies[0])
    rows = [(0.5, least + 3, least - 9), (1.0, least, least - 7)]
    longer = Spectrum.from_states(
        model,
        found.states,
        5,
        certified=True,
        info={**found.info, "bounds": rows, "seconds": 2.0},
    )
    ax = longer.plot_bounds()
    met, bound = (line.get_xydata().tolist() for line in ax.lines)
    assert met == [[0.5, least + 3], [1.0, least], [2.0, least]]
    assert bound == [[0.5, least - 9], [1.0, least - 7], [2.0, least]]
    assert "proven" in ax.get_title()


def test_what_is_not_certified_says_so() -> None:
    model = dense_integer(6, seed=1)
    states = hardscape.spectrum(model, 5).states
    guess = Spectrum.from_states(model, states, 5, certified=False, info={})
    assert "not certified" in draw_levels(guess).get_title()
    assert "not certified" not in draw_levels(hardscape.spectrum(model, 5)).get_title()


@pytest.mark.parametrize(
    "model", [([], [], 1.5), ([0.0], [[0.0]]), ([1e300], [[0.0]]), ([1e-300], [[0.0]])]
)
def test_extreme_models_are_drawn(model: object, tmp_path: Path) -> None:
    ax = draw_levels(hardscape.spectrum(model))
    save_plot(ax, tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 0


def test_no_states_are_an_empty_plot() -> None:
    model = dense_integer(3, seed=1)
    nothing = Spectrum.from_states(model, np.empty((0, 3), np.int8), 5, certified=False, info={})
    ax = draw_levels(nothing)
    assert "no states" in ax.get_title()


def test_many_levels_are_not_all_drawn() -> None:
    found = hardscape.spectrum(dense_integer(12, seed=6, bound=100), 4096)
    assert len(found.levels) > 600
    ax = draw_levels(found)
    assert drawn_ends(ax) == sorted((x.count, x.energy) for x in found.levels[:500])
    assert f"500 of {len(found.levels)}" in ax.get_title()


def test_levels_of_equally_many_states_are_counted_up() -> None:
    for model, count in (
        (dense_gaussian(10, seed=2), 1024),
        (Ising(np.zeros(9), dense_gaussian(9, seed=3).J), 41),
    ):
        found = hardscape.spectrum(model, count)
        ax = draw_levels(found)
        assert "N(E)" in ax.get_ylabel()
        steps = ax.lines[0].get_xydata()
        assert steps[1:].tolist() == [[x, i + 1] for i, x in enumerate(found.energies.tolist())]
        assert "1024 lowest" in ax.get_title() or "41 lowest" in ax.get_title()


def test_draws_into_given_axes_and_leaves_pyplot_alone() -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    found = hardscape.spectrum(LATTICE, 10)
    assert draw_levels(found, ax) is ax
    assert found.plot(ax) is ax
    figures = getattr(sys.modules.get("matplotlib.pyplot"), "get_fignums", list)()
    draw_levels(found)
    assert getattr(sys.modules.get("matplotlib.pyplot"), "get_fignums", list)() == figures


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")]
)
def test_saved_files(suffix: str, magic: bytes, tmp_path: Path) -> None:
    found = hardscape.spectrum(LATTICE, 10)
    path = tmp_path / f"levels{suffix}"
    path.write_text("old")
    save_plot(draw_levels(found), path)
    first = path.read_bytes()
    assert first.startswith(magic)
    save_plot(draw_levels(found).get_figure(), path)
    assert path.read_bytes() == first
    assert [x.name for x in tmp_path.iterdir()] == [path.name]


def test_refused_paths(tmp_path: Path) -> None:
    ax = draw_levels(hardscape.spectrum(LATTICE, 1))
    with pytest.raises(InputError, match=r"\.gif.*" + ".*".join(PLOT_SUFFIXES)):
        save_plot(ax, tmp_path / "x.gif")
    with pytest.raises(InputError, match="missing"):
        save_plot(ax, tmp_path / "missing" / "x.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=r"folder\.png"):
        save_plot(ax, tmp_path / "folder.png")
    assert [x.name for x in tmp_path.iterdir()] == ["folder.png"]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'hardscape\[plot\]'"):
        draw_levels(hardscape.spectrum(LATTICE, 1))
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        check_plot_path(tmp_path / "x.png")
