"""What the commands for one configuration share when they are given many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from cyclopts import Group

from hardscape.cli import options
from hardscape.cli.gauge.files import ReadOptions
from hardscape.cli.options import PlotOptions, RunOptions, option_group
from hardscape.cli.terminal import note, seconds_text, show, table
from hardscape.engine.cluster.parts import Part
from hardscape.errors import InputError, Interrupted, NotConverged
from hardscape.files import check_outputs, path_of, plain_name
from hardscape.gauge.ensembles.files import is_pattern, listed, make_folder
from hardscape.gauge.ensembles.result import HDF5, Ensemble, needed_for_hdf5, with_error

if TYPE_CHECKING:
    from rich.table import Table

R = TypeVar("R")

_ENSEMBLE = Group("Ensemble", sort_key=3)
#: Configurations that the table lists.
_ROWS = 20
_TABLES = (".csv", ".json")


@option_group(_ENSEMBLE)
class ErrorOptions:
    """How errors are estimated.

    Attributes
    ----------
    error_method
        Of averages: jackknife, or gamma, which takes autocorrelations into account (needs pyerrors).
    bin_size
        Configurations that the jackknife leaves out together.
    """

    error_method: Literal["jackknife", "gamma"] = "jackknife"
    bin_size: int = 1


@option_group(_ENSEMBLE)
class EnsembleOptions(ErrorOptions):
    """What is said of many configurations together.

    Attributes
    ----------
    table
        File of all rows: .csv, .json, .h5.
    """

    table: Path | None = None

    def check(self, inputs: Iterable[Path], force: bool) -> None:
        """Refuse, before work begins, a table that could not be written after it."""
        if self.table is None:
            return
        suffix = Path(plain_name(path_of(self.table))).suffix
        if suffix in HDF5:
            needed_for_hdf5()
        elif suffix not in _TABLES:
            raise InputError(f"--table {self.table}: {', '.join(_TABLES + HDF5)} are accepted")
        check_outputs([self.table], inputs, force=force or options.goes_on, folders=True)


def many(files: Sequence[Path], output: Path | None = None) -> tuple[Path, ...] | None:
    """All files that are meant, or None where it is one that is named, and its output, too."""
    if len(files) == 1 and (str(files[0]) == "-" or files[0].exists()):
        return (files[0],) if output is not None and is_pattern(output) else None
    if not files:
        raise InputError("no file is given; at least one configuration is needed")
    if len(files) == 1 and not any(sign in str(files[0]) for sign in "*?["):
        return None  # whoever opens it says what is wrong
    return tuple(map(Path, listed(files)))


def resumed(checkpoint: Path | None, shards: str | None = None) -> bool:
    """Whether a call goes on with what it, or another part of its shards, began and may have written."""
    if checkpoint is None or checkpoint.exists():
        return checkpoint is not None
    if shards is None:
        return False
    parts = f"{escape(checkpoint.stem)}.*-of-{Part.checked(shards).count}{checkpoint.suffix}"
    return any(checkpoint.parent.glob(parts))


def read_arguments(read: ReadOptions) -> dict[str, object]:
    """The options of reading as the library has them."""
    return read.arguments() | {"ignore_checksum": read.ignore_checksum}


def measuring(read: ReadOptions, errors: ErrorOptions, run: RunOptions) -> dict[str, Any]:
    """What every measurement takes: how files are read, errors estimated, and on what it runs."""
    told = {"error_method": errors.error_method, "bin_size": errors.bin_size}
    return {"read": read_arguments(read)} | told | vars(run)


def deliver_anyway(compute: Callable[[], R], kind: type[R], report: Callable[[R], None]) -> None:
    """Compute and report; of a call that was cut short, failed or left out files, what there is."""
    try:
        found = compute()
    except (InputError, Interrupted, NotConverged) as stop:
        if isinstance(stop.result, kind):
            report(stop.result)
        raise
    report(found)


def deliver_ensemble(
    command: str,
    compute: Callable[[], Ensemble],
    options: EnsembleOptions,
    output: PlotOptions,
    draw: Callable[[Ensemble], object] = Ensemble.plot,
) -> None:
    """Compute and report a table."""
    deliver_anyway(compute, Ensemble, lambda found: _report(command, found, options, output, draw))


def _report(
    command: str,
    found: Ensemble,
    options: EnsembleOptions,
    output: PlotOptions,
    draw: Callable[[Ensemble], object],
) -> None:
    show(output.json, command, found.to_dict, _facts(found), _rows(found))
    if found.stopped:
        left = f"{len(found)} of {found.files_total} configurations are done"
        note(output.cut_short(found.stopped, left))
    if options.table is not None:
        make_folder(options.table)
        found.save(options.table)
    output.draw(lambda: draw(found))


def _facts(found: Ensemble) -> Iterator[tuple[str, str]]:
    yield "configurations", f"{len(found)} of {found.files_total}"
    if found.left_out:
        few = ", ".join(Path(name).name for name in [*found.left_out][:5])
        yield "left out", few + (", ..." if len(found.left_out) > 5 else "")
    for name, seen in found.averages.items():
        tau = "" if seen.tau_int is None else f", tau = {seen.tau_int:.2g}"
        known = math.isfinite(seen.value)
        missing = "of none" if np.isnan(found[name]).all() else "not of all"
        yield name.replace("_", " "), f"{with_error(seen)}{tau}" if known else missing
    for name, column in found.values.items():
        if column.dtype.kind == "b":
            yield name, f"{int(column.sum())} of {len(column)}"
    yield (
        "errors",
        found.error_method + (f", bins of {found.bin_size}" if found.bin_size > 1 else ""),
    )
    yield "time", seconds_text(found.seconds)
    yield "device", found.device
    yield "seed", str(found.seed)


def _rows(found: Ensemble) -> Iterator[Table | str]:
    columns = {
        name: x
        for name, x in found.values.items()
        if x.ndim == 1 and not (x.dtype.kind == "f" and np.isnan(x).all())
    }
    shown = range(min(len(found), _ROWS))
    rows = [
        (*(_cell(column[i]) for column in columns.values()), Path(found.files[i]).name)
        for i in shown
    ]
    cut = f"the first {_ROWS} of {len(found)}; --table FILE has all" if len(found) > _ROWS else ""
    yield ""
    yield table(">" * len(columns) + "<", rows, (*columns, "file"), cut)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
