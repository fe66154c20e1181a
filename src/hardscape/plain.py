"""Results as plain data, as JSON, as tables and in files: one way for all families and commands."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hardscape.errors import InputError, needed
from hardscape.files import path_of, plain_name, store

#: Most characters of a value that a summary shows.
_SHOWN = 60


class Plain(ABC):
    """A result: a dataclass that can be compared, shown and written down.

    Two results are equal if all that they hold is; arrays are compared number by number.
    """

    #: Names of what has one entry a row, of equal lengths, in tables; else all is in one row.
    COLUMNS: ClassVar[str] = ""

    @abstractmethod
    def to_dict(self) -> Mapping[str, Any]:
        """Plain data: what ``to_json`` writes."""

    def listed(self, names: str, **others: Any) -> dict[str, Any]:
        """Attributes in this order, arrays and tuples as lists; or what `others` has under their names."""
        return {x: others[x] if x in others else _lists(getattr(self, x)) for x in names.split()}

    def to_json(self) -> str:
        """One JSON object; floats read back to the same float64, integers have any length."""
        return json.dumps(self.to_dict())

    def to_dataframe(self) -> Any:
        """Return a ``pandas.DataFrame``: a row for each state, level, run, copy or momentum, else one row.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        pandas = needed("pandas", "pandas", "pandas", f"{type(self).__name__}.to_dataframe")
        return pandas.DataFrame(self._table())

    def save(self, path: str | Path) -> None:
        """Write the result into a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            .json for all that `to_dict` holds, .csv for the rows of `to_dataframe`; compressed where
            .gz, .xz or .bz2 follows. One that was there before is replaced.

        Raises
        ------
        InputError
            For another suffix, or if the file cannot be written.
        """
        suffix = Path(plain_name(path_of(path))).suffix
        if suffix not in _WRITERS:
            raise InputError(f"{path}: suffix {suffix!r}; {', '.join(_WRITERS)} are accepted")
        store(path, _WRITERS[suffix](self).encode())

    def _table(self) -> dict[str, list[Any]]:
        """The columns of the tables."""
        plain = self.to_dict()
        if not self.COLUMNS:
            return {name: [value] for name, value in plain.items()}
        names = self.COLUMNS.split()
        return {x: plain[x] if x in plain else _lists(getattr(self, x)) for x in names}

    def _csv(self) -> str:
        import csv
        import io

        table = self._table()
        written = io.StringIO()
        rows = csv.writer(written, lineterminator="\n")
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
        return written.getvalue()

    def _facts(self) -> Iterator[tuple[str, Any]]:
        """Names and values of what is compared and shown."""
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if not field.name.startswith("_"):
                yield field.name, getattr(self, field.name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = zip(self._facts(), other._facts(), strict=True)
        return all(_same(mine, theirs) for (_, mine), (_, theirs) in pairs)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={brief(value)}" for name, value in self._facts())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th>{name}</th><td>{escape(brief(value))}</td></tr>"
            for name, value in self._facts()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


_WRITERS = {".json": Plain.to_json, ".csv": Plain._csv}


def brief(value: Any) -> str:
    """A value for people, in a few words whatever its size."""
    if hasattr(value, "ndim"):
        return f"{value.dtype} of shape {tuple(value.shape)}" if value.ndim else repr(value.item())
    if isinstance(value, int) and value.bit_length() > 3 * _SHOWN:
        return f"{'-' * (value < 0)}10^{math.log10(abs(value)):.1f}"
    if isinstance(value, tuple | list | Mapping) and len(value) > 4:
        return f"{len(value)} entries"
    shown = str(value) if isinstance(value, str) else repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."


def _same(mine: Any, theirs: Any) -> bool:
    """Whether two values are equal; NaN is equal to itself."""
    if hasattr(mine, "ndim") and hasattr(theirs, "ndim"):
        alike = tuple(mine.shape) == tuple(theirs.shape)
        return alike and bool(((mine == theirs) | ((mine != mine) & (theirs != theirs))).all())
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    return bool(mine == theirs or (mine != mine and theirs != theirs))


def _lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_lists(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def finite_or_none(number: float) -> float | None:
    """The number as JSON has it: None for infinities and NaN, which it cannot hold."""
    return number if math.isfinite(number) else None
