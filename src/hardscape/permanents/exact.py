"""Exact permanents of integers and rationals, in integer arithmetic that never rounds.

The matrix is brought to integers, by row, without common factors of rows or columns. Few rows: a sum
over subsets in Python's integers. Otherwise Glynn's sum, either modulo a power of two that is above
twice its largest possible value, or modulo as many primes as determine the permanent.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import engine
from hardscape.arrays import is_sparse, to_numpy
from hardscape.engine import Progress, ProgressEvent
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import cost
from hardscape.permanents.integers import (
    MAX_SIDE,
    MIN_SIDE,
    IntegerGlynnWork,
    Rows,
    glynn_of_integers,
)

__all__ = ["MAX_SUBSET_ROWS", "SUBSET_SECONDS", "exact_permanent", "integers_of", "subset_sum"]

#: Rough seconds of a step of the subset sum.
SUBSET_SECONDS = 1.5e-7
#: Rows whose subset sums fit in memory.
MAX_SUBSET_ROWS = 22


def exact_permanent(
    matrix: Any,
    *,
    threads: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
) -> int | Fraction:
    r"""Permanent of a matrix of integers or rationals, exactly.

    :math:`\mathrm{per}(a) = \sum_\sigma \prod_i a_{i \sigma(i)}` over the injective maps of rows to
    columns.

    Parameters
    ----------
    matrix : array-like, shape (m, n) with m <= n
        Integers of any size, fractions, or floats, which count as the rationals that they are;
        object arrays and nested sequences may mix them.
    threads : int, optional
        CPU threads, by default all that this process may use.
    time_limit : float, optional
        Wall-clock seconds.
    checkpoint : str or Path, optional
        Ledger of finished shards; a run on an existing one goes on where it stopped. Not used by
        matrices of few rows, which take no time.
    executor : optional
        Runs the shards elsewhere: a ``concurrent.futures.Executor``, a Dask client, an MPI pool.
    progress
        True for a bar, or a callable; see :func:`hardscape.engine.resolve_progress`.

    Returns
    -------
    int or Fraction
        int where all entries are integers by type, else Fraction. The same for every number of
        threads and executor. 1 for a matrix without rows.

    Raises
    ------
    InputError
        If the matrix is not two-dimensional, has more rows than columns, or an entry is not a
        finite real number.
    BudgetError
        If the work would take more than a day here and none of `time_limit`, `checkpoint` and
        `executor` says to run it anyway; if n is above 63 and m above 22; or if the time limit came
        first.
    CheckpointError
        If the checkpoint is unreadable, in use, or belongs to something else.
    Interrupted
        On Ctrl-C and SIGTERM; what is in the checkpoint is kept.

    Notes
    -----
    Rows and columns are freed of common denominators and factors. Few rows: a sum over subsets of
    rows, :math:`n m 2^{m-1}` products of Python integers. Else :math:`n 2^{n-1}` factors of
    Glynn's formula (D. Glynn, Eur. J. Comb. 31, 1887 (2010)), a rectangular matrix completed with
    n - m rows of ones. The arithmetic is modulo a power of two of up to 512 bits, where the bound
    of ``permanent_bound`` and n - 1 more bits fit, else modulo
    primes near 2^62; nothing is ever rounded.

    Examples
    --------
    >>> from hardscape.permanents.exact import exact_permanent
    >>> exact_permanent([[1, 2], [3, 4]])
    10
    >>> exact_permanent([[0.5, 1, 1], [1, 1, 1]])
    Fraction(5, 1)
    """
    lanes = engine.resolve("cpu", threads=threads)
    integers, scale, integral = integers_of(matrix)
    asked_for = not (executor is None and time_limit is None and checkpoint is None)
    work = _choose(integers, len(lanes), asked_for)
    if isinstance(work, int):
        value = work
    else:
        outcome = engine.run(
            work,
            devices=lanes,
            executor=executor,
            checkpoint=checkpoint,
            time_limit=time_limit,
            progress=progress,
        )
        value = work.permanent(outcome.whole(checkpoint))
        value //= math.factorial(len(integers[0]) - len(integers))
    return int(value * scale) if integral else value * scale


def _choose(matrix: Rows, lanes: int, asked_for: bool) -> int | IntegerGlynnWork:
    """The value, where it takes no time, else the work, completed to a square."""
    if not matrix:
        return 1
    m, n = len(matrix), len(matrix[0])
    by_subsets = n * m * 2.0 ** (m - 1) * SUBSET_SECONDS if m <= MAX_SUBSET_ROWS else math.inf
    if not all(map(any, matrix)) or (m == n and not all(map(any, zip(*matrix, strict=True)))):
        return 0
    if m < MIN_SIDE or n > MAX_SIDE:
        if math.isinf(by_subsets):
            raise BudgetError(
                f"a permanent of shape {(m, n)} is out of reach: up to {MAX_SUBSET_ROWS} rows or "
                f"{MAX_SIDE} columns are accepted"
            )
        return subset_sum(matrix)
    work = glynn_of_integers(matrix + ((1,) * n,) * (n - m))
    if by_subsets <= max(work.core_seconds, 1e-3):
        return subset_sum(matrix)
    seconds = work.core_seconds / lanes
    if seconds > cost.LONG_RUN and not asked_for:
        raise BudgetError(
            f"an exact permanent of side {n} takes about {seconds / 3600:.3g} hours on {lanes} "
            "threads; pass time_limit=, checkpoint= or executor= to run it anyway"
        )
    return work


def subset_sum(matrix: Rows) -> int:
    """Sum over subsets of rows, column by column: entry S is the permanent of the rows in S."""
    m = len(matrix)
    sums = [1] + [0] * (2**m - 1)
    for column in zip(*matrix, strict=True):
        entries = [(1 << i, x) for i, x in enumerate(column) if x]
        # From large to small subsets, so that those without row i do not have this column yet.
        for rows in range(2**m - 1, 0, -1):
            sums[rows] += sum(sums[rows ^ bit] * x for bit, x in entries if rows & bit)
    return sums[-1]


def integers_of(matrix: Any) -> tuple[Rows, Fraction, bool]:
    """Integers, what their permanent is to be multiplied with, and whether all entries were integers.

    Rows and, of square matrices, columns come out without common factors.
    """
    entries = _entries(matrix)
    m, n = entries.shape
    if m > n:
        raise InputError(f"matrix has shape {(m, n)}; no more rows than columns are accepted")
    integral = all(isinstance(x, numbers.Integral) for x in entries.flat)
    rows = [[_rational(x, (i, j)) for j, x in enumerate(row)] for i, row in enumerate(entries)]
    scale = Fraction(1)
    lines: list[list[int]] = []
    for row in rows:
        denominator = math.lcm(*(x.denominator for x in row))
        line = [x.numerator * (denominator // x.denominator) for x in row]
        common = math.gcd(*line) or 1
        scale *= Fraction(common, denominator)
        lines.append([x // common for x in line])
    if m == n:
        for j in range(n):
            common = math.gcd(*(line[j] for line in lines)) or 1
            scale *= common
            for line in lines:
                line[j] //= common
    return tuple(map(tuple, lines)), scale, integral


def _entries(matrix: Any) -> NDArray[Any]:
    """A two-dimensional object array."""
    if is_sparse(matrix):
        matrix = matrix.toarray()
    if hasattr(matrix, "dtype") and matrix.dtype != object:
        entries = to_numpy(matrix, "matrix").astype(object)
    else:
        # Straight to objects: NumPy would round large integers beside floats.
        try:
            entries = np.array(matrix, dtype=object)
        except ValueError as error:
            raise InputError(f"matrix is not a rectangular array: {error}") from None
    if entries.shape == (0,):
        entries = entries.reshape(0, 0)
    if entries.ndim != 2:
        raise InputError(f"matrix has shape {entries.shape}; two dimensions are accepted")
    return entries


def _rational(value: Any, position: tuple[int, int]) -> Fraction:
    try:
        if isinstance(value, numbers.Integral):
            return Fraction(int(value))
        return Fraction(*map(int, value.as_integer_ratio()))
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"matrix{list(position)} is {value!r}; finite integers, fractions and floats are accepted"
        ) from None
