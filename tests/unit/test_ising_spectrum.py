"""The exact spectrum against plain enumeration, and its promises at the edges."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import hardscape
from hardscape.engine import RunOptions, solve
from hardscape.errors import BudgetError, InputError
from hardscape.ising import Ising, Spectrum, estimate
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.work import BlockWork, NearGaugeWork
from hardscape.ising.methods.tree.tree import Tree
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice, wide_range
from helpers.oracles import all_states, exact_energies, lowest_states


def assert_lowest(result: Spectrum, model: Ising, num_states: int) -> None:
    energies, states = lowest_states(model, num_states)
    assert result.certified
    np.testing.assert_array_equal(result.energies, energies)
    np.testing.assert_array_equal(result.states, states)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 13, 14, 15, 16, 19])
def test_lowest_states_of_integer_models(n, fields, prune):
    model = dense_integer(n, seed=n, bound=4, fields=fields)
    for num_states in (1, 2, 100, 3000):
        result = hardscape.spectrum(model, num_states, device="cpu", prune=prune)
        assert_lowest(result, model, num_states)


@pytest.mark.parametrize("n", [5, 15, 17])
def test_energies_are_exact_sums_rounded_once(n):
    model = wide_range(n, seed=n)
    result = hardscape.spectrum(model, 50, device="cpu")
    exact = exact_energies(model.h, model.J, model.offset, result.states)
    assert exact == sorted(exact)
    assert result.energies.tolist() == [float(x) for x in exact]


def test_order_is_that_of_the_exact_energies_where_float64_cannot_tell_them_apart():
    n = 15
    h = np.zeros(n)
    h[0], h[1:] = 1e12, 1e-12 * (1 + np.arange(n - 1))
    J = np.zeros((n, n))
    J[0, 1] = 3e12
    model = Ising(h, J)
    result = hardscape.spectrum(model, 400, device="cpu")
    states = all_states(n)
    exact_h, exact_j = [Fraction(float(x)) for x in h], Fraction(3e12)
    unit = max(x.denominator for x in exact_h)  # all are powers of 2
    exact = states.astype(object) @ [int(x * unit) for x in exact_h]
    exact += int(exact_j * unit) * states[:, 0].astype(object) * states[:, 1]
    order = sorted(range(2**n), key=lambda c: (exact[c], c))[:400]
    np.testing.assert_array_equal(result.states, states[order])
    assert len(result.levels) > len(set(result.energies.tolist()))


def test_a_weak_field_beside_strong_couplings_decides():
    # 30 spins in strong ferromagnetic pairs, told apart by fields 24 orders of magnitude weaker.
    n = 30
    rng = np.random.default_rng(3)
    J = np.zeros((n, n))
    J[np.arange(0, n, 2), np.arange(1, n, 2)] = -1e12
    h = rng.normal(size=n) * 1e-12
    result = hardscape.spectrum(Ising(h, J), 64, device="cpu")
    pair = h[0::2] + h[1::2]
    np.testing.assert_array_equal(result.states[0, 0::2], -np.sign(pair))
    np.testing.assert_array_equal(result.states[0, 1::2], -np.sign(pair))
    fields = [
        Fraction(float(x)) + Fraction(float(y)) for x, y in zip(h[0::2], h[1::2], strict=True)
    ]
    spins = [[int(s) for s in row[0::2]] for row in result.states]
    weak = [sum(f * s for f, s in zip(fields, row, strict=True)) for row in spins]
    assert weak == sorted(weak)
    assert weak[0] == -sum(abs(f) for f in fields)
    cheapest = sorted(2 * abs(f) for f in fields)
    assert weak[1] - weak[0] == cheapest[0]
    assert result.certified


@pytest.mark.parametrize("n", [30, 34])
def test_planted_ground_state(n):
    # Frustration-free: every term is satisfied by the planted state alone.
    rng = np.random.default_rng(n)
    planted = rng.choice([-1, 1], n)
    J = np.triu(-np.abs(rng.normal(size=(n, n))) * np.outer(planted, planted), 1)
    h = -np.abs(rng.normal(size=n)) * planted
    for prune in (True, False):
        result = hardscape.spectrum(Ising(h, J), 10, device="cpu", prune=prune)
        np.testing.assert_array_equal(result.ground_states, [planted])
        assert result.energies[0] == -float(
            sum(Fraction(float(abs(x))) for x in (*h, *J[np.triu_indices(n, 1)]))
        )


def test_ferromagnetic_ring_has_binomial_levels():
    n = 22
    model = Ising(np.zeros(n), {(i, (i + 1) % n): -1.0 for i in range(n)})
    result = hardscape.spectrum(model, 2 + n * (n - 1) + 5, device="cpu")
    assert [(x.energy, x.count, x.complete) for x in result.levels] == [
        (-22.0, 2, True),
        (-18.0, n * (n - 1), True),
        (-14.0, 5, False),
    ]
    assert result.gap == 4.0


@pytest.mark.parametrize("n", [20, 40, 64])
def test_free_spins_are_listed_by_code(n):
    result = hardscape.spectrum(Ising(np.zeros(n), np.zeros((n, n))), 70, device="cpu")
    codes = ((result.states > 0) @ (1 << np.arange(n, dtype=np.uint64))).tolist()
    assert codes == list(range(70))
    assert result.certified
    assert result.levels[0].complete is False


def test_huge_degeneracy_keeps_the_first_codes():
    # Antiferromagnet on the complete graph: all 2.7 million balanced states share the ground level.
    n = 24
    model = Ising(np.zeros(n), np.triu(np.ones((n, n)), 1))
    result = hardscape.spectrum(model, 500, device="cpu")
    codes = ((result.states > 0) @ (1 << np.arange(n))).tolist()
    balanced = (code for code in range(2**n) if code.bit_count() == n // 2)
    assert codes == [next(balanced) for _ in range(500)]


def test_all_states_of_a_small_model_make_complete_levels():
    result = hardscape.spectrum(([1.0, 0.0], {(0, 1): 0.5}), 100)
    assert result.num_states == 4
    assert all(level.complete for level in result.levels)


def test_model_without_spins_has_one_state():
    result = hardscape.spectrum(([], {}, 1.5), 10)
    assert result.energies.tolist() == [1.5]
    assert result.states.shape == (1, 0)
    assert result.certified


@pytest.mark.parametrize("n", [8, 18])
def test_window_lists_every_state_inside_and_none_outside(n):
    model = dense_integer(n, seed=2, bound=5)
    energies = lowest_states(model, 2**n)[0]
    for window in (0.0, 7.0, 30.5):
        result = hardscape.spectrum(model, window=window, device="cpu")
        inside = energies[energies <= energies[0] + window]
        np.testing.assert_array_equal(result.energies, inside)
        assert all(level.complete for level in result.levels)
    few = hardscape.spectrum(model, 3, window=30.5, device="cpu")
    np.testing.assert_array_equal(few.energies, energies[:3])


def test_huge_window_is_the_whole_spectrum():
    model = dense_integer(10, seed=1)
    assert hardscape.spectrum(model, window=1e300).num_states == 1024


def test_degenerate_lattice_levels_agree_with_the_density_of_states():
    model = plus_minus_lattice(5, 5, seed=7)
    density = hardscape.ising.density_of_states(model)
    result = hardscape.spectrum(model, sum(density.counts[:3]), device="cpu")
    assert [x.energy for x in result.levels] == density.energies[:3].tolist()
    assert [x.count for x in result.levels] == list(density.counts[:3])


@pytest.mark.parametrize("make", [dense_integer, dense_gaussian, wide_range])
def test_pruning_threads_and_seeds_do_not_change_a_byte(make):
    model = make(24, 11)
    reference = hardscape.spectrum(model, 2000, device="cpu", threads=1, prune=False)
    for options in ({"threads": 2}, {"threads": 7}, {"seed": 99}, {"prune": True, "threads": 2}):
        other = hardscape.spectrum(model, 2000, **{"device": "cpu", "prune": False, **options})
        assert other.energies.tobytes() == reference.energies.tobytes()
        assert other.states.tobytes() == reference.states.tobytes()
        assert other.levels == reference.levels


def test_sixty_four_spins():
    n = 64
    rng = np.random.default_rng(0)
    ring = {(i, (i + 1) % n): float(rng.choice([-1, 1])) for i in range(n)}
    result = hardscape.spectrum(Ising(np.linspace(0.01, 0.02, n), ring), 20, device="cpu")
    assert result.certified
    np.testing.assert_array_equal(
        result.energies, Ising(np.linspace(0.01, 0.02, n), ring).energy(result.states)
    )
    frustrated = np.prod(list(ring.values())) > 0
    bonds = np.array(
        [ring[i, (i + 1) % n] * s[i] * s[(i + 1) % n] for s in result.states[:1] for i in range(n)]
    )
    assert (bonds > 0).sum() == (1 if frustrated == (n % 2 == 1) else 0)


def test_time_limit_returns_the_best_so_far():
    model = dense_gaussian(46, 1)
    result = hardscape.spectrum(model, 10, device="cpu", prune=False, time_limit=0.5)
    assert not result.certified
    assert result.num_states == 10
    np.testing.assert_array_equal(result.energies, model.energy(result.states))
    assert not any(level.complete for level in result.levels)
    assert result.info["stopped"] == "time_limit"


def test_result_reads_back_and_pickles():
    result = hardscape.spectrum(dense_integer(12, 3), 20)
    data = json.loads(result.to_json())
    assert data["energies"] == result.energies.tolist()
    assert data["states"][0] == "".join("1" if s > 0 else "0" for s in result.states[0])
    again = pickle.loads(pickle.dumps(result))
    assert again.levels == result.levels
    np.testing.assert_array_equal(again.states, result.states)


def test_input_is_not_modified():
    h, J = np.ones(16), np.triu(np.ones((16, 16)), 1)
    hardscape.spectrum((h, J), 10)
    assert (h == 1).all()
    assert (np.triu(np.ones((16, 16)), 1) == J).all()


def test_estimate_tells_states_time_and_memory():
    small = estimate(dense_integer(20, 1), 100, device="cpu", threads=1, sample_seconds=0.05)
    assert small.total_states == 2**20
    assert 0 < small.seconds < 60
    large = estimate(
        dense_integer(50, 1), 10**6, device="cpu", threads=1, prune=False, sample_seconds=0.1
    )
    assert large.seconds > 600
    assert large.memory_bytes > 10**6 * 16


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_states": 0}, "0"),
        ({"num_states": 2.5}, "2.5"),
        ({"num_states": 2**40}, str(2**40)),
        ({"window": -1.0}, "-1.0"),
        ({"window": float("nan")}, "nan"),
        ({"seed": -1}, "-1"),
        ({"threads": 0}, "0"),
        ({"device": "tpu"}, "tpu"),
        ({"time_limit": 0.0}, "0.0"),
    ],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        hardscape.spectrum(dense_integer(4, 1), **options)


@pytest.mark.parametrize(("n", "prune"), [(513, True), (65, False)])
def test_more_spins_than_a_method_holds_are_refused(n, prune):
    with pytest.raises(InputError, match=str(n)):
        hardscape.spectrum(
            (np.full(n, 0.5), np.triu(np.ones((n, n)) / np.arange(1, n + 1), 1)), 1, prune=prune
        )


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("n", [64, 65, 79, 100, 128])
def test_long_states_hold_the_spectrum_of_the_few_spins_that_are_free(n, fields):
    rng = np.random.default_rng(n)
    free, held = np.split(rng.permutation(n - (not fields)), [15])
    small = dense_integer(15, seed=n, bound=3)
    signs = rng.choice([-1, 1], len(held))
    h, J = np.zeros(n), np.zeros((n, n))
    J[np.ix_(free, free)] = small.J
    J[free, held[:15]] = 1.0
    h[free], h[held] = small.h, -1000.0 * signs
    if not fields:  # the last spin stands for them
        J[:, -1], h = h, np.zeros(n)
    found = hardscape.spectrum(Ising(h, J), 400, threads=1, seed=1)
    energies, states = lowest_states(Ising(small.h + signs[:15], small.J), 400)
    up = states if fields else np.concatenate([states, -states])
    levels = np.concatenate([energies] * (len(up) // len(states))) - 1000.0 * len(held)
    assert found.certified
    assert found.energies.tolist() == np.sort(levels)[:400].tolist()
    assert {*map(bytes, found.states[:, free])} >= {*map(bytes, up[levels < found.energies[-1]])}
    turned = found.states[:, -1:] if not fields else 1
    assert (found.states[:, held] * turned == signs).all()
    codes = [sum(1 << i for i in np.flatnonzero(row > 0).tolist()) for row in found.states]
    listed = [*zip(found.energies.tolist(), codes, strict=True)]
    assert listed == sorted(set(listed))


def test_long_states_come_back_from_a_checkpoint(tmp_path):
    n = 70
    model = Ising(np.arange(n) - 20.5, {(i, i + 1): 1.0 for i in range(10, 30)})
    whole = hardscape.spectrum(model, 40, seed=1, threads=1)
    ledger = tmp_path / "long.job"
    for _ in range(2):
        again = hardscape.spectrum(model, 40, seed=2, threads=2, checkpoint=ledger)
        assert again.to_dict()["states"] == whole.to_dict()["states"]
        assert again.energies.tolist() == whole.energies.tolist()
    assert again.info["resumed_shards"]


def test_a_first_threshold_is_stopped_by_the_limit_too() -> None:
    model = dense_gaussian(26, seed=1)
    options = RunOptions.checked(seed=0, threads=1)
    search = BlockWork.around_low_state(Wanted(model.exact, 2**21, None), Tree.walk, options).search
    assert not search.near_gauge(np.ones(1, dtype=np.uint8)).complete
    outcome = solve(NearGaugeWork(search), options.preparing(1e-3))
    assert (outcome.stopped, outcome.complete) == ("time_limit", False)


@pytest.mark.parametrize("h", [0.0, 1.0])
def test_long_lists_are_in_order(h: float) -> None:
    n = 14
    model = Ising(np.full(n, h), {(i, j): 1.0 for i in range(n) for j in range(i)})
    found = hardscape.spectrum(model, 2**14 - 10)
    energies, states = lowest_states(model, 2**14 - 10)
    assert found.energies.tolist() == energies.tolist()
    assert (found.states == states).all()
    assert sum(level.count for level in found.levels) == 2**14 - 10
    assert [level.complete for level in found.levels][-2:] == [True, False]
    assert found.levels == pickle.loads(pickle.dumps(found)).levels == tuple(found.levels)
    assert found.levels[1:3] == tuple(found.levels)[1:3]
    assert len(repr(found.levels)) < 2000


@pytest.mark.parametrize("n", [30, 62, 100])
def test_a_stopped_search_has_the_best_states_seen_and_a_bound(n):
    model = dense_integer(n, seed=n, fields=n != 62)
    found = hardscape.spectrum(model, 20, time_limit=1e-3, seed=1, threads=1)
    assert not found.certified
    assert found.num_states == 20
    assert found.energies.tolist() == model.energy(found.states).tolist()
    assert len({row.tobytes() for row in found.states}) == 20
    assert -np.abs(model.J).sum() - np.abs(model.h).sum() <= found.lower_bound
    assert found.lower_bound < found.energies[0]


@pytest.mark.parametrize(("make", "fields"), [(dense_integer, True), (dense_gaussian, False)])
def test_no_state_lies_below_the_bound_of_what_is_left(make, fields):
    model = make(20, 4, fields=fields)
    options = RunOptions.checked(seed=3, threads=1)
    search = Tree().work(Wanted(model.exact, 10, None), options).search
    geometry, codes = search.geometry, np.arange(1 << search.free)
    spins = np.ones((len(codes), 20), dtype=np.int8)
    for p, spin in enumerate(geometry.order[: search.free]):
        spins[:, spin] = 1 - 2 * (codes >> p & 1)
    signs = np.array([1 if geometry.gauge >> i & 1 else -1 for i in range(20)], dtype=np.int8)
    energies = model.energy(spins * signs)
    last, part = len(codes), 1 << search.root_bits
    for ranges in (
        [(0, last)],
        [(0, part)],
        [(last - part, last)],
        [(0, part), (last - part, last)],
    ):
        bound = search.least_bound(ranges)
        assert bound is not None  # rounding keeps the order
        assert model.exact.floats([bound])[0] <= min(energies[x:y].min() for x, y in ranges)
    assert search.least_bound([]) is None


def test_the_bound_of_a_whole_search_is_the_ground_energy():
    whole = hardscape.spectrum(dense_gaussian(30, seed=2, fields=False), 5, seed=1)
    assert whole.lower_bound == whole.energies[0]


@pytest.mark.parametrize("n", [9, 18])
@pytest.mark.parametrize("fields", [True, False])
def test_a_cutoff_lists_every_state_below_and_none_above(n, fields):
    model = dense_integer(n, seed=n, bound=5, fields=fields)
    energies, states = lowest_states(model, 200)
    for top in (energies[0] - 0.5, energies[0], energies[30] + 0.25, 1e300):
        found = hardscape.spectrum(model, 200, cutoff=top, seed=1)
        kept = energies <= top
        assert found.certified
        np.testing.assert_array_equal(found.states, states[kept])
        assert found.lower_bound == energies[0] or not kept.any()
        if not kept.any():
            assert top < found.lower_bound <= energies[0]


@pytest.mark.parametrize("n", [8, 20])
def test_known_states_never_change_the_answer(n):
    model = dense_integer(n, seed=3, bound=9, fields=False)
    _, states = lowest_states(model, 40)
    rng = np.random.default_rng(1)
    for given in (states, -states[3], rng.choice([-1, 1], (50, n)), np.ones(n)):
        found = hardscape.spectrum(model, 40, initial_states=given, seed=1)
        np.testing.assert_array_equal(found.states, states)
    stopped = hardscape.spectrum(
        dense_integer(90, seed=1), 3, initial_states=np.ones(90), time_limit=0.01
    )
    assert stopped.num_states == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"cutoff": np.nan},
        {"cutoff": "low"},
        {"initial_states": [1]},
        {"initial_states": [0, 1, 1, 1]},
    ],
)
def test_cutoffs_and_known_states_are_checked(wrong):
    with pytest.raises(InputError):
        hardscape.spectrum(dense_integer(4, 1), **wrong)


def test_a_window_that_free_spins_overfill_is_refused_at_once() -> None:
    with pytest.raises(BudgetError, match="window"):
        hardscape.spectrum(Ising(np.zeros(64), {}), window=0)
    with pytest.raises(BudgetError, match="window"):
        hardscape.spectrum(Ising(np.zeros(50), {(0, 1): -1.0}), window=0.5)
    assert hardscape.spectrum(Ising(np.zeros(30), {}), 3, window=0).num_states == 3
