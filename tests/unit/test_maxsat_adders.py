"""Linear constraints found again in adders: rows, values of their variables, and proofs with them."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("pysat")
pytest.importorskip("rustsat")

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.exact import pace
from hardscape.maxsat.methods.exact.near import lists_of
from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import branching as branches
from hardscape.maxsat.methods.exact.prover import costs as arithmetic
from hardscape.maxsat.methods.exact.prover.rows.adders import Adders
from hardscape.maxsat.methods.exact.prover.rows.gates import Adder, adders
from hardscape.maxsat.presolve import presolve
from helpers import maxsat_encodings as encodings
from helpers.maxsat_proofs import Silent
from helpers.maxsat_rows import checked, suits
from helpers.seeds import each_seed


def signed(name, clauses):
    """Clauses in which variables have other names, or are their negations."""
    return [[name[abs(x) - 1] * (1 if x > 0 else -1) for x in clause] for clause in clauses]


def names(rng, n, top):
    """Other names of all variables but the first, and some of those negated."""
    others = [v * rng.choice((1, -1)) for v in range(n + 1, top + 1)]
    rng.shuffle(others)
    return [v * rng.choice((1, -1)) for v in range(1, n + 1)] + others


def constraint(seed, n, largest=30):
    """Terms over the first variables, and a bound that matters."""
    rng = random.Random(seed)
    terms = [(rng.randint(1, largest), v * rng.choice((1, -1))) for v in range(1, n + 1)]
    return terms, rng.randint(1, sum(w for w, _ in terms) - 1)


def test_rows_and_values_say_what_the_clauses_do():
    rows = 0
    for seed in range(150):
        rng, n = random.Random(seed), 3 + seed % 5
        hard, top = [], n
        for each in range(1 + seed % 2):
            made, top = encodings.adders(*constraint(1000 * each + seed, n), top)
            hard += made
        hard = signed(names(rng, n, top), hard)
        named = rng.sample(range(1, n + 1), rng.randint(1, n))
        rows += len(checked(Adders(hard, named), hard, top, n, named).rows)
    assert rows > 100


@each_seed(range(150))
def test_rows_follow_from_clauses_of_which_one_was_lost_changed_or_added(seed):
    rng, n = random.Random(seed), 4 + seed % 3
    hard, top = encodings.adders(*constraint(seed, n), n)
    clause = rng.choice(hard)
    if seed % 3 == 0:
        hard.remove(clause)
    elif seed % 3 == 1:
        clause[rng.randrange(len(clause))] = rng.randint(1, top) * rng.choice((1, -1))
    else:
        some = rng.sample(range(1, top + 1), rng.randint(2, 4))
        hard.append([v * rng.choice((1, -1)) for v in some])
    named = range(1, n + 1)
    checked(Adders(hard, named), hard, top, n, named)


@pytest.mark.parametrize("shuffled", [False, True])
def test_adders_are_seen_through(shuffled):
    seen = 0
    for seed in range(40):
        rng, n = random.Random(seed), 12
        terms, most = constraint(seed, n, largest=(7, 40, 1000)[seed % 3])
        hard, top = encodings.adders(terms, most, n)
        name = names(rng, n, top) if shuffled else list(range(1, top + 1))
        hard = [clause for clause in signed(name, hard) if len(clause) > 1]
        found = Adders(hard, range(1, n + 1))
        if found.left or not hard:
            continue  # not all are seen through, nor must they be
        seen += 1
        assert len(found.rows) == 1
        too_much = {abs(x) for w, x in terms if w > most}
        for _ in range(100):
            held = [rng.random() < 0.5 and v + 1 not in too_much for v in range(n)]
            values = [
                int(held[v - 1] == (name[v - 1] > 0)) if v <= n else 0 for v in range(1, top + 1)
            ]
            weight = sum(
                w for w, x in terms if abs(x) not in too_much and held[abs(x) - 1] == (x > 0)
            )
            assert suits(found.rows[0], values) == (weight <= most)
    print(seen)
    assert seen > (10 if shuffled else 20)


def test_what_an_adder_implies():
    full, half = Adder((1, 2, 3), 4, 5, set()), Adder((1, -2), 4, 5, set())
    assert full.implies([-4, -5, 1])
    assert not full.implies([-4, -5])
    assert half.implies([-4, -5])
    assert half.implies([-2, -5])
    assert not half.implies([2, -5])


def test_gates_of_named_variables_are_no_adders():
    hard, top = encodings.adders([(1, 1), (2, 2), (3, 3)], 4, 3)
    assert adders(hard, [1, 2, 3])
    assert not adders(hard, range(1, top + 1))


def problem(seed):
    """A small integer program as a formula, and its least cost by all assignments."""
    rng, n = random.Random(seed), 12
    hard, top, rows = [], n, []
    for each in range(3):
        terms, _ = constraint(10 * seed + each, n, 50)
        rows.append((terms, sum(w for w, _ in terms) * 3 // 5))
        made, top = encodings.adders(*rows[-1], top)
        hard += made
    weights = [rng.randint(1, 40) for _ in range(n)]
    least = encodings.least_lost(weights, rows)
    wishes = [[v] for v in range(1, n + 1)]
    return Formula.from_clauses(wishes, weights, hard=hard, num_variables=top), least


@pytest.mark.parametrize("seed", range(8))
def test_integer_programs_are_proven_by_branches_alone(seed):
    pytest.importorskip("highspy")
    formula, least = problem(seed)
    left, board = presolve(formula), Silent()
    assert pace.programs_first(left.formula)
    costs = arithmetic.Costs.of(lists_of(left.formula), board)
    branching = branches.Branching.of(costs, {})
    assert branching is not None
    with pytest.raises(boards.Settled):
        branching.turn(float("inf"))
    assert board.cost + left.constant == least
    assert left.formula.hard_violations([int(x > 0) for x in board.model]) == 0
    result = solve(formula, method="exact", threads=1, seed=seed)
    assert result.lower_bound == result.cost == least


def test_random_clauses_of_four_are_no_adders():
    rng = random.Random(1)
    hard = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, 60), 4)] for _ in range(400)]
    assert Adders.of(hard, range(1, 20)) is None
    assert not Adders(hard, range(1, 20)).rows
    assert not pace.programs_first(Formula.from_clauses([[v] for v in range(1, 20)], hard=hard))


def test_sums_modulo_two_are_no_adders():
    rng = random.Random(2)
    hard = []
    for _ in range(60):
        four = rng.sample(range(1, 80), 4)
        odd = [s for s in itertools.product((1, -1), repeat=4) if s.count(-1) % 2]
        hard += [[v * s for v, s in zip(four, signs, strict=True)] for signs in odd]
    assert not pace.programs_first(Formula.from_clauses([[v] for v in range(1, 70)], hard=hard))
