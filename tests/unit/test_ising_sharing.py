"""Lanes and shards of one search: what they share and tell one another changes no answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import hardscape
from hardscape.engine import Context, Cpu, RunOptions, pool, solve
from hardscape.engine.fold import Block, Fold
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.cliques.cliques import Cliques
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.semidefinite.semidefinite import Semidefinite
from hardscape.ising.methods.tree import tree
from hardscape.ising.methods.tree.tree import FloorsWork, Tree
from hardscape.ising.result import unpack
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice
from helpers.oracles import exact_energies, lowest_states


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_idle_lanes_take_what_others_have_not_begun(threads, monkeypatch):
    monkeypatch.setattr(pool.LocalPool, "asked", (0.0, 0.0))
    monkeypatch.setattr(pool.Pace, "shards", lambda self, left, workers, joined: joined)
    blocks = []
    start = pool.LocalPool._start

    def counted(self, slot, block, incumbent):
        blocks.append(slot)
        return start(self, slot, block, incumbent)

    monkeypatch.setattr(pool.LocalPool, "_start", counted)
    model = dense_gaussian(40, 3)
    found = hardscape.spectrum(model, 200, device="cpu", threads=threads)
    assert len(set(blocks)) == threads
    alone = hardscape.spectrum(model, 200, device="cpu", threads=1)
    assert found.states.tobytes() == alone.states.tobytes()
    assert found.energies.tobytes() == alone.energies.tobytes()
    assert found.certified


@pytest.mark.parametrize("fields", [True, False])
def test_a_search_that_goes_on_where_it_left_off_finds_the_same(fields):
    model = dense_integer(30, seed=5, bound=40, fields=fields)
    options = RunOptions.checked(device="cpu", threads=1)
    work = Tree().work(Wanted(model.exact, 60, None), options)
    shards, stop = work.shards(), np.full(1, 2, dtype=np.uint8)
    fold, at, slices = Fold(work, len(shards)), 0, 0
    while at < len(shards):
        result = work.run(Block(at, len(shards)).shard(shards), Context(Cpu(), None, stop))
        assert result.complete
        left = len(shards) if result.left is None else result.left
        assert left > at
        fold.add(Block(at, left), result.partial)
        at, slices = left, slices + 1
    assert slices > 10
    found, expected = work.result(fold.best_so_far()), solve(work, options).whole()
    assert found.states.tobytes() == expected.states.tobytes()
    assert found.energies.tobytes() == expected.energies.tobytes()


@pytest.mark.parametrize("make", [dense_gaussian, plus_minus_lattice])
def test_floors_that_all_lanes_raise_are_those_of_one(make, monkeypatch):
    model = make(42, 1) if make is dense_gaussian else make(6, 7, seed=1)
    one, three = (RunOptions.checked(device="cpu", threads=k) for k in (1, 3))

    def search():
        wanted = Wanted(model.exact, 10, None)
        return BlockWork.around_low_state(wanted, Tree.walk, one).search

    alone = Tree().floors(search(), one)
    monkeypatch.setattr(tree, "_ALONE", 0.0)
    assert Tree().floors(search(), three) == alone
    monkeypatch.setattr(tree, "_HERE", 0.0)
    with ThreadPoolExecutor(2) as executor:
        elsewhere = RunOptions.checked(device="cpu", threads=2, executor=executor)
        assert Tree().floors(search(), elsewhere) == alone
    assert alone != tuple(from_limbs(search().layout.search.floors()))


@pytest.mark.parametrize("threads", [1, 3])
def test_raising_floors_can_be_stopped(threads, monkeypatch):
    monkeypatch.setattr(tree, "_ALONE", 0.0)
    options = RunOptions.checked(device="cpu", threads=1)
    wanted = Wanted(dense_gaussian(40, 1).exact, 10, None)
    search = BlockWork.around_low_state(wanted, Tree.walk, options).search
    weak = tuple(from_limbs(search.layout.search.floors()))
    work = FloorsWork(search, np.inf, threads)
    result = work.run(work.shards()[0], Context(Cpu(), None, np.ones(1, dtype=np.uint8)))
    assert not result.complete
    assert work.result(result.partial).floors == weak


TOLD = {
    "ties": (lambda n, seed: plus_minus_lattice(3, n // 3, seed=seed), {}),
    "ties in fields": (lambda n, seed: dense_integer(n, seed, bound=1), {}),
    "reals": (lambda n, seed: dense_gaussian(n, seed), {}),
    "window": (lambda n, seed: dense_integer(n, seed, bound=3, fields=False), {"window": 9.0}),
    "cutoff": (lambda n, seed: dense_integer(n, seed, bound=3), {"cutoff": -60.0}),
}


@pytest.mark.parametrize("name", sorted(TOLD))
@pytest.mark.parametrize("count", [1, 2, 3, 40, 900])
def test_what_shards_tell_one_another_changes_no_answer(name, count, monkeypatch):
    make, limits = TOLD[name]
    model = make(21, count)
    monkeypatch.setattr(pool.LocalPool, "asked", (0.0, 0.0))
    expected = hardscape.spectrum(model, count, method="exhaustive", prune=False, **limits)
    for threads in (1, 4):
        for method in ("tree", "semidefinite")[: 1 + (count < 100)]:
            found = hardscape.spectrum(model, count, method=method, threads=threads, **limits)
            assert found.states.tobytes() == expected.states.tobytes()
            assert found.energies.tobytes() == expected.energies.tobytes()
            assert found.levels == expected.levels


def in_parts(work, shared, parts=16, counter=2):
    """The answer of a work whose shards run in parts, the last first."""
    shards, partial = work.shards(), None
    step = len(shards) // parts
    for start in range(len(shards) - step, -1, -step):
        context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8), shared=shared)
        result = work.run(Block(start, start + step).shard(shards), context)
        assert result.complete
        partial = result.partial if partial is None else work.merge(result.partial, partial)
    return work.result(partial), int(partial["counters"][counter])


@pytest.mark.parametrize("fields", [True, False])
def test_a_run_after_a_lost_one_and_a_board_that_stays_shut(fields):
    model = dense_integer(26, seed=7, bound=300, fields=fields)
    work = Tree().work(
        Wanted(model.exact, 70, None), RunOptions.checked(device="cpu", threads=1, seed=1)
    )
    expected, opened = in_parts(work, None)
    shared = work.shared()
    assert int(shared[3]) == len(work.known["states"])
    told, fewer = in_parts(work, shared)
    assert fewer <= opened
    again, _ = in_parts(work, shared)  # all of its states are there, as of a run that was lost
    shut = work.shared()
    shut[0] = 1  # as somebody who died leaves it
    before = shut.copy()
    alone, as_many = in_parts(work, shut)
    assert as_many == opened
    assert shut.tobytes() == before.tobytes()
    for found in (told, again, alone):
        assert found.states.tobytes() == expected.states.tobytes()
        assert found.energies.tobytes() == expected.energies.tobytes()


@pytest.mark.parametrize("method", [Semidefinite(), Cliques()])
@pytest.mark.parametrize("bound", [1, 300])  # many ties, and few
@pytest.mark.parametrize("fields", [True, False])
def test_searches_that_branch_tell_one_another_their_states(method, bound, fields):
    count = 12
    model = dense_integer(17, seed=5 + bound, bound=bound, fields=fields)
    energies, states = lowest_states(model, count + 1)
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    work = method.work(Wanted(model.exact, count + 1, None), options)
    work = replace(work, known=None, threshold=None)
    _, alone = in_parts(work, None, counter=0)
    shared = work.shared()
    found, told = in_parts(work, shared, counter=0)
    again, fewer = in_parts(work, shared, counter=0)  # as after runs that were lost
    assert fewer <= told < alone
    shut = work.shared()
    shut[0] = 1
    unheard, as_many = in_parts(work, shut, counter=0)
    assert as_many == alone
    for answer in (found, again, unheard):
        got = unpack(answer.states, 17)
        np.testing.assert_array_equal(got[:count], states[:count])
        assert exact_energies(model.h, model.J, model.offset, got) == energies.tolist()


@pytest.mark.parametrize("count", [3, 5000])
def test_a_whole_list_tells_its_last_energy(count):
    wanted = Wanted(dense_integer(14, seed=1).exact, count, None)
    energies = to_limbs(range(10, 10 + count), wanted.terms.limbs)
    assert wanted.limit_of([{"energies": energies}]) == 9 + count
    assert wanted.limit_of([{"energies": energies[:-1]}]) is None
    halves = [{"energies": energies[::2]}, {"energies": energies[1::2]}]
    assert wanted.limit_of([*halves, *halves]) < 9 + count


@pytest.mark.parametrize("seed", range(4))
def test_a_witness_that_a_lost_run_told_is_found_again(seed):
    model = dense_integer(18, seed=seed, bound=1)
    work = Semidefinite().work(
        Wanted(model.exact, 4, None), RunOptions.checked(device="cpu", threads=1, seed=1)
    )
    work = replace(work, known=None)
    shared = work.shared()
    in_parts(work, shared)
    again, _ = in_parts(work, shared)
    energies, states = lowest_states(model, 4)
    found = unpack(again.states, 18)
    np.testing.assert_array_equal(found[:3], states[:3])
    # One more than listed tells whether the last level is whole.
    assert exact_energies(model.h, model.J, model.offset, found) == energies.tolist()
