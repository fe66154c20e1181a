"""What every format shares: the numbers of a file, and its claims about itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape import native as compiled
from hardscape.errors import InputError
from hardscape.files import Source, shown
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.field import GaugeField
from hardscape.gauge.groups import COLOURS, group
from hardscape.gauge.intake import check_shape, in_parts

ByteOrder = Literal["big", "little"]
Precision = Literal["single", "double"]
_HEXADECIMAL = re.compile(r"(?:0[xX])?0*[0-9a-fA-F]{1,8}")
#: Rounding that separates an average from the same one computed elsewhere.
_ROUNDING = {4: 2e-6, 8: 1e-9}


@dataclass(frozen=True)
class Claim:
    """An average that a file states about its links, and how precisely it states it."""

    value: float
    tolerance: float
    #: The links' own in the file's normalisation, where that is not the field's.
    found: float | None = None

    @classmethod
    def from_text(cls, text: str, itemsize: int) -> Claim:
        """Read a decimal number; its last digit and the links' rounding give the tolerance."""
        mantissa, _, exponent = text.strip().lower().partition("e")
        digits = len(mantissa.partition(".")[2])
        # Averages are at most 1; a number with a huge exponent is wrong whatever its last digit is.
        unit = 10.0 ** min(int(exponent or 0) - digits, 0)
        return cls(float(text), unit + _ROUNDING[itemsize])

    @classmethod
    def from_double(cls, value: float, itemsize: int = 8, *, among: Iterable[float] = ()) -> Claim:
        """Take a binary number, and of the links' averages in several normalisations the nearest."""
        found = min(among, key=lambda x: abs(x - value), default=None)
        return cls(value, _ROUNDING[itemsize], found)

    def stated_for(self, average: float) -> float:
        """What is stated, in the normalisation of the field's own average."""
        return self.value if self.found is None else average + (self.value - self.found)

    def holds(self, average: float) -> bool:
        """Whether the links' own average agrees."""
        return abs((average if self.found is None else self.found) - self.value) <= self.tolerance


@dataclass(frozen=True)
class Checksum:
    """A checksum as the file states it and as its data give it."""

    stated: str
    found: str

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return self.stated == self.found


def hexadecimal(text: str) -> str:
    """A 32-bit number as %x, %#x, %08x and their like print it, in one form; other text quoted."""
    if _HEXADECIMAL.fullmatch(text):
        return f"{int(text, 16):08x}"
    return shown(text)


@dataclass(frozen=True)
class Content:
    """What a reader takes from a file."""

    links: NDArray[Any]  # complex64 or complex128, shape (T, Z, Y, X, 4, Nc, Nc)
    header: Mapping[str, str] = field(default_factory=dict)  # what else it says, in its order
    checksum: Checksum | None = None
    plaquette: Claim | None = None
    link_trace: Claim | None = None
    boundary: Boundary | None = None  # None: as the links themselves tell
    notes: tuple[str, ...] = ()  # what a reader must know before using it


def plaquette_means(field: GaugeField) -> tuple[float, ...]:
    """The plaquette in the normalisations that codes have for open lattices, the field's own first.

    The plaquettes in space at both ends count half, not at all, or whole; the sum is divided by T - 1 slices,
    or by T.
    """
    if field.boundary == "periodic":
        return (field.plaquette(),)
    traces = field.plaquette_traces()
    slices = len(traces)
    space = traces[:, [0, 1, 3]].sum(axis=1)
    time, ends = traces[:, [2, 4, 5]].sum(), space[[0, -1]].sum()
    unit = 6 * field.nc * field.volume / slices
    sums = [time + space.sum() - less * ends for less in (0.5, 1.0, 0.0)]
    return tuple(float(x / (unit * many)) for many in (slices - 1, slices) for x in sums)


def in_precision(
    field: GaugeField, precision: Precision | None, *, any_dimension: bool = False
) -> GaugeField:
    """The field as it will be in the file: headers state the averages of those links."""
    if field.dimensions != 4 and not any_dimension:
        raise InputError(
            f"a field of {field.dimensions} dimensions; this format holds four: "
            "npy, npz, hdf5, mdp and raw hold others"
        )
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


def lattice_shape(source: Source, extents: Iterable[int]) -> tuple[int, ...]:
    """Check the extents X, Y, Z, T that a header states."""
    try:
        return check_shape(tuple(extents))
    except InputError as error:
        told = str(error).removeprefix("shape=")
        raise source.error(None, f"its header says X, Y, Z, T = {told}") from None


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
    shape = lattice_shape(source, extents)
    directions, volume = len(shape), math.prod(shape)
    sizes = {directions * volume * colours**2 * dtype.itemsize: colours for colours in COLOURS}
    if found not in sizes:
        known = {size: colours for size, colours in sizes.items() if nc in (None, colours)}
        wanted = " or ".join(f"{size} (SU({colours}))" for size, colours in known.items())
        raise source.error(
            None,
            f"has {found} bytes of links; the header's extents need {wanted}: "
            "it is truncated, or of another kind",
        )
    if nc not in (None, sizes[found]):
        raise source.error(None, f"says Nc = {nc}, which {found} bytes of links are not")
    stored = numbers(source, start, found // dtype.itemsize, dtype)
    return stored.reshape(volume, directions, sizes[found], sizes[found])


@dataclass(frozen=True)
class Sums:
    """Checksums of the bytes of links, all modulo 2^32."""

    words: int  # the sum of all 32-bit words
    suma: int  # exclusive or of the CRC-32 of each site, rotated by its number modulo 29
    sumb: int  # and modulo 31


def native(stored: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the machine's byte order."""
    return summed(stored)[0]


def summed(stored: NDArray[Any], *, sites: bool = False) -> tuple[NDArray[Any], Sums]:
    """The numbers in the machine's byte order, and their checksums; those of sites only where asked for.

    A site is an entry of the first axis. All threads share the work; a signal is heard between pieces.
    """
    found = np.empty(stored.shape, stored.dtype.newbyteorder("="))
    given, taken = (x.reshape(-1).view(np.uint8) for x in (stored, found))
    width = stored.dtype.itemsize // 2
    swapped = not stored.dtype.isnative
    unit = given.nbytes // len(stored) if sites else width
    parts = in_parts(
        len(given) // unit,
        len(given),
        lambda i, j: compiled.vector.gauge.take_numbers(
            given, taken, width, swapped, unit if sites else 0, unit * i, unit * j
        ),
    )
    suma, sumb, words = map(list, zip(*parts, strict=True))
    return found, Sums(sum(words) % 2**32, reduce(xor, suma), reduce(xor, sumb))


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
