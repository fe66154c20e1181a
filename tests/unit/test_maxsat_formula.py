"""Formulas: intake, exact costs, refusals."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysat.formula import CNF, WCNF

from hardscape.errors import InputError
from hardscape.maxsat import Formula
from helpers import maxsat_oracle as oracle
from helpers.maxsat_strategies import formulas

BIG = 2**63 - 1


@settings(max_examples=60)
@given(formulas(), st.data())
def test_cost_and_violations_are_the_definition(lists, data):
    formula = lists.formula()
    row = st.lists(st.integers(0, 1), min_size=lists.num_variables, max_size=lists.num_variables)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    costs = [oracle.cost(lists.soft, lists.weights, x) for x in rows]
    violations = [oracle.violations(lists.hard, x) for x in rows]
    batch = np.array(rows, dtype=np.uint8).reshape(len(rows), lists.num_variables)
    assert formula.cost(batch).tolist() == costs
    assert formula.hard_violations(batch).tolist() == violations
    assert formula.cost(rows[0] if rows[0] else batch[0]) == costs[0]
    assert formula.hard_violations(batch[0]) == violations[0]
    assert formula.satisfied(batch).tolist() == [
        [oracle.holds(c, x) for c in lists.hard + lists.soft] for x in rows
    ]


@pytest.mark.parametrize("true", [None, 1, 7, 8, 9, 64, 65, 199, 200])
def test_clauses_of_many_literals(true):
    """One literal holds, wherever it stands."""
    n = 200
    literals = np.arange(1, n + 1) * np.where(np.arange(n) % 3, 1, -1)
    formula = Formula.from_clauses([literals.tolist()], [7], hard=[(-literals).tolist()[:70]])
    values = (literals < 0).astype(np.uint8)
    if true is not None:
        values[true - 1] ^= 1
    held = int(true is not None)
    assert tuple(formula.evaluate(values)) == (0, 7 * (1 - held), 1 + held)
    assert formula.evaluate(1 - values).hard_violations == int(true is None or true > 70)


def test_cost_is_exact_beyond_64_bits():
    formula = Formula.from_clauses([[1], [1], [-1], [2]], [BIG, BIG, 5, BIG - 1])
    assert formula.total_weight == 3 * BIG + 4
    assert formula.cost([0, 0]) == 3 * BIG - 1
    assert formula.cost([[0, 0], [1, 1]]).tolist() == [3 * BIG - 1, 5]


def test_any_shape_of_assignments():
    formula = Formula.from_clauses([[1, 2], [-1]], [2, 3])
    batch = np.zeros((2, 3, 2), dtype=bool)
    batch[1, 2] = [1, 0]
    assert formula.cost(batch).tolist() == [[2, 2, 2], [2, 2, 3]]
    assert formula.cost(np.zeros((0, 2), dtype=bool)).shape == (0,)
    assert formula.satisfied(batch).shape == (2, 3, 2)


def test_nothing_at_all():
    formula = Formula.from_clauses([])
    assert (formula.num_variables, formula.num_clauses, formula.total_weight) == (0, 0, 0)
    assert formula.cost(np.zeros(0, dtype=bool)) == 0
    assert formula.cost(np.zeros((3, 0), dtype=bool)).tolist() == [0, 0, 0]


def test_the_clauses_stay_as_they_were_given():
    formula = Formula.from_clauses([[1, -1], [2, 2], [], [2, 2]], hard=[[3]])
    assert formula.literals.tolist() == [3, 1, -1, 2, 2, 2, 2]
    assert formula.offsets.tolist() == [0, 1, 3, 5, 5, 7]
    assert formula.weights.tolist() == [0, 1, 1, 1, 1]
    assert formula.hard.tolist() == [True, False, False, False, False]
    assert formula.cost([0, 0, 1]) == 3
    with pytest.raises(ValueError, match="read-only"):
        formula.literals[0] = 5


def test_pickle_and_digest():
    formula = Formula.from_clauses([[1, 2], [-1]], [2, 3])
    again = pickle.loads(pickle.dumps(formula))
    assert again.digest == formula.digest
    assert Formula.from_clauses([[1, 2], [-1]], [2, 4]).digest != formula.digest
    assert Formula.from_clauses([[1, 2], [-1]], [2, 3], num_variables=3).digest != formula.digest


def test_python_sat():
    wcnf = WCNF()
    wcnf.extend([[-1, 2], [3]])
    wcnf.extend([[1], [-2, 4]], weights=[7, 9])
    formula = Formula.from_pysat(wcnf)
    assert (formula.num_variables, formula.num_hard, formula.num_soft) == (4, 2, 2)
    assert formula.cost([0, 1, 1, 0]) == 16
    plain = Formula.from_pysat(CNF(from_clauses=[[1, -5], [2]]))
    assert (plain.num_variables, plain.num_hard, plain.total_weight) == (5, 0, 2)
    with pytest.raises(InputError):
        Formula.from_pysat([[1]])


@pytest.mark.parametrize(
    ("clauses", "options"),
    [
        ([[1, 0]], {}),
        ([[1.5]], {}),
        ([["1"]], {}),
        ([1], {}),
        ([[2**31]], {}),
        ([[3]], {"num_variables": 2}),
        ([[1]], {"num_variables": -1}),
        ([[1]], {"num_variables": 1.0}),
        ([[1]], {"weights": [0]}),
        ([[1]], {"weights": [-4]}),
        ([[1]], {"weights": [2**63]}),
        ([[1]], {"weights": [0.5]}),
        ([[1]], {"weights": [float("nan")]}),
        ([[1]], {"weights": [1, 2]}),
        ([[1]], {"weights": ["1"]}),
        ([], {"hard": [[0]]}),
    ],
)
def test_refused_clauses(clauses, options):
    with pytest.raises(InputError):
        Formula.from_clauses(clauses, **options)


GOOD = {
    "num_variables": 2,
    "literals": [1, -2, 2],
    "offsets": [0, 2, 3],
    "weights": [0, 4],
    "hard": [True, False],
}


def test_arrays():
    assert Formula(**GOOD).cost([1, 0]) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"literals": [1, 0, 2]},
        {"literals": [1, -3, 2]},
        {"literals": [1.0, -2.0, 2.0]},
        {"literals": [1, -2, 2**40]},
        {"literals": [[1, -2, 2]]},
        {"offsets": [0, 2]},
        {"offsets": [0, 3, 2]},
        {"offsets": [0, 4, 3]},
        {"offsets": [1, 2, 3]},
        {"offsets": []},
        {"weights": [1, 4]},
        {"weights": [0, 0]},
        {"weights": [0, -1]},
        {"weights": [4]},
        {"hard": [1, 0]},
        {"hard": [True]},
        {"num_variables": 1},
        {"num_variables": 2**31},
    ],
)
def test_refused_arrays(change):
    with pytest.raises(InputError):
        Formula(**GOOD | change)


@pytest.mark.parametrize(
    "assignments", [[1], [[1, 0, 1]], [2, 0], [-1, 1], [0.5, 0], 1, [[1, 0], [1]]]
)
def test_refused_assignments(assignments):
    with pytest.raises(InputError):
        Formula(**GOOD).cost(assignments)
