"""Tabu search: true energies, distinct states, the same ones for any number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import DeviceError, InputError
from hardscape.ising import Ising, search, spectrum
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.methods.walkers.model import FlipModel
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice, wide_range
from helpers.oracles import exact_energies, lowest_states

SMALL = {
    "integers": dense_integer(13, seed=1, bound=5),
    "without fields": dense_integer(12, seed=2, fields=False),
    "reals": dense_gaussian(14, seed=3),
    "a lattice": plus_minus_lattice(3, 4, seed=4),
    "one spin": Ising([2.0], {}),
    "two spins": Ising([0.0, 0.0], {(0, 1): 1.0}),
    "free spins": Ising(np.zeros(5), {}),
    "no spins": Ising([], {}, 1.5),
}


@pytest.mark.parametrize("model", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("num_states", [1, 7])
@pytest.mark.parametrize("method", ["tabu", "annealing", "windows"])
def test_small_models_are_solved(model: Ising, num_states: int, method: str) -> None:
    found = search(model, num_states, seed=1, threads=1, moves=20_000, runs=4, method=method)
    energies, states = lowest_states(model, num_states)
    np.testing.assert_array_equal(found.energies, energies)
    assert not found.certified
    assert found.lower_bound <= energies[0]
    below = found.energies < energies[-1]
    np.testing.assert_array_equal(found.states[below], states[below])


@pytest.mark.parametrize("method", ["tabu", "annealing", "windows"])
@pytest.mark.parametrize("model", [wide_range(20, 1), dense_integer(70, 2), dense_gaussian(66, 3)])
def test_states_are_distinct_in_order_and_evaluated_exactly(model: Ising, method: str) -> None:
    found = search(model, 20, seed=1, threads=1, moves=4000, runs=2, method=method)
    exact = exact_energies(model.h, model.J, model.offset, found.states)
    assert found.energies.tolist() == [float(x) for x in exact]
    assert exact == sorted(exact)
    assert len({row.tobytes() for row in found.states}) == found.num_states == 20
    assert found.lower_bound < found.energies[0]


@pytest.mark.parametrize("method", ["tabu", "annealing", "windows"])
def test_workers_do_not_change_the_answer(tmp_path, method: str) -> None:
    model = dense_integer(90, seed=5)
    one, two = (
        search(model, 5, seed=3, threads=k, runs=6, moves=3000, method=method) for k in (1, 2)
    )
    kept = tmp_path / "job"
    for _ in range(2):
        again = search(model, 5, seed=3, checkpoint=kept, runs=6, moves=3000, method=method)
        for other in (two, again):
            np.testing.assert_array_equal(one.states, other.states)
            assert one.info["moves"] == other.info["moves"] >= 6 * 3000
    assert again.info["resumed_shards"]


@pytest.mark.parametrize("sparse", [True, False])
def test_a_planted_state_of_many_spins_is_found(sparse: bool) -> None:
    n = 400
    rng = np.random.default_rng(n)
    planted = rng.choice([-1, 1], n)
    row, col = np.triu_indices(n, 1)
    kept = (rng.random(len(row)) < 0.02) | (col == row + 1) if sparse else row >= 0
    row, col = row[kept], col[kept]
    model = Ising(
        np.zeros(n), {(i, j): -1.0 * planted[i] * planted[j] for i, j in zip(row, col, strict=True)}
    )
    found = search(model, 2, seed=1, target=-float(len(row)))
    assert found.energies.tolist() == [-len(row)] * 2 or found.energies[0] == -len(row)
    assert (np.abs(found.states[0] @ planted)) == n
    assert found.energies[0] == found.lower_bound


def test_density_decides_who_searches() -> None:
    ring = Ising(np.zeros(80), {(i, (i + 1) % 80): -1.0 for i in range(80)})
    assert search(ring, seed=1).info["search"] == "annealing"
    assert search(dense_integer(80, seed=1), seed=1, runs=1).info["search"] == "tabu"
    assert search(ring, seed=1, method="tabu").info["search"] == "tabu"


@pytest.mark.parametrize("gaussian", [False, True])
def test_annealing_finds_ground_states_of_lattices_that_a_frontier_proves(gaussian: bool) -> None:
    model = plus_minus_lattice(12, 12, seed=7)
    if gaussian:
        rng = np.random.default_rng(7)
        exact = model.exact
        pairs = zip(exact.row.tolist(), exact.col.tolist(), strict=True)
        model = Ising(np.zeros(144), {pair: rng.normal() for pair in pairs})
    proven = spectrum(model, 1, method="frontier").energies[0]
    found = search(model, seed=1, target=float(proven))
    assert found.info["search"] == "annealing"
    assert found.energies[0] == proven


def test_it_starts_from_what_is_given() -> None:
    model = dense_integer(60, seed=1)
    best = search(model, seed=1).states[0]
    found = search(model, initial_states=best, runs=1, moves=1, seed=2)
    assert found.energies[0] <= model.energy(best)
    assert search(model, runs=1, moves=1, seed=2).energies[0] > model.energy(best)


@pytest.mark.parametrize("method", ["tabu", "annealing"])
def test_a_run_ends_where_it_meets_the_target(method: str) -> None:
    told = {"seed": 3, "runs": 4, "moves": 50_000, "method": method, "device": "cpu"}
    for model in (
        dense_integer(70, seed=2),
        plus_minus_lattice(8, 9, seed=1),
        dense_gaussian(66, 3),
    ):
        whole = search(model, threads=1, **told)
        least = float(whole.energies[0])
        near = least + 1e-6 * abs(least)
        for threads in (1, 2):
            found = search(model, threads=threads, target=near, **told)
            assert found.energies[0] <= near
            if threads == 1:
                assert found.info["moves"] < whole.info["moves"]
        below = search(model, threads=1, target=least - 1.0, **told)
        np.testing.assert_array_equal(below.states, whole.states)
        assert below.info["moves"] == whole.info["moves"]


@pytest.mark.parametrize(
    "model", [*SMALL.values(), wide_range(12, 1), Ising([1e300, -1e299], {(0, 1): 1e-300})]
)
def test_levels_are_on_the_safe_side(model: Ising) -> None:
    """Who is at a level or below, where sums are the model's, is not above the energy that it stands for."""
    exact, flips = model.exact, FlipModel.of(model.exact)
    rng = np.random.default_rng(1)
    spins = rng.choice(np.array([-1, 1], dtype=np.int8), (40, model.num_spins))
    energies = from_limbs(exact.words(spins))
    sums = spins @ flips.fields
    for i in range(model.num_spins):
        near = slice(flips.starts[i], flips.starts[i + 1])
        sums = sums + spins[:, i] * (spins[:, flips.columns[near]] @ flips.values[near]) / 2
    for target in [*energies, min(energies) - 1, max(energies) + 1, 10**400, -(10**400)]:
        level = flips.level(target - exact.offset)
        met = sums <= level
        assert all(energy <= target for energy, one in zip(energies, met, strict=True) if one)
        if flips.integers:
            assert met.tolist() == [energy <= target for energy in energies]


def test_a_target_ends_it() -> None:
    model = dense_integer(40, seed=1)
    assert search(model, target=1e9, runs=50, seed=1).info["runs"] == 1


def test_a_time_limit_ends_it() -> None:
    found = search(dense_integer(100, seed=1), 3, time_limit=0.05)
    assert found.stopped == "time_limit"
    assert found.num_states >= 1


def test_lengths_of_runs() -> None:
    assert [TabuWork.length(k) for k in range(15)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_states": 0},
        {"runs": 0},
        {"moves": 0},
        {"target": "low"},
        {"initial_states": [1, -1]},
        {"initial_states": [[[1, -1, 1, 1]]]},
        {"initial_states": [1, -1, 0, 1]},
        {"time_limit": -1.0},
        {"method": "descent"},
    ],
)
def test_what_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(InputError):
        search(dense_integer(4, 1), **wrong)


def test_a_matching_runs_on_cpus_alone() -> None:
    with pytest.raises(DeviceError):
        search(dense_integer(4, 1), method="matching", device="cuda")


def test_equal_runs() -> None:
    model = dense_integer(20, 1)
    moves = [
        search(model, runs=7, moves=2000, equal_runs=k, seed=1, method="tabu").info["moves"]
        for k in (1, 2, 7)
    ]
    assert moves == [24_000, 18_000, 14_000]


def test_windows_that_hold_all_spins_are_exact() -> None:
    """After annealing that is over at once."""
    for seed in range(3):
        for model in (
            plus_minus_lattice(7, 8, seed),
            dense_gaussian(12, seed),
            wide_range(14, seed),
        ):
            least = spectrum(model, 1, seed=1).energies[0]
            found = search(model, method="windows", runs=1, moves=1, seed=seed, threads=1)
            assert found.energies[0] == least


def test_windows_lower_what_annealing_leaves() -> None:
    model = plus_minus_lattice(30, 30, seed=1)
    told = {"runs": 1, "moves": 20_000, "seed": 1, "threads": 1}
    annealed = search(model, method="annealing", **told)
    found = search(model, method="windows", **told)
    assert found.energies[0] < annealed.energies[0]
    with pytest.raises(DeviceError):
        search(model, method="windows", device="cuda:0")
