"""Sweeps to a gauge against overrelaxation, probability and temperatures: what Fig. 2 of the paper compares.

M. Schröck and H. Vogt, PoS LATTICE2012, 187 (2012).
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np

from hardscape.arguments import integer
from hardscape.engine import (
    Context,
    Cpu,
    Partial,
    RunArguments,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    solve,
    split,
)
from hardscape.engine.device import device_names
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import BudgetError, InputError, Interrupted
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.fix import fix, in_the_group, pays_for_gpu
from hardscape.gauge.intake import require_links
from hardscape.gauge.lattice.cuda import require_even
from hardscape.gauge.methods.relaxation import schedules as cooling
from hardscape.gauge.methods.scanned import GaugeScan, scanned
from hardscape.gauge.options import FixOptions, Gauge, MethodName
from hardscape.gauge.work import GaugeFixWork
from hardscape.interrupts import interruptible

#: What is compared where nothing is asked for.
_OMEGAS = (1.0, 1.3, 1.5, 1.6, 1.7, 1.8, 1.9)
_PROBABILITIES = (0.1, 0.2, 0.3, 0.4, 0.5)
#: Methods that overrelax by an omega.
_OVERRELAXED: tuple[MethodName, ...] = ("overrelaxation", "matrix-overrelaxation")
#: Arguments of `fix` that are no options, or are scanned.
_TAKEN = {"field", "gauge", "run", "theta", "copies", "strict", "output_precision", "reproject"}
_TAKEN |= {"method", "omega", "probability", "temperatures"}
#: Memory of a scan on a CPU, in fields of double precision, beside the one that is given.
_FIELDS = 1.3


@dataclass(frozen=True, eq=False)
class ScanWork(Work[Partial]):
    """Fix one field with each option set from the same starts; the partial has a row for each set."""

    field: GaugeField
    points: tuple[FixOptions, ...]
    copies: int
    seed: int
    threads: int = 1  # of a set; the answer does not depend on it

    name: ClassVar[str] = "gauge.scan"
    revision: ClassVar[int] = 2
    unit: ClassVar[str] = "option sets"

    def digest(self) -> str:
        """Digest of the links, the option sets and the starts."""
        head = (self.name, self.field.shape, self.points, self.copies, self.seed)
        links = np.ascontiguousarray(self.field.to("cpu").links)
        return hashlib.sha256(repr(head).encode() + links.tobytes()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """An option set each."""
        return split(len(self.points), len(self.points))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """The rows of a shard's option sets."""
        rows: Partial = {"point": np.empty(0, dtype=np.int64)}
        for number in range(shard.start, shard.stop):
            work = GaugeFixWork.within(
                self.field,
                self.points[number],
                self.copies,
                self.seed,
                self.threads,
                context.device,
            )
            found = None if context.stopped() else work.whole(context)
            if found is None:
                return ShardResult(rows, complete=False)
            kept = {name: found[name][None] for name in ("functional", "sweeps", "converged")}
            rows = self.merge(rows, {"point": np.array([number]), **kept})
        return ShardResult(rows)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The rows of both."""
        if not len(left["point"]) or not len(right["point"]):
            return left if len(left["point"]) else right
        return {name: np.concatenate([left[name], right[name]]) for name in left}


@interruptible
@on_its_threads
def scan(
    field: GaugeField | str | Path | Any,
    gauge: Gauge = "landau",
    *,
    omegas: Iterable[float] | None = None,
    probabilities: Iterable[float] | None = None,
    schedules: Iterable[tuple[float, float]] | None = None,
    theta: float = 1e-12,
    copies: int = 1,
    arguments: Mapping[str, Any] | None = None,
    **run: Unpack[RunArguments],
) -> GaugeScan:
    """Count the sweeps to a gauge for many settings of the methods, from the same starts.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc), Nc = 2 to 8
    gauge : {"landau", "coulomb", "mag"}
    omegas : sequence of float, optional
        Overrelaxations, 1 to 2, of "overrelaxation" and of "matrix-overrelaxation".
    probabilities : sequence of float, optional
        Of "stochastic", 0 to 1.
    schedules : sequence of (float, float), optional
        First and last temperatures of "annealing". Where none of the three is given they are 1 to 1.9, 0.1 to
        0.5, and those that :func:`fix` takes by itself, from twice as warm, and to half as cold.
    theta : float
        Gauge violation to reach.
    copies : int
        1 starts from the field as it is; more start from so many random transformations, of the seed alone:
        the same ones for all settings.
    arguments : mapping, optional
        Further arguments of :func:`fix`: max_sweeps, precision, reduction, annealing_sweeps and so on.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. A unit is an option set.

    Returns
    -------
    GaugeScan

    Raises
    ------
    InputError
        If an argument is out of range or a link is not in the group.
    BudgetError
        If the time limit came before an option set was done.
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` has the settings so far, or is None.

    Notes
    -----
    Sweeps are counted as :func:`fix` does, which looks at theta every 10 of them, and those of an annealing
    include the heatbath and microcanonical ones. For one seed CPUs give the same numbers for any threads.

    M. Schröck and H. Vogt, PoS LATTICE2012, 187 (2012), Fig. 2.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=20)
    >>> found = gauge.scan(field, omegas=[1.0, 1.7], copies=4, seed=1)
    >>> found.methods[::2], bool(found.mean_sweeps[1] < found.mean_sweeps[0])
    (('overrelaxation', 'matrix-overrelaxation'), True)
    """
    began = time.perf_counter()
    opened = checked_field(field)
    points = _points(opened, gauge, omegas, probabilities, schedules, theta, dict(arguments or {}))
    many = integer(copies, "copies", 1, 2**31 - 1)
    lanes = RunOptions.checked(big_enough=pays_for_gpu(opened, many), **run)
    if isinstance(lanes.devices[0], Cpu):
        require_links(opened.shape, opened.nc, _FIELDS)
    else:
        require_even(opened.shape)
    spare = 1 if lanes.executor is not None else len(lanes.devices) // len(points)
    work = ScanWork(in_the_group(opened.to("cpu")), points, many, lanes.seed, max(1, spare))
    outcome = solve(work, lanes)
    rows = outcome.answer
    if rows is None or not len(rows["point"]):
        if outcome.signum:
            raise Interrupted(outcome.signum)
        raise BudgetError("the time limit came before the first option set; allow more")
    found = replace(
        scanned([points[i] for i in rows["point"]], rows, opened),
        points_total=len(points),
        device=device_names(lanes.devices),
        seed=lanes.seed,
        stopped=outcome.cut,
        seconds=time.perf_counter() - began,
    )
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    return found


def _points(
    field: GaugeField,
    gauge: Gauge,
    omegas: Iterable[float] | None,
    probabilities: Iterable[float] | None,
    schedules: Iterable[tuple[float, float]] | None,
    theta: float,
    given: dict[str, Any],
) -> tuple[FixOptions, ...]:
    """The option sets, each checked."""
    known = inspect.signature(fix).parameters.keys() - _TAKEN
    strange = sorted(given.keys() - known)
    if strange:
        raise InputError(f"arguments has {strange[0]!r}; {', '.join(sorted(known))} are accepted")
    if given.get("per_slice") is None:
        given["per_slice"] = gauge == "coulomb"
    common: dict[str, Any] = {"gauge": gauge, "theta": float(theta), "boundary": field.boundary}
    common |= {"dimensions": field.dimensions, **given}
    if omegas is None and probabilities is None and schedules is None:
        omegas, probabilities = _OMEGAS, _PROBABILITIES
        schedules = cooling(FixOptions(**common), field.nc)
    varied = list(_varied(omegas or (), probabilities or (), schedules or ()))
    if not varied:
        raise InputError("omegas, probabilities and schedules are empty; one value is needed")
    return tuple(FixOptions(**common, **one) for one in varied)


def _varied(
    omegas: Iterable[float],
    probabilities: Iterable[float],
    schedules: Iterable[tuple[float, float]],
) -> Iterator[dict[str, Any]]:
    """Method and parameter of each option set."""
    listed = list(omegas)
    for method in _OVERRELAXED:
        for omega in listed:
            yield {"method": method, "omega": omega}
    for probability in probabilities:
        yield {"method": "stochastic", "probability": probability}
    for schedule in schedules:
        pair = tuple(schedule) if isinstance(schedule, Iterable) else ()
        if len(pair) != 2:
            raise InputError(f"schedules has {schedule!r}; pairs of temperatures are accepted")
        yield {"method": "annealing", "temperatures": pair}
