"""The permanent of a matrix: intake, structure, and the right kernel for what is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import home_of, is_recorded
from hardscape.engine import Device, Progress, ProgressEvent, resolve, run
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.batch import BatchWork
from hardscape.permanents.matrix import Matrix, intake
from hardscape.permanents.methods import Candidate, exact_candidates, extended_candidates
from hardscape.permanents.multiplicity import expanded
from hardscape.permanents.number import BoundedNumber, product, rounded, total
from hardscape.permanents.planning import as_number, available, check_budget, prepare
from hardscape.permanents.program import Method, Precision, Program
from hardscape.permanents.result import PermanentResult

__all__ = ["permanent"]

#: Seconds that a second, exact sum may always take where double precision lost too much, and how
#: many times longer than the first one it may be.
_AGAIN, _AGAIN_TIMES = 1.0, 30.0
#: Seconds of the blocks that are worth a checkpoint.
_CHECKPOINTED = 1.0
#: Sides of matrices of a batch that are summed at once, and of those where zeros hardly help.
_BATCH_SIDE, _SMALL_SIDE = 30, 10


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
    settings = _Settings.checked(
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
        result = _one(matrix, settings)
        return result if full_output else result.value
    if checkpoint is not None:
        raise InputError("checkpoint is for one matrix, and a is a batch; leave it out")
    plain = _is_plain(matrix, settings)
    if not plain or settings.devices[0].kind == "cpu":
        matrix.check_finite()
    if plain:
        return home_of(a).bring(_together(matrix, settings))
    results = [_one(Matrix(matrix.kind, entries), settings) for entries in matrix.on_host().entries]
    return results if full_output else home_of(a).bring(_values(results, matrix, precision))


def _is_plain(matrix: Matrix, settings: _Settings) -> bool:
    """Whether a batch is summed at once, without a look at the structure of each matrix."""
    side = matrix.shape[0]
    wanted = not settings.full_output and settings.precision in ("auto", "double")
    return (
        wanted
        and len(matrix.entries) > 0
        and settings.method in ("auto", "glynn")
        and matrix.kind in ("real", "complex")
        and 1 <= side <= _BATCH_SIDE
        and (side <= _SMALL_SIDE or matrix.density() > 0.5)
    )


def _together(matrix: Matrix, settings: _Settings) -> NDArray[Any]:
    """Permanents of a batch; where double precision lost too much, one at a time."""
    kind = settings.devices[0].kind
    if kind == "cpu" or settings.executor is not None:
        matrix = matrix.on_host()
    work = BatchWork(matrix.entries, kind)
    outcome = run(
        work,
        devices=[device for device in settings.devices if device.kind == kind],
        executor=settings.executor,
        time_limit=settings.left(),
        progress=settings.progress,
    )
    partial = outcome.whole(None)
    if not partial["finite"].all():
        matrix.check_finite()
    found = work.total(partial)
    values = found.values
    if settings.precision == "auto":
        for i in np.flatnonzero(found.likely_errors > settings.rtol * np.abs(values)).tolist():
            one = Matrix(matrix.kind, matrix.entries[i : i + 1]).on_host()
            values[i] = _one(Matrix(one.kind, one.entries[0]), settings).value
    return values


def _values(
    results: Sequence[PermanentResult], matrix: Matrix, precision: Precision
) -> NDArray[Any]:
    """The permanents of a batch in an array: of Python's numbers where they are exact."""
    values = np.empty(len(results), dtype=object)
    values[:] = [result.value for result in results]
    if precision == "exact" or (precision == "auto" and matrix.kind in ("integer", "rational")):
        return values
    return values.astype(np.complex128 if matrix.kind == "complex" else np.float64)


@dataclass(frozen=True)
class _Settings:
    """The options of a call, and the way to run work with them."""

    precision: Precision
    method: Method
    rtol: float
    devices: tuple[Device, ...]
    threads: int | None
    deadline: float
    checkpoint: str | Path | None
    executor: Any
    progress: Any
    full_output: bool

    @classmethod
    def checked(cls, *, rtol: float, time_limit: float | None, **others: Any) -> _Settings:
        if not rtol >= 0:
            raise InputError(f"rtol={rtol}; 0 or more is accepted")
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        return cls(rtol=rtol, deadline=deadline, **others)

    @property
    def asked_for(self) -> bool:
        """Whether a long run is wanted."""
        return not (self.executor is None and self.checkpoint is None and math.isinf(self.deadline))

    def left(self) -> float | None:
        """Seconds of the time limit that are left."""
        if math.isinf(self.deadline):
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise BudgetError(
                "the time limit came before the permanent; give time_limit more seconds"
            )
        return left

    def value(self, candidate: Candidate[Any], checkpoint: str | Path | None = None) -> Any:
        """Run a candidate's work, or its parts, and read its value."""
        if candidate.parts:
            return self.sum(candidate.parts, checkpoint)
        if candidate.work is None:
            return candidate.value({})
        lanes = [device for device in self.devices if device.kind == candidate.kind]
        outcome = run(
            candidate.work,
            devices=lanes or resolve("cpu", threads=self.threads),
            executor=self.executor,
            checkpoint=checkpoint,
            time_limit=self.left(),
            progress=self.progress,
        )
        return candidate.value(outcome.whole(checkpoint))

    def sum(self, parts: Sequence[Program], checkpoint: str | Path | None) -> Any:
        """Sum of permanents, each with checkpoints of its own."""
        found: list[Any] = []
        for i, part in enumerate(parts, start=1):
            ledgers = _ledgers(part, None if checkpoint is None else f"{checkpoint}.part{i}")
            values = [self.value(c, path) for c, path in zip(part.blocks, ledgers, strict=True)]
            found.append(as_number(part, values) if part.exact else _bounded(part, values))
        if parts[0].exact:
            return Fraction(sum(found))
        return total(found, complex if parts[0].kind == "complex" else float)


def _one(matrix: Matrix, settings: _Settings) -> PermanentResult:
    began = time.perf_counter()
    program = prepare(
        matrix,
        precision=settings.precision,
        method=settings.method,
        guard=settings.full_output,
        devices=settings.devices,
    )
    check_budget(program, settings.devices, settings.asked_for)
    ledgers = _ledgers(program, settings.checkpoint)
    values = [settings.value(c, path) for c, path in zip(program.blocks, ledgers, strict=True)]
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


def _bounded(program: Program, values: Sequence[BoundedNumber]) -> BoundedNumber:
    """The permanent in floating point from the candidates' values."""
    factors = [
        BoundedNumber(cast("float", x), error, magnitude=abs(cast("float", x)))
        for x, error in zip(program.factors, program.factor_errors, strict=True)
    ]
    kind = complex if program.kind == "complex" else float
    return product([*factors, *values], program.scale, kind)


def _rounded_result(program: Program, values: list[BoundedNumber]) -> PermanentResult:
    whole = _bounded(program, values)
    value = complex(whole.value) if program.kind == "complex" else whole.value
    return PermanentResult(
        value, whole.mantissa, whole.exponent, whole.error_bound, whole.rigorous, whole.condition,
        program.method, program.precision, whole.terms, program.reductions, 0.0, "",
    )  # fmt: skip


def _ledgers(program: Program, checkpoint: str | Path | None) -> list[str | Path | None]:
    """The checkpoint of each block: the costliest block has the plain name."""
    ledgers: list[str | Path | None] = [None] * len(program.blocks)
    if checkpoint is None:
        return ledgers
    places = sorted(range(len(ledgers)), key=lambda i: -program.blocks[i].core_seconds)
    for rank, i in enumerate(places):
        if rank == 0:
            ledgers[i] = checkpoint
        elif program.blocks[i].core_seconds > _CHECKPOINTED:
            ledgers[i] = f"{checkpoint}.{rank + 1}"
    return ledgers


def _lost(value: BoundedNumber, settings: _Settings) -> bool:
    """Whether double precision lost more than it may."""
    wanted = settings.rtol * abs(value.mantissa)
    return settings.precision == "auto" and value.likely_error > wanted


def _unmerged(
    matrix: Matrix, program: Program, values: list[BoundedNumber], settings: _Settings
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


def _improved(i: int, value: BoundedNumber, program: Program, settings: _Settings) -> BoundedNumber:
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
