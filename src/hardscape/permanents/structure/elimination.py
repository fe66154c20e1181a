r"""Permanents of sparse matrices: some signs of Glynn's formula summed in closed form.

per(A) is the coefficient of :math:`x_1 \cdots x_n` in :math:`\prod_j s_j`,
:math:`s_j = \sum_i a_{ij} x_i`. Glynn's formula reads every variable by summing over signs. Here that
is done for the *outer* variables only; the coefficient of the product of the *inner* ones is found for
each choice of outer signs, with

.. math:: s_j = u_j + \sum_{i\ \mathrm{inner}} a_{ij} x_i

by eliminating one inner variable after the other: multiply all polynomials that contain it, where
:math:`x_i^2 = 0`, and keep what is linear in it. With k inner variables whose factors hardly overlap
this costs about two operations a factor and replaces :math:`2^k` terms.

The outer signs walk a Gray code, whose innermost signs are the *fast* ones, unrolled. A flip changes the
factors of one row only, and only what depends on them is computed again: products take slow factors
first. Inner and fast variables are chosen greedily by the cost that follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native

#: A value of the program, by number, or a constant.
Operand = int | float | complex

#: Operations of each term of Glynn's formula, at least: four beside the program, for seven inner variables.
LEAST_COST = 4 / 2**7


@dataclass(frozen=True, slots=True)
class Operation:
    """``left * right + more``; without `right` just ``left + more``, without `more` the product.

    `changes` has bit b if the value depends on fast sign b.
    """

    left: Operand
    right: Operand | None
    more: Operand | None
    changes: int


@dataclass(frozen=True)
class Elimination:
    """How the sum over the inner variables is computed, and what that costs."""

    #: Rows: eliminated; flipped innermost, the fastest first; all others, of which the first keeps
    #: its sign.
    inner: tuple[int, ...]
    fast: tuple[int, ...]
    slow: tuple[int, ...]
    #: Bit b of entry j tells whether fast sign b is in factor j; the values 0 to n - 1 are the
    #: factors' outer sums.
    leaves: tuple[int, ...]
    #: Values n, n + 1, ..., in an order in which they can be computed.
    operations: tuple[Operation, ...]
    result: Operand  #: the value that is summed
    scales: tuple[float | complex, ...]  #: what each column of the matrix was divided by
    cost: float  #: operations for each term of Glynn's formula, 2**(n-1) of them


def eliminate(matrix: NDArray[Any], fast: int) -> Elimination:
    """Choose up to seven inner rows, and `fast` fast ones, at most n - 1, and write the rest down.

    Rows of the square matrix are variables, columns factors. A few hundred trial eliminations of the 14 rows
    with the fewest entries, milliseconds in all.
    """
    inner, quick, leaves, operations, constants, result, scales, cost = (
        native.vector.permanents.sparse_elimination(np.ascontiguousarray(matrix), fast)
    )

    def operand(code: int) -> Operand | None:
        return code if code >= 0 else None if code == -1 else constants[-2 - code]

    def operation(left: int, right: int, more: int, changes: int) -> Operation:
        first = operand(left)
        assert first is not None
        return Operation(first, operand(right), operand(more), changes)

    value = operand(result)
    assert value is not None
    slow = sorted({*range(len(matrix))} - {*inner, *quick})
    steps = tuple(operation(*codes) for codes in operations.tolist())
    lines = tuple(inner), tuple(quick), tuple(slow)
    return Elimination(*lines, tuple(leaves), steps, value, tuple(scales), cost)
