"""Spins taken out before a search: no state is lost, whatever ties, and what is left is searched by parts."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest

import hardscape
from hardscape import memory, native
from hardscape.errors import BudgetError
from hardscape.ising import Ising, estimate
from hardscape.ising.exact import to_limbs
from hardscape.ising.methods.frontier.lowest import Frontier
from hardscape.ising.methods.partition.partition import Partition
from hardscape.ising.methods.reduction import reduction, steps
from hardscape.ising.methods.reduction.rules import SPARE_BITS, least, reduced
from hardscape.ising.methods.reduction.steps import Persistent, Removal, Twins
from helpers.oracles import all_states, lowest_states

POOLS = {
    "signs": [-1.0, 1.0],
    "integers": [-3.0, -2.0, 1.0, 2.0, 5.0],
    "quarters": [0.25, -0.5, 7.0],
}


@pytest.fixture
def always(monkeypatch):
    """Small models are reduced, too, those that other methods would take as they are among them."""
    monkeypatch.setattr(reduction, "_LEAST_SPINS", 1)
    for method in (Frontier, Partition):
        monkeypatch.setattr(method, "outright", lambda self, wanted: False)


def model_of(kind, seed):
    """A random model: sparse or dense, in blocks, with twins, with fields or none."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.integers(2, 12))

    def drawn(*shape):
        if kind == "fine":
            return np.round(rng.normal(size=shape) * 2**30)
        return rng.choice(POOLS[kind], shape)

    J = np.where(rng.random((n, n)) < rng.choice([0.15, 0.3, 1.0]), drawn(n, n), 0.0)
    J = np.triu(J, 1) + np.triu(J, 1).T
    h = drawn(n) * (rng.random(n) < rng.choice([0.0, 0.5]))
    if seed % 4 == 1:
        J[: n // 2, n // 2 :] = J[n // 2 :, : n // 2] = 0
    if seed % 4 == 2:
        factor = rng.choice([1, -1, 2])
        J[1], h[1] = factor * J[0], factor * h[0]
        J[:, 1] = J[1]
        J[1, 1] = 0
        J[0, 1] = J[1, 0] = rng.choice([0, -2, 3])
    order = rng.permutation(n)
    return Ising(h[order], np.triu(J[np.ix_(order, order)], 1), 1.5)


def assert_lowest(model, count=None, **options):
    """That a spectrum is what all states, sorted, have to be."""
    every, states = lowest_states(model, 2**model.num_spins)
    wanted = np.ones(len(every), dtype=bool)
    if "window" in options:
        wanted &= every <= every[0] + options["window"]
    if "cutoff" in options:
        wanted &= every <= options["cutoff"]
    found = hardscape.spectrum(model, count, device="cpu", threads=1, seed=1, **options)
    assert found.certified
    np.testing.assert_array_equal(found.energies, every[wanted][:count])
    np.testing.assert_array_equal(found.states, states[wanted][:count])
    if count is not None and 0 < found.num_states < wanted.sum():
        assert found.levels[-1].complete == (every[wanted][count] > found.energies[-1])
    return found


@pytest.mark.parametrize("kind", [*POOLS, "fine"])
def test_no_state_is_lost(kind, always):
    for seed in range(60):
        model = model_of(kind, seed)
        scale = 2.0**30 if kind == "fine" else 1.0
        assert_lowest(model, 1 + seed % 50)
        assert_lowest(model, 1)
        assert_lowest(model, window=scale * (seed % 5))
        some = lowest_states(model, 3)[0][-1]
        assert_lowest(model, 7, cutoff=float(some) - (seed % 2))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", [*POOLS, "fine"])
def test_what_is_left_has_the_least_energies(kind, ordered):
    kinds = set()
    for seed in range(20):
        model = model_of(kind, seed)
        left = reduced(model.exact, ordered)
        kinds |= {type(step) for step in left.steps}
        states = all_states(model.num_spins)
        if model.exact.symmetric and not ordered:
            states = states[states[:, -1] == -1]
        exact = model.exact
        unit = 2.0 ** (exact.exponent - SPARE_BITS)
        spins = [place.spin for place in left.places]
        for values in itertools.product([-1, 1], repeat=len(spins)):
            among = states[(states[:, spins] == values).all(axis=1)]
            value = dict(zip(spins, values, strict=True))
            energy = left.offset + sum(
                value[i] * (left.fields[i] + sum(x * value[j] for j, x in near.items() if j > i))
                for i, near in left.near.items()
            )
            # Of twins that go by one another, states in which they differ are never the lowest.
            assert energy * unit >= model.energy(among).min()
        whole = model.energy(states).min()
        lowest = left.offset
        for part in left.parts():
            terms = left.terms(part)
            shift = terms.exponent - left.exponent
            bits = all_states(len(part))
            lowest += int(min(terms.words(bits).view(np.int64).ravel())) << shift
        assert lowest * unit == whole
    assert Removal in kinds
    assert Twins in kinds or kind == "fine"


def test_least_of_few_neighbours_is_quadratic():
    rng = np.random.default_rng(1)
    for count in (0, 1, 2, 3):
        for _ in range(50):
            near = tuple(int(x) * 4 for x in rng.choice([-5, -2, -1, 1, 2, 7], count))
            constant, pairs = least(near)
            for y in itertools.product([-1, 1], repeat=count):
                form = constant + sum(x * y[a] * y[b] for (a, b), x in pairs)
                assert form == -abs(sum(a * b for a, b in zip(near, y, strict=True)))
    assert least((1, 1, 1)) is None


def test_where_too_many_tie_all_of_the_model_is_searched(always, monkeypatch):
    # Fine coefficients with many ties: neither may be trusted to come in order.
    module = importlib.import_module("hardscape.ising.spectrum")
    monkeypatch.setattr(module, "is_fine", lambda terms: True)
    monkeypatch.setattr(steps, "_MOST_TIES", 2)
    monkeypatch.setattr(steps, "_ROOM", 0)
    for seed in range(40):
        assert_lowest(model_of("signs", seed), 1 + seed % 20)


def dense_parts(*sizes, seed=1):
    rng = np.random.default_rng(seed)
    J = np.zeros((sum(sizes), sum(sizes)))
    first = 0
    for size in sizes:
        J[first : first + size, first : first + size] = np.triu(rng.normal(size=(size, size)), 1)
        first += size
    return Ising(np.zeros(len(J)), J)


def test_parts_are_searched_apart_and_put_together():
    model = dense_parts(32, 34)
    found = hardscape.spectrum(model, 30, device="cpu", threads=2, seed=1)
    assert found.certified
    assert [size for size, _ in found.info["parts"]] == [32, 34]
    assert found.info["states_searched"] == 2**66
    apart = [
        hardscape.spectrum(Ising(np.zeros(n), model.J[first : first + n, first : first + n]), 30)
        for first, n in ((0, 32), (32, 34))
    ]
    sums = np.sort(np.add.outer(apart[0].energies, apart[1].energies).ravel())[:30]
    np.testing.assert_allclose(found.energies, sums, rtol=1e-13)
    assert len(np.unique(found.states, axis=0)) == 30
    np.testing.assert_array_equal(model.energy(found.states), found.energies)


def hung(core, more, seed):
    """A dense core that many spins of one or two neighbours hang from."""
    rng = np.random.default_rng(seed)
    n = core + more
    J = np.zeros((n, n))
    J[:core, :core] = np.triu(rng.normal(size=(core, core)), 1)
    for i in range(core, n):
        J[rng.choice(i, 2, replace=False), i] = 2 * rng.normal(size=2)
    return Ising(rng.normal(size=n), J)


def test_a_dense_core_is_searched_alone_and_its_states_come_back(tmp_path):
    model = hung(30, 16, 3)
    whole = hardscape.spectrum(model, 200, method="tree", device="cpu", threads=1, seed=1)
    for options in ({}, {"checkpoint": tmp_path / "ledger"}, {"checkpoint": tmp_path / "ledger"}):
        found = hardscape.spectrum(model, 200, device="cpu", threads=1, seed=1, **options)
        assert found.info["parts"][0][0] <= 36
        assert found.certified
        assert found.states.tobytes() == whole.states.tobytes()
        assert found.energies.tobytes() == whole.energies.tobytes()
        assert found.levels == whole.levels
    assert found.info["resumed_shards"] > 0
    known = hardscape.spectrum(model, 200, device="cpu", seed=1, initial_states=whole.states[:5])
    assert known.states.tobytes() == whole.states.tobytes()


def test_a_stopped_search_of_parts_has_states_and_a_bound():
    model = dense_parts(90, 100)
    found = hardscape.spectrum(model, 5, device="cpu", threads=1, seed=1, time_limit=0.3)
    assert not found.certified
    assert found.stopped == "time_limit"
    assert found.num_states == 5
    assert found.lower_bound <= found.energies[0]
    np.testing.assert_array_equal(model.energy(found.states), found.energies)
    assert found.info["states_searched"] < 2**190


def test_an_estimate_is_of_what_is_left():
    assert estimate(dense_parts(26, 27), 10, device="cpu", threads=1).seconds < 5


def test_free_spins_that_overfill_a_window_are_told(always):
    with pytest.raises(BudgetError, match="window"):
        hardscape.spectrum(Ising(np.zeros(26), {(0, 1): 1.0}), window=0.0)


def in_fields(kind, seed):
    """A random sparse model with fields that fix some spins in all ground states."""
    rng = np.random.default_rng([seed, len(kind), 7])
    n = int(rng.integers(3, 11))

    def drawn(*shape):
        return (
            np.round(rng.normal(size=shape) * 2**30)
            if kind == "fine"
            else rng.choice(POOLS[kind], shape)
        )

    J = np.triu(np.where(rng.random((n, n)) < 2.5 / n, drawn(n, n), 0.0), 1)
    if seed % 2:
        J = -abs(J)
    return drawn(n), J


@pytest.mark.parametrize("kind", [*POOLS, "fine"])
def test_persistent_spins_have_their_values_in_all_ground_states(kind, always):
    found = 0
    for seed in range(40):
        h, J = in_fields(kind, seed)
        model, n = Ising(h, J), len(h)
        exact = model.exact
        values = native.core.ising.persistent(
            to_limbs(exact.fields, 2), exact.row, exact.col, to_limbs(exact.couplings, 2), 10**6
        )
        states = all_states(n)
        energies = states @ h + np.einsum("ki,ij,kj->k", states, J, states)
        ground = states[energies == energies.min()]
        fixed = np.flatnonzero(values)
        found += len(fixed)
        assert (ground[:, fixed] == values[fixed]).all()
        one = hardscape.spectrum(model, 1, device="cpu", threads=1, seed=1)
        assert one.certified
        assert one.energies[0] == energies.min()
        np.testing.assert_array_equal(one.states[0], ground[0])
        assert one.levels[0].complete == (len(ground) == 1)
    assert found > 40


def test_one_state_of_a_model_in_strong_fields_needs_no_search():
    """Neighbours that attract one another: all ground states are found by a flow; more states are not."""
    rng = np.random.default_rng(3)
    pairs = [
        (i, i + k) for i in range(100) for k in (1, 10) if i + k < 100 and (k > 1 or i % 10 < 9)
    ]
    couplings = {pair: -float(rng.integers(1, 4)) for pair in pairs}
    model = Ising(rng.integers(-6, 7, 100).astype(float), couplings)
    one, many = (hardscape.spectrum(model, s, device="cpu", threads=1, seed=1) for s in (1, 3))
    np.testing.assert_array_equal(one.states[0], many.states[0])
    assert one.energies[0] == many.energies[0]
    held = reduced(model.exact, ordered=True, single=True)
    assert sum(isinstance(step, Persistent) for step in held.steps) > 0
    assert len(held.places) < len(reduced(model.exact, ordered=True).places)


def test_a_flow_that_takes_too_long_fixes_nothing():
    h, J = in_fields("integers", 1)
    exact = Ising(h, J).exact
    words = to_limbs(exact.fields, 2), exact.row, exact.col, to_limbs(exact.couplings, 2)
    assert native.core.ising.persistent(*words, 10**6).any()
    assert not native.core.ising.persistent(*words, 3).any()


def test_a_list_that_will_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    monkeypatch.setattr(steps.Listed, "undo", lambda self, step: pytest.fail("it is made"))
    with pytest.raises(BudgetError, match="GB"):
        hardscape.spectrum({(i, i + 1): 1.0 for i in range(40)}, 2**24)
