"""Permanents of one matrix for many patterns of multiplicities in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import as_number_array, is_array
from hardscape.engine import RunArguments, RunOptions, solve
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.matrix import MAX_SIDE, Matrix, Number
from hardscape.permanents.methods.repeated.patterns import PATTERNS, terms_of
from hardscape.permanents.plan import unasked
from hardscape.permanents.settings import Settings

#: Patterns that an estimate looks at.
_SAMPLE = 1000
#: Products above which a GPU is worth starting, and seconds of one on a core.
_GPU_PRODUCTS, _PRODUCT = 2.0**34, 2.5e-10


def are_patterns(given: Any) -> bool:
    """Whether multiplicities are those of many patterns: an array of two axes, or nested sequences."""
    if is_array(given):
        return as_number_array(given, "rows").ndim == 2
    return isinstance(given, Sequence) and len(given) > 0 and np.ndim(given[0]) == 1


@dataclass(frozen=True, eq=False)
class Patterns:
    """A matrix and how often its rows and columns count in each pattern."""

    matrix: Matrix
    rows: NDArray[np.int16]  #: shape (patterns or 1, m), of `matrix.entries`
    cols: NDArray[np.int16]  #: shape (patterns or 1, n)
    totals: NDArray[np.int64]  #: what they add up to, shape (patterns,)

    @classmethod
    def of(cls, matrix: Matrix, rows: Any, cols: Any) -> Patterns:
        """Check multiplicities, of which one may be one pattern for all, or None for ones."""
        if matrix.is_batch:
            raise InputError("rows and cols are for one matrix, and a is a batch")
        shape = matrix.given_shape
        r, c = _counts(rows, "rows", shape[0]), _counts(cols, "cols", shape[1])
        if len(r) != len(c) and 1 not in (len(r), len(c)):
            raise InputError(
                f"rows has {len(r)} patterns and cols {len(c)}; as many, or one for all, are accepted"
            )
        in_rows, in_cols = r.sum(axis=1, dtype=np.int64), c.sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(in_rows != in_cols)
        if len(wrong):
            i = int(wrong[0])
            x, y = in_rows[min(i, len(r) - 1)], in_cols[min(i, len(c) - 1)]
            raise InputError(
                f"in pattern {i} rows add up to {x} and cols to {y}; equal sums are accepted"
            )
        if in_rows.max(initial=0) > MAX_SIDE:
            raise InputError(f"rows add up to {in_rows.max()}; up to {MAX_SIDE} are accepted")
        if matrix.transposed:
            r, c = c, r
        count = len(c) if len(r) == 1 else len(r)
        return cls(matrix, r, c, np.broadcast_to(in_rows, count))

    def __len__(self) -> int:
        return len(self.totals)

    def __getitem__(self, i: int) -> tuple[list[int], list[int]]:
        """Rows and columns of pattern i, of the matrix as it was given."""
        r = self.rows[i if len(self.rows) > 1 else 0].tolist()
        c = self.cols[i if len(self.cols) > 1 else 0].tolist()
        return (c, r) if self.matrix.transposed else (r, c)

    @cached_property
    def seconds(self) -> float:
        """Estimated time on a core, by a sample of the patterns."""
        some = slice(None, None, max(1, len(self) // _SAMPLE))
        shared = self.rows if len(self.rows) <= len(self.cols) else self.cols
        terms = float(np.mean(terms_of(shared[some]) * self.totals[some][: len(shared[some])]))
        return _PRODUCT * terms * len(self)

    def options(self, **run: Unpack[RunArguments]) -> RunOptions:
        """Where they may run: "auto" takes GPUs for many."""
        if run.get("checkpoint") is not None:
            raise InputError("checkpoint is for one permanent; leave it out with many patterns")
        big = len(self) > 0 and self.seconds > _GPU_PRODUCTS * _PRODUCT
        return RunOptions.checked(big_enough=big, **run)

    def permanents(
        self, settings: Settings, options: RunOptions, one: Callable[[int], Number]
    ) -> NDArray[Any]:
        """In double precision; `one` finds those of which that lost too much.

        That is measured by the value or, where it is larger, by the root mean square of all values:
        what interferes to nothing is not looked at again.
        """
        if len(self) == 0:
            return np.empty(0, dtype=self.matrix.entries.dtype)
        seconds = unasked(self.seconds, 1, options)
        if seconds is not None:
            raise BudgetError(
                f"{len(self)} patterns take about {duration(seconds)} on a core; pass "
                "time_limit= or executor= to run them anyway"
            )
        values = np.ones(len(self), dtype=self.matrix.entries.dtype)
        likely = np.zeros(len(self))
        totals = np.unique(self.totals[self.totals > 0]).tolist()
        for total in totals:
            alike: Any = self.totals == total if len(totals) > 1 else slice(None)
            values[alike], likely[alike] = self._of_total(alike, options)
        if settings.precision == "auto":
            with np.errstate(over="ignore", invalid="ignore"):
                typical = np.sqrt(np.mean(np.abs(values) ** 2))
                lost = likely > settings.rtol * np.maximum(np.abs(values), typical)
            for i in np.flatnonzero(lost | ~np.isfinite(values)).tolist():
                values[i] = one(i)
        return values

    def _of_total(
        self, chosen: Any, options: RunOptions
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Values and likely errors of patterns that add up to the same number."""
        entries, rows, cols = self.matrix.entries, self.rows, self.cols
        if len(rows) > len(cols):  # what is the same for all is shared
            entries, rows, cols = entries.T, cols, rows
        rows = rows if len(rows) == 1 else rows[chosen]
        cols = cols if len(cols) == 1 else cols[chosen]
        kind = type(options.devices[0])
        lanes = [device for device in options.devices if type(device) is kind]
        work = PATTERNS[kind](np.ascontiguousarray(entries), rows, cols)
        found = solve(work, options.on(lanes)).whole()
        return found.values, found.likely_errors


def _counts(given: Any, name: str, length: int) -> NDArray[np.int16]:
    """Multiplicities of patterns, shape (patterns or 1, length)."""
    if given is None:
        return np.ones((1, length), dtype=np.int16)
    array = np.atleast_2d(as_number_array(given, name))
    if array.ndim != 2 or (array.shape[1] != length and array.size):
        raise InputError(
            f"{name} has shape {array.shape}; (patterns, {length}) and ({length},) are accepted"
        )
    if array.dtype.kind in "fO":
        try:
            with np.errstate(invalid="ignore"):
                whole = array.astype(np.int64)
        except (TypeError, ValueError, OverflowError):
            whole = np.full(array.shape, -1)
        whole[np.asarray(whole != array, dtype=bool)] = -1
        whole[np.frompyfunc(lambda x: isinstance(x, bool), 1, 1)(array).astype(bool)] = -1
        array = np.where(whole < 0, -1, whole)
    elif array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; integers of 0 or more are accepted")
    if array.min(initial=0) < 0 or array.max(initial=0) > MAX_SIDE:
        i, j = np.argwhere((array < 0) | (array > MAX_SIDE))[0].tolist()
        raise InputError(f"{name}[{i}, {j}] is no integer from 0 to {MAX_SIDE}")
    return np.ascontiguousarray(array.reshape(-1, length), dtype=np.int16)
