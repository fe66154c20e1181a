"""Both bounds of the lowest energy while a search runs: on the right sides, closing, kept in the result."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hardscape.engine import ProgressEvent
from hardscape.ising import Ising, spectrum
from hardscape.ising.methods.frontier.lowest import Frontier
from hardscape.ising.methods.lowest import Whole
from helpers.instances import dense_gaussian, plus_minus_lattice


def half_of_all_pairs(n: int) -> Ising:
    rng = np.random.default_rng(1)
    return Ising(np.zeros(n), np.triu((rng.random((n, n)) < 0.5).astype(float), 1))


@pytest.mark.parametrize(
    ("model", "method"),
    [(half_of_all_pairs(46), "tree"), (dense_gaussian(34, seed=3), "exhaustive")],
    ids=["tree", "exhaustive"],
)
def test_bounds_enclose_the_ground_energy_and_close(
    model: Ising, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardscape.engine.run._BOUNDED_AT", 0.0)
    monkeypatch.setattr("hardscape.engine.progress._INTERVAL", 0.0)
    events: list[ProgressEvent] = []
    found = spectrum(
        model,
        1,
        method=method,
        prune=method == "tree",
        threads=1,
        device="cpu",
        progress=events.append,
    )
    least = spectrum(model, 1, seed=1).energies[0]
    told = [event.bounds for event in events if event.bounds is not None]
    assert told
    assert all(bound <= least <= best for best, bound in told)
    seconds, best, bound = found.bounds.T
    assert len(seconds) > 1
    assert (np.diff(seconds) >= 0).all()
    assert (np.diff(best) <= 0).all()
    assert (np.diff(bound) >= 0).all()
    assert bound[-1] <= least <= best[-1] == found.energies[0]
    assert json.loads(found.to_json())["bounds"] == found.bounds.tolist()


def test_a_part_says_what_the_whole_has() -> None:
    terms = Ising([0.5, 1.0], {(0, 1): 0.25}).exact
    assert terms.exponent == -2
    # A part of energy 3 in units twice as large, beside a rest of 1 met, at least -2.
    assert Whole(terms, 1, 1, -2).energies(3, 1) == (7 / 4, 0.0)
    # Of eighths, rounded up to quarters.
    assert Whole(terms, 0, 0, 0, 1).energies(3, -3) == (2 / 4, -1 / 4)


def test_the_end_is_there_where_nothing_took_long() -> None:
    found = spectrum(half_of_all_pairs(12), 3)
    assert found.bounds.shape == (1, 3)
    assert found.bounds[0].tolist() == [found.seconds, found.energies[0], found.energies[0]]


def test_reduced_models_tell_energies_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain hangs on a dense core: it is taken out, and what is told is the energy of both."""
    monkeypatch.setattr("hardscape.engine.run._BOUNDED_AT", 0.0)
    core = half_of_all_pairs(84)
    pairs = zip(core.exact.row.tolist(), core.exact.col.tolist(), strict=True)
    chain = {(83 + k, 84 + k): -3.0 for k in range(20)}
    model = Ising(np.zeros(104), {**dict.fromkeys(pairs, 1.0), **chain})
    events: list[ProgressEvent] = []
    found = spectrum(model, 1, threads=1, time_limit=5.0, progress=events.append)
    assert sum(size for size, _ in found.info["parts"]) < 104
    told = [event.bounds for event in events if event.bounds is not None]
    lowest = float(found.energies[0])
    assert told
    assert all(bound <= lowest <= best for best, bound in told)
    assert told[-1][0] - lowest < 30  # the chain has -60


def test_tables_that_are_stopped_tell_what_they_would_take() -> None:
    wide = plus_minus_lattice(22, 22, 1)
    found = spectrum(wide, 1, method="frontier", time_limit=0.1, threads=1, device="cpu")
    assert not found.certified
    assert found.info["seconds_needed"] > 0.1
    assert spectrum(plus_minus_lattice(6, 6, 1), 1, method="frontier").info["seconds_needed"] == 0


def test_a_forecast_that_is_over_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = plus_minus_lattice(22, 22, 1)
    for foreseen, told in ((1e-9, None), (1e9, 1e9)):
        monkeypatch.setattr(Frontier, "foreseen", lambda *_, seconds=foreseen: seconds)
        found = spectrum(wide, 1, method="frontier", time_limit=0.1, threads=1, device="cpu")
        assert not found.info["states_searched"]
        assert found.info["seconds_needed"] == told
