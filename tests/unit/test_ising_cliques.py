"""Branch and bound under clique covers: the same spectra as by other methods, bounds that hold, what pays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import hardscape
from hardscape.errors import InputError
from hardscape.ising import Ising, estimate
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.cliques import cliques
from hardscape.ising.methods.cliques.cliques import CliqueWork
from hardscape.ising.methods.cliques.qubo import Qubo
from hardscape.ising.methods.exhaustive.blocks import Wanted

CPU = {"device": "cpu", "threads": 1}


def one_hot(groups, size, rng, weight=20):
    """Groups of variables of which one each should be 1, and some couplings between groups."""
    n = groups * size
    Q = np.triu(rng.integers(-3, 8, (n, n)) * (rng.random((n, n)) < 0.3), 1).astype(float)
    for g in range(groups):
        part = slice(g * size, (g + 1) * size)
        Q[part, part] = np.triu(np.full((size, size), 2.0 * weight), 1)
    return Q + np.diag(rng.integers(0, 9, n) - weight)


def drawn(kind, seed):
    """Models of 2 to 16 variables with penalties that are large, small, zero or negative."""
    rng = np.random.default_rng([seed, len(kind)])
    n = int(rng.integers(2, 17))
    edges = np.triu(rng.random((n, n)) < rng.random(), 1)
    penalties = {
        "stable": lambda: 2.0 * edges - np.eye(n),
        "weak": lambda: rng.integers(0, 4, (n, n)) * edges - np.diag(rng.integers(0, 6, n)),
        "mixed": lambda: rng.integers(-5, 20, (n, n)) * edges + np.diag(rng.integers(-20, 9, n)),
        "gka-b": lambda: np.triu(rng.integers(0, 101, (n, n)), 1) - np.diag(rng.integers(0, 64, n)),
        "real": lambda: 9 * rng.normal(size=(n, n)) * edges + np.diag(rng.normal(size=n) - 3),
        "one-hot": lambda: one_hot(int(rng.integers(1, 5)), int(rng.integers(2, 5)), rng),
        "light": lambda: one_hot(4, 4, rng, weight=4),
        "all": lambda: np.zeros((n, n)),
    }[kind]()
    return Ising.from_qubo(np.asarray(penalties, dtype=float), float(rng.integers(-9, 10)))


def same(found, expected):
    assert found.certified
    assert found.method == "cliques"
    assert found.states.tobytes() == expected.states.tobytes()
    assert found.energies.tobytes() == expected.energies.tobytes()
    assert [(x.count, x.complete) for x in found.levels] == [
        (x.count, x.complete) for x in expected.levels
    ]


KINDS = ["stable", "weak", "mixed", "gka-b", "real", "one-hot", "light", "all"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ties", [1, 10**6])
def test_spectra_are_those_of_all_states(kind, seed, ties, monkeypatch):
    monkeypatch.setattr(cliques, "_TIES", ties)  # in the order of codes, or as it pays
    model = drawn(kind, seed)
    if seed % 4 == 3:
        model = Ising(np.zeros(model.num_spins), model.J)
    for num_states in (1, 2, 30, 1000):
        expected = hardscape.spectrum(model, num_states, method="exhaustive", **CPU)
        same(hardscape.spectrum(model, num_states, method="cliques", seed=seed, **CPU), expected)
    top = float(expected.energies[len(expected.energies) // 3])
    for limits in ({"window": 5.0}, {"cutoff": top}, {"num_states": 7, "window": 4.0}):
        expected = hardscape.spectrum(model, method="exhaustive", **limits, **CPU)
        same(hardscape.spectrum(model, method="cliques", seed=seed, **limits, **CPU), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold(kind, seed):
    model = drawn(kind, seed)
    least = hardscape.spectrum(model, 1, method="exhaustive", **CPU).energies[0]
    for down_is_one in (False, True):
        work = CliqueWork(Wanted(model.exact, 2, None), down_is_one=down_is_one)
        bound = from_limbs(work.core.bound()[None])[0] * 2.0**model.exact.exponent
        assert bound <= least + 1e-9
        # The energies of the variables are those of the spins.
        qubo, exact = work.qubo, model.exact
        for state in np.random.default_rng(seed).choice([-1, 1], (5, model.num_spins)):
            x = [int(s > 0) ^ down_is_one for s in state]
            value = sum(u * v for u, v in zip(qubo.linear, x, strict=True)) + qubo.offset
            value += sum(q * x[i] * x[j] for i, j, q in qubo.pairs)
            assert value == from_limbs(exact.words(state.astype(np.int8)[None]))[0]


def test_a_clique_gains_what_its_best_member_does():
    # Of each group one variable is 1: the bound of one-hot groups without couplings is the least energy.
    model = Ising.from_qubo(
        one_hot(5, 4, np.random.default_rng(2), 50) * np.kron(np.eye(5), np.ones((4, 4)))
    )
    least = hardscape.spectrum(model, 1, method="exhaustive", **CPU).energies[0]
    work = CliqueWork(Wanted(model.exact, 2, None))
    assert from_limbs(work.core.bound()[None])[0] * 2.0**model.exact.exponent == least


def assignment(n, seed, weight=100.0):
    """Permutations and their costs, as a QUBO; the costs."""
    costs = np.random.default_rng(seed).integers(1, 50, (n, n))
    Q = np.diag(costs.ravel() - 2 * weight)
    for i in range(n):
        for line in ([n * i + j for j in range(n)], [n * j + i for j in range(n)]):
            for k, a in enumerate(line):
                for b in line[:k]:
                    Q[b, a] += 2 * weight
    return Ising.from_qubo(Q, 2 * n * weight), costs


@pytest.mark.parametrize("n", [6, 8, 10])
def test_assignments(n):
    from scipy.optimize import linear_sum_assignment

    model, costs = assignment(n, n)
    row, col = linear_sum_assignment(costs)
    found = hardscape.spectrum(model, 20, **CPU)
    assert found.method == "cliques"
    assert found.certified
    assert found.energies[0] == costs[row, col].sum()
    # Each state listed is a permutation, and no two are alike.
    x = (found.states > 0).reshape(-1, n, n)
    assert (x.sum(axis=1) == 1).all()
    assert (x.sum(axis=2) == 1).all()
    assert found.energies.tolist() == (x * costs).sum(axis=(1, 2)).tolist()
    assert len({row.tobytes() for row in found.states}) == 20


def test_colours_in_the_order_of_codes():
    # A ring of 24 vertices in 3 colours: 2**24 + 2 ground states, of which the lowest codes are listed.
    n = 24
    Q = {}
    for i in range(n):
        for c in range(3):
            Q[3 * i + c, 3 * i + c] = -2.0
            Q[3 * i + c, 3 * ((i + 1) % n) + c] = 1.0
            for d in range(c):
                Q[3 * i + d, 3 * i + c] = 4.0
    model = Ising.from_qubo(Q, 2.0 * n)
    found = hardscape.spectrum(model, 2, method="cliques", **CPU)
    assert found.energies.tolist() == [0.0, 0.0]
    # Of the last vertices the colours alternate between the first two; the highest bits are theirs.
    colours = (found.states.reshape(2, n, 3) > 0).argmax(axis=2)
    assert colours[0, ::-1].tolist() == [0, 1] * 12
    assert colours[1, ::-1].tolist()[:-1] == [0, 1] * 11 + [0]


def test_the_same_bytes_whoever_searches(tmp_path):
    model, _ = assignment(8, 3)
    run = {"method": "cliques", "device": "cpu", "seed": 3}
    alone = hardscape.spectrum(model, 200, threads=1, **run)
    same(hardscape.spectrum(model, 200, threads=3, **run), alone)
    with ThreadPoolExecutor(2) as executor:
        same(hardscape.spectrum(model, 200, executor=executor, **run), alone)
    path = tmp_path / "low.ledger"
    cut = hardscape.spectrum(model, 200, threads=1, time_limit=0.02, checkpoint=path, **run)
    assert cut.lower_bound <= alone.energies[0]
    same(hardscape.spectrum(model, 200, threads=2, checkpoint=path, **run), alone)


def test_variables_that_are_one_where_spins_are_down():
    # A vertex cover is the complement of a stable set: most spins are up in low states.
    rng = np.random.default_rng(4)
    edges = np.triu(rng.random((40, 40)) < 0.6, 1)
    stable = Ising.from_qubo(2.0 * edges - np.eye(40))
    cover = Ising(-stable.h, stable.J, stable.offset)
    found, other = (hardscape.spectrum(x, 50, seed=1, **CPU) for x in (stable, cover))
    assert found.method == other.method == "cliques"
    assert found.energies.tobytes() == other.energies.tobytes()
    ground = found.ground_states.tolist()
    assert sorted(ground) == sorted((-other.ground_states).tolist())


def test_auto_leaves_to_others_what_has_no_penalties():
    rng = np.random.default_rng(1)
    couplings = np.triu(rng.choice([-1, 1], (40, 40)), 1).astype(float)
    assert hardscape.spectrum(Ising(np.zeros(40), couplings), 1, **CPU).method == "tree"
    fields = np.diag(rng.integers(-100, 101, 40))
    dense = Ising.from_qubo(np.triu(rng.integers(-50, 51, (40, 40)), 1) + fields)
    assert hardscape.spectrum(dense, 1, **CPU).method == "tree"


def test_estimates_and_refusals():
    model, _ = assignment(8, 1)
    assert 0 < estimate(model, 1, method="cliques", seed=1, **CPU).seconds < 60
    with pytest.raises(InputError):
        hardscape.spectrum(model, 1, method="cliques", prune=False, **CPU)


def test_a_work_pickles():
    import pickle

    model, _ = assignment(3, 1)
    work = replace(CliqueWork(Wanted(model.exact, 2, None)), lexical=True)
    assert pickle.loads(pickle.dumps(work)).digest() == work.digest()
    assert Qubo.of(model.exact, False).offset != Qubo.of(model.exact, True).offset


def test_groups_are_searched_before_spins_are_taken_out_of_them():
    # 30 vertices in 4 colours: without 4 spins that need no search the tree has millions of nodes.
    n, rng = 30, np.random.default_rng([0, 30, 9])
    Q = np.zeros((4 * n, 4 * n))
    for i in range(n):
        group = slice(4 * i, 4 * i + 4)
        Q[group, group] += np.triu(np.full((4, 4), 4.0), 1) - 2 * np.eye(4)
        for j in range(i):
            for c in range(4) if rng.random() < 4.5 / n else ():
                Q[4 * j + c, 4 * i + c] += 1
    found = hardscape.spectrum(Ising.from_qubo(Q, 2.0 * n), 1, **CPU)
    assert found.method == "cliques"
    assert "parts" not in found.info
    assert found.info["nodes"] < 30_000
    assert found.energies.tolist() == [0.0]
