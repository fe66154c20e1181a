"""The lowest states by dynamic programming: against every state, other methods, and beyond their reach."""

from __future__ import annotations

import numpy as np
import pytest

import hardscape
from hardscape import native
from hardscape.engine import Context, Cpu, Shard
from hardscape.errors import BudgetError, InputError
from hardscape.ising import Ising, estimate, generators
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.frontier import elimination, lowest
from hardscape.ising.methods.frontier.form import BitForm
from hardscape.ising.result import from_codes, to_codes
from helpers.oracles import lowest_states
from helpers.spectra import assert_same_list

COEFFICIENTS = {
    "signs": [-1.0, 1.0],
    "integers": [-3.0, -2.0, 0.0, 1.0, 2.0, 3.0],
    "reals": [0.1, -0.2, 0.3, 1.25, -0.7],
    "long": [2.0**40 + 1, -(2.0**39) + 3, 5.0],
    "wide": [1e12, -1e12, 1e-12, -3e-7],
    "widest": [1e299, -1e299, 1e-300, 1.5],
}


def model_of(kind, n, seed, density=0.3, fields=True):
    """A random sparse model, in parts more often than not."""
    rng = np.random.default_rng([seed, n, len(kind)])
    drawn = rng.choice(COEFFICIENTS[kind], (n, n))
    couplings = np.triu(np.where(rng.random((n, n)) < density, drawn, 0.0), 1)
    h = rng.choice(COEFFICIENTS[kind], n) * (rng.random(n) < 0.5) if fields else np.zeros(n)
    return Ising(h, couplings, 0.5)


def by_frontier(model, num_states=None, **options):
    return hardscape.spectrum(model, num_states, method="frontier", device="cpu", **options)


def assert_same(found, other):
    assert_same_list(found, other)
    assert found.levels == other.levels
    assert found.gap == other.gap


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_the_states_of_exhaustive_search(kind, fields):
    for seed, n in enumerate((1, 2, 5, 9, 12)):
        model = model_of(kind, n, seed, fields=fields)
        for count in (1, 7, 300, 2**n):
            mine = by_frontier(model, count, threads=1)
            assert_same(mine, hardscape.spectrum(model, count, method="exhaustive", device="cpu"))
        window = hardscape.spectrum(model, window=2.5, method="exhaustive", device="cpu")
        assert_same(by_frontier(model, window=2.5, threads=1), window)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bits", [1, 3])
def test_ties_are_told_apart_by_the_bits_that_follow(bits, threads, monkeypatch):
    # Tables with room for few bits of the code, and few entries: many passes, and many slices.
    room = elimination.sizes
    monkeypatch.setattr(lowest, "sizes", lambda size, n: (room(size, n)[0], min(n, bits)))
    monkeypatch.setattr(elimination, "_ENTRIES", 2.0**5)
    for seed in range(6):
        for kind in ("signs", "integers"):
            model = model_of(kind, 11, 100 + seed, fields=seed % 2)
            for count in (1, 2, 40, 500):
                energies, states = lowest_states(model, count)
                found = by_frontier(model, count, threads=threads)
                assert found.certified
                np.testing.assert_array_equal(found.energies, energies)
                np.testing.assert_array_equal(found.states, states)


def test_components_are_put_together():
    rng = np.random.default_rng(4)
    couplings = np.zeros((64, 64))
    for part in range(4):
        block = slice(16 * part, 16 * part + 16)
        couplings[block, block] = np.triu(rng.normal(size=(16, 16)), 1)
    found = hardscape.spectrum(Ising(np.zeros(64), couplings), 100, device="cpu", threads=1)
    assert found.method == "frontier"
    assert found.certified
    parts = [
        hardscape.spectrum(Ising(np.zeros(16), couplings[b, b]), 200, device="cpu").energies
        for b in (slice(16 * k, 16 * k + 16) for k in range(4))
    ]
    sums = parts[0]
    for part in parts[1:]:
        sums = np.sort(np.add.outer(sums, part).ravel())[:100]
    np.testing.assert_allclose(found.energies, sums, rtol=1e-12)


def test_a_chain_of_any_length():
    n = 2000
    rng = np.random.default_rng(2)
    values = rng.choice([-1.0, 1.0], n - 1)
    chain = {(i, i + 1): x for i, x in enumerate(values.tolist())}
    found = hardscape.spectrum(Ising(np.zeros(n), chain), 5, device="cpu")
    # One of two ground states, and then chains that are broken where the lower codes are.
    assert [(x.energy, x.count, x.complete) for x in found.levels] == [
        (1.0 - n, 2, True),
        (3.0 - n, 3, False),
    ]
    codes = [sum(1 << i for i in np.flatnonzero(row > 0).tolist()) for row in found.states]
    ground = np.append(1, np.cumprod(-values))
    broken = []
    for cut in range(1, n):
        state = ground * np.where(np.arange(n) < cut, 1, -1)
        broken += [state, -state]
    of_broken = sorted(sum(1 << i for i in np.flatnonzero(s > 0).tolist()) for s in broken)
    assert codes[2:] == of_broken[:3]
    assert found.to_dict()["num_spins"] == n


def test_more_states_of_long_codes_than_are_sorted_at_once():
    model = Ising(np.zeros(150), {(i, i + 1): -1.0 - i / 512 for i in range(149)})
    found = hardscape.spectrum(model, 6000, device="cpu", threads=1)
    assert found.certified
    assert found.num_states == 6000
    assert (np.diff(found.energies) >= 0).all()
    assert len(np.unique(found.states, axis=0)) == 6000
    np.testing.assert_array_equal(found.energies, model.energy(found.states))
    # Walls between domains cost twice their couplings: the lowest are single walls.
    single = -sum(1.0 + i / 512 for i in range(149)) + 2.0 + 2 * np.arange(149) / 512
    assert set(single[single < found.energies[-1]].tolist()) <= set(found.energies.tolist())


def test_a_wide_lattice_in_slices_whatever_runs_them(tmp_path, monkeypatch):
    monkeypatch.setattr(elimination, "_ENTRIES", 2.0**8)
    monkeypatch.setattr(elimination, "_MAX_SLICED", 5)
    rng = np.random.default_rng(1)
    spins = np.arange(144).reshape(8, 18)
    bonds = [*zip(spins[:, 1:].flat, spins[:, :-1].flat, strict=True)]
    bonds += [*zip(spins[1:].flat, spins[:-1].flat, strict=True)]
    model = Ising(np.zeros(144), {(int(j), int(i)): float(rng.choice([-1, 1])) for i, j in bonds})
    once = by_frontier(model, 30, threads=1, seed=1)
    assert once.info["entries"] > 0
    assert_same(by_frontier(model, 30, threads=2, seed=2), once)
    ledger = tmp_path / "lattice.job"
    stopped = by_frontier(model, 30, threads=1, seed=1, checkpoint=ledger, time_limit=0.02)
    assert stopped.certified or stopped.lower_bound <= once.energies[0] <= stopped.energies[0]
    assert_same(by_frontier(model, 30, threads=2, checkpoint=ledger), once)
    assert_same(by_frontier(model, 30, executor="processes:2"), once)


@pytest.mark.parametrize("cutoff", [-40.0, -1000.0])
def test_a_cutoff(cutoff):
    model = Ising(np.zeros(42), {(i, i + 1): 1.0 for i in range(41)})
    found = by_frontier(model, 1000, cutoff=cutoff, threads=1)
    assert found.certified
    assert found.energies.tolist() == ([-41.0] * 2 if cutoff > -41 else [])


def test_bits_are_fixed_one_way_or_the_other():
    model = model_of("integers", 8, 3)
    form = BitForm.of(model.exact)
    rng = np.random.default_rng(5)
    for _ in range(20):
        q = rng.integers(0, 2, 8)
        held = rng.random(8) < 0.5
        part = form.fixed({i: int(q[i]) for i in np.flatnonzero(held)})
        whole = part.fixed({i: int(q[i]) for i in np.flatnonzero(~held)})
        assert whole.base * 2.0**model.exact.exponent == model.energy(2 * q - 1)
        assert part.bits <= form.bits


@pytest.mark.parametrize(
    "wrong", [{"prune": False}, {"num_states": 0}, {"device": "nowhere"}, {"window": -1.0}]
)
def test_what_is_refused(wrong):
    model = model_of("integers", 30, 1, 0.1)
    with pytest.raises((InputError, hardscape.errors.DeviceError)):
        hardscape.spectrum(model, **{"method": "frontier", "device": "cpu", **wrong})


def test_tables_that_nobody_holds_are_refused():
    n = 520
    rng = np.random.default_rng(1)
    dense = Ising(rng.normal(size=n), np.triu(rng.normal(size=(n, n)), 1))
    with pytest.raises(InputError, match="512"):
        hardscape.spectrum(dense, 1)
    grid = np.arange(44 * 44).reshape(44, 44)
    bonds = [*zip(grid[:, :-1].flat, grid[:, 1:].flat, strict=True)]
    bonds += [*zip(grid[:-1].flat, grid[1:].flat, strict=True)]
    lattice = {(int(i), int(j)): float(rng.normal()) for i, j in bonds}
    with pytest.raises((InputError, BudgetError)):
        hardscape.spectrum(lattice, 1, method="frontier")


def test_what_an_estimate_says():
    chain = Ising(np.ones(900), {(i, i + 1): 1.0 for i in range(899)})
    cost = estimate(chain, 1)
    assert 0 < cost.seconds < 5
    assert cost.total_states == 2**900


def test_an_order_of_a_narrow_graph_is_narrow():
    ladder = {(i, i + 2): 1.0 for i in range(98)} | {(i, i + 1): 1.0 for i in range(0, 98, 2)}
    plan = elimination.elimination(Ising(np.ones(100), ladder).exact)
    assert plan is not None
    assert plan.width == 2
    assert sorted(plan.order) == list(range(100))


def test_codes_of_any_length():
    states = [0, 1, 2**200 + 5]
    codes = to_codes(states, 4)
    assert [from_codes(code) for code in codes] == states


def test_tables_of_half_a_word_give_the_states_of_whole_words(monkeypatch):
    room = elimination.sizes
    for seed in range(40):
        model = model_of("integers", 12, seed, fields=seed % 2 == 0)
        form = BitForm.of(model.exact)
        assert room(form.bits, len(form.linear))[0] == 32
        short = [by_frontier(model, count, threads=1) for count in (1, 9, 500)]
        with monkeypatch.context() as patch:
            patch.setattr(lowest, "sizes", lambda _, n: (64, n))
            long = [by_frontier(model, count, threads=1) for count in (1, 9, 500)]
        for mine, other in zip(short, long, strict=True):
            assert_same(mine, other)


class Alive:
    """Tables that are counted while they are there."""

    now = most = 0

    def __init__(self, *form):
        self.tables = native.vector.ising.frontier_tables(*form)
        Alive.now += 1
        Alive.most = max(Alive.most, Alive.now)

    def __del__(self):
        Alive.now -= 1

    def __getattr__(self, name):
        return getattr(self.tables, name)


@pytest.mark.parametrize(("most", "sets"), [(2.0**27, 1), (2.0**9, 2)])
def test_no_more_sets_of_tables_than_are_planned(most, sets, monkeypatch):
    model = generators.lattice((8, 8), True, "signs", 1)
    plan = elimination.elimination(model.exact, most)
    work = lowest.FrontierStatesWork(Wanted(model.exact, 60, None), plan)
    assert (plan.slices == 1) == (sets == 1)
    assert plan.sets == sets
    Alive.now = Alive.most = 0
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8), seconds=1e9)
    found = work.with_tables(Alive, Shard(0, 0, min(4, plan.slices)), context)
    assert found.complete
    assert Alive.most == sets


def test_fewer_slices_where_there_is_memory(monkeypatch):
    monkeypatch.setattr(elimination, "_PLANNED_AGAIN", 0.0)
    small = 2.0**12

    def sliced(terms, most=small):
        return plan(terms, most)

    plan = elimination.elimination
    monkeypatch.setattr(elimination, "elimination", sliced)
    rng = np.random.default_rng(3)
    spins = np.arange(130).reshape(10, 13)
    bonds = [*zip(spins[:, 1:].flat, spins[:, :-1].flat, strict=True)]
    bonds += [*zip(spins[1:].flat, spins[:-1].flat, strict=True)]
    model = Ising(np.zeros(130), {(int(j), int(i)): float(rng.choice([-1, 1])) for i, j in bonds})
    terms = model.exact
    few, many = (
        elimination.quickest(terms, 32, lanes, room) for lanes, room in ((1, 1e9), (1, 1e3))
    )
    assert few.slices == 1 < many.slices
    assert few.seconds(32) < many.seconds(32)
    assert few.memory_bytes(32) <= 1e9
    two = elimination.quickest(terms, 32, 2, 4 * small)
    assert min(2, two.slices) * two.memory_bytes(32) <= 4 * small or two == sliced(terms)
    with monkeypatch.context() as crowded:
        crowded.setattr(lowest.memory, "available", lambda: 1 << 12)
        crowded.setattr(lowest.memory, "require", lambda size, what: None)
        slow = by_frontier(model, 40, threads=1, seed=1)
    assert_same(by_frontier(model, 40, threads=1, seed=1), slow)
    assert slow.info["entries"] > by_frontier(model, 40, threads=1).info["entries"]
