"""The gradient of a permanent: the cheapest way to all derivatives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.arrays import is_recorded
from hardscape.engine import Cpu, RunArguments, RunOptions, solve
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, DeviceError, InputError
from hardscape.interrupts import interruptible
from hardscape.permanents.derivatives.batch import SubsetMinorWork
from hardscape.permanents.derivatives.choice import Counted, derivatives, of_batch
from hardscape.permanents.derivatives.minors import Minors
from hardscape.permanents.derivatives.pace import seconds_here
from hardscape.permanents.matrix import ZEROS, Matrix, intake
from hardscape.permanents.permanent import permanent
from hardscape.permanents.plan import LONG_RUN, SURELY, Plan, PlannedBlock, plan
from hardscape.permanents.result import given_back
from hardscape.permanents.settings import Settings
from hardscape.permanents.structure.multiplicity import counts

_SETTINGS = Settings("auto", "auto", 0.0, False)


@interruptible
def minors(a: Any, *, dtype: Any = None, **run: Unpack[RunArguments]) -> Any:
    r"""All first minors of the permanent of a square matrix.

    Entry (i, j) is the permanent without row i and column j, the derivative of per(a) by
    :math:`a_{ij}` (for complex entries the holomorphic one).

    Parameters
    ----------
    a : array-like, shape (n, n) or (batch, n, n)
        As for :func:`hardscape.permanent`; n up to 63, and more where few entries are nonzero.
    dtype : optional
        Of floating minors, as for :func:`hardscape.permanent`.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. It runs on CPU threads alone, and
        `seed` has no effect: nothing is drawn.

    Returns
    -------
    numpy.ndarray, cupy.ndarray or torch.Tensor of the shape of `a`
        Of the package, and on the device, of `a`.
        float64 or complex128; for integers and fractions a NumPy array of exact ints or Fractions.
        The same bytes for any number of threads.

    Raises
    ------
    InputError
        If `a` is not a square matrix of numbers.
    DeviceError
        If `device` is a GPU.
    BudgetError
        If the estimate is a day or more and none of `time_limit`, `checkpoint` and `executor` says to
        run it anyway, or if the limit comes first.
    Interrupted
        On Ctrl-C or SIGTERM.

    Notes
    -----
    Some eight times the time of one permanent; for batches of up to 10 rows two to three times that of
    their permanents. Sparse matrices take the frontier program forwards and backwards, about 2 n times the
    time of one permanent by it. In double precision errors are relative to the magnitudes of the terms:
    of sums over subsets for small matrices, and of Glynn's formula with entries rounded to 52 bits of their
    column's sum, about :math:`(n + 256)\, 2^{-53}` at most, for larger ones.

    Examples
    --------
    >>> from hardscape.permanents import minors
    >>> minors([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).tolist()
    [[93, 78, 67], [42, 30, 22], [27, 18, 13]]
    """
    matrix = _square(a)
    kept = _SETTINGS.value_type(dtype, matrix.kind)
    return given_back(_gradient(matrix, None, None, _on_cpu(**run)), a, kept)


@interruptible
def value_and_grad(
    a: Any,
    *,
    rows: Sequence[int] | None = None,
    cols: Sequence[int] | None = None,
    dtype: Any = None,
    **run: Unpack[RunArguments],
) -> tuple[Any, Any]:
    r"""Permanent and its gradient, without any package for differentiation.

    Parameters
    ----------
    a : array-like, shape (n, n), (batch, n, n), or (m, n) with `rows` and `cols`
        As for :func:`hardscape.permanent`.
    rows, cols : sequence of int, optional
        How often each row and column counts, as for :func:`hardscape.permanent`.
    dtype : optional
        Of a floating value and gradient, as for :func:`hardscape.permanent`.
    **run
        As for :func:`hardscape.permanents.minors`; the checkpoint of the gradient gets the further suffix
        ``.minors``.

    Returns
    -------
    value : int, Fraction, float, complex, or array of shape (batch,)
        As :func:`hardscape.permanent` gives it.
    gradient : array of the shape of `a`
        As :func:`hardscape.permanents.minors` gives it: the derivative by each entry, 0 for lines that
        count 0 times.

    Raises
    ------
    InputError, DeviceError, BudgetError, Interrupted
        As :func:`hardscape.permanents.minors` and :func:`hardscape.permanent` do; before anything is
        computed where both together take too long.

    Notes
    -----
    With multiplicities r and c the derivative by :math:`a_{ij}` is :math:`r_i c_j` times the permanent with
    one row i and one column j less. All of them take some eight times as long as the permanent, and for
    sparse matrices about 2 n times: see :doc:`/theory/permanents`.

    Examples
    --------
    >>> from hardscape.permanents import value_and_grad
    >>> value, gradient = value_and_grad([[1.0, 2.0], [3.0, 4.0]])
    >>> value, gradient.tolist()
    (10.0, [[4.0, 3.0], [2.0, 1.0]])
    >>> value_and_grad([[1.0, 2.0]], rows=[3], cols=[1, 2])[1].tolist()  # of 6 x y^2 at (1, 2)
    [[24.0, 24.0]]
    """
    matrix = _square(a) if rows is None and cols is None else intake(a)
    kept = _SETTINGS.value_type(dtype, matrix.kind)
    apart = run.copy()
    if (path := run.get("checkpoint")) is not None:
        apart["checkpoint"] = f"{os.fspath(path)}.minors"
    options = _on_cpu(**apart)
    gradient = _gradient(matrix, rows, cols, options)
    if options.deadline.left is not None:
        run["time_limit"] = options.deadline.left
    given = a.detach() if is_recorded(a) else a
    value = permanent(given, rows=rows, cols=cols, dtype=dtype, **run)
    return value, given_back(gradient, a, kept)


def plan_gradient(
    a: Any,
    *,
    rows: Sequence[int] | None = None,
    cols: Sequence[int] | None = None,
    **run: Unpack[RunArguments],
) -> Plan:
    """Say what :func:`hardscape.permanents.value_and_grad` would cost for one matrix.

    Takes its arguments. The value is planned as :func:`hardscape.permanents.plan` does, and the gradient is
    one more block, the last.

    Returns
    -------
    Plan

    Raises
    ------
    InputError, DeviceError, BudgetError
        As :func:`hardscape.permanents.value_and_grad` does, but for what takes long.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import plan_gradient
    >>> planned = plan_gradient(np.random.default_rng(1).normal(size=(40, 40)), threads=1)
    >>> planned.blocks[-1].method, planned.seconds > 3600
    ('glynn', True)
    """
    matrix = _square(a) if rows is None and cols is None else intake(a)
    options = _on_cpu(**run)
    value = plan(a, rows=rows, cols=cols, **run)
    of, _ = _counted(matrix, rows, cols)
    if not of.side or (of.exact and of.repeats):
        # A permanent for each entry, or nothing at all.
        times = of.entries.size
        return replace(value, seconds=value.seconds * (1 + times), terms=value.terms * (1 + times))
    work = derivatives(of).work
    seconds = seconds_here(work, options.threads)
    block = PlannedBlock(of.side, work.method, work.terms, seconds, work.memory)
    return replace(
        value,
        method="+".join(sorted({*value.method.split("+"), work.method})),
        terms=value.terms + work.terms,
        blocks=(*value.blocks, block),
        seconds=value.seconds + seconds,
        seconds_elsewhere={
            device: x + seconds_here(work, 1) for device, x in value.seconds_elsewhere.items()
        },
    )


def _on_cpu(**run: Unpack[RunArguments]) -> RunOptions:
    options = RunOptions.checked(**run)
    if not all(isinstance(device, Cpu) for device in options.devices):
        raise DeviceError(f"minors do not run on {options.devices[0]}; use device='cpu'")
    return options


def _square(a: Any) -> Matrix:
    matrix = intake(a)
    m, n = matrix.shape
    if m != n:
        raise InputError(
            f"a has shape {matrix.entries.shape}; square matrices are accepted, and rectangles with "
            "rows= and cols= of equal sums"
        )
    return matrix


def _gradient(matrix: Matrix, rows: Any, cols: Any, options: RunOptions) -> NDArray[Any]:
    """Derivatives by all entries, in the shape in which they were given."""
    if matrix.is_batch:
        return _of_batch(matrix.on_host(), options)
    of, used = _counted(matrix, rows, cols)
    found = np.full(matrix.shape, ZEROS[matrix.kind], dtype=matrix.entries.dtype)
    if of.side:
        found[used] = (
            _by_permanents(of, options) if of.exact and of.repeats else _whole(of, options)
        )
    return np.ascontiguousarray(found.T) if matrix.transposed else found


def _counted(matrix: Matrix, rows: Any, cols: Any) -> tuple[Counted, tuple[NDArray[Any], ...]]:
    """One matrix without the lines that count 0 times, and the places of the others."""
    if matrix.kind == "gaussian":
        raise InputError(
            "a holds exact complex numbers; integers, fractions, floating and complex numbers are "
            "accepted"
        )
    r, c = (np.array(x, dtype=np.int32) for x in counts(matrix, rows, cols))
    used = np.ix_(r > 0, c > 0)
    entries = np.ascontiguousarray(matrix.entries[used])
    return Counted(matrix.kind, entries, r[r > 0], c[c > 0]), used


def _whole(of: Counted, options: RunOptions) -> NDArray[Any]:
    way = derivatives(of)
    _check_budget(way.work, of.side, options)
    return way.placed(solve(way.work, options).whole())


def _check_budget(work: Minors, side: int, options: RunOptions) -> None:
    memory.require(work.memory, "a gradient by the frontier program")
    if options.asked_for or work.core_seconds <= SURELY * LONG_RUN:
        return
    # The value takes some tenth of this, or less.
    seconds = seconds_here(work, options.threads)
    if seconds > LONG_RUN:
        raise BudgetError(
            f"the minors of a matrix of side {side} take about {duration(seconds)} on "
            f"{options.threads} CPU threads; pass time_limit= to run them anyway"
        )


def _by_permanents(of: Counted, options: RunOptions) -> NDArray[Any]:
    """Exact derivatives of repeated lines: permanents, each with its own structure."""
    found = np.zeros(of.entries.shape, dtype=object)
    for i, j in np.ndindex(found.shape):
        fewer = of.rows - (np.arange(len(of.rows)) == i), of.cols - (np.arange(len(of.cols)) == j)
        value = permanent(
            of.entries, rows=fewer[0], cols=fewer[1],
            threads=options.threads, time_limit=options.deadline.left, device="cpu",
        )  # fmt: skip
        found[i, j] = int(of.rows[i]) * int(of.cols[j]) * value
    return found


def _of_batch(matrix: Matrix, options: RunOptions) -> NDArray[Any]:
    if options.checkpoint is not None:
        raise InputError("checkpoint is for one matrix, and a is a batch; leave it out")
    work = of_batch(matrix.entries)
    # What is not finite comes through sums over sets of two columns or more.
    if not isinstance(work, SubsetMinorWork) or matrix.shape[0] < 2:
        matrix.check_finite()
    if work is None:
        singles = (Matrix(matrix.kind, entries) for entries in matrix.entries)
        each = [_gradient(one, None, None, options) for one in singles]
        return np.stack(each) if each else np.empty_like(matrix.entries)
    _check_budget(work, matrix.shape[0], options)
    found = solve(work, options).whole()
    if not np.isfinite(found).all():
        matrix.check_finite()
    return found
