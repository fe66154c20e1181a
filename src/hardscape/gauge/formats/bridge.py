"""Bridge++'s text, which Gaugefields.jl and LatticeQCD.jl read and write too: a number a line and no header.

Real and imaginary part of each entry follow one another, in the order t, z, y, x, mu, row, column of ILDG. The
extents are given by `shape`; the number of numbers tells Nc.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Content, in_precision
from hardscape.gauge.groups import COLOURS
from hardscape.gauge.intake import check_shape

NAME = "bridge"
SUFFIXES: tuple[str, ...] = ()  # written by format="bridge" alone
DESCRIPTION = "text of Bridge++ and Gaugefields.jl, a number a line"

_HEAD = 256
_NUMBERS = re.compile(rb"\s*(?:[+-]?[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?\s+){2,}")
#: Characters, or numbers, that are converted at once.
_PIECE = 2**22


def sniff(source: Source) -> bool:
    """Whether it begins with numbers and nothing else."""
    head = source.raw[:_HEAD]
    end = max(head.rfind(b"\n"), head.rfind(b" ")) + 1
    return _NUMBERS.fullmatch(head[:end]) is not None


def read(source: Source, *, shape: Sequence[int] | None = None) -> Content:
    """Read a file of extents X, Y, Z, T."""
    if shape is None:
        raise source.error(
            None, "has no header: shape=(X, Y, Z, T) (--shape X,Y,Z,T) says its extents"
        )
    extents = check_shape(shape)
    memory.require(2 * len(source), source.path)  # a number of 8 bytes has two characters at least
    found = np.concatenate(list(_numbers(source)) or [np.empty(0)])
    sizes = {2 * len(extents) * math.prod(extents) * nc * nc: nc for nc in COLOURS}
    if len(found) not in sizes:
        needed = ", ".join(f"{count} (SU({nc}))" for count, nc in sizes.items())
        raise source.error(
            None, f"holds {len(found)} numbers; extents {tuple(extents)} need {needed}"
        )
    nc = sizes[len(found)]
    links = found.view(np.complex128).reshape(*extents[::-1], len(extents), nc, nc)
    return Content(links, notes=layouts.other_orders(links))


def _numbers(source: Source) -> Iterator[NDArray[np.float64]]:
    file, line = io.BytesIO(source.raw), 1
    while text := file.read(_PIECE):
        text += file.readline()
        try:
            yield _converted(text)
        except ValueError:
            raise _wrong(source, text, line) from None
        line += text.count(b"\n")


def _converted(text: bytes) -> NDArray[np.float64]:
    if b"_" in text:  # Python takes it for part of a number
        raise ValueError
    return np.array(text.split(), dtype=np.bytes_).astype(np.float64)


def _wrong(source: Source, text: bytes, first: int) -> Exception:
    """The error of the first line that holds anything but numbers."""
    for number, line in enumerate(text.split(b"\n"), start=first):
        try:
            _converted(line)
        except ValueError:
            told = line[:40].decode("utf-8", "replace")
            return source.error(number, f"holds {told!r}, which is no number")
    return source.error(first, "holds what is no number")


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file, every number with all its digits."""
    numbers = in_precision(field, precision).links.reshape(-1).view(np.float64)
    for start in range(0, len(numbers), _PIECE):
        yield ("\n".join(map("{:.16e}".format, numbers[start : start + _PIECE])) + "\n").encode()
