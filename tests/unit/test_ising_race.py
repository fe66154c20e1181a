"""method="race": two searches of the same states, of which the first that is done answers."""

from __future__ import annotations

import math
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, RunOptions, Shard, ShardResult
from hardscape.ising import Ising, Spectrum, spectrum
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.cuts.cuts import Cuts, CutWork
from hardscape.ising.methods.cuts.search import CutSearch
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.lowest import LowestWork
from hardscape.ising.methods.race.race import Race, RaceWork
from hardscape.ising.methods.semidefinite.semidefinite import SemidefiniteWork

pytest.importorskip("highspy")


def sparse(n: int, degree: float, seed: int, fields: bool = False) -> Ising:
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.choice([-1.0, 1.0, 2.0], (n, n)) * (rng.random((n, n)) < degree / n), 1)
    return Ising(rng.integers(-1, 2, n) if fields else np.zeros(n), couplings)


def of_cycles(n: int, cycles: int) -> Ising:
    """Couplings along some random cycles through all spins."""
    rng, couplings = np.random.default_rng(1), np.zeros((n, n))
    for _ in range(cycles):
        order = rng.permutation(n)
        couplings[order, np.roll(order, 1)] = rng.choice([-1.0, 1.0], n)
    return Ising(np.zeros(n), np.triu(couplings + couplings.T, 1))


def found(model: Ising, states: int, method: str, threads: int = 1, **run: Any) -> Spectrum:
    return spectrum(model, states, method=method, device="cpu", threads=threads, seed=1, **run)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("states", [1, 5, 40])
@pytest.mark.parametrize("fields", [False, True])
def test_the_states_are_those_of_every_method(threads: int, states: int, fields: bool) -> None:
    model = sparse(17, 5, 3 + states, fields)
    raced, plain = found(model, states, "race", threads), found(model, states, "exhaustive")
    assert raced.certified
    assert raced.method in ("cuts", "semidefinite")
    np.testing.assert_array_equal(raced.states, plain.states)
    np.testing.assert_array_equal(raced.energies, plain.energies)
    assert raced.levels == plain.levels


def test_the_rivals_answer_ends_a_search_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    model, begun = sparse(50, 5, 1), threading.Event()
    run, heard = CutWork.run, RaceWork.run

    def late(work: CutWork, shard: Shard, context: Context) -> ShardResult:
        assert begun.wait(60)
        return run(work, shard, context)

    def watched(work: RaceWork, shard: Shard, context: Context) -> ShardResult:
        begun.set()
        return heard(work, shard, context)

    expected = found(model, 3, "semidefinite")
    monkeypatch.setattr(CutWork, "run", late)
    monkeypatch.setattr(RaceWork, "run", watched)
    # This one does not end by itself.
    monkeypatch.setattr(SemidefiniteWork, "run", _until_stopped)
    raced = found(model, 3, "race")
    assert (raced.certified, raced.method) == (True, "cuts")
    np.testing.assert_array_equal(raced.states, expected.states)


@pytest.mark.parametrize("first", ["cuts", "semidefinite"])
def test_what_proved_it_is_known_from_a_ledger(
    first: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, ledger = sparse(30, 5, 2), tmp_path / "race.ledger"
    other = {"cuts": SemidefiniteWork, "semidefinite": CutWork}[first]
    with monkeypatch.context() as patched:
        patched.setattr(other, "run", _until_stopped)
        raced = found(model, 3, "race", checkpoint=ledger)
    read = found(model, 3, "race", checkpoint=ledger)
    assert (raced.method, read.method) == (first, first)
    assert read.info["resumed_shards"] > 0
    np.testing.assert_array_equal(read.states, raced.states)


def _until_stopped(work: LowestWork, shard: Shard, context: Context) -> ShardResult:
    """No states."""
    while not context.stopped():
        threading.Event().wait(0.001)
    plain = {"counters": np.zeros(4, dtype=np.uint64)} if isinstance(work, RaceWork) else {}
    return ShardResult({**work.nothing(), **plain}, complete=False)


class _Workers:
    """An executor that is not asked."""

    def submit(self, *_: object) -> None:
        raise AssertionError


def test_a_rival_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def for_ever(work: CutWork, shard: Shard, context: Context) -> ShardResult:
        while not context.stopped():
            threading.Event().wait(0.001)
        ended.append(True)
        return ShardResult(work.nothing(), complete=False)

    model = sparse(30, 5, 2)
    monkeypatch.setattr(CutWork, "run", for_ever)
    raced = found(model, 2, "race")
    assert (raced.certified, raced.method, ended) == (True, "semidefinite", [True])
    np.testing.assert_array_equal(raced.states, found(model, 2, "exhaustive").states)


def test_what_the_rival_proves_bounds_a_search_that_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = Wanted(sparse(30, 5, 1).exact, 2, None)
    work = Race().work(wanted, RunOptions.checked(device="cpu", threads=1, seed=1))
    assert isinstance(work, RaceWork)
    assert work.rival is not None
    best = work.best_so_far(None)
    least = from_limbs(best.energies[:1])[0]
    plain = least - 10
    monkeypatch.setattr(SemidefiniteWork, "lower_bound", lambda *_: plain)
    assert work.lower_bound([], best) == plain
    for bound, expected in ((least - 1, least - 1), (least + 5, least), (plain - 1, plain)):
        work.rival.bound = bound
        assert work.lower_bound([], best) == expected
    other = pickle.loads(pickle.dumps(work))
    assert other.rival is None
    assert other.proved_by("race", best) == "semidefinite"
    elsewhere = RunOptions.checked(device="cpu", threads=1, seed=1, executor=_Workers(), workers=1)
    assert Race().work(wanted, elsewhere).proved_by("race", best) == "semidefinite"
    assert other.identity() == work.identity()


def test_it_is_taken_where_nothing_tells_which_is_quicker() -> None:
    open_one, dense, loose = of_cycles(100, 3), of_cycles(100, 9), of_cycles(100, 1)
    takes = [Race().pays(Wanted(x.exact, 2, None)) for x in (open_one, dense, loose)]
    assert takes == [True, False, False]
    assert Race().runs_on(Cpu(), Wanted(open_one.exact, 2, None))


def test_cuts_of_a_race_give_up_where_they_would_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they prove until then holds, and the other one goes on."""
    model, options = sparse(20, 8, 4), RunOptions.checked(device="cpu", threads=1, seed=1)
    expected = found(model, 1, "exhaustive")
    least = from_limbs(model.exact.words(expected.states))[0]
    # Neither lists nor tables end it.
    monkeypatch.setattr(CutSearch, "within", lambda *_: False)
    monkeypatch.setattr(CutSearch, "quick", lambda *_: math.inf)
    alone = Cuts().work(Wanted(model.exact, 2, None), options)
    ends = []
    for work in (alone, replace(alone, branching=False)):
        context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
        result = work.run(work.shards()[0], context)
        ends.append((result.complete, int(result.partial["counters"][0])))
        assert from_limbs(result.partial["energies"][:1]) == [least]
        assert all(x <= least for x in from_limbs(result.partial["bound"]))
    assert ends[0][0]
    assert ends[0][1] > 1
    assert ends[1] == (False, 1)
    raced = found(model, 1, "race")
    assert (raced.certified, raced.method) == (True, "semidefinite")
    np.testing.assert_array_equal(raced.states, expected.states)


def test_bounds_of_cuts_are_told_where_the_other_search_runs() -> None:
    model = of_cycles(80, 3)
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    work = Race().work(Wanted(model.exact, 2, None), options)
    assert isinstance(work, RaceWork)
    assert work.rival is not None
    told: list[int] = []
    heard = threading.Event()

    def tell(found: dict[str, Any]) -> None:
        told.extend(from_limbs(found["bound"]))
        heard.set()

    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8), told=tell)
    with work.rival.heard(context), work.rival.running():
        assert heard.wait(60)
    least = spectrum(model, 1, method="semidefinite", seed=1, device="cpu").energies[0]
    assert all(bound * 2.0**model.exact.exponent <= least for bound in told)
    assert told
