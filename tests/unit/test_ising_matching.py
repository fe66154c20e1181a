"""Ground states of planar models by matching: against all states, cuts and networkx's planarity."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.ising import Ising, search, spectrum
from hardscape.ising.methods.matching.faces import sides
from helpers.instances import dense_integer, plus_minus_lattice
from helpers.oracles import lowest_states


def random_planar(seed: int, values: str, fields: bool) -> Ising:
    """Triangles put into triangles, some edges left out, spins in any order; fields on the outer face alone."""
    rng = np.random.default_rng([seed, len(values), fields])
    n = int(rng.integers(1, 13))
    triangles, edges = [(0, 1, 2)], [(0, 1), (0, 2), (1, 2)]
    for v in range(3, n):
        k = int(rng.integers(len(triangles)))
        a, b, c = triangles[k]
        triangles[k] = (a, b, v)
        triangles += [(a, c, v), (b, c, v)]
        edges += [(a, v), (b, v), (c, v)]

    def drawn() -> float:
        return float(rng.normal() if values == "reals" else rng.integers(-3, 4))

    share, place = rng.choice([0.5, 0.8, 1.0]), rng.permutation(n).tolist()
    kept = [pair for pair in edges if max(pair) < n and rng.random() < share]
    h = np.zeros(n)
    for v in range(min(n, 3)) if fields else ():
        h[place[v]] = drawn()
    return Ising(h, {(place[a], place[b]): drawn() for a, b in kept}, drawn())


@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("values", ["integers", "reals"])
def test_random_planar_models_against_all_states(values: str, fields: bool) -> None:
    for seed in range(60):
        model = random_planar(seed, values, fields)
        found = search(model, method="matching")
        least = lowest_states(model, 1)[0][0]
        assert found.energies[0] == model.energy(found.states[0])
        if values == "integers":
            assert found.energies[0] == found.lower_bound == least
        else:  # of 53 bits, of which 24 are compared
            assert found.lower_bound <= least <= found.energies[0] < found.lower_bound + 1e-5
        assert not found.certified
        assert found.info["search"] == "matching"


def test_a_bound_allows_for_what_rounding_hides() -> None:
    # Two ways round a frustrated square: 2**30 + 1 and 2**30, which are one number in 24 bits.
    base = float(1 << 30)
    for low in range(4):
        couplings = {(i, (i + 1) % 4): -base - (i != low) for i in range(4)}
        couplings[3, 0] = -couplings[3, 0]
        found = search(Ising(np.zeros(4), couplings), method="matching")
        least = -4 * base - 3 + 2 * base
        assert found.lower_bound <= least <= found.energies[0] <= least + 2
        assert found.energies[0] - found.lower_bound <= 2 * 2 * 4


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 7), (7, 2), (12, 12), (5, 30)])
def test_lattices_against_cuts(shape: tuple[int, int]) -> None:
    model = plus_minus_lattice(*shape, seed=3)
    found = search(model, method="matching")
    assert found.energies[0] == found.lower_bound == spectrum(model, 1, threads=1).energies[0]


def test_the_numbering_of_a_lattice_does_not_change_its_faces() -> None:
    sites = np.arange(30).reshape(5, 6)
    row = np.concatenate([sites[:, :-1].ravel(), sites[:-1].ravel()])
    col = np.concatenate([sites[:, 1:].ravel(), sites[1:].ravel()])
    place = np.random.default_rng(1).permutation(30)
    for a, b in ((row, col), (place[row], place[col])):
        faces = sides(30, a, b)
        assert sorted(np.bincount(faces.ravel()).tolist()) == [4] * 20 + [18]


def test_faces_of_a_tree_are_one() -> None:
    faces = sides(4, np.array([0, 1, 1]), np.array([1, 2, 3]))
    assert (faces == faces[0, 0]).all()


TORUS = {(i, (i // 4 * 4) + (i + 1) % 4): 1.0 for i in range(16)} | {
    (i, (i + 4) % 16): 1.0 for i in range(16)
}


@pytest.mark.parametrize("model", [dense_integer(5, seed=1), Ising(np.zeros(16), TORUS)])
def test_graphs_that_are_not_planar_are_refused(model: Ising) -> None:
    with pytest.raises(InputError):
        search(model, method="matching")


@pytest.mark.parametrize(
    "wrong",
    [{"num_states": 2}, {"runs": 2}, {"moves": 5}, {"equal_runs": 2}, {"initial_states": [1, -1]}],
)
def test_what_it_would_ignore_is_refused(wrong) -> None:
    with pytest.raises(InputError):
        search({(0, 1): 1.0}, method="matching", **wrong)
    assert search({(0, 1): 1.0}, 1, method="matching").energies.tolist() == [-1.0]


def test_workers_and_checkpoints_do_not_change_the_answer(tmp_path) -> None:
    model = Ising(np.zeros(40), {(i, i + 1): -1.0 for i in range(39)} | {(0, 2): 1.0})
    one = search(model, method="matching", threads=1)
    for _ in range(2):
        again = search(model, method="matching", threads=2, checkpoint=tmp_path / "job", seed=1)
        np.testing.assert_array_equal(one.states, again.states)
        assert again.lower_bound == one.lower_bound == one.energies[0]
