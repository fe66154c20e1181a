"""The permanent of a matrix: intake, structure, and the right kernel for what is left."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np

from hardscape.engine import Progress, ProgressEvent, resolve
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.exact import exact_permanent
from hardscape.permanents.glynn import GlynnSum, glynn
from hardscape.permanents.matrix import Matrix, Number, intake
from hardscape.permanents.reduce import Reductions, reduce

__all__ = ["PermanentResult", "permanent"]

Precision = Literal["auto", "double", "exact"]


@dataclass(frozen=True)
class PermanentResult:
    """A permanent and how it was found.

    Attributes
    ----------
    value : int, Fraction, float or complex
    error_bound : float
        Bound on ``abs(value - permanent)``; 0.0 for exact results.
    rigorous : bool
        Whether the bound is proven; else a part of it is an estimate.
    method : str
        "exact" or "double".
    terms : int
        Terms of Glynn's formula summed in double precision, over all blocks; 0 for exact results.
    reductions : Reductions
        What the matrix's zeros allowed before that.
    seconds : float
    """

    value: Number
    error_bound: float
    rigorous: bool
    method: str
    terms: int
    reductions: Reductions
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data; exact values are strings of digits, complex ones ``{"re", "im"}``."""
        value: Any = self.value
        if isinstance(value, int | Fraction):
            value = str(value)
        elif isinstance(value, complex):
            value = {"re": value.real, "im": value.imag}
        return {**asdict(self), "value": value}

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())


def permanent(
    a: Any,
    *,
    precision: Precision = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    full_output: bool = False,
) -> Any:
    r"""Permanent of a matrix, :math:`\mathrm{per}(a) = \sum_\sigma \prod_i a_{i\sigma(i)}`.

    Parameters
    ----------
    a : array-like, shape (m, n) or (batch, n, n)
        Integers of any size (bools count as 0 and 1), fractions, real or complex numbers; NumPy, CuPy,
        torch, scipy.sparse or nested sequences. A rectangular matrix sums over the injective maps from
        its smaller side to its larger.
    precision : {"auto", "double", "exact"}
        "exact" takes integers, rationals and floats (as the rationals that they are) and never rounds;
        "double" sums Glynn's formula in float64, compensated, with a bound of the error.
        "auto" is exact for integers and rationals and double for the rest.
    threads : int, optional
        CPU threads, by default all.
    time_limit : float, optional
        Wall-clock seconds.
    executor, progress
        As in :func:`hardscape.spectrum`.
    full_output : bool
        Return a `PermanentResult` (for a batch, a list of them). Its error bound is proven, which takes
        "double" up to 2.7 times the time.

    Returns
    -------
    int, Fraction, float, complex, or array of shape (batch,)
        A Python int for integers, whatever its size.

    Raises
    ------
    InputError
        For matrices that are not understood, or too large; for "exact" with complex entries, or "double"
        with integers that float64 cannot hold.
    BudgetError
        If the time limit comes first: a part of the sum says nothing about the permanent.
    Interrupted
        On Ctrl-C or SIGTERM.

    Notes
    -----
    Zeros are used first: entries in no perfect matching are dropped, the rest falls apart into blocks
    (Dulmage and Mendelsohn 1958), and in exact arithmetic lines of two entries are merged (Forbert and
    Marx, Comput. Phys. Commun. 150, 267, 2003). Each block of size n then costs :math:`n 2^{n-1}` operations
    (Glynn, Eur. J. Combin. 31, 1887, 2010).

    Examples
    --------
    >>> import hardscape
    >>> hardscape.permanent([[1, 1, 1], [1, 1, 1], [1, 1, 1]])
    6
    >>> hardscape.permanent([[0.5, 1.0], [2.0, 4.0]])
    4.0
    """
    if precision not in ("auto", "double", "exact"):
        raise InputError(f"precision={precision!r}; 'auto', 'double' and 'exact' are accepted")
    matrix = intake(a)
    deadline = math.inf
    if time_limit is not None:
        if not time_limit > 0:
            raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
        deadline = time.monotonic() + time_limit
    options = _Options(precision, threads, deadline, executor, progress, full_output)
    if not matrix.is_batch:
        result = _one(matrix, options)
        return result if full_output else result.value
    results = [_one(Matrix(matrix.kind, entries), options) for entries in matrix.entries]
    if full_output:
        return results
    dtype = {"real": np.float64, "complex": np.complex128}.get(matrix.kind, object)
    values = np.empty(len(results), dtype=object)
    values[:] = [result.value for result in results]
    return values.astype(dtype if precision != "exact" else object)


@dataclass(frozen=True)
class _Options:
    precision: Precision
    threads: int | None
    deadline: float
    executor: Any
    progress: Any
    guard: bool

    def engine(self) -> dict[str, Any]:
        """Keyword arguments of the kernels; what is left of the time limit."""
        left = None
        if self.deadline != math.inf:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise BudgetError(
                    "the time limit came before the permanent; give time_limit more seconds"
                )
        return {
            "time_limit": left,
            "executor": self.executor,
            "progress": self.progress,
        }


def _one(matrix: Matrix, options: _Options) -> PermanentResult:
    began = time.perf_counter()
    exact = options.precision == "exact" or (
        options.precision == "auto" and matrix.kind in ("integer", "rational")
    )
    if exact:
        value, reductions = _exactly(matrix, options)
        return PermanentResult(
            value, 0.0, True, "exact", 0, reductions, time.perf_counter() - began
        )
    sums, divisor, reductions = _in_double(_floating(matrix), options)
    result, bound = _product(sums, divisor, complex if matrix.kind == "complex" else float)
    return PermanentResult(
        result,
        bound,
        all(part.rigorous for part in sums),
        "double",
        sum(part.terms for part in sums),
        reductions,
        time.perf_counter() - began,
    )


def _exactly(matrix: Matrix, options: _Options) -> tuple[Number, Reductions]:
    if matrix.kind == "complex":
        raise InputError(
            "precision='exact' takes integers, rationals and real floats, not complex ones"
        )
    if matrix.kind == "real":
        entries = np.empty(matrix.entries.shape, dtype=object)
        entries[...] = (
            np.vectorize(Fraction, otypes=[object])(matrix.entries) if entries.size else 0
        )
        matrix = Matrix("rational", entries, matrix.transposed)
    rows, columns = matrix.shape
    if rows != columns:
        return exact_permanent(
            matrix.entries, threads=options.threads, **options.engine()
        ), Reductions()
    reduced = reduce(matrix)
    value: Any = Fraction(1) if matrix.kind == "rational" else 1
    for factor in reduced.factors:
        value *= factor
    for block in reduced.blocks:
        value *= exact_permanent(block, threads=options.threads, **options.engine())
    return value, reduced.reductions


def _floating(matrix: Matrix) -> Matrix:
    """The same matrix in float64 or complex128; integers must fit."""
    if matrix.kind in ("real", "complex"):
        return matrix
    try:
        entries = np.array(matrix.entries, dtype=np.float64).reshape(matrix.entries.shape)
        pairs = zip(entries.ravel().tolist(), matrix.entries.flat, strict=True)
        exact = all(x == y for x, y in pairs)
    except OverflowError:
        exact = False
    if not exact:
        raise InputError(
            "precision='double': an entry is not a float64; precision='exact' takes such matrices"
        )
    return Matrix("real", entries, matrix.transposed)


def _in_double(matrix: Matrix, options: _Options) -> tuple[list[GlynnSum], int, Reductions]:
    """The numbers whose product is the permanent, and what it is still to be divided by."""
    rows, columns = matrix.shape
    divisor = 1
    if rows < columns:
        # Rows of ones take the columns left over, in any of (n - m)! orders.
        ones = np.ones((columns - rows, columns), dtype=matrix.entries.dtype)
        matrix = Matrix(matrix.kind, np.vstack([matrix.entries, ones]), matrix.transposed)
        divisor = math.factorial(columns - rows)
    reduced = reduce(matrix)
    devices = resolve("cpu", threads=options.threads)
    sums = [GlynnSum(cast("float", factor), 0.0, 0, True, 0) for factor in reduced.factors]
    for block in reduced.blocks:
        sums.append(glynn(block, devices=devices, guard=options.guard, **options.engine()))
    return sums, divisor, reduced.reductions


def _product(sums: list[GlynnSum], divisor: int, kind: type) -> tuple[Any, float]:
    r"""Product of numbers with error bounds over an integer, and a bound on its error.

    With :math:`|x_i - v_i| \le e_i`, :math:`|\prod x_i - \prod v_i| \le \prod(|v_i| + e_i) - \prod|v_i|`.
    The k numbers are multiplied with their powers of two apart, so nothing overflows on the way;
    rounding adds :math:`\gamma_{4k+4}\prod|v_i|`, which covers complex products and the division, and at
    most two of the smallest subnormal numbers at the end. The bound is evaluated in rational
    arithmetic and rounded up.
    """
    if len(sums) == 1 and divisor == 1:
        return kind(sums[0].value), sums[0].error_bound
    value, exponent = kind(1), 0
    top, middle = Fraction(1), Fraction(1)
    # The modulus of a complex number is rounded, hence a little room on both sides.
    room = Fraction(4, 2**53) if kind is complex else Fraction(0)
    for part in sums:
        mantissa, power = _split(kind(part.mantissa))
        value, carry = _split(value * mantissa)
        exponent += power + part.exponent + carry
        size, scale = Fraction(abs(part.mantissa)), Fraction(2) ** part.exponent
        top *= (size * (1 + room) + Fraction(part.bound)) * scale
        middle *= size * (1 - room) * scale
    share, power = math.frexp(divisor)
    value, exponent = value / share, exponent - power
    rounding = Fraction(4 * len(sums) + 4, 2**53)
    error = (top - middle + rounding / (1 - rounding) * top) / divisor if top else Fraction(0)
    with np.errstate(over="ignore", under="ignore"):
        result = kind(_ldexp(value, exponent))
    if not np.isfinite(result) or error >= Fraction(2) ** 1023:
        return result, math.inf
    if not error:
        return result, 0.0
    return result, math.nextafter(float(error + Fraction(2, 2**1074)), math.inf)


def _split(number: Any) -> tuple[Any, int]:
    """A number as one of modulus 1/2 to 2, or 0, and a power of two."""
    exponent = math.frexp(max(abs(number.real), abs(number.imag)))[1]
    return _ldexp(number, -exponent), exponent


def _ldexp(number: Any, exponent: int) -> Any:
    if isinstance(number, complex):
        return complex(np.ldexp(number.real, exponent), np.ldexp(number.imag, exponent))
    return float(np.ldexp(number, exponent))
