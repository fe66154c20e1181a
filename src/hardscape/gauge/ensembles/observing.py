"""Measuring every configuration of an ensemble."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from hardscape.arguments import integer
from hardscape.engine import Context, RunArguments, team
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import InputError
from hardscape.gauge.ensembles.averages import ErrorMethod
from hardscape.gauge.ensembles.files import Configurations
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.ensembles.run import Plan, run_task
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.field import GaugeField
from hardscape.gauge.flow import checked_steps, flow_of, flowing
from hardscape.gauge.loops.smearing import smear
from hardscape.gauge.loops.wilson import line_correlators, polyakov_loop, wilson_loops
from hardscape.interrupts import interruptible


@dataclass(frozen=True)
class ObservablesTask(Task):
    """Measure a configuration."""

    name: ClassVar[str] = "observables"
    revision: ClassVar[int] = 1
    goes_on: ClassVar[bool] = True

    loops: tuple[int, int] | None
    lines: tuple[int, int] | None
    smearing: tuple[float, int]  # alpha and steps of the links in space of loops
    flow_time: float | None
    step: float

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """The numbers of a configuration."""
        field = configuration.field
        field.require_unitary()
        closed = field.boundary == "periodic"
        line = polyakov_loop(field) if closed else complex(math.nan, math.nan)
        row: dict[str, Any] = {
            "plaquette": field.plaquette(),
            "plaquette_space": field.plaquette_space(),
            "plaquette_time": field.plaquette_time(),
            "link_trace": field.link_trace(),
            "polyakov_re": line.real,
            "polyakov_im": line.imag,
            "polyakov_abs": abs(line),
        }
        if self.loops is not None:
            alpha, steps = self.smearing
            smeared = smear(field, weight=alpha, steps=steps, spatial=True, threads=1)
            row["loops"] = wilson_loops(smeared, *self.loops)
        if self.lines is not None:
            row["lines"] = line_correlators(field, *self.lines)
        if self.flow_time is None:
            return row
        flowed = self._flowed(field, configuration.threads, context)
        return None if flowed is None else row | flowed

    def _flowed(self, field: GaugeField, threads: int, context: Context) -> dict[str, Any] | None:
        count, size = checked_steps(self.flow_time or 0.0, self.step)
        chain = flowing(field, size, count)
        done = 0
        with team(threads, context.stop) as lanes:
            while done < count and not context.stopped():
                done += chain.advance(min(8, count - done), lanes)
        if done < count:
            return None
        found = flow_of(chain, field, "", 0.0)
        return {
            "t0": math.nan if found.t0 is None else found.t0,
            "w0": math.nan if found.w0 is None else found.w0,
            "charge": found.charge[-1],
            "charge_squared": found.charge[-1] ** 2,
            "energy": found.energy[-1],
        }


@interruptible
@on_its_threads
def observables(
    files: Configurations,
    *,
    loops: Sequence[int] | None = None,
    lines: Sequence[int] | None = None,
    smearing: tuple[float, int] = (0.5, 0),
    flow_time: float | None = None,
    step: float = 0.02,
    read: Mapping[str, Any] | None = None,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    **run: Unpack[RunArguments],
) -> Ensemble:
    """Measure every configuration of an ensemble.

    Parameters
    ----------
    files : path, pattern, GaugeField, or iterable of them
        ``"cfg.*"`` stands for all files that match, in the order of the numbers in their names.
    loops : (int, int), optional
        Largest R and D of Wilson loops; see :func:`wilson_loops`.
    lines : (int, int), optional
        The same of correlators of lines in time, for configurations in Coulomb gauge.
    smearing : (float, int)
        alpha and steps of APE smearing, in space, for `loops`.
    flow_time : float, optional
        Flow time to come to, for t0, w0, charge and energy; see :func:`wilson_flow`.
    step : float
        Largest step of the flow.
    read : mapping, optional
        What the files do not say: arguments of :meth:`GaugeField.from_file`.
    error_method : {"jackknife", "gamma"}
        How errors of averages are estimated; "gamma" takes autocorrelations into account and needs pyerrors.
    bin_size : int
        Configurations that the jackknife leaves out together.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. On CPUs; a unit is a configuration.

    Returns
    -------
    Ensemble
        Columns plaquette, plaquette_space, plaquette_time, link_trace, polyakov_re, polyakov_im, polyakov_abs,
        and, where asked for, loops and lines, shape (n, R, D), t0, w0, charge, charge_squared and energy.
        :func:`static_potential` takes it. Open lattices have no Polyakov loops: NaN.

    Raises
    ------
    InputError
        If an argument is out of range, or loops are longer in time than a field with a boundary.
    FormatError, ChecksumError
        If a file cannot be read; it is left out, and told of when all others are done. ``result`` is their
        table.
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` is the table so far, or None.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = gauge.generate_ensemble((4, 4, 4, 4), 6.0, 3, folder + "/{number}.nersc", sweeps=9, seed=1)
    ...     found = gauge.observables(folder + "/*.nersc", loops=(2, 2))
    >>> found["loops"].shape, bool((abs(found["plaquette"] - made["plaquette"]) < 1e-12).all())
    ((3, 2, 2), True)
    """
    plan = Plan.checked("observables", files, read, error_method, bin_size)
    weight, steps = smearing
    if not 0 < weight <= 1:
        raise InputError(f"smearing={smearing!r}; alpha above 0, up to 1, is accepted")
    if flow_time is not None:
        checked_steps(flow_time, step)
    task = ObservablesTask(
        loops=_sizes("loops", loops),
        lines=_sizes("lines", lines),
        smearing=(float(weight), integer(steps, "smearing", 0, 10**6)),
        flow_time=flow_time,
        step=step,
    )
    return run_task(plan, task, **run)


def _sizes(name: str, sizes: Sequence[int] | None) -> tuple[int, int] | None:
    if sizes is None:
        return None
    if len(tuple(sizes)) != 2:
        raise InputError(f"{name}={sizes!r}; two integers, R and D, are accepted")
    length, separation = sizes
    return integer(length, name, 1, 1024), integer(separation, name, 1, 1024)
