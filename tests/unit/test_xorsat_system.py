"""Systems of XOR clauses: what is accepted, in which form it is held, and what assignments violate."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import InputError
from hardscape.xorsat import XorSystem


def violated(clauses: list[list[int]], parity: list[int], x: list[int]) -> int:
    """Clauses violated, counted one by one."""
    return sum(sum(x[i] for i in c) % 2 != b for c, b in zip(clauses, parity, strict=True))


@st.composite
def clause_lists(draw: st.DrawFn) -> tuple[int, list[list[int]], list[int]]:
    n = draw(st.integers(1, 9))
    clauses = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=6), max_size=12))
    return n, clauses, [draw(st.integers(0, 1)) for _ in clauses]


@settings(deadline=None, max_examples=100)
@given(clause_lists(), st.randoms(use_true_random=False))
def test_counts_and_energies(case, random) -> None:
    n, clauses, parity = case
    system = XorSystem.from_clauses(clauses, parity, num_variables=n)
    states = [[random.randrange(2) for _ in range(n)] for _ in range(4)]
    wanted = [violated(clauses, parity, x) for x in states]
    assert system.violated(states).tolist() == wanted
    assert system.violated(states[0]) == wanted[0]
    spins = 1 - 2 * np.array(states[0])
    energy = -sum((1 - 2 * b) * np.prod(spins[c]) for c, b in zip(clauses, parity, strict=True))
    assert system.energy(states[0]) == energy
    gauge = np.array([random.randrange(2) for _ in range(n)])
    turned = system.gauge_transformed(gauge)
    assert turned.violated(states ^ gauge).tolist() == wanted
    assert turned.gauge_transformed(gauge) == system
    for clause, held in zip(clauses, system.clauses(), strict=True):
        assert held == tuple(i for i in sorted(set(clause)) if clause.count(i) % 2)


def test_one_form() -> None:
    system = XorSystem.from_clauses([[2, 0, 1], [1, 3, 1], [0, 0]], [1, 0, 1])
    assert system.clauses() == [(0, 1, 2), (3,), ()]
    assert system.cancelled_pairs == 2
    assert system.lengths.tolist() == [3, 1, 0]
    assert system.degrees.tolist() == [1, 1, 1, 1]
    assert system.clause_of.tolist() == [0, 0, 0, 1]
    assert system == XorSystem.from_clauses([[0, 1, 2], [3], [1, 1]], [True, False, True])
    assert system != XorSystem.from_clauses([[0, 1, 2], [3], [1, 1]], [1, 0, 0])
    again = pickle.loads(pickle.dumps(system))
    assert again == system
    assert hash(again) == hash(system)
    assert (again.offsets.dtype, again.variables.dtype, again.parity.dtype) == (
        np.int64,
        np.int32,
        np.uint8,
    )


def test_nobody_writes_into_a_system() -> None:
    rows, parity = np.array([[0, 1, 2]]), np.array([1], dtype=np.uint8)
    system = XorSystem.from_clauses(rows, parity)
    rows[:], parity[:] = 0, 0
    assert system.clauses() == [(0, 1, 2)]
    assert system.parity.tolist() == [1]
    with pytest.raises(ValueError, match="read-only"):
        system.parity[0] = 0
    with pytest.raises(AttributeError):
        system.num_variables = 7


def test_nothing_at_all() -> None:
    none = XorSystem(0, [0], [], [])
    assert none.violated([]) == 0
    assert none.violated(np.empty((3, 0), dtype=int)).tolist() == [0, 0, 0]
    assert XorSystem.from_clauses([], num_variables=3).violated([0, 1, 0]) == 0
    assert XorSystem(1, [0, 0], [], [1]).violated([0]) == 1
    assert "0 variables" in repr(none)


def test_three_spin_model() -> None:
    system = XorSystem.from_ising3({(0, 1, 2): 1.0, (1, 2, 3): -1})
    assert system.parity.tolist() == [0, 1]
    assert system == XorSystem.from_ising3([[0, 1, 2], [1, 2, 3]], [1, -1])
    for bits in itertools.product((0, 1), repeat=4):
        s = 1 - 2 * np.array(bits)
        assert system.energy(bits) == -s[0] * s[1] * s[2] + s[1] * s[2] * s[3]
    assert XorSystem.from_ising3(np.array([[0, 1, 2]]), num_spins=5).num_variables == 5


@pytest.mark.parametrize(
    ("clauses", "parity", "options"),
    [
        ([[0, 1], []], None, {}),
        ([[0, -1]], None, {}),
        ([[0, 3]], None, {"num_variables": 3}),
        ([[0, 1.0]], None, {}),
        ([[0, True]], None, {}),
        ([[0, 2**40]], None, {}),
        ([[0, 1]], [2], {}),
        ([[0, 1]], [0, 1], {}),
        ([[0, 1]], [0.5], {}),
        ([[0, 1]], [float("nan")], {}),
        ([[0, 1]], None, {"num_variables": -1}),
        ([[0, 1]], None, {"num_variables": 2.0}),
        ([0, 1], None, {}),
        ("01", None, {}),
        (7, None, {}),
        (np.zeros((2, 2)), None, {}),
        (np.zeros(2, dtype=int), None, {}),
        (np.array([[2**63]], dtype=np.uint64), None, {}),
    ],
)
def test_refused(clauses, parity, options) -> None:
    with pytest.raises(InputError):
        XorSystem.from_clauses(clauses, parity, **options)


@pytest.mark.parametrize(
    ("offsets", "variables"),
    [([0, 3], [0, 1]), ([1, 2], [0, 1]), ([], []), ([0, 2, 1, 2], [0, 1]), ([[0, 2]], [0, 1])],
)
def test_refused_offsets(offsets, variables) -> None:
    with pytest.raises(InputError):
        XorSystem(2, offsets, variables, [0] * (len(offsets) - 1))


@pytest.mark.parametrize(
    "values",
    [[1, 2], [2, 2], [1.5, -1.5], [1, 0], [0, 0], [1, float("nan")], [1], {"a": 1}, [[1, 1]]],
)
def test_refused_couplings(values) -> None:
    with pytest.raises(InputError):
        XorSystem.from_ising3([[0, 1, 2], [1, 2, 3]], values)
    with pytest.raises(InputError):
        XorSystem.from_ising3({(0, 1, 2): 1}, [1])


@pytest.mark.parametrize("assignment", [[0, 1], [0, 1, 2], [0, 1, -1], 1, [0.5, 0, 0], ["0"] * 3])
def test_refused_assignments(assignment) -> None:
    system = XorSystem.from_clauses([[0, 1, 2]])
    with pytest.raises(InputError):
        system.violated(assignment)
    with pytest.raises(InputError):
        system.gauge_transformed([[0, 0, 0]])
