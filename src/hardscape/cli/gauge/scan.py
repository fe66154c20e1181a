"""The command ``hardscape gauge scan``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hardscape.cli.gauge.files import FileArgument, ReadOptions
from hardscape.cli.gauge.fixing import METHOD, GaugeOptions
from hardscape.cli.options import OUTPUT, EstimatePlotOptions, SeededShardRunOptions
from hardscape.cli.terminal import note, seconds_text, show, table
from hardscape.errors import InputError, Interrupted
from hardscape.figures import new_figure
from hardscape.files import path_of, plain_name
from hardscape.gauge import GaugeScan, layouts
from hardscape.gauge import scan as compare
from hardscape.gauge.options import Precision

if TYPE_CHECKING:
    from rich.table import Table

_DEFAULT_READ, _DEFAULT_GAUGE = ReadOptions(), GaugeOptions()
_DEFAULT_RUN, _DEFAULT_OUTPUT = SeededShardRunOptions(), EstimatePlotOptions()
_HEAD = ("method", "omega", "p", "temperatures", "converged", "sweeps", "error", "mean F", "best F")


def scan(
    file: FileArgument,
    /,
    *,
    omegas: Annotated[str | None, Parameter(group=METHOD)] = None,
    probabilities: Annotated[str | None, Parameter(group=METHOD)] = None,
    schedules: Annotated[str | None, Parameter(group=METHOD)] = None,
    copies: Annotated[int, Parameter(group=METHOD)] = 1,
    precision: Annotated[Precision, Parameter(group=METHOD)] = "double",
    max_sweeps: Annotated[int, Parameter(group=METHOD)] = 20000,
    annealing_sweeps: Annotated[int, Parameter(group=METHOD)] = 15,
    read: ReadOptions = _DEFAULT_READ,
    gauge: GaugeOptions = _DEFAULT_GAUGE,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
    table: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
) -> None:
    """Count the sweeps to a gauge against overrelaxation, probability and temperatures.

    Parameters
    ----------
    omegas
        Overrelaxations, 1 to 2: 1.3,1.5,1.7.
    probabilities
        Of stochastic relaxation, 0 to 1: 0.1,0.3.
    schedules
        First and last temperatures of the annealing: 1:0.05,2:0.1.
    copies
        Random starts, the same for every setting; 1 starts from the links as they are.
    precision
        double, single, or mixed.
    max_sweeps
        Sweeps after which a start is given up.
    annealing_sweeps
        Heatbath sweeps of the annealing.
    table
        File of all rows: .csv, .json.
    """
    if table is not None and Path(plain_name(path_of(table))).suffix not in (".csv", ".json"):
        raise InputError(f"--table {table}: .csv, .json are accepted")
    output.check([file], [table])
    settings = {
        "omegas": _listed("omegas", omegas, float),
        "probabilities": _listed("probabilities", probabilities, float),
        "schedules": _listed("schedules", schedules, _schedule),
        "copies": copies,
    }
    field, _ = read.checked(file)
    arguments = vars(gauge).copy()
    settings |= {name: arguments.pop(name) for name in ("gauge", "theta")}
    arguments |= {
        "precision": precision,
        "max_sweeps": max_sweeps,
        "annealing_sweeps": annealing_sweeps,
    }
    keywords: dict[str, Any] = settings | {"arguments": arguments} | vars(run)
    if output.estimated("gauge scan", compare, field, **keywords):
        return
    try:
        found = compare(field, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report(stop.result, output, table)
        raise
    _report(found, output, table)


def _listed(name: str, text: str | None, each: Callable[[str], Any]) -> list[Any] | None:
    try:
        return None if text is None else [each(part) for part in text.split(",")]
    except ValueError:
        example = "1:0.05,2:0.1" if each is _schedule else "1.3,1.5,1.7"
        raise InputError(
            f"--{name} {text!r}; a list separated by commas is accepted: {example}"
        ) from None


def _schedule(text: str) -> tuple[float, float]:
    first, last = text.split(":")
    return float(first), float(last)


def _report(found: GaugeScan, output: EstimatePlotOptions, place: Path | None) -> None:
    facts = [
        ("lattice", f"{layouts.extents(found.shape)}, SU({found.nc})"),
        ("gauge", f"{found.gauge}, theta {found.theta:g} ({found.reduction})"),
        ("settings", f"{len(found)} of {found.points_total}, {found.sweeps.shape[1]} starts each"),
        ("time", seconds_text(found.seconds)),
        ("device", found.device),
        ("seed", str(found.seed)),
    ]
    show(output.json, "gauge scan", found.to_dict, facts, _rows(found))
    if found.stopped:
        left = f"{len(found)} of {found.points_total} settings are done"
        note(output.cut_short(found.stopped, left))
    if place is not None:
        found.save(place)
    output.draw(lambda: _panels(found))


def _rows(found: GaugeScan) -> Iterator[Table | str]:
    copies = found.sweeps.shape[1]
    rows = []
    for i, method in enumerate(found.methods):
        first, last = found.first_temperature[i], found.last_temperature[i]
        rows.append(
            (
                method,
                _number(found.omega[i], "g"),
                _number(found.probability[i], "g"),
                f"{first:g} to {last:g}" if math.isfinite(first) else "",
                f"{found.num_converged[i]}/{copies}",
                _number(found.mean_sweeps[i], ".0f"),
                _number(found.sweeps_error[i], ".2g"),
                _number(found.mean_functional[i], ".9f"),
                _number(found.best_functional[i], ".9f"),
            )
        )
    yield ""
    yield table("<>>>>>>>>", rows, _HEAD)


def _number(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else ""


def _panels(found: GaugeScan) -> Any:
    """A figure with one panel for each parameter."""
    many = len(found.parameters)
    figure = new_figure(1.6 + 4.4 * many, 4.8)
    axes = figure.subplots(1, many, sharey=True, squeeze=False)[0]
    for ax, parameter in zip(axes, found.parameters, strict=True):
        found.plot(ax, parameter=parameter)
        ax.label_outer()
    return figure
