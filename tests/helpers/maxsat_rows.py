"""Rows that are found in clauses, beside what the clauses say."""

from __future__ import annotations

import itertools

import numpy as np
from pysat.solvers import Cadical153

from helpers.maxsat_oracle import holds


def suits(row, values):
    """Whether values of variables are allowed; for arrays of many values each, of which."""
    held = zip(row.literals, row.weights, strict=True)
    return sum(w * (values[abs(x) - 1] == (x > 0)) for x, w in held) <= row.most


def every_choice(n):
    """All values of n variables, a column each."""
    return np.arange(2**n) >> np.arange(n)[:, None] & 1


def values_of(model, top):
    true = set(model or ())
    return [int(v in true) for v in range(1, top + 1)]


def checked(found, hard, top, n, named):
    """Rows found in clauses, after all values of the first variables were compared."""
    assert not found.hidden.intersection(named)
    open_ = [v for v in range(1, n + 1) if v not in found.hidden]
    with Cadical153(bootstrap_with=hard) as whole, Cadical153(bootstrap_with=found.left) as left:
        for signs in itertools.product((-1, 1), repeat=len(open_)):
            told = [s * v for s, v in zip(signs, open_, strict=True)]
            possible = whole.solve(assumptions=told)
            if possible:
                values = values_of(whole.get_model(), top)
                assert all(suits(row, values) for row in found.rows)
            if left.solve(assumptions=told):
                values = values_of(left.get_model(), top)
                if all(suits(row, values) for row in found.rows):
                    assert possible
                    assert found.complete(values)
                    assert all(holds(clause, values) for clause in hard)
    return found
