"""The permanent of a matrix: intake, structure, plan, sums, result."""

from __future__ import annotations

import cmath
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import is_recorded, to_device
from hardscape.engine import RunArguments, RunOptions
from hardscape.errors import InputError
from hardscape.interrupts import interruptible
from hardscape.permanents.answers import answers
from hardscape.permanents.batch import (
    AT_ONCE,
    Lines,
    at_once,
    is_dense,
    is_plain,
    repeated,
    small,
    together,
)
from hardscape.permanents.matrix import Matrix, Number, intake
from hardscape.permanents.patterns import Patterns, are_patterns
from hardscape.permanents.plan import check_budget
from hardscape.permanents.program import prepare, proving
from hardscape.permanents.result import PermanentResult, devices_of, given_back
from hardscape.permanents.settings import MethodName, Precision, Settings, run_options
from hardscape.permanents.structure.multiplicity import expanded
from hardscape.permanents.structure.reduce import Reductions


@interruptible
def permanent(
    a: Any,
    *,
    rows: Any = None,
    cols: Any = None,
    precision: Precision = "auto",
    method: MethodName = "auto",
    rtol: float = 1e-10,
    full_output: bool = False,
    memory: float | None = None,
    dtype: Any = None,
    **run: Unpack[RunArguments],
) -> Any:
    r"""Permanent of a matrix, :math:`\mathrm{per}(a) = \sum_\sigma \prod_i a_{i\sigma(i)}`.

    Parameters
    ----------
    a : array-like, shape (m, n) or (batch, n, n)
        Integers of any size (bools count as 0 and 1), fractions, decimals, `ExactComplex`, numbers of mpmath,
        real or complex floating ones; NumPy, CuPy, torch, whatever speaks DLPack, scipy.sparse, nested
        sequences, a bipartite graph of networkx (whose perfect matchings are counted, with weights), or the
        path of a file. A rectangular matrix sums over the injective maps from its
        smaller side to its larger. A torch tensor whose gradient is being recorded is refused: see
        :func:`hardscape.permanents.torch.permanent`.
    rows, cols : sequence of int, or array-like of shape (patterns, m) and (patterns, n), optional
        How often each row and column counts, 0 or more, with equal sums: boson sampling's photons in
        each output and input mode. One of them or both may hold many patterns, which share what they
        have in common; `rtol` is then relative to the root mean square of all values, where a value is
        smaller. Not for batches.
    precision : {"auto", "double", "extended", "exact"}
        "exact" takes all numbers, floats as the rationals that they are, and never rounds;
        "double" computes in float64, with a bound of the error; "extended" in pairs of float64, ten times
        slower, and rounds to float64 at the end.
        "auto" is exact for integers, rationals (decimals, numbers of mpmath and long doubles that float64
        cannot hold are such) and `ExactComplex`, and double for the rest; where double's error is
        probably above `rtol` of the value, sums that promise to lose less are taken, an exact one, one in
        extended precision or one in which less cancels, if they are cheap (a second, or 30 times the
        first sum), and of all answers the one with the smallest bound is kept.
    method : {"auto", "glynn", "repeated", "sparse", "rank", "frontier", "subset"}
        How blocks are summed, once zeros are used: "glynn" over signs of rows, "repeated" over
        multiplicities of repeated lines, "sparse" over signs of some rows of a sparse matrix, the others
        eliminated, "rank" by products of linear forms for a matrix of low rank, or one of low rank
        plus a diagonal, "frontier" by a dynamic program over rows of a sparse matrix,
        "subset" over subsets of the lines of a nonnegative matrix, a rectangle of few rows or a small
        exact one. "auto" takes the cheapest, or one that loses no digits if it takes not much longer;
        :func:`hardscape.permanents.plan` tells which.
    rtol : float
        Relative error that "auto" precision is content with.
    full_output : bool
        Return a `PermanentResult` (for a batch, a list of them). The value is the same. Its error bound
        is proven: by a second sum, exact or in extended precision, where that takes up to a second or
        three times the first one, and is then hardly wider than the error; else from the sum itself,
        which takes "double" up to 2.9 times the time. That of a sum in "double" on GPUs is an estimate,
        and says so.
    memory : float, optional
        Gigabytes that the tables of "frontier" may take, by default what the machine has left.
    dtype : {None, "float32", "float64", "complex64", "complex128"}, or the same of NumPy, torch, JAX, optional
        Of floating values, which are found in float64 and rounded once: `a.dtype` keeps float32 what was
        float32. By default they are Python numbers, float64 and complex128.
    **run
        How it is run: `device`, `threads`, `seed` (nothing is random), `time_limit`, `checkpoint`,
        `executor`, `workers`, `progress`; see :class:`hardscape.engine.RunArguments`. `device` "auto"
        takes GPUs that are usable for large matrices and a batch's own GPU for batches that are on
        one; GPUs sum "glynn", "sparse" and "frontier", all else is done by the CPU. If several blocks take
        long, the second one's ledger is called `checkpoint` and ".2", and so on.

    Returns
    -------
    int, Fraction, ExactComplex, float, complex, or array of shape (batch,) or (patterns,)
        A Python int for integers, whatever its size. Floats beyond float64 are infinite, and an
        `OverflowWarning` says so; with `full_output` a mantissa and a power of two tell them all the
        same. A batch gives float64 or complex128 in the package of `a`, on its device; exact values come
        in a NumPy array of Python numbers, which no other package holds.

    Raises
    ------
    InputError
        For matrices and multiplicities that are not understood; for "double" with numbers that float64
        cannot hold, or a method that does not fit.
    BudgetError
        If the estimate is a day or more and none of `time_limit`, `checkpoint` and `executor` says to
        run it anyway; if a block is too large for every method; if the time limit comes first, as a
        part of the sum says nothing about the permanent.
    CheckpointError
        If the checkpoint is unreadable, in use, or belongs to something else.
    Interrupted
        On Ctrl-C or SIGTERM; what is in the checkpoint is kept.

    Notes
    -----
    Zeros are used first: entries in no perfect matching are dropped, the rest falls apart into blocks
    (Dulmage and Mendelsohn 1958), and lines of two entries are merged (Forbert and
    Marx, Comput. Phys. Commun. 150, 267, 2003), floating ones in large blocks only. A block of size n
    then costs :math:`n 2^{n-1}` operations (Glynn, Eur. J. Combin. 31, 1887, 2010), or, where lines are
    equal up to a factor, about :math:`\prod (M_k + 1)` terms for multiplicities :math:`M_k` of rows or
    of columns.

    Examples
    --------
    >>> import hardscape
    >>> hardscape.permanent([[1, 1, 1], [1, 1, 1], [1, 1, 1]])
    6
    >>> hardscape.permanent([[0.5, 1.0], [2.0, 4.0]])
    4.0
    >>> hardscape.permanent([[1, 2], [3, 4]], rows=[2, 1], cols=[1, 2])  # of [1 2 2; 1 2 2; 3 4 4]
    56
    """
    plain = precision == "auto" and method == "auto" and not (full_output or run or memory)
    if plain and dtype is None and type(a) is np.ndarray and rtol >= 0:
        value = small(a, rtol) if rows is None and cols is None else repeated(a, rows, cols, rtol)
        if value is not None:
            return value
    if is_recorded(a):
        raise InputError(
            "a requires a gradient, which is not recorded through permanents; a.detach() is accepted, "
            "and hardscape.permanents.value_and_grad gives the gradient"
        )
    settings = Settings(precision, method, rtol, full_output, memory)
    matrix = intake(a, exactly=precision == "exact")
    kept = settings.value_type(dtype, matrix.kind)
    if are_patterns(rows) or are_patterns(cols):
        patterns = Patterns.of(matrix, rows, cols)
        found = _patterns(patterns, settings, patterns.options(**run))
    else:
        lines = None
        if rows is not None or cols is not None:
            lines = Lines(matrix, rows, cols)
            matrix = expanded(matrix, rows, cols)
        if matrix.is_batch and run.get("checkpoint") is not None:
            raise InputError("checkpoint is for one matrix, and a is a batch; leave it out")
        options = run_options(matrix, **run)
        if matrix.is_batch:
            found = _batch(matrix, settings, options)
        else:
            found = _found(matrix, settings, options, lines)
    return found if full_output else given_back(found, a, kept)


def _found(
    matrix: Matrix, settings: Settings, options: RunOptions, lines: Lines | None = None
) -> Any:
    """The permanent of one matrix, or its result."""
    quick = at_once(matrix, settings, options, lines)
    if quick is None:
        result = _one(matrix, settings, options)
        return result if settings.full_output else result.value
    if not settings.full_output and options.checkpoint is None:
        return quick.value
    # A sum in extended precision is no long one for small matrices.
    small_side = len(matrix.entries) <= AT_ONCE
    other = replace(settings, precision="extended") if small_side else settings
    found = _beside(quick.value, _one(matrix, other, options))
    if not settings.full_output:
        return found.value
    terms = found.terms if quick.terms is None else quick.terms
    return replace(found, method=quick.method, terms=terms, reductions=Reductions())


def _beside(value: Number, found: PermanentResult) -> PermanentResult:
    """What a value by another sum came out as: it is as far off as that says, at most."""
    if not cmath.isfinite(value) or not cmath.isfinite(found.value):
        return replace(found, value=value, error_bound=math.inf, likely_error=math.inf)
    both = [complex(value), complex(found.value)]
    off = sum(abs(Fraction(x) - Fraction(y)) for x, y in zip(*map(_parts, both), strict=True))
    bounds = [float(off + Fraction(x)) for x in (found.error_bound, found.likely_error)]
    above = [math.nextafter(bound, math.inf) if bound else 0.0 for bound in bounds]
    return replace(
        found,
        value=value,
        mantissa=value,
        exponent=0,
        error_bound=above[0],
        likely_error=above[1],
        precision="double",
    )


def _parts(number: complex) -> tuple[float, float]:
    return number.real, number.imag


def _batch(matrix: Matrix, settings: Settings, options: RunOptions) -> Any:
    def values(settings: Settings) -> NDArray[Any]:
        return together(matrix, settings, options, lambda one: _one(one, settings, options).value)

    def one(i: int) -> Any:
        return _found(Matrix(matrix.kind, on_host.entries[i]), settings, options)

    plain = is_plain(matrix, settings)
    if settings.full_output or not plain:
        matrix.check_finite()
        on_host = matrix.on_host()
    return _many(matrix, settings, len(matrix.entries), values if plain else None, one)


def _patterns(patterns: Patterns, settings: Settings, options: RunOptions) -> Any:
    matrix = patterns.matrix

    def one(i: int, settings: Settings = settings) -> Any:
        rows, cols = patterns[i]
        lines = Lines(matrix, rows, cols)
        return _found(expanded(matrix, rows, cols), settings, options, lines)

    def values(settings: Settings) -> NDArray[Any]:
        return patterns.permanents(settings, options, lambda i: one(i, settings))

    dense = is_dense(matrix, settings)
    return _many(matrix, settings, len(patterns), values if dense else None, one)


def _many(
    matrix: Matrix,
    settings: Settings,
    count: int,
    values: Callable[[Settings], NDArray[Any]] | None,
    one: Callable[[int], Any],
) -> Any:
    """Many permanents, or their results: their `values` at once, if that is a way, and each of them."""
    quick = None if values is None else values(replace(settings, full_output=False))
    if settings.full_output:
        found = [one(i) for i in range(count)]
        return found if quick is None else _with_values(to_device(quick, "cpu"), found)
    return _values([one(i) for i in range(count)], matrix, settings) if quick is None else quick


def _with_values(values: Any, found: list[PermanentResult]) -> list[PermanentResult]:
    """Results with the values that a call gives that does not ask for them, where it is another way."""
    pairs = zip(list(values), found, strict=True)
    return [one if x == one.value else _beside(x.item(), one) for x, one in pairs]


def _values(found: Sequence[Number], matrix: Matrix, settings: Settings) -> NDArray[Any]:
    """The permanents of a batch in an array: of Python's numbers where they are exact."""
    values = np.empty(len(found), dtype=object)
    values[:] = found
    if settings.arithmetic(matrix.kind) == "exact":
        return values
    return values.astype(np.complex128 if matrix.kind == "complex" else np.float64)


def _one(matrix: Matrix, settings: Settings, options: RunOptions) -> PermanentResult:
    """A matrix's whole way: structure and plan, sums, result."""
    began = time.perf_counter()
    program = prepare(matrix, settings.choice(matrix.kind, options.devices, options.deadline))
    if settings.full_output:
        program = proving(program)
    check_budget(program, options)
    found = answers(program, settings, options)
    whole, program = found.total, found.program
    if program.choice.exact:
        numbers = (whole, whole, 0, 0.0, True, 0.0, 1.0)
    else:
        value = complex(whole.value) if matrix.kind == "complex" else whole.value
        bounds = (whole.error_bound, whole.rigorous, whole.probable_error, whole.condition)
        numbers = (value, whole.mantissa, whole.exponent, *bounds)
    return PermanentResult(
        *numbers,
        method=program.method,
        precision=program.precision,
        terms=program.terms + found.lost,
        reductions=program.reductions,
        seconds=time.perf_counter() - began,
        device=devices_of(program.leaves, options.devices),
        retries=found.retries,
    )
