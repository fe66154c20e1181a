"""Elimination against listing all assignments, against Gauss by hand, and the proofs it gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import memory
from hardscape.errors import BudgetError
from hardscape.xorsat import XorSystem, eliminate, random_regular, random_system, solve
from helpers.xorsat_oracle import all_assignments, gf2_rank, matrix, systems


def only(system: XorSystem, clauses: list[int]) -> XorSystem:
    lists = [system.clauses()[a] for a in clauses]
    starts = np.cumsum([0, *map(len, lists)])
    members = [i for clause in lists for i in clause]
    return XorSystem(
        system.num_variables, starts, np.array(members, dtype=int), system.parity[clauses]
    )


@settings(deadline=None, max_examples=150)
@given(systems())
def test_all_solutions(system: XorSystem) -> None:
    states = all_assignments(system.num_variables)
    solutions = {x.tobytes() for x in states[system.violated(states) == 0]}
    found = eliminate(system)
    assert found.num_solutions == len(solutions)
    assert found.rank == system.rank() == gf2_rank(matrix(system))
    basis = found.basis()
    assert basis.shape == (system.num_variables - found.rank, system.num_variables)
    assert (basis[:, found.free_variables] == np.eye(len(basis))).all()
    assert not (matrix(system).astype(int) @ basis.T % 2).any()
    if found.solution is None:
        assert not found.consistent
        assert system.violated(found.assignment) <= system.num_clauses - found.rank
        return
    assert not found.solution[found.free_variables].any()
    steps = all_assignments(len(basis)) @ basis % 2
    assert {x.tobytes() for x in (found.solution ^ steps).astype(np.uint8)} == solutions


@settings(deadline=None, max_examples=100)
@given(systems(most_variables=6, most_clauses=16))
def test_contradictions_are_proofs_without_idle_clauses(system: XorSystem) -> None:
    found = eliminate(system)
    proof = found.contradiction()
    assert (proof is None) == found.consistent
    if proof is None:
        return
    clauses = list(proof)
    assert clauses == sorted(set(clauses))
    assert not (matrix(system)[clauses].sum(axis=0) % 2).any()
    assert system.parity[clauses].sum() % 2 == 1
    for clause in clauses:
        assert eliminate(only(system, [a for a in clauses if a != clause])).consistent
    assert eliminate(system).contradiction() == proof


def test_the_contradiction_is_small() -> None:
    """Among many clauses, the three that cannot hold together are found."""
    system = random_system(60, 0.5, seed=3, planted=True)
    clauses = [*system.clauses(), (0, 1), (1, 2), (0, 2)]
    parity = [*system.parity.tolist(), 1, 1, 1]
    proof = eliminate(XorSystem.from_clauses(clauses, parity)).contradiction()
    assert proof == (30, 31, 32)
    assert eliminate(XorSystem(3, [0, 2, 2], [0, 1], [1, 1])).contradiction() == (1,)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200])
@pytest.mark.parametrize("surplus", [-3, 0, 5])
def test_dense_systems(n: int, surplus: int) -> None:
    """Clauses of half the variables leave nothing to sparse steps; widths around whole words."""
    random = np.random.default_rng([n, surplus + 3])
    dense = random.integers(0, 2, (max(n + surplus, 1), n))
    dense[-1] = dense[0]
    hidden = random.integers(0, 2, n)
    starts = np.concatenate([[0], np.cumsum(dense.sum(axis=1))])
    for parity in (dense @ hidden % 2, random.integers(0, 2, len(dense))):
        system = XorSystem(n, starts, np.nonzero(dense)[1], parity)
        found = eliminate(system)
        assert found.rank == gf2_rank(dense)
        assert found.consistent == (gf2_rank(np.column_stack([dense, parity])) == found.rank)
        if found.solution is not None:
            assert system.violated(found.solution) == 0
            assert not np.any(system.violated(found.solution ^ found.basis()))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 0.8, 0.9, 1.0, 1.3]))
def test_sparse_systems(seed: int, density: float) -> None:
    system = random_system(150, density, planted=False, seed=seed)
    found = eliminate(system)
    assert found.rank == gf2_rank(matrix(system))
    augmented = np.column_stack([matrix(system), system.parity])
    assert found.consistent == (gf2_rank(augmented) == found.rank)
    assert found.consistent == (found.contradiction() is None)
    if found.solution is not None:
        assert system.violated(found.solution) == 0


def test_large_systems() -> None:
    system = random_regular(4096, seed=5)
    found = eliminate(system)
    assert found.rank == 4096
    assert system.violated(found.solution) == 0
    leafy = random_system(200_000, 0.7, seed=1, planted=True)
    found = eliminate(leafy)
    assert leafy.violated(found.solution) == 0
    with pytest.raises(BudgetError):
        found.basis()


def test_nothing_to_eliminate() -> None:
    found = eliminate(XorSystem(3, [0], [], []))
    assert (found.rank, found.num_solutions, found.solution.tolist()) == (0, 8, [0, 0, 0])
    assert found.basis().tolist() == np.eye(3).tolist()
    assert eliminate(XorSystem(0, [0], [], [])).num_solutions == 1
    assert eliminate(XorSystem(0, [0, 0], [], [1])).num_solutions == 0


def test_plain_data() -> None:
    found = eliminate(XorSystem.from_clauses([[0, 1, 2], [1, 2]], [1, 0]))
    data = found.to_dict()
    assert data.pop("seconds") >= 0
    assert data == {
        "rank": 2,
        "consistent": True,
        "solution": [1, 0, 0],
        "free_variables": found.free_variables.tolist(),
    }
    with pytest.raises(ValueError, match="read-only"):
        found.solution[0] = 1


def test_what_memory_cannot_hold_is_refused_before_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small, large = random_regular(64, seed=1), random_regular(2048, seed=1)
    asked = []

    def little(needed: int, what: str) -> None:
        asked.append(needed)
        if needed > 10_000:
            raise BudgetError(f"{what} needs {needed} bytes")

    monkeypatch.setattr(memory, "require", little)
    eliminate(small)
    assert 0 < max(asked) <= 10_000
    with pytest.raises(BudgetError):
        eliminate(large)
    # The bytes are those of the dense part: near 0.2 N columns for (N + M) rows, less the leaves.
    assert 0.1 * 2048 * 2048 / 8 < max(asked) < 0.6 * 2048 * 2048 / 8
    with pytest.raises(BudgetError):
        solve(large, method="quasi-greedy", max_sweeps=1)
