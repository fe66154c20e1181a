"""Counters among hard clauses: what their cliques say, values of their variables, and proofs with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("pysat")
pytest.importorskip("rustsat")

from pysat.card import CardEnc, EncType

from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.exact import pace, sharing
from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import branching as branches
from hardscape.maxsat.methods.exact.prover import costs as arithmetic
from hardscape.maxsat.methods.exact.prover import turns as prover
from hardscape.maxsat.methods.exact.prover.rows.counters import Counters
from hardscape.maxsat.methods.symmetry import breaking
from helpers.maxsat_oracle import holds
from helpers.maxsat_proofs import Silent
from helpers.seeds import each_seed


def at_most_one(literals, top):
    """Clauses of a counter, and the last variable."""
    encoded = CardEnc.atmost(list(literals), 1, top_id=top, encoding=EncType.seqcounter)
    return encoded.clauses, max(top, encoded.nv)


def ladder(literals, top):
    """The same by the place of the one that holds: literal i means that it is behind i."""
    behind = range(top + 1, top + len(literals))
    clauses = [[-b, a] for a, b in itertools.pairwise(behind)]
    clauses += [[-x, -b] for x, b in zip(literals, behind, strict=False)]
    clauses += [[-x, b] for x, b in zip(literals[1:], behind, strict=True)]
    return clauses, top + len(literals) - 1


def partition(elements, sets, size, seed):
    """The least number of sets, weighted, of which each element is in one; the clauses, weights, and sets."""
    rng = np.random.default_rng(seed)
    members = [
        rng.choice(elements, int(rng.integers(1, size, endpoint=True)), replace=False)
        for _ in range(sets)
    ]
    members += [[e] for e in range(elements)]  # so that there is a partition
    hard, top = [], len(members)
    for e in range(elements):
        those = [i for i, some in enumerate(members, 1) if e in some]
        clauses, top = at_most_one(those, top)
        hard += [those, *clauses]
    weights = [int(w) for w in rng.integers(1, 30, len(members))]
    return hard, weights, members, top


def least_by_tables(elements, weights, members):
    """The least weight of a partition, over subsets of the elements."""
    sets = [
        (sum(1 << int(e) for e in some), weight)
        for weight, some in zip(weights, members, strict=True)
    ]
    least = {0: 0}
    for covered in range((1 << elements) - 1):
        if covered not in least:
            continue
        first = ~covered & (covered + 1)  # which some set of the partition has
        for mask, weight in sets:
            if mask & first and not covered & mask:
                both = covered | mask
                least[both] = min(least.get(both, least[covered] + weight), least[covered] + weight)
    return least[(1 << elements) - 1]


def formula_of(hard, weights, top):
    wishes = [[-i] for i in range(1, len(weights) + 1)]
    return {
        "variables": top,
        "clauses": hard + wishes,
        "weights": [0] * len(hard) + weights,
        "hard": [True] * len(hard) + [False] * len(wishes),
    }


@pytest.mark.parametrize("encoded", [at_most_one, ladder])
@pytest.mark.parametrize("n", [3, 7, 30])
def test_a_counter_is_one_clique(encoded, n):
    signs = np.random.default_rng(n).choice([-1, 1], n)
    literals = [int(s * v) for s, v in zip(signs, range(1, n + 1), strict=True)]
    found = Counters(encoded(literals, n)[0], range(1, n + 1))
    assert [sorted(clique) for clique in found.cliques] == [sorted(literals)]
    assert found.left == []
    assert found.prevail


@each_seed(range(120))
def test_cliques_and_values_say_what_the_clauses_do(seed):
    rng = np.random.default_rng(seed)
    n, hidden = int(rng.integers(2, 7)), int(rng.integers(1, 7))
    count = int(rng.integers(1, 5 * (n + hidden)))
    pairs = [rng.choice(n + hidden, 2, replace=False) + 1 for _ in range(count)]
    clauses = [[int(v) * int(rng.choice([-1, 1], p=[0.7, 0.3])) for v in pair] for pair in pairs]
    found = Counters(clauses, range(1, n + 1))
    assert all(len({abs(x) for x in clique}) == len(clique) for clique in found.cliques)
    for values in itertools.product((0, 1), repeat=n):
        told = [*values, *[0] * hidden]
        suits = all(
            sum(told[abs(x) - 1] == (x > 0) for x in clique) <= 1 for clique in found.cliques
        )
        possible = any(
            all(holds(clause, [*values, *rest]) for clause in clauses)
            for rest in itertools.product((0, 1), repeat=hidden)
        )
        if not found.left:
            assert suits == possible
        assert suits or not possible
        if suits and found.complete(told):
            gone = [clause for clause in clauses if clause not in found.left]
            assert all(holds(clause, told) for clause in gone)
        else:
            assert not possible
        assert told[:n] == list(values)


@each_seed(range(25))
def test_partitions_are_proven_by_branches_alone(seed):
    pytest.importorskip("highspy")
    hard, weights, members, top = partition(9, 40, 4, seed)
    board = Silent()
    costs = arithmetic.Costs.of(formula_of(hard, weights, top), board)
    assert costs.counters is not None
    branching = branches.Branching.of(costs, {})
    with pytest.raises(boards.Settled):
        branching.turn(float("inf"))  # from nothing: no solver had an assignment before
    assert board.cost == least_by_tables(9, weights, members)
    assert all(holds(clause, [int(x > 0) for x in board.model]) for clause in hard)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_partitions_are_proven(seed, check):
    hard, weights, members, top = partition(8, 30, 3, 100 + seed)
    board = Silent(check=check)
    with pytest.raises(boards.Settled):
        prover.prove(formula_of(hard, weights, top), board, seed % 3)
    assert board.cost == least_by_tables(8, weights, members)


def test_no_partition_is_refuted_by_branches():
    pytest.importorskip("highspy")
    rows = [[1, 2, 4], [2, 3, 5], [1, 3, 6]]  # without the last three of each the rows are odd
    hard, top = [*rows, [-4], [-5], [-6]], 6
    for row in rows:
        clauses, top = at_most_one(row, top)
        hard += clauses
    board = Silent()
    costs = arithmetic.Costs.of(formula_of(hard, [1] * 6, top), board)
    branching = branches.Branching.of(costs, {})
    with pytest.raises(boards.Settled):
        branching.turn(float("inf"))
    assert board.cost is None


def test_counters_prevail_in_a_partition_and_not_without():
    hard, weights, _, top = partition(12, 300, 6, 1)
    wishes = [[-i] for i in range(1, len(weights) + 1)]
    formula = Formula.from_clauses(wishes, weights, hard=hard, num_variables=top)
    assert pace.programs_first(formula)
    assert sharing.first_share(formula, 5.0) == sharing.SHARE
    pairs = [[-a, -b] for a, b in itertools.combinations(range(1, 30), 2)]
    graph = Formula.from_clauses([[v] for v in range(1, 30)], hard=pairs)
    assert not pace.programs_first(graph)
    assert pace.opening(graph) == 0.0
    assert sharing.first_share(graph, 5.0) > sharing.SHARE


@pytest.mark.parametrize(("count", "seconds"), [(300, 0.6), (3000, 2e-5)])
def test_what_a_proof_begins_with_takes_longer_where_there_is_more_of_it(count, seconds):
    hard, weights, _, top = partition(12, count, 6, 1)
    wishes = [[-i] for i in range(1, len(weights) + 1)]
    formula = Formula.from_clauses(wishes, weights, hard=hard, num_variables=top)
    each = len(formula.literals) if seconds < 0.1 else 1
    assert pace.opening(formula) == pytest.approx(seconds * each)


def test_a_large_partition_is_solved_within_the_limit():
    pytest.importorskip("highspy")
    hard, weights, members, top = partition(14, 800, 5, 3)
    wishes = [[-i] for i in range(1, len(weights) + 1)]
    formula = Formula.from_clauses(wishes, weights, hard=hard, num_variables=top)
    result = solve(formula, threads=1, time_limit=30.0, seed=1)
    assert result.lower_bound == result.cost
    assert result.cost == least_by_tables(14, weights, members)


def test_symmetries_behind_long_counters_are_not_looked_for(monkeypatch):
    hard, weights, _, top = partition(12, 300, 6, 1)
    wishes = [[-i] for i in range(1, len(weights) + 1)]
    formula = Formula.from_clauses(wishes, weights, hard=hard, num_variables=top)
    monkeypatch.setattr(breaking, "_GROWTH", 100)
    monkeypatch.setattr(breaking, "symmetries", None)  # never called
    assert breaking.breaking(formula) == []
