"""The permanent of a matrix: intake, structure, and the right kernel for what is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from hardscape.arrays import home_of, is_recorded
from hardscape.engine import Device, Progress, ProgressEvent
from hardscape.errors import InputError
from hardscape.permanents.dense import at_once, is_plain, together, values_of
from hardscape.permanents.matrix import Matrix, intake
from hardscape.permanents.methods import Candidate, exact_candidates, extended_candidates
from hardscape.permanents.multiplicity import expanded
from hardscape.permanents.number import BoundedNumber, rounded
from hardscape.permanents.planning import as_number, available, check_budget, prepare
from hardscape.permanents.program import Method, Precision, Program
from hardscape.permanents.result import PermanentResult
from hardscape.permanents.settings import Settings, bounded, ledgers

__all__ = ["permanent"]

#: Seconds that a second, exact sum may always take where double precision lost too much, and how
#: many times longer than the first one it may be.
_AGAIN, _AGAIN_TIMES = 1.0, 30.0


def permanent(
    a: Any,
    *,
    rows: Sequence[int] | None = None,
    cols: Sequence[int] | None = None,
    precision: Precision = "auto",
    method: Method = "auto",
    rtol: float = 1e-10,
    device: str | Device = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    full_output: bool = False,
) -> Any:
    r"""Permanent of a matrix, :math:`\mathrm{per}(a) = \sum_\sigma \prod_i a_{i\sigma(i)}`.

    Parameters
    ----------
    a : array-like, shape (m, n) or (batch, n, n)
        Integers of any size (bools count as 0 and 1), fractions, real or complex numbers; NumPy, CuPy,
        torch, whatever speaks DLPack, scipy.sparse or nested sequences. A rectangular matrix sums over the
        injective maps from its smaller side to its larger. A torch tensor whose gradient is being recorded
        is refused: see :func:`hardscape.permanents.value_and_grad`.
    rows, cols : sequence of int, optional
        How often each row and column counts, 0 or more, with equal sums: boson sampling's photons in
        each output and input mode. Not for batches.
    precision : {"auto", "double", "extended", "exact"}
        "exact" takes integers, rationals and floats (as the rationals that they are) and never rounds;
        "double" computes in float64, with a bound of the error; "extended" in pairs of float64, ten times
        slower, and rounds to float64 at the end.
        "auto" is exact for integers and rationals and double for the rest; where double's error is
        probably above `rtol` of the value, it takes an exact or an extended sum if one is cheap.
    method : {"auto", "glynn", "repeated", "sparse", "frontier", "subset"}
        How blocks are summed, once zeros are used: "glynn" over signs of rows, "repeated" over
        multiplicities of repeated lines, "sparse" over signs of some rows, in a kernel generated for the
        matrix (GPUs only), "frontier" by a dynamic program over rows of a sparse matrix,
        "subset" over subsets of the lines of a nonnegative matrix, a rectangle of few rows or a small
        exact one. "auto" takes the cheapest, or one that loses no digits if it takes not much longer;
        :func:`hardscape.permanents.plan` tells which.
    rtol : float
        Relative error that "auto" precision is content with.
    device : str
        "cpu", "cuda" (all GPUs), "cuda:0", or "auto", which takes GPUs that are usable for large
        matrices and a batch's own GPU for batches that are on one. GPUs sum "glynn", in double and
        extended precision, and "sparse"; all else is done by the CPU.
    threads : int, optional
        CPU threads, by default all.
    time_limit : float, optional
        Wall-clock seconds.
    checkpoint : str or Path, optional
        Ledger of finished shards; the same call on an existing one goes on where it stopped. If several
        blocks take long, the second one's is called `checkpoint` and ".2", and so on.
    executor, progress
        As in :func:`hardscape.spectrum`.
    full_output : bool
        Return a `PermanentResult` (for a batch, a list of them). Its error bound is proven, which takes
        "double" up to 2.9 times the time; on GPUs that of "double" is an estimate, and says so.

    Returns
    -------
    int, Fraction, float, complex, or array of shape (batch,)
        A Python int for integers, whatever its size. Floats beyond float64 are infinite; with
        `full_output` a mantissa and a power of two tell them all the same. A batch gives float64 or
        complex128 in the package of `a`, on its device; exact values come in a NumPy array of Python
        numbers, which no other package holds.

    Raises
    ------
    InputError
        For matrices and multiplicities that are not understood; for "exact" with complex entries,
        "double" with integers that float64 cannot hold, or a method that does not fit.
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
    if is_recorded(a):
        raise InputError(
            "a requires a gradient, which is not recorded through permanents; a.detach() is accepted, "
            "and hardscape.permanents.value_and_grad gives the gradient"
        )
    matrix = intake(a, exactly=precision == "exact")
    if rows is not None or cols is not None:
        matrix = expanded(matrix, rows, cols)
    settings = Settings.checked(
        precision=precision,
        method=method,
        rtol=rtol,
        devices=available(matrix, device, threads),
        threads=threads,
        time_limit=time_limit,
        checkpoint=checkpoint,
        executor=executor,
        progress=progress,
        full_output=full_output,
    )
    if not matrix.is_batch:
        value = at_once(matrix, settings)
        if value is not None:
            return value
        result = _one(matrix, settings)
        return result if full_output else result.value
    if checkpoint is not None:
        raise InputError("checkpoint is for one matrix, and a is a batch; leave it out")
    plain = is_plain(matrix, settings)
    if not plain or settings.devices[0].kind == "cpu":
        matrix.check_finite()
    if plain:
        found = together(matrix, settings, lambda one: _one(one, settings).value)
        return home_of(a).bring(found)
    results = [_one(Matrix(matrix.kind, entries), settings) for entries in matrix.on_host().entries]
    return results if full_output else home_of(a).bring(values_of(results, matrix, precision))


def _one(matrix: Matrix, settings: Settings) -> PermanentResult:
    began = time.perf_counter()
    program = prepare(
        matrix,
        precision=settings.precision,
        method=settings.method,
        guard=settings.full_output,
        devices=settings.devices,
    )
    check_budget(program, settings.devices, settings.asked_for)
    paths = ledgers(program, settings.checkpoint)
    values = [settings.value(c, path) for c, path in zip(program.blocks, paths, strict=True)]
    if program.exact:
        number = as_number(program, values)
        result = PermanentResult(
            number, number, 0, 0.0, True, 1.0, program.method, "exact",
            sum(c.terms for c in program.blocks), program.reductions, 0.0, "",
        )  # fmt: skip
    else:
        program, values = _unmerged(matrix, program, values, settings)
        values = [_improved(i, value, program, settings) for i, value in enumerate(values)]
        result = _rounded_result(program, values)
    used = program.used(settings.devices)
    return replace(result, seconds=time.perf_counter() - began, device=used)


def _rounded_result(program: Program, values: list[BoundedNumber]) -> PermanentResult:
    whole = bounded(program, values)
    value = complex(whole.value) if program.kind == "complex" else whole.value
    return PermanentResult(
        value, whole.mantissa, whole.exponent, whole.error_bound, whole.rigorous, whole.condition,
        program.method, program.precision, whole.terms, program.reductions, 0.0, "",
    )  # fmt: skip


def _lost(value: BoundedNumber, settings: Settings) -> bool:
    """Whether double precision lost more than it may."""
    wanted = settings.rtol * abs(value.mantissa)
    return settings.precision == "auto" and value.likely_error > wanted


def _unmerged(
    matrix: Matrix, program: Program, values: list[BoundedNumber], settings: Settings
) -> tuple[Program, list[BoundedNumber]]:
    """The program and its values, or better ones where rounded entries lost more than they may."""
    pairs = zip(values, program.errors, strict=True)
    if not any(error is not None and _lost(value, settings) for value, error in pairs):
        return program, values
    again = prepare(
        matrix, precision="extended", method="auto", guard=True, devices=settings.devices
    )
    limit = max(_AGAIN, _AGAIN_TIMES * program.seconds(settings.devices))
    if again.seconds(settings.devices) > limit:
        return program, values
    return again, [settings.value(candidate) for candidate in again.blocks]


def _improved(i: int, value: BoundedNumber, program: Program, settings: Settings) -> BoundedNumber:
    """The value, or a better one where double precision lost more than it may."""
    block = program.matrices[i]
    rounded_before = program.errors[i] is not None or program.extended
    if block.shape[0] != block.shape[1] or rounded_before or not _lost(value, settings):
        return value
    ways: list[Candidate[Any]] = []
    if not np.iscomplexobj(block):
        rational = np.empty(block.shape, dtype=object)
        for position, x in np.ndenumerate(block):
            rational[position] = Fraction(x)
        ways.extend(exact_candidates(rational))
    if all(way.seconds(settings.devices) > _AGAIN for way in ways):
        ways.extend(extended_candidates(block, settings.devices))
    first = program.blocks[i].seconds(settings.devices)
    again = min(ways, key=lambda c: c.seconds(settings.devices), default=None)
    if again is None or again.seconds(settings.devices) > max(_AGAIN, _AGAIN_TIMES * first):
        return value
    better = settings.value(again)
    if isinstance(better, Fraction):
        better = rounded(better)
    return replace(cast("BoundedNumber", better), terms=again.terms + value.terms)
