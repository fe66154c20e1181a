"""Plots of times to solution and of the theory: what is drawn is what was found."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.figures import new_figure, save_plot
from hardscape.xorsat.studies import plots
from hardscape.xorsat.studies.scans import fit_exponent, fit_w1
from hardscape.xorsat.studies.theory import free_energy_barrier, run_temperature
from hardscape.xorsat.studies.times import TimeToSolution


def simulated(tau: float, runs: int, timeout: float, seed: int) -> TimeToSolution:
    times = np.random.default_rng(seed).exponential(tau, runs)
    stopped = np.minimum(times, timeout)
    sweeps = np.ceil(stopped * 1e4).astype(np.int64)
    return TimeToSolution(64, 512, 0.055, "none", timeout, times <= timeout, sweeps, stopped)


RESULTS = [simulated(tau, 60, 1e9, i) for i, tau in enumerate((5.0, 1.0, 20.0))]
NONE = simulated(1e9, 5, 1.0, 0)


def lines(ax) -> list[np.ndarray]:
    return [line.get_xydata() for line in ax.get_lines()]


def test_survival(tmp_path: Path) -> None:
    ax = plots.draw_survival([*RESULTS, NONE])
    steps = [x for x in lines(ax) if len(x) == 61]
    assert len(steps) == 3
    for result, drawn in zip(RESULTS, steps, strict=True):
        times, left = result.curve()
        assert (drawn[1:-1, 0] == times[:-1]).all()
        assert (drawn[1:-1, 1] == left[:-1]).all()
    assert ax.get_yscale() == "log"
    assert len(ax.get_legend().get_texts()) == 3
    none = plots.draw_survival([NONE], labels=["n"])
    assert none.get_legend() is None
    assert len(none.texts) == 1  # says why there is nothing
    ax = plots.draw_survival(RESULTS, unit="sweeps", labels=["a", "b", "c"])
    assert "sweeps" in ax.get_xlabel()
    assert [x.get_text()[0] for x in ax.get_legend().get_texts()] == ["a", "b", "c"]
    drawn = next(x for x in lines(ax) if len(x) == len(RESULTS[0].curve("sweeps")[0]) + 1)
    assert drawn[1, 0] == RESULTS[0].sweeps.min()
    save_plot(ax, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000
    assert RESULTS[0].plot() is not None


def test_estimates() -> None:
    ax = plots.draw_estimates(RESULTS)
    drawn = lines(ax)
    assert drawn[0][:, 1].tolist() == sorted(x.tau for x in RESULTS)
    median = sorted(RESULTS, key=lambda x: x.tau)[1].empirical_tts(50) / math.log(2)
    assert drawn[1][1, 1] == pytest.approx(median)


def test_timeouts(tmp_path: Path) -> None:
    ax = plots.draw_timeouts(RESULTS, [4.0, 1e-6])
    modes = [line for line in lines(ax) if len(line) == 3][1]
    assert modes[0, 1] == pytest.approx(RESULTS[1].stopped_at(4.0).tau)
    # A microsecond solves nothing: three lower limits.
    assert sum(len(line) == 1 for line in lines(ax)) == 3
    save_plot(ax, tmp_path / "x.svg")


def test_scans() -> None:
    w1 = [0.03, 0.05, 0.07, 0.09]
    results = [simulated(math.exp(2e3 * (x - 0.055) ** 2), 400, 1e9, 3) for x in w1]
    scan = fit_w1([*w1, 0.2], [*results, NONE])
    ax = scan.plot()
    assert f"{scan.optimum:.4f}" in ax.get_title()
    assert [len(x) for x in lines(ax)] == [4, 200, 2]
    fit = fit_exponent([32, 64, 96], [1.0, 8.0, 90.0], [0.1, 1.0, 8.0])
    ax = fit.plot()
    assert f"{fit.exponent:.5g}" in ax.get_title()
    assert fit_exponent([32, 64], [1.0, 8.0]).plot(new_figure().add_subplot()) is not None
    empty = fit_w1([0.05], [NONE])
    assert not lines(empty.plot())


def test_free_energy() -> None:
    ax = plots.draw_free_energy()
    tops = [x[0] for x in lines(ax) if len(x) == 1]
    assert len(tops) == 5
    assert all(a[1] < b[1] for a, b in pairwise(tops))
    ax = plots.draw_free_energy([0.7], 4)
    assert len(ax.get_legend().get_texts()) == 1


def test_barrier() -> None:
    ax = plots.draw_barrier(0.055)
    point = free_energy_barrier(run_temperature(0.055))
    assert [point.temperature, point.height] in [x[0].tolist() for x in lines(ax) if len(x) == 1]
    assert "0.082725" in ax.get_title()
    assert "T_d" not in "".join(x.get_text() for x in plots.draw_barrier(0.05, 4).texts)
    with pytest.raises(InputError):
        plots.draw_barrier(0.5)
