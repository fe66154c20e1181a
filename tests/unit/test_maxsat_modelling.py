"""Formulas from models of other kinds: OPB and WBO files, python-sat, CP-SAT; and back."""

import random
from dataclasses import replace
from itertools import product

import pytest
from pysat.examples.rc2 import RC2
from pysat.formula import WCNFPlus

from hardscape.errors import FormatError, InputError
from hardscape.maxsat import Formula, solve
from helpers.maxsat_strategies import Lists

RELATIONS = {">=": int.__ge__, "=": int.__eq__, "<=": int.__le__}


def optimum(formula):
    """By enumeration of python-sat alone."""
    with RC2(formula.to_pysat()) as solver:
        return None if solver.compute() is None else solver.cost + formula.offset


def text_of(terms):
    return " ".join(f"{w:+} {'~' * (x < 0)}x{abs(x)}" for w, x in terms)


def value(terms, x):
    return sum(w * (x[abs(y) - 1] == (y > 0)) for w, y in terms)


def drawn(rng, n):
    return [
        (rng.randint(-9, 9), rng.choice([1, -1]) * rng.randint(1, n))
        for _ in range(rng.randint(1, 5))
    ]


def read(tmp_path, text, name="f.opb"):
    path = tmp_path / name
    path.write_text(text)
    return Formula.from_file(path)


@pytest.mark.parametrize("soft", [False, True])
def test_random_files(tmp_path, soft):
    rng = random.Random(3)
    some, none = 0, 0
    for _ in range(60):
        n = rng.randint(1, 5)
        goal = drawn(rng, n)
        demands = [
            (drawn(rng, n), rng.choice(list(RELATIONS)), rng.randint(-9, 9), rng.randint(1, 9))
            for _ in range(rng.randint(1, 4))
        ]
        lines = [
            f"{f'[{price}] ' * soft}{text_of(t)} {relation} {bound};"
            for t, relation, bound, price in demands
        ]
        top = rng.randint(1, 20)
        head = f"soft: {top};" if soft else f"min: {text_of(goal)};"
        found = optimum(read(tmp_path, f"* a\n{head}\n" + "\n".join(lines)))
        values = []
        for x in product((0, 1), repeat=n):
            broken = [p for t, r, b, p in demands if not RELATIONS[r](value(t, x), b)]
            if soft and sum(broken) < top:
                values.append(sum(broken))
            elif not soft and not broken:
                values.append(value(goal, x))
        assert found == min(values, default=None)
        some, none = some + bool(values), none + (not values)
    assert some > 10 < none


def test_a_file_in_the_manner_of_the_first_pseudo_boolean_solvers(tmp_path):
    formula = read(tmp_path, "min: +3*x1 +2 * x2 - 4*~x3;\n+1*x1 +1*x2 -2*x3 >= 0;")
    assert optimum(formula) == -4
    assert optimum(read(tmp_path, "min: 1*x1;\n1*x1 x2 >= 1;")) == 1


def test_a_file_to_be_maximized_with_products(tmp_path):
    formula = read(tmp_path, "max: 3 x1 x2 -1 x1 2 ~x3;\n-1 x2 >=\n -1; x3 x1 >= 0;")
    assert -(solve(formula).cost + formula.offset) == 4
    assert solve(formula).assignment[:3].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "min: 1 x1",
        "1 x1 > 2;",
        "1 y1 >= 2;",
        "1 2 >= 2;",
        "1 x0 >= 2;",
        "1 x1 >= ;",
        "1.5 x1 >= 1;",
        "[x] 1 x1 >= 1;",
        "soft: a;",
        "min: 9223372036854775808 x1;",
        "* #variable= 900000000 #constraint= 1\n1 x1 >= 1;",
    ],
)
def test_refused_files(tmp_path, text):
    with pytest.raises(FormatError):
        read(tmp_path, text)


def test_what_is_written_has_the_same_costs(tmp_path):
    rng = random.Random(8)
    for k in range(40):
        n, heaviest = rng.randint(1, 5), rng.choice([9, 2**63 - 1])
        clauses = [
            [rng.choice([1, -1]) * rng.randint(1, n) for _ in range(rng.randint(1, 3))]
            for _ in range(6)
        ]
        weights = [rng.randint(1, heaviest) for _ in range(4)]
        lists = Lists(n, clauses[:4], weights, clauses[4:])
        formula = lists.formula()
        if k % 2:
            plain = [
                w
                for c, w in zip(lists.soft, lists.weights, strict=True)
                if len(c) == 1 and c[0] > 0
            ]
            formula = replace(formula, offset=-sum(plain))
        formula.to_file(tmp_path / "g.opb")
        assert optimum(Formula.from_file(tmp_path / "g.opb")) == optimum(formula)
    with pytest.raises(InputError):
        replace(Formula.from_clauses([[1]]), offset=5).to_file(tmp_path / "g.opb")


def test_python_sat_with_cardinalities_and_back():
    wcnf = WCNFPlus()
    wcnf.extend([[1, 2, 3, 4]])
    wcnf.extend([[v] for v in range(1, 6)], weights=[5, 4, 3, 2, 1])
    wcnf.append([[1, 2, 3, 4, 5], 2], is_atmost=True)
    wcnf.atms.append([[1, 2, 5], 3, [3, 1, 2]])
    formula = Formula.from_pysat(wcnf)
    result = solve(formula)
    assert result.cost == 7  # 1 and 2 would weigh 4
    assert [x for x in result.model[:5] if x > 0] == [1, 3]
    assert Formula.from_pysat(formula.to_pysat()) == formula
    with pytest.raises(InputError, match="from_pysat"):
        solve(wcnf)


def add_random(model, x, kind, rng, cp_model):
    """A random constraint of one of seven kinds."""
    some = [y if rng.random() < 0.5 else ~y for y in rng.sample(x, rng.randint(1, 4))]
    total = sum(rng.randint(-4, 4) * y for y in x)
    apart = cp_model.Domain.from_intervals([[-4, -2], [1, 2], [5, 9]])
    made = {
        0: lambda: model.add_bool_or(some),
        1: lambda: model.add_bool_and(some[:2]),
        2: lambda: model.add(total <= rng.randint(-3, 3)),
        3: lambda: model.add_linear_expression_in_domain(total, apart),
        4: lambda: model.add_at_most_one(some),
        5: lambda: model.add_exactly_one(some),
        6: lambda: model.add_bool_xor(some),
    }[kind]()
    if kind < 4 and rng.random() < 0.5:
        made.only_enforce_if(rng.sample(x, 2))


def test_cpsat_models():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    rng = random.Random(4)
    statuses = set()
    for _ in range(40):
        model = cp_model.CpModel()
        x = [model.new_bool_var(f"x{i}") for i in range(5)]
        for _ in range(rng.randint(1, 6)):
            add_random(model, x, rng.randrange(7), rng, cp_model)
        goal = sum(rng.randint(-5, 5) * y for y in x) + rng.randint(-3, 3)
        sign = rng.choice([1, -1])
        (model.minimize if sign > 0 else model.maximize)(goal)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(model)
        found = optimum(Formula.from_cpsat(model))
        assert found == (
            round(sign * solver.objective_value) if status == cp_model.OPTIMAL else None
        )
        statuses.add(status)
    assert len(statuses) == 2
    integer = cp_model.CpModel()
    integer.new_int_var(0, 3, "count")
    with pytest.raises(InputError, match="count"):
        Formula.from_cpsat(integer)
    with pytest.raises(InputError):
        Formula.from_cpsat([[1]])


def test_cpsat_and_back():
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    rng = random.Random(5)
    for _ in range(40):
        clauses = [
            [rng.choice([1, -1]) * rng.randint(1, 5) for _ in range(rng.randint(0, 3))]
            for _ in range(9)
        ]
        soft, weights = clauses[:6], [rng.randint(1, 9) for _ in range(6)]
        hard = [clause for clause in clauses[6:] if clause]
        formula = replace(Lists(5, soft, weights, hard).formula(), offset=rng.randint(-9, 9))
        model = formula.to_cpsat()
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(model)
        found = (formula.evaluate(x) for x in product((0, 1), repeat=5))
        least = min((each.cost + formula.offset for each in found if not each[0]), default=None)
        assert least == (round(solver.objective_value) if status == cp_model.OPTIMAL else None)
        assert optimum(Formula.from_cpsat(model)) == least
    with pytest.raises(InputError):
        Formula.from_clauses([[1, 2]], [2**62 + 1]).to_cpsat()
