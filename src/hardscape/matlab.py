"""MATLAB's files .mat, of versions 5 to 7, as strangers may have made them: the one matrix in a file.

MathWorks describe them in "MAT-File Format": a header of 128 bytes, which ends with the byte order, and
elements, each with its type and number of bytes, packed by zlib or not. A matrix is an element of elements:
flags, shape, name, of a sparse one rows and where each column begins, the real and the imaginary part.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import MAX_BYTES, Source

#: Octave writes them, too. Version 7.3 is HDF5.
MAGIC = (b"MATLAB 5.0 MAT-f", b"MATLAB 7.3 MAT-f")
_HEADER = 128
_MATRIX, _PACKED = 14, 15
#: Numbers of elements.
_STORED = dict(enumerate(["i1", "u1", "i2", "u2", "i4", "u4", "f4"], 1)) | {
    9: "f8",
    12: "i8",
    13: "u8",
}
#: Numbers of matrices, which may be stored as smaller ones.
_CLASSES = dict(enumerate(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"], 6))
_SPARSE = 5
_COMPLEX, _LOGICAL = 0x800, 0x200


class Matrix(NamedTuple):
    """A matrix of two axes, or the entries of a sparse one and their `places`, rows and columns from 0."""

    shape: tuple[int, int]
    value: NDArray[Any]
    places: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None


def matrix(source: Source) -> Matrix:
    """The one matrix of numbers that is larger than 1 x 1, or that there is, of MATLAB's type."""
    if source.raw[: len(MAGIC[1])] == MAGIC[1]:
        raise source.error(
            None, "is of MATLAB's version 7.3; save(FILE, 'A', '-v7') writes one that is read"
        )
    with archives.reading(source, "MATLAB file of one matrix"):
        data = source.data
        order = {b"IM": "<", b"MI": ">"}[data[_HEADER - 2 : _HEADER]]
        known = list(_variables(data[_HEADER:], order))
        chosen = [one for one in known if math.prod(one.shape) > 1] or known
        if len(chosen) != 1:
            names = ", ".join(one.name for one in chosen)
            raise ValueError(
                f"it holds {len(chosen)} ({names:.200}); save(FILE, 'A') writes one that is read"
            )
        return chosen[0].matrix()


class _Element(NamedTuple):
    kind: int
    data: bytes
    order: str

    def numbers(self) -> NDArray[Any]:
        return np.frombuffer(self.data, self.order + _STORED[self.kind])


def _elements(data: bytes, order: str) -> Iterator[_Element]:
    at = 0
    while at < len(data):
        kind, size = unpack(order + "II", data[at : at + 8])
        begin, at = at + 8, at + 8 + size
        if kind >> 16:  # a small one has its bytes where others have their number
            begin, at, size, kind = begin - 4, begin, kind >> 16, kind & 0xFFFF
        elif kind != _PACKED:
            at += -size % 8
        if begin + size > min(at, len(data)):
            raise ValueError("it ends before its last element does")
        yield _Element(kind, data[begin : begin + size], order)


@dataclass
class _Variable:
    name: str
    shape: tuple[int, ...]
    kind: int
    flags: int
    parts: Iterator[_Element]

    def matrix(self) -> Matrix:
        if len(self.shape) != 2 or min(self.shape) < 0:
            raise ValueError(f"{self.name!r} has shape {self.shape}; two axes are accepted")
        m, n = self.shape
        if self.kind != _SPARSE:
            return Matrix((m, n), self._values().reshape((m, n), order="F"))
        rows, begins = (next(self.parts).numbers().astype(np.int64) for _ in range(2))
        counts = begins[1:] - begins[:-1]
        if len(begins) != n + 1 or begins[0] != 0 or min(counts, default=0) < 0:
            raise ValueError(f"columns of {self.name!r} do not begin one behind another")
        rows, values = rows[: begins[-1]], self._values()[: begins[-1]]
        if not len(rows) == len(values) == begins[-1] or not ((rows >= 0) & (rows < m)).all():
            raise ValueError(f"{self.name!r} has entries outside of shape ({m}, {n})")
        return Matrix((m, n), values, (rows, np.repeat(np.arange(n), counts)))

    def _values(self) -> NDArray[Any]:
        dtype = "?" if self.flags & _LOGICAL else _CLASSES.get(self.kind, "f8")
        real = next(self.parts).numbers().astype(dtype)
        if not self.flags & _COMPLEX:
            return real
        values = real.astype(np.complex64 if dtype == "f4" else np.complex128)
        values.imag = next(self.parts).numbers()
        return values


def _variables(data: bytes, order: str) -> Iterator[_Variable]:
    """Those that are matrices of numbers."""
    for element in _elements(data, order):
        kind, body = element.kind, element.data
        if kind == _PACKED:
            unpacked = zlib.decompressobj().decompress(body, MAX_BYTES)
            kind, body, _ = next(_elements(unpacked, order))
        if kind != _MATRIX:
            continue
        parts = _elements(body, order)
        flags = int(next(parts).numbers()[0])
        if (of := flags & 0xFF) in _CLASSES or of == _SPARSE:
            shape = tuple(next(parts).numbers().tolist())
            yield _Variable(next(parts).data.decode(), shape, of, flags, parts)
