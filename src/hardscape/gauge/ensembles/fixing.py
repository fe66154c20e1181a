"""Fixing the gauge of every configuration of an ensemble."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack

import numpy as np

from hardscape.arguments import integer
from hardscape.arrays import to_device
from hardscape.engine import Context, RunArguments
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import InputError, NotConverged
from hardscape.gauge import formats
from hardscape.gauge.ensembles.averages import ErrorMethod
from hardscape.gauge.ensembles.files import make_folder, outputs
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.ensembles.run import Plan, run_task
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.fix import as_returned, fix, in_the_group
from hardscape.gauge.options import FixOptions
from hardscape.gauge.result import DTYPES, GaugeFixResult
from hardscape.gauge.work import GaugeFixWork
from hardscape.interrupts import interruptible

#: Arguments of `fix` that are no `FixOptions`.
_OTHERS = {"copies", "strict", "output_precision", "reproject"}


@dataclass(frozen=True)
class FixTask(Task):
    """Fix a configuration, and write it."""

    name: ClassVar[str] = "fix"
    revision: ClassVar[int] = 2
    goes_on: ClassVar[bool] = True

    options: FixOptions
    copies: int
    output_precision: Literal["single", "double"] | None
    reproject: bool
    strict: bool
    outputs: tuple[str, ...]  # absolute
    to: str | None

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """The best copy's numbers; its file is written where it converged, or where any will do."""
        field = configuration.field
        if self.outputs:
            place = self.outputs[configuration.number]
            kind = self._format(place, configuration.format)
            formats.rehearse(field.shape, field.nc, field.boundary, format=kind)
        found = self._fixed(configuration, context)
        if found is None:
            return None
        if self.outputs and (found.converged or not self.strict):
            make_folder(place)
            formats.write(found.fixed(), place, format=kind)
        return {
            "functional": found.functional,
            "theta_mean": found.theta_mean,
            "theta_max": found.theta_max,
            "plaquette": found.plaquette,
            "plaquette_before": field.plaquette(),
            "converged": found.converged,
            "sweeps": np.int64(found.sweeps),
            "copies_converged": np.int64(found.copies.converged.sum()),
        }

    def _format(self, place: str, usual: str) -> str:
        if self.to is not None:
            return self.to
        try:
            return formats.FORMATS.named_by(place)
        except InputError:
            return usual

    def _fixed(self, configuration: Configuration, context: Context) -> GaugeFixResult | None:
        """What `fix` finds of the file, with this seed."""
        field = configuration.field
        options = replace(self.options, boundary=field.boundary, dimensions=field.dimensions)
        work = GaugeFixWork.within(
            in_the_group(field, self.reproject),
            options,
            self.copies,
            configuration.seed,
            configuration.threads,
            context.device,
        )
        partial = work.whole(context)
        if partial is None:
            return None
        own: Literal["single", "double"] = "single" if field.dtype.itemsize == 8 else "double"
        found = replace(
            work.result(partial),
            g=to_device(partial["g"], "cpu"),
            field=field,
            output_precision=self.output_precision or own,
            reproject=self.reproject,
        )
        return as_returned(found, options)


@interruptible
@on_its_threads
def fix_ensemble(
    files: str | Path | Iterable[str | Path],
    gauge: Literal["landau", "coulomb", "mag"] = "landau",
    output: str | Path | None = None,
    *,
    to: str | None = None,
    read: Mapping[str, Any] | None = None,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    arguments: Mapping[str, Any] | None = None,
    **run: Unpack[RunArguments],
) -> Ensemble:
    """Fix the gauge of every configuration of an ensemble, and write them.

    Parameters
    ----------
    files : path, pattern, or iterable of them
        ``"cfg.*"`` stands for all files that match, in the order of the numbers in their names.
    gauge : {"landau", "coulomb", "mag"}
    output : str or Path, optional
        Files to write, with ``{stem}``, ``{name}`` or ``{number}`` of the one that is read:
        ``"out/{stem}.landau.lime"``. Files that are there are replaced, folders that are not there are made. A
        configuration that did not converge is not written, unless ``arguments={"strict": False}``.
    to : str, optional
        Format of these, where the suffix does not tell; by default that of the file that is read.
    read : mapping, optional
        What the files do not say: arguments of :meth:`GaugeField.from_file`.
    error_method : {"jackknife", "gamma"}
        How errors of averages are estimated; "gamma" takes autocorrelations into account and needs pyerrors.
    bin_size : int
        Configurations that the jackknife leaves out together.
    arguments : mapping, optional
        Further arguments of :func:`fix`: method, theta, copies and so on.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. A unit is a configuration: with
        ``checkpoint=`` the same call goes on with those that are left, ``executor=`` spreads them.

    Returns
    -------
    Ensemble
        Columns functional, theta_mean, theta_max, plaquette, plaquette_before, converged, sweeps and
        copies_converged.

    Raises
    ------
    InputError
        If an argument is out of range, or two files would have one output.
    FormatError, ChecksumError
        If a file cannot be read; it is left out, and told of when all others are done. ``result`` is their
        table.
    NotConverged
        At the end, if a configuration did not converge and `arguments` do not say ``strict=False``; its
        ``result`` is the whole table.
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` is the table so far, or None.

    Notes
    -----
    Random starts of configuration n are of the seed and n: one seed gives one answer, whatever CPUs run it.
    GPUs round differently, and may come to other Gribov copies.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for n in (9, 10):
    ...         gauge.generate((4, 4, 4, 4), 6.0, seed=n, sweeps=5).to_file(f"{folder}/cfg.{n}.nersc")
    ...     found = gauge.fix_ensemble(f"{folder}/cfg.*", "landau", folder + "/{stem}.ildg", seed=1)
    ...     fixed = gauge.GaugeField.from_file(f"{folder}/cfg.10.ildg")
    >>> found["converged"].all(), fixed.link_trace() > 0.7
    (np.True_, True)
    """
    plan = Plan.checked("fix", files, read, error_method, bin_size)
    if plan.reader.held:
        raise InputError("files has a field; names of files are accepted, gauge.fix takes a field")
    task = _task(gauge, dict(arguments or {}), plan.files, output, to)
    if output is not None:
        plan = replace(plan, outputs=outputs(output, plan.files))
    found = run_task(plan, task, on_gpu=True, **run)
    failed = [x for x, ok in zip(found.files, found["converged"], strict=True) if not ok]
    if failed and task.strict:
        raise NotConverged(
            f"{len(failed)} of {len(found)} configurations did not reach theta={task.options.theta:g}, "
            f"{failed[0]} the first of them; strict=False (--no-strict) takes them as they are",
            found,
        )
    return found


def _task(
    gauge: Any,
    given: dict[str, Any],
    files: tuple[str, ...],
    output: str | Path | None,
    to: str | None,
) -> FixTask:
    known = inspect.signature(fix).parameters.keys() - {"field", "gauge", "run"}
    strange = sorted(given.keys() - known)
    if strange:
        raise InputError(f"arguments has {strange[0]!r}; {', '.join(sorted(known))} are accepted")
    others = {name: given.pop(name) for name in _OTHERS if name in given}
    if given.get("per_slice") is None:
        given["per_slice"] = gauge == "coulomb"
    precision = others.get("output_precision")
    if precision not in (None, *DTYPES):
        raise InputError(f"output_precision={precision!r}; 'single' and 'double' are accepted")
    if to is not None:
        formats.FORMATS[to]
    places = () if output is None else outputs(output, files)
    return FixTask(
        options=FixOptions(gauge=gauge, **given),
        copies=integer(others.get("copies", 1), "copies", 1, 2**31 - 1),
        output_precision=precision,
        reproject=bool(others.get("reproject", False)),
        strict=bool(others.get("strict", True)),
        outputs=tuple(str(Path(place).absolute()) for place in places),
        to=to,
    )
