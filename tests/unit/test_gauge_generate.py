"""Quenched configurations: averages known from elsewhere, reproducibility, and what is refused."""

from __future__ import annotations

import os
import pickle
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.engine import ProgressEvent
from hardscape.errors import BudgetError, CheckpointError, InputError, Interrupted
from hardscape.gauge import GaugeField, WilsonChain, generate
from helpers import gauge_oracles as oracle


def average(chain: WilsonChain, thermalise: int, sweeps: int) -> tuple[float, float]:
    """The plaquette and its error from ten bins."""
    chain.run(thermalise)
    bins = chain.run(sweeps).reshape(10, -1).mean(axis=1)
    return float(bins.mean()), float(bins.std(ddof=1) / np.sqrt(10))


@pytest.mark.parametrize(
    ("nc", "beta", "known", "rounding"),
    [
        # Strong coupling: beta/4 - beta^3/96 + ..., beta/18 + beta^2/216 + ... (Creutz, "Quarks,
        # gluons and lattices", 1983); the next orders are about 2e-4 and 1e-6.
        (2, 0.5, 0.5 / 4 - 0.5**3 / 96, 2e-4),
        (3, 0.5, 0.5 / 18 + 0.25 / 216, 3e-5),
        # Known from many simulations, to the digits given.
        (2, 2.3, 0.602, 5e-4),
        (3, 6.0, 0.5937, 5e-5),
    ],
)
def test_plaquette(nc: int, beta: float, known: float, rounding: float) -> None:
    chain = WilsonChain(GaugeField.random((8, 8, 8, 8), nc, seed=3), beta, seed=5)
    found, error = average(chain, *{0.5: (10, 40), 2.3: (40, 120), 6.0: (30, 60)}[beta])
    assert error < 6e-4
    assert abs(found - known) < 4 * error + rounding


@pytest.mark.parametrize(("nc", "beta"), [(2, 2.3), (3, 6.0)])
def test_the_ensemble_is_that_of_the_action(nc: int, beta: float) -> None:
    """An identity that holds exactly at any beta; a false beta breaks it."""
    chain = WilsonChain(GaugeField.random((6, 6, 6, 6), nc, seed=3), beta, seed=5)
    oracle.assert_ensemble_of_action(chain, beta, 30, apart=4)


def test_hot_and_cold_starts_meet() -> None:
    hot = WilsonChain(GaugeField.random((6, 6, 6, 6), 2, seed=1), 2.4, seed=2)
    cold = WilsonChain(GaugeField.identity((6, 6, 6, 6), 2), 2.4, seed=3)
    one, one_error = average(hot, 60, 200)
    other, other_error = average(cold, 60, 200)
    assert abs(one - other) < 4 * np.hypot(one_error, other_error)


@pytest.mark.parametrize("shape", [(3, 4, 5, 2), (2, 2, 2, 2), (4, 4, 4, 4), (3, 3, 3, 3)])
def test_the_limits_of_beta(shape: tuple[int, ...]) -> None:
    """At beta = 0 a heatbath draws from the Haar measure, at large beta it cools to the vacuum."""
    hot = WilsonChain(GaugeField.identity(shape), 0.0, seed=1)
    hot.run(3)
    assert abs(hot.field.plaquette()) < 5 / np.sqrt(6 * hot.field.volume)
    frozen = WilsonChain(hot.field, 1e6, seed=1)
    assert frozen.run(200)[-1] > 0.9


@pytest.mark.parametrize("nc", [2, 3, 5])
def test_the_chain_reports_the_plaquette_of_its_field(nc: int) -> None:
    chain = WilsonChain(GaugeField.random((4, 2, 3, 8), nc, seed=1), 2.0)
    plaquettes = chain.run(3)
    field = chain.field
    assert plaquettes[-1] == pytest.approx(oracle.plaquette(field.links), abs=1e-13)
    assert field.unitarity() < 1e-13


def test_any_number_of_threads() -> None:
    start = GaugeField.random((8, 4, 4, 6), 3, seed=1)
    fields = []
    for threads in (1, 2, 5):
        chain = WilsonChain(start, 5.7, seed=4, threads=threads)
        chain.run(4)
        fields.append(chain.field.links)
    np.testing.assert_array_equal(fields[0], fields[1])
    np.testing.assert_array_equal(fields[0], fields[2])


@pytest.mark.parametrize("shape", [(10, 10, 2, 10), (6, 6, 6, 6), (3, 4, 5, 2), (5, 5, 3, 7)])
@pytest.mark.parametrize("nc", [2, 3, 4])
def test_odd_shapes_are_the_same_for_any_number_of_threads(shape: tuple[int, ...], nc: int) -> None:
    """Also where vectors do not fit, and loops over sites are the compiler's to cut."""
    fields = [generate(shape, 5.7, nc=nc, seed=3, sweeps=2, threads=n) for n in (1, 2, 3)]
    for other in fields[1:]:
        np.testing.assert_array_equal(fields[0].links, other.links)


def test_a_chain_goes_on_where_another_ended() -> None:
    start = GaugeField.random((4, 4, 4, 4), 2, seed=1)
    whole = WilsonChain(start, 2.3, seed=6)
    plaquettes = whole.run(7)
    first = WilsonChain(start, 2.3, seed=6)
    head = first.run(3)
    second = WilsonChain(first.field, 2.3, seed=6, first_sweep=first.sweeps)
    np.testing.assert_array_equal(plaquettes, np.concatenate([head, second.run(4)]))
    np.testing.assert_array_equal(whole.field.links, second.field.links)


def test_generate() -> None:
    one, same = (generate((4, 4, 4, 4), 2.2, nc=2, seed=8, sweeps=5) for _ in range(2))
    np.testing.assert_array_equal(one.links, same.links)
    other = generate((4, 4, 4, 4), 2.2, nc=2, seed=9, sweeps=5)
    assert np.abs(one.links - other.links).max() > 0.1
    cold = generate((4, 4, 4, 4), 5.8, sweeps=1, start="cold")
    assert (cold.nc, cold.shape) == (3, (4, 4, 4, 4))
    assert cold.plaquette() > 0.6
    assert generate((2, 2, 2, 2), 1.0, sweeps=0, start="cold").plaquette() == 1.0


def test_a_run_cut_short_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"nc": 2, "seed": 8, "checkpoint": tmp_path / "chain"}
    events: list[ProgressEvent] = []

    def interrupt(event: ProgressEvent) -> None:
        events.append(event)
        if 0 < event.done < event.total:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        generate((4, 4, 4, 4), 2.2, sweeps=10**6, progress=interrupt, **keywords)
    done = events[-1].done
    assert 1 <= done < 10**6
    with pytest.raises(CheckpointError):
        generate((4, 4, 4, 4), 2.2, sweeps=done - 1, **keywords)
    resumed = generate((4, 4, 4, 4), 2.2, sweeps=done + 3, **keywords)
    whole = generate((4, 4, 4, 4), 2.2, nc=2, seed=8, sweeps=done + 3)
    np.testing.assert_array_equal(resumed.links, whole.links)


def test_a_part_of_a_chain_is_no_field() -> None:
    with pytest.raises(BudgetError):
        generate((4, 4, 4, 4), 2.2, nc=2, sweeps=10**7, time_limit=0.05)


def test_a_checkpoint_of_another_chain_is_refused(tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"nc": 2, "sweeps": 2, "checkpoint": tmp_path / "chain"}
    generate((4, 4, 4, 4), 2.2, seed=8, **keywords)
    for other in ({"seed": 9}, {"seed": 8, "overrelax": 1}, {"seed": 8, "start": "cold"}):
        with pytest.raises(CheckpointError):
            generate((4, 4, 4, 4), 2.2, **other, **keywords)  # type: ignore[arg-type]


def test_an_executor_does_the_same_sweeps() -> None:
    alone = generate((4, 4, 4, 4), 2.2, nc=2, seed=8, sweeps=5)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = generate((4, 4, 4, 4), 2.2, nc=2, seed=8, sweeps=5, executor=pool)
    np.testing.assert_array_equal(alone.links, elsewhere.links)


def test_a_chain_pickles() -> None:
    chain = WilsonChain(GaugeField.random((4, 4, 4, 4), 2, seed=1), 2.0, seed=3)
    chain.run(2)
    copy = pickle.loads(pickle.dumps(chain))
    np.testing.assert_array_equal(chain.run(2), copy.run(2))
    np.testing.assert_array_equal(chain.field.links, copy.field.links)


def test_the_start_stays_as_it_is() -> None:
    start = GaugeField.random((2, 2, 2, 4), 3, seed=1)
    before = start.links.copy()
    WilsonChain(start, 6.0).run(1)
    np.testing.assert_array_equal(start.links, before)


def test_progress_and_time_limit() -> None:
    events: list[ProgressEvent] = []
    chain = WilsonChain(GaugeField.random((4, 4, 4, 4), 2, seed=1), 2.0)
    chain.run(5, progress=events.append)
    assert (events[0].done, events[-1].done, events[-1].total) == (0, 5, 5)
    assert events[-1].unit == "sweeps"
    done = chain.run(10**7, time_limit=0.1)
    assert len(done) < 10**7
    assert chain.sweeps == 5 + len(done)


def test_interrupt() -> None:
    chain = WilsonChain(GaugeField.random((4, 4, 4, 4), 2, seed=1), 2.0)

    def interrupt(event: ProgressEvent) -> None:
        if event.done == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted) as caught:
        chain.run(10**6, progress=interrupt)
    assert caught.value.signum == signal.SIGTERM
    np.testing.assert_array_equal(caught.value.result.links, chain.field.links)


@pytest.mark.parametrize(
    "arguments",
    [
        {"beta": -1.0},
        {"beta": float("nan")},
        {"beta": float("inf")},
        {"beta": "6"},
        {"sweeps": -1},
        {"sweeps": 1.5},
        {"overrelax": -1},
        {"overrelax": True},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 2**64},
        {"threads": 1.5},
        {"time_limit": "1"},
        {"time_limit": -1},
        {"nc": 9},
        {"shape": (4,)},
        {"shape": (4, 4, 4, 1)},
        {"start": "warm"},
        {"threads": 0},
    ],
)
def test_refusals(arguments: dict[str, object]) -> None:
    given = {"shape": (2, 2, 2, 2), "beta": 1.0, "sweeps": 1} | arguments
    with pytest.raises(InputError):
        generate(**given)  # type: ignore[arg-type]


def test_refused_starts_and_limits() -> None:
    links = GaugeField.identity((2, 2, 2, 2)).links
    with pytest.raises(InputError):
        WilsonChain(GaugeField(1.1 * links), 1.0)
    with pytest.raises(InputError):
        WilsonChain(GaugeField(links), 1.0).run(1, time_limit=0)
