"""Floating numbers that carry a bound of their error, for the few entries that are merged."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.bounded import TINY, UNIT, shifted

#: Errors of a product and of a sum, complex ones included, relative to the sizes of what is added.
_STEP = 4 * UNIT
#: Room for the rounding of the bounds themselves.
_UP = 1 + 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """A float or complex number within `error` of the one that is meant.

    It is 0 only if it is known to be.
    """

    value: float | complex
    error: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.value) or self.error > 0

    def __ne__(self, other: object) -> bool:
        return bool(self) if other == 0 else NotImplemented

    def __mul__(self, other: Rounded | int) -> Rounded:
        if not isinstance(other, Rounded):
            return self if other == 1 else Rounded(0.0)
        value = self.value * other.value
        if not self or not other:
            return Rounded(value * 0.0)
        x, y = abs(self.value), abs(other.value)
        error = x * other.error + y * self.error + self.error * other.error
        if not _is_exact(value, self.value, other.value, operator.mul):
            error += _STEP * x * y * _UP + 4 * TINY
        # Products of errors may underflow, too.
        return Rounded(value, error * _UP + 4 * TINY if self.error or other.error else error)

    def __add__(self, other: Rounded | int) -> Rounded:
        if not isinstance(other, Rounded):
            return self
        if not self or not other:
            return self if self else other
        value = self.value + other.value
        error = self.error + other.error
        if not _is_exact(value, self.value, other.value, operator.add):
            error += _STEP * (abs(self.value) + abs(other.value))
        return Rounded(value, error * _UP)

    def __sub__(self, other: Rounded) -> Rounded:
        return self + Rounded(-other.value, other.error) if self is not other else Rounded(0.0)


def _is_exact(
    value: float | complex, x: float | complex, y: float | complex, operation: Callable[..., Any]
) -> bool:
    """Whether a real result did not round: so it is for small integers."""
    if isinstance(value, complex) or isinstance(x, complex) or isinstance(y, complex):
        return False
    return bool(Fraction(value) == operation(Fraction(x), Fraction(y)))


def rounded_entries(block: NDArray[Any], dtype: np.dtype[Any]) -> tuple[NDArray[Any], int]:
    """A matrix in `Rounded` numbers of size 1 at most, to be taken times 2 to the power returned.

    `block` holds numbers of type `dtype`, or `Rounded` ones with values of that type.
    """
    values, errors = parts_of(block, dtype)
    errors = np.zeros(block.shape) if errors is None else errors
    size = np.maximum(np.abs(values.real), np.abs(values.imag)) + errors
    rows = np.frexp(size.max(axis=1, keepdims=True))[1]
    columns = np.frexp(shifted(size, -rows).max(axis=0, keepdims=True))[1]
    small = shifted(values, -rows - columns)
    # What underflows is off by less than the least float.
    lost = shifted(small, rows + columns) != values
    off = shifted(errors, -rows - columns) + np.where(lost | (errors > 0), 2 * TINY, 0.0)
    entries = np.full(block.shape, Rounded(dtype.type(0).item()), dtype=object)
    for position in zip(*np.nonzero((small != 0) | (off > 0)), strict=True):
        entries[position] = Rounded(small[position].item(), float(off[position]))
    return entries, int(rows.sum() + columns.sum())


def parts_of(
    block: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Values of type `dtype`, and errors where any number is `Rounded`."""
    if not isinstance(block.flat[0], Rounded):
        return block, None
    values = np.array([x.value for x in block.flat], dtype=dtype).reshape(block.shape)
    errors = np.array([x.error for x in block.flat], dtype=np.float64).reshape(block.shape)
    return values, errors if errors.any() else None
