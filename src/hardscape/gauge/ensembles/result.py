"""The table of an ensemble: a row a configuration, averages with errors."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError, needed
from hardscape.figures import COLORS, GREY, finish, new_figure
from hardscape.files import path_of, plain_name, store
from hardscape.gauge.ensembles.averages import Average, ErrorMethod, average
from hardscape.plain import Plain, finite_or_none

#: Suffixes of tables that `needed_for_hdf5` writes.
HDF5 = (".h5", ".hdf5")


def needed_for_hdf5() -> Any:
    """The package h5py, or the error that it is not installed."""
    return needed("h5py", "h5py", "hdf5", "a table in HDF5")


@dataclass(frozen=True, eq=False)
class Ensemble(Plain):
    """What was measured on each configuration of an ensemble.

    Attributes
    ----------
    method : str
        What was done: "fix", "observables", "generate".
    files : tuple of str
        Of the rows, in their order.
    outputs : tuple of str
        What was written, one a row, or nothing.
    values : mapping
        Columns by name, arrays with one entry a row.
    files_total : int
        Configurations that were asked for.
    left_out : mapping
        What is wrong with each file that has no row, by its name.
    error_method : {"jackknife", "gamma"}
        How errors of averages are estimated.
    bin_size : int
        Configurations that the jackknife leaves out together.
    seed : int
    device : str
    stopped : str
        "" if all configurations were gone through, else what cut it short.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in (1, 2):
    ...         gauge.GaugeField.random((2, 2, 2, 2), seed=seed).to_file(f"{folder}/u.{seed}.nersc")
    ...     found = gauge.observables(f"{folder}/u.*", device="cpu")
    >>> found.files_total, found.values["plaquette"].shape
    (2, (2,))
    """

    method: str
    files: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, NDArray[Any]]
    files_total: int
    error_method: ErrorMethod
    bin_size: int
    seed: int
    device: str
    stopped: str
    seconds: float
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column; an InputError for a name that none has."""
        if name not in self:
            raise InputError(f"column {name!r}; {', '.join(self)} are accepted")
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        """Names of columns, as of a table of pandas."""
        return iter(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return tuple(self._table())

    @cached_property
    def averages(self) -> Mapping[str, Average]:
        """Mean and error of every column of real numbers, by name."""
        reals = {x: column for x, column in self.values.items() if column.dtype.kind == "f"}
        return {
            name: average(column, self.error_method, self.bin_size)
            for name, column in reals.items()
            if column.ndim == 1 and len(column)
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not known are None."""
        told = {
            name: {x: y if y is None else finite_or_none(y) for x, y in found._asdict().items()}
            for name, found in self.averages.items()
        }
        names = "method files outputs files_total error_method bin_size seed device stopped seconds"
        columns = {name: _plain(column) for name, column in self.values.items()}
        left = {"left_out": dict(self.left_out)}
        return {**self.listed(names), **left, "averages": told, "values": columns}

    def _table(self) -> dict[str, list[Any]]:
        written = {"output": list(self.outputs)} if self.outputs else {}
        return {"file": list(self.files), **written, **_flat(self.values)}

    def save(self, path: str | Path) -> None:
        """Write the result into a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            .h5 or .hdf5: a dataset for each column, the averages as their attributes (needs h5py). .csv: the
            rows. .json: all of it.

        Raises
        ------
        InputError
            For another suffix, or if the file cannot be written.
        MissingDependencyError
            If h5py is needed and not installed.
        """
        if Path(plain_name(path_of(path))).suffix not in HDF5:
            super().save(path)
            return
        h5py = needed_for_hdf5()
        content = io.BytesIO()
        with h5py.File(content, "w", libver="latest", track_order=True) as file:
            for name in ("method", "error_method", "bin_size", "seed", "device", "stopped"):
                file.attrs[name] = getattr(self, name)
            file["file"] = list(self.files)
            if self.outputs:
                file["output"] = list(self.outputs)
            for name, column in self.values.items():
                made = file.create_dataset(name, data=column)
                found = self.averages.get(name)
                if found is not None:
                    made.attrs["mean"], made.attrs["error"] = found.value, found.error
        store(path, content.getvalue())

    def plot(self, ax: Any = None, *, column: str | None = None) -> Any:
        """Draw a column, by default the first one of real numbers, along the ensemble, with its average.

        Parameters
        ----------
        ax : matplotlib axes, optional
        column : str, optional

        Returns
        -------
        matplotlib axes
        """
        ax = new_figure().add_subplot() if ax is None else ax
        name = next(iter(self.averages)) if column is None else column
        numbers, found = np.arange(1, len(self) + 1), self.averages[name]
        ax.plot(numbers, self.values[name], "o", markersize=4, color=COLORS[0])
        ax.axhline(found.value, color=COLORS[1], linewidth=1)
        if math.isfinite(found.error):
            low, high = found.value - found.error, found.value + found.error
            ax.axhspan(low, high, color=GREY, alpha=0.25, linewidth=0)
        shown = name.replace("_", " ")
        title = f"{shown}: {with_error(found)}, {len(self)} configurations"
        return finish(ax, title, "configuration", shown, whole="x")

    def __repr__(self) -> str:
        few = list(self.averages.items())[:3]
        shown = ", ".join(f"{name}={with_error(found)}" for name, found in few)
        stopped = self.stopped and f", stopped by {self.stopped}"
        return f"<Ensemble: {self.method}, {len(self)} of {self.files_total}, {shown}{stopped}>"


def with_error(found: Average) -> str:
    """A mean as papers print it: 0.59365(12)."""
    if not math.isfinite(found.error) or found.error <= 0 or not math.isfinite(found.value):
        return f"{found.value:.8g}"
    exponent = math.floor(math.log10(abs(found.value))) if found.value else 0
    if exponent < -4:
        scaled = Average(found.value / 10.0**exponent, found.error / 10.0**exponent)
        return f"{with_error(scaled)}e{exponent}"
    digits = 1 - math.floor(math.log10(found.error))
    if digits <= 0:
        return f"{found.value:.0f}({found.error:.0f})"
    return f"{found.value:.{digits}f}({round(found.error * 10**digits)})"


def _plain(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "f" and column.ndim == 1:
        return [finite_or_none(x) for x in column.tolist()]
    listed: list[Any] = column.tolist()
    return listed


def _flat(values: Mapping[str, NDArray[Any]]) -> dict[str, list[Any]]:
    """Columns of numbers: one for each number of an array."""
    found: dict[str, list[Any]] = {}
    for name, column in values.items():
        if column.ndim == 1:
            found[name] = column.tolist()
            continue
        for place in np.ndindex(column.shape[1:]):
            found["_".join([name, *map(str, place)])] = column[(slice(None), *place)].tolist()
    return found
