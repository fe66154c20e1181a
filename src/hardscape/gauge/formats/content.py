"""What every format shares: the bytes of a file, its claims about itself, and options of writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import FormatError, InputError
from hardscape.files import path_of
from hardscape.gauge.field import check_shape
from hardscape.gauge.groups import third_row

__all__ = [
    "Checksum",
    "Claim",
    "Content",
    "Source",
    "WriteOptions",
    "complete_rows",
    "number_type",
    "open_source",
    "raw_bytes",
]

ByteOrder = Literal["big", "little"]
Precision = Literal["single", "double"]
#: Rounding that separates an average from the same one computed elsewhere.
_ROUNDING = {4: 2e-6, 8: 1e-9}


@dataclass(frozen=True)
class Claim:
    """An average that a file states about its links, and how precisely it states it."""

    value: float
    tolerance: float

    @classmethod
    def from_text(cls, text: str, itemsize: int) -> Claim:
        """Read a decimal number; its last digit and the links' rounding give the tolerance.

        Raises
        ------
        ValueError
            If `text` is no number.
        """
        mantissa, _, exponent = text.strip().lower().partition("e")
        digits = len(mantissa.partition(".")[2])
        # Averages are at most 1; a number with a huge exponent is wrong whatever its last digit is.
        unit = 10.0 ** min(int(exponent or 0) - digits, 0)
        return cls(float(text), unit + _ROUNDING[itemsize])

    @classmethod
    def from_double(cls, value: float, itemsize: int = 8) -> Claim:
        """Take a binary number."""
        return cls(value, _ROUNDING[itemsize])

    def holds(self, found: float) -> bool:
        """Whether the links' own average agrees."""
        return abs(found - self.value) <= self.tolerance


@dataclass(frozen=True)
class Checksum:
    """A checksum as the file states it and as its data give it."""

    stated: str
    found: str

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return self.stated == self.found


@dataclass(frozen=True)
class Content:
    """What a reader takes from a file.

    Attributes
    ----------
    links : complex64 or complex128, shape (T, Z, Y, X, 4, Nc, Nc)
    header : mapping
        What else the file says, as text, in its order.
    """

    links: NDArray[Any]
    header: Mapping[str, str] = field(default_factory=dict)
    checksum: Checksum | None = None
    plaquette: Claim | None = None
    link_trace: Claim | None = None


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How to write a file, where its format leaves a choice; None takes the format's custom.

    Attributes
    ----------
    precision : {"single", "double"}, optional
        By default the links' own, or the only one that the format has.
    byteorder : {"big", "little"}, optional
    rows : int, optional
        Rows of each matrix that are written: Nc, or Nc - 1, from which a reader rebuilds the last.
    checksum : bool
    header : mapping
        Text to carry along, as `Content.header` has it.
    """

    precision: Precision | None = None
    byteorder: ByteOrder | None = None
    rows: int | None = None
    checksum: bool = True
    header: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.precision not in (None, "single", "double"):
            raise InputError(f"precision={self.precision!r}; 'single' and 'double' are accepted")
        if self.byteorder not in (None, "big", "little"):
            raise InputError(f"byteorder={self.byteorder!r}; 'big' and 'little' are accepted")
        if self.rows is not None and self.rows not in (1, 2, 3):
            raise InputError(f"rows={self.rows!r}; Nc and Nc - 1 are accepted")


def number_type(itemsize: int, byteorder: ByteOrder) -> np.dtype[Any]:
    """Complex numbers of two reals of `itemsize` bytes in the given order."""
    return np.dtype(f"{'>' if byteorder == 'big' else '<'}c{2 * itemsize}")


def complete_rows(stored: NDArray[Any]) -> NDArray[Any]:
    """Links from matrices of which the last row may be missing, shape (..., Nc or Nc - 1, Nc)."""
    rows, nc = stored.shape[-2:]
    if rows == nc:
        return stored
    links = np.empty((*stored.shape[:-2], nc, nc), dtype=stored.dtype)
    links[..., :rows, :] = stored
    if nc == 2:
        links[..., 1, 0] = -stored[..., 0, 1].conj()
        links[..., 1, 1] = stored[..., 0, 0].conj()
    else:
        links[..., 2, :] = third_row(stored)
    return links


@dataclass(frozen=True)
class Source:
    """The bytes of a file, mapped, and the path that its errors name."""

    path: str
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.data)

    def error(self, reason: str) -> FormatError:
        """The error for this file, for the caller to raise."""
        return FormatError(self.path, None, reason)

    def bytes(self, start: int, count: int) -> bytes:
        """Some bytes.

        Raises
        ------
        FormatError
            If the file ends before.
        """
        if start + count > len(self.data):
            raise self.error(f"ends after {len(self.data)} bytes, inside its header")
        return self.data[start : start + count].tobytes()

    def shape(self, extents: Iterable[int]) -> tuple[int, int, int, int]:
        """Check the extents X, Y, Z, T that a header states.

        Raises
        ------
        FormatError
            If a lattice cannot have them.
        """
        try:
            return check_shape(tuple(extents))
        except InputError as error:
            raise self.error(f"the header's {error}") from None

    def colours(self, count: int, volume: int, number_bytes: int) -> int:
        """Nc of a format whose header does not tell, from the bytes of all links.

        Raises
        ------
        FormatError
            If the size fits neither SU(2) nor SU(3).
        """
        sizes = {4 * volume * nc * nc * number_bytes: nc for nc in (2, 3)}
        if count not in sizes:
            wanted = " or ".join(f"{size} (SU({nc}))" for size, nc in sizes.items())
            raise self.error(
                f"has {count} bytes of links; the header's extents need {wanted}: "
                "it is truncated, or of another kind"
            )
        return sizes[count]

    def numbers(self, start: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """View `count` numbers from byte `start` on.

        Raises
        ------
        FormatError
            If the file ends before.
        """
        size = count * dtype.itemsize
        if start + size > len(self.data):
            raise self.error(
                f"is truncated: {max(len(self.data) - start, 0)} of {size} bytes of links are there"
            )
        return self.data[start : start + size].view(dtype)


def raw_bytes(array: NDArray[Any]) -> memoryview:
    """View the bytes of an array in C order, which is copied where it is in another one."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def open_source(path: str | Path) -> Source:
    """Map a file into memory.

    Raises
    ------
    FormatError
        If it is missing, not readable, no regular file, or empty.
    """
    place = path_of(path)
    try:
        if place.exists() and not place.is_file():
            raise FormatError(place, None, "is no regular file")
        if place.stat().st_size == 0:
            raise FormatError(place, None, "is empty")
        return Source(str(place), np.memmap(place, dtype=np.uint8, mode="r"))
    except OSError as error:
        raise FormatError(place, None, f"cannot be read: {error.strerror or error}") from None
