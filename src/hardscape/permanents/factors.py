"""The permanent of a matrix that is given as a product of two narrow ones."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import RunArguments, RunOptions, solve
from hardscape.errors import InputError
from hardscape.interrupts import interruptible
from hardscape.permanents.matrix import Matrix, Number, intake
from hardscape.permanents.methods.rank.rank import LowRankWork
from hardscape.permanents.numbers.bounded import rounded
from hardscape.permanents.numbers.gaussian import ExactComplex
from hardscape.permanents.structure.rank import LowRank


@interruptible
def permanent_of_product(
    u: Any, v: Any, *, diagonal: Any = None, **run: Unpack[RunArguments]
) -> Number:
    r"""Permanent of a matrix of low rank, :math:`\mathrm{per}(U V + D)`.

    Parameters
    ----------
    u : array-like, shape (n, r)
        Numbers of the types that :func:`hardscape.permanent` takes.
    v : array-like, shape (r, n)
    diagonal : array-like, shape (n,), optional
        The diagonal of D, by default zeros.
    **run
        How it is run; see :class:`hardscape.engine.RunArguments`.

    Returns
    -------
    int, Fraction, ExactComplex, float or complex
        Exact where all numbers are. Floats count as the rationals that they are, and the exact permanent of
        U V + D, of which no entry is rounded, is rounded once.

    Raises
    ------
    InputError
        For shapes that do not fit.
    BudgetError
        If the time limit comes first.

    Notes
    -----
    Found from products of n linear forms in r variables (A. Barvinok, Math. Oper. Res. 21, 65 (1996)): about
    :math:`2 n^r` operations on integers, or :math:`r n^{2r} / 2` with a diagonal, five times as long
    for complex ones; see :doc:`/theory/permanents`. A matrix that is of low rank without rounding is found
    to be so by :func:`hardscape.permanent` itself.

    Examples
    --------
    >>> from hardscape.permanents import permanent_of_product
    >>> permanent_of_product([[1], [1], [1]], [[1, 1, 1]], diagonal=[-1, -1, -1])  # derangements
    2
    """
    left, right = _matrix(u, "u"), _matrix(v, "v")
    shape = left.given_shape, right.given_shape
    if shape[0] != shape[1][::-1]:
        raise InputError(f"u has shape {shape[0]} and v {shape[1]}; (n, r) and (r, n) are accepted")
    n = shape[0][0]
    beside = None if diagonal is None else _matrix([diagonal], "diagonal")
    if beside is not None and beside.given_shape != (1, n):
        raise InputError(f"diagonal has {beside.given_shape[1]} entries; {n} are accepted")
    options = RunOptions.checked(**run).on_cpu()
    given = [left, right, *([] if beside is None else [beside])]
    (a, first), (b, second) = _integers(left), _integers(right)
    times, diagonals = first * second, None
    if beside is not None:
        entries, third = _integers(beside)
        a, times = a * third, times * third
        diagonals = tuple((entries.ravel() * (first * second)).tolist())
    factors = LowRank(
        tuple(map(tuple, a.tolist())), tuple(map(tuple, b.tolist())), diagonals, times
    )
    value = solve(LowRankWork(factors), options).whole()
    kinds = {matrix.kind for matrix in given}
    if kinds & {"real", "complex"}:
        is_complex = bool(kinds & {"gaussian", "complex"})
        return rounded(value, complex if is_complex else float).value
    return int(value) if kinds == {"integer"} else value


def _matrix(given: Any, name: str) -> Matrix:
    matrix = intake(given, name)
    if matrix.is_batch:
        raise InputError(f"{name} has shape {matrix.entries.shape}; one matrix is accepted")
    return matrix


def _integers(matrix: Matrix) -> tuple[NDArray[Any], int]:
    """The entries times an integer, and that."""
    entries = matrix.entries.T if matrix.transposed else matrix.entries
    numbers = [ExactComplex.of(x) for x in entries.ravel().tolist()]
    times = math.lcm(*(part.denominator for x in numbers for part in (x.real, x.imag)))
    whole = np.empty(len(numbers), dtype=object)
    is_complex = matrix.kind in ("gaussian", "complex")
    whole[:] = [x * times if is_complex else int(x.real * times) for x in numbers]
    return whole.reshape(entries.shape), times
