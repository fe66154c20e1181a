"""What every format shares: the numbers of a file, and its claims about itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge.field import GaugeField, check_shape
from hardscape.gauge.groups import group

ByteOrder = Literal["big", "little"]
Precision = Literal["single", "double"]
#: Numbers that are converted at once.
PIECE = 2**22
#: Rounding that separates an average from the same one computed elsewhere.
_ROUNDING = {4: 2e-6, 8: 1e-9}


@dataclass(frozen=True)
class Claim:
    """An average that a file states about its links, and how precisely it states it."""

    value: float
    tolerance: float

    @classmethod
    def from_text(cls, text: str, itemsize: int) -> Claim:
        """Read a decimal number; its last digit and the links' rounding give the tolerance."""
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
    """What a reader takes from a file."""

    links: NDArray[Any]  # complex64 or complex128, shape (T, Z, Y, X, 4, Nc, Nc)
    header: Mapping[str, str] = field(default_factory=dict)  # what else it says, in its order
    checksum: Checksum | None = None
    plaquette: Claim | None = None
    link_trace: Claim | None = None


def in_precision(field: GaugeField, precision: Precision | None) -> GaugeField:
    """The field as it will be in the file: headers state the averages of those links."""
    if precision is None:
        return field
    return field.astype(np.complex64 if precision == "single" else np.complex128)


def complete_rows(stored: NDArray[Any]) -> NDArray[Any]:
    """Links from matrices of which the last row may be missing, shape (..., Nc or Nc - 1, Nc)."""
    rows, nc = stored.shape[-2:]
    if rows == nc:
        return stored
    links = np.empty((*stored.shape[:-2], nc, nc), dtype=stored.dtype)
    links[..., :rows, :] = stored
    links[..., rows, :] = group(nc).last_row(stored)
    return links


def lattice_shape(source: Source, extents: Iterable[int]) -> tuple[int, int, int, int]:
    """Check the extents X, Y, Z, T that a header states."""
    try:
        return check_shape(tuple(extents))
    except InputError as error:
        raise source.error(None, f"the header's {error}") from None


def whole_links(
    source: Source,
    start: int,
    extents: Iterable[int],
    dtype: np.dtype[Any],
    *,
    length: int | None = None,
    nc: int | None = None,
) -> NDArray[Any]:
    """View all links from byte `start` on, shape (sites, 4, Nc, Nc); their bytes tell Nc, or confirm `nc`."""
    found = len(source) - start if length is None else length
    volume = math.prod(lattice_shape(source, extents))
    sizes = {4 * volume * colours**2 * dtype.itemsize: colours for colours in (2, 3)}
    if found not in sizes:
        wanted = " or ".join(f"{size} (SU({colours}))" for size, colours in sizes.items())
        raise source.error(
            None,
            f"has {found} bytes of links; the header's extents need {wanted}: "
            "it is truncated, or of another kind",
        )
    if nc not in (None, sizes[found]):
        raise source.error(None, f"says Nc = {nc}, which {found} bytes of links are not")
    stored = numbers(source, start, found // dtype.itemsize, dtype)
    return stored.reshape(volume, 4, sizes[found], sizes[found])


def native(stored: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the machine's byte order, in pieces: a signal is heard between them."""
    found = np.empty(stored.shape, stored.dtype.newbyteorder("="))
    given, taken = stored.reshape(-1), found.reshape(-1)
    for start in range(0, len(given), PIECE):
        taken[start : start + PIECE] = given[start : start + PIECE]
    return found


def numbers(source: Source, start: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """View `count` numbers from byte `start` on."""
    size = count * dtype.itemsize
    if start + size > len(source):
        raise source.error(
            None, f"is truncated: {max(len(source) - start, 0)} of {size} bytes of links are there"
        )
    # The file stays where it is; its numbers are brought into our order and the machine's.
    memory.require(size, source.path)
    return np.frombuffer(source.raw, dtype, count, start)
