"""The command ``hardscape gauge flow``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hardscape.cli.gauge.ensembles import (
    EnsembleOptions,
    deliver_ensemble,
    many,
    measuring,
)
from hardscape.cli.gauge.files import FileArgument, ReadOptions
from hardscape.cli.options import EstimatePlotOptions, PlotOptions, RunOptions
from hardscape.cli.terminal import note, seconds_text, show, table
from hardscape.errors import Interrupted
from hardscape.gauge import layouts, observables
from hardscape.gauge.flow import WilsonFlow, wilson_flow

if TYPE_CHECKING:
    from rich.table import Table

#: Times that the table lists.
_ROWS = 20
_DEFAULT_READ, _DEFAULT_RUN = ReadOptions(), RunOptions()
_DEFAULT_OUTPUT, _DEFAULT_ENSEMBLE = EstimatePlotOptions(), EnsembleOptions()


def flow(
    *files: FileArgument,
    flow_time: float = 4.0,
    step: float = 0.02,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: EnsembleOptions = _DEFAULT_ENSEMBLE,
    run: RunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Let a configuration, or each of many, flow along the Wilson action: t0, w0 and the charge.

    Parameters
    ----------
    flow_time
        Flow time to come to, in units of the lattice spacing squared.
    step
        Largest step, up to 0.1.
    """
    every = many(files)
    output.check(files if every is None else every)
    if every is not None:
        ensemble.check(every, output.force)
        told: dict[str, Any] = {"flow_time": flow_time, "step": step}
        told |= measuring(read, ensemble, run)
        if output.estimated("gauge flow", observables, every, **told):
            return
        deliver_ensemble(
            "gauge flow",
            lambda: observables(every, progress=True, **told),
            ensemble,
            output,
            lambda found: found.plot(column="charge"),
        )
        return
    (file,) = files
    field, _ = read.checked(file)
    keywords: dict[str, Any] = {"step": step} | vars(run)
    if output.estimated("gauge flow", wilson_flow, field, flow_time, **keywords):
        return
    try:
        found = wilson_flow(field, flow_time, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report(stop.result, output)
        raise
    _report(found, output)


def _report(found: WilsonFlow, output: PlotOptions) -> None:
    show(output.json, "gauge flow", found.to_dict, _facts(found), _times(found))
    if found.stopped:
        note(output.cut_short(found.stopped, "this is the flow so far"))
    output.draw(found.plot)


def _facts(found: WilsonFlow) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.field.shape)}, SU({found.field.nc})"
    for name, value in (("t0", found.t0), ("w0", found.w0)):
        yield name, "not reached: flow farther" if value is None else f"{value:.6g}"
    yield "charge", f"{found.charge[-1]:.4f} at t = {found.flow_time[-1]:g}"
    yield "time", seconds_text(found.seconds)


def _times(found: WilsonFlow) -> Iterator[Table | str]:
    chosen = np.unique(np.linspace(0, len(found.flow_time) - 1, _ROWS).astype(int)).tolist()
    rows = [
        (
            f"{found.flow_time[i]:g}",
            f"{found.flow_time[i] ** 2 * found.energy[i]:.6g}",
            f"{found.flow_time[i] ** 2 * found.energy_plaquette[i]:.6g}",
            f"{found.charge[i]:.4f}",
        )
        for i in chosen
    ]
    yield ""
    yield table(">>>>", rows, ("t", "t^2 E (clover)", "t^2 E (plaquette)", "charge"))
