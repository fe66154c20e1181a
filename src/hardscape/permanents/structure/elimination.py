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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.integers import bits

#: A value of the program, by number, or a constant.
Operand = int | float | complex

_MOST_INNER = 7
#: Inner variables are looked for among so many rows with the fewest entries.
_CANDIDATES = 14
#: Values that registers hold; more of them cost memory accesses.
_REGISTERS = 100
#: Operations of each term besides the program, and at least, with those.
_OVERHEAD = 4.0
LEAST_COST = _OVERHEAD / 2**_MOST_INNER


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


def eliminate(matrix: NDArray[Any], fast: int, overlap: bool = True) -> Elimination:
    """Choose inner rows, if `overlap`, and `fast` fast ones, at most n - 1, and write the rest down.

    Rows of the square matrix are variables, columns factors. A hundred trial eliminations, each of a
    millisecond.
    """
    supports = [_mask(np.flatnonzero(row)) for row in matrix]
    rows = sorted(range(len(matrix)), key=lambda i: (supports[i].bit_count(), i))
    best = _built(matrix, supports, (), fast)
    inner: tuple[int, ...] = ()
    while overlap and len(inner) < min(_MOST_INNER, len(matrix) - 1 - fast):
        trials = [
            _built(matrix, supports, (*inner, row), fast)
            for row in [r for r in rows if r not in inner][:_CANDIDATES]
        ]
        trial = min(trials, key=lambda t: t.cost)
        inner = trial.inner
        if trial.cost < best.cost:
            best = trial
        elif trial.cost > 1.3 * best.cost:
            break
    return best


def _mask(places: Iterable[Any]) -> int:
    return sum(1 << int(bit) for bit in places)


@dataclass
class _Polynomial:
    """Coefficients of products of inner variables, by the mask of these; no variable is squared."""

    terms: dict[int, Operand]
    scope: int
    changes: int


@dataclass
class _Program:
    first: int
    leaves: list[int]
    operations: list[Operation] = field(default_factory=list)

    def changes(self, operand: Operand | None) -> int:
        if not isinstance(operand, int):
            return 0
        if operand < self.first:
            return self.leaves[operand]
        return self.operations[operand - self.first].changes

    def emit(self, left: Operand, right: Operand | None, more: Operand | None) -> int:
        changes = self.changes(left) | self.changes(right) | self.changes(more)
        self.operations.append(Operation(left, right, more, changes))
        return self.first + len(self.operations) - 1

    def sum_of_products(self, pairs: list[tuple[Operand, Operand]]) -> Operand:
        """Sum of x * y; constants are floats, and 1.0 multiplies for nothing."""
        plain: list[Operand] = []
        products: list[tuple[Operand, Operand]] = []
        for x, y in pairs:
            if not isinstance(x, int) and not isinstance(y, int):
                plain.append(x * y)
            elif x == 1.0 and not isinstance(x, int):
                plain.append(y)
            elif y == 1.0 and not isinstance(y, int):
                plain.append(x)
            else:
                products.append((x, y))
        total: Operand | None = None
        for value in plain:
            if total is None:
                total = value
            elif not isinstance(total, int) and not isinstance(value, int):
                total = total + value
            else:
                total = self.emit(total, None, value)
        for x, y in products:
            total = self.emit(x, y, total)
        assert total is not None
        return total

    def multiply(self, one: _Polynomial, other: _Polynomial, needed: int) -> _Polynomial:
        """The product, of terms that contain all of `needed` only."""
        pairs: dict[int, list[tuple[Operand, Operand]]] = {}
        for a, x in one.terms.items():
            for b, y in other.terms.items():
                if not a & b and (a | b) & needed == needed:
                    pairs.setdefault(a | b, []).append((x, y))
        terms = {mask: self.sum_of_products(products) for mask, products in pairs.items()}
        return _Polynomial(terms, one.scope | other.scope, one.changes | other.changes)


def _rate(changes: int) -> float:
    """How often a flip of one of these fast signs comes, for each step."""
    return sum(0.5 ** (bit + 1) for bit in bits(changes))


def _built(
    matrix: NDArray[Any], supports: Sequence[int], inner: tuple[int, ...], fast: int
) -> Elimination:
    n = len(matrix)
    scopes = [_mask(k for k, i in enumerate(inner) if supports[i] >> j & 1) for j in range(n)]
    quick = _fast_rows(supports, inner, scopes, fast)
    leaves = [_mask(b for b, i in enumerate(quick) if supports[i] >> j & 1) for j in range(n)]
    program = _Program(n, leaves)
    pieces, scales = [], []
    for j, scope in enumerate(scopes):
        constants = {1 << k: matrix[inner[k], j].item() for k in bits(scope)}
        scales.append(_scale(list(constants.values()), float(np.abs(matrix[:, j]).max())))
        terms = {mask: x / scales[-1] for mask, x in constants.items()}
        pieces.append(_Polynomial({0: j, **terms}, scope, leaves[j]))
    result = _summed_out(program, pieces, len(inner))
    steps = sum(map(_rate, leaves)) + _OVERHEAD
    every = 0.5**fast
    for operation in program.operations:
        steps += _rate(operation.changes) + every
    # Values that wait for a later step stay in registers.
    held = sum(1 for x in leaves if x) + sum(1 for x in program.operations if x.changes)
    steps *= 1 + max(0.0, held / _REGISTERS - 1)
    slow = tuple(i for i in range(n) if i not in inner and i not in quick)
    cost = steps / 2.0 ** len(inner)
    return Elimination(
        inner,
        quick,
        slow,
        tuple(leaves),
        tuple(program.operations),
        result,
        tuple(scales),
        cost,
    )


def _scale(constants: list[Any], most: float) -> float | complex:
    """An inner entry that becomes 1, unless it is tiny beside the outer ones."""
    largest: float | complex = max(constants, key=abs, default=0.0)
    return largest if abs(largest) > most / 2**20 else 1.0


def _fast_rows(
    supports: Sequence[int], inner: Sequence[int], scopes: Sequence[int], fast: int
) -> tuple[int, ...]:
    """Rows that add the least work, one after the other."""
    weights = [1.0 + 2.0 ** scope.bit_count() for scope in scopes]
    rest = [i for i in range(len(supports)) if i not in inner]
    chosen: list[int] = []
    covered = 0
    while len(chosen) < fast:
        row = min(
            rest,
            key=lambda i: (
                sum(weights[j] for j in bits(supports[i] & ~covered)) + supports[i].bit_count(),
                i,
            ),
        )
        rest.remove(row)
        chosen.append(row)
        covered |= supports[row]
    return tuple(chosen)


def _summed_out(program: _Program, pieces: list[_Polynomial], inner: int) -> Operand:
    """The coefficient of the product of all inner variables in the product of the pieces."""
    remaining = set(range(inner))
    while remaining:
        variable = min(remaining, key=lambda k: _width(pieces, k))
        remaining.remove(variable)
        bit = 1 << variable
        group = sorted((p for p in pieces if p.scope & bit), key=lambda p: _rate(p.changes))
        pieces = [p for p in pieces if not p.scope & bit]
        if not group:
            return 0.0  # a row of zeros
        product = group[0]
        for count, piece in enumerate(group[1:], start=2):
            product = program.multiply(product, piece, bit if count == len(group) else 0)
        terms = {mask ^ bit: x for mask, x in product.terms.items() if mask & bit}
        pieces.append(_Polynomial(terms, product.scope & ~bit, product.changes))
    pieces.sort(key=lambda p: _rate(p.changes))
    whole = reduce(lambda one, other: program.multiply(one, other, 0), pieces)
    return whole.terms[0]


def _width(pieces: Sequence[_Polynomial], variable: int) -> tuple[int, int, int]:
    """Variables in the polynomial that eliminating this one makes, and its factors."""
    group = [p for p in pieces if p.scope >> variable & 1]
    scope = reduce(lambda mask, p: mask | p.scope, group, 0)
    return scope.bit_count(), len(group), variable
