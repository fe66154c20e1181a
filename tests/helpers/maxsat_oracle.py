"""MAX-SAT by the definition: clauses as lists of literals, assignments as lists of 0 and 1."""

from __future__ import annotations

from itertools import compress, pairwise, product

import numpy as np

from hardscape.maxsat.presolve import Presolved, presolve


def holds(clause, assignment) -> bool:
    return any(assignment[abs(x) - 1] == (x > 0) for x in clause)


def cost(clauses, weights, assignment) -> int:
    return sum(w for c, w in zip(clauses, weights, strict=True) if not holds(c, assignment))


def violations(clauses, assignment) -> int:
    return sum(not holds(clause, assignment) for clause in clauses)


def optimum(num_variables, clauses, weights, hard=()) -> int | None:
    """Least cost over all assignments under which every hard clause holds; None if there is none."""
    formula = {
        "variables": num_variables,
        "clauses": [*clauses, *hard],
        "weights": [*weights, *(0 for _ in hard)],
        "hard": [*(False for _ in clauses), *(True for _ in hard)],
    }
    return min(costs_of_all(formula).values(), default=None)


def costs_of_all(formula) -> dict[tuple[int, ...], int]:
    """What each assignment costs that satisfies the hard clauses of a formula as the prover takes it."""
    every = list(product((0, 1), repeat=formula["variables"]))
    values = np.array(every, dtype=bool).T
    allowed, costs = np.ones(len(every), dtype=bool), np.zeros(len(every), dtype=object)
    for clause, weight, hard in zip(
        formula["clauses"], formula["weights"], formula["hard"], strict=True
    ):
        violated = np.all([values[abs(x) - 1] != (x > 0) for x in clause], axis=0)
        if hard:
            allowed &= ~violated
        else:
            costs[violated] += weight
    return dict(zip(compress(every, allowed), costs[allowed].tolist(), strict=True))


def costs_of(formula) -> dict[tuple[int, ...], int]:
    """What each assignment costs that satisfies the hard clauses of a `Formula`."""
    ends = formula.offsets.tolist()
    literals = formula.literals.tolist()
    return costs_of_all(
        {
            "clauses": [literals[a:b] for a, b in pairwise(ends)],
            "weights": formula.weights.tolist(),
            "hard": formula.hard.tolist(),
            "variables": formula.num_variables,
        }
    )


def presolved(formula) -> Presolved:
    """What presolve leaves of a formula, whose costs and ways back are right for every assignment."""
    found = presolve(formula)
    whole = costs_of(formula)
    if found.unsatisfiable:
        assert not whole
        return found
    left = costs_of(found.formula)
    assert bool(whole) == bool(left)
    for x, price in left.items():
        lifted = found.lift(np.array(x, dtype=np.uint8))
        assert whole[tuple(lifted.tolist())] == price + found.constant
    for x, price in whole.items():
        short = tuple(found.restrict(np.array(x, dtype=np.uint8)).tolist())
        assert left[short] + found.constant <= price
    return found


_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
    return x ^ (x >> 31)


def stream(seed, number, purpose):
    """The random words of (seed, number, purpose), for ever."""
    state = _mix(seed + _GOLDEN & _WORD)
    state = _mix(state + number + _GOLDEN & _WORD)
    state = _mix(state + purpose + _GOLDEN & _WORD)
    while True:
        state = state + _GOLDEN & _WORD
        yield _mix(state)


def walk(num_variables, clauses, weights, seed, number, flips):
    """The focused random walk: variables flipped, and the assignment after all flips.

    Stops early where no clause is violated. Violated clauses are listed in the order in which they came,
    and the last one takes the place of one that leaves. The chosen one leaves first, then those that the
    flip satisfies too, the last in the list before the others.
    """
    coins = stream(seed, number, 0x6D78696E)
    value = [next(coins) >> 63 for _ in range(num_variables)]
    draws = stream(seed, number, 0x6D787761)
    violated = [c for c, clause in enumerate(clauses) if not holds(clause, value)]
    flipped = []

    def trues(clause):
        return [x for x in clause if value[abs(x) - 1] == (x > 0)]

    def breaks(v):
        return sum([abs(x) for x in trues(clause)] == [v] for clause in clauses)

    def leave(c):
        j = violated.index(c)
        violated[j] = violated[-1]
        violated.pop()

    while violated and len(flipped) < flips:
        draw = next(draws)
        chosen = violated[(draw % 2**32) * len(violated) >> 32]
        chances = [int(weights[min(breaks(abs(x)), 255)]) for x in clauses[chosen]]
        q = (draw >> 32) * sum(chances) >> 32
        k = 0
        while q >= chances[k]:
            q -= chances[k]
            k += 1
        literal = clauses[chosen][k]
        v = abs(literal)
        value[v - 1] ^= 1
        leave(chosen)
        for c in [c for c in reversed(violated) if literal in clauses[c]]:
            leave(c)
        violated += [
            c for c, clause in enumerate(clauses) if -literal in clause and not trues(clause)
        ]
        flipped.append(v)
    return flipped, value
