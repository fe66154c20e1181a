"""dimod's binary quadratic models as ``BinaryQuadraticModel.to_file`` writes them, read without dimod.

Behind the magic bytes, two of a version and four of a length comes a JSON header; then the offset, for
each variable where its neighbours begin and its bias, and for each neighbour its index and the bias of the
pair, which so is there twice. Labels are in the header (version 1) or at the end (version 2).
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms, dyadic
from hardscape.ising.formats.dimod.labels import from_json
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.model import Ising

NAME = "bqm"
SUFFIXES = ()
READS = (".bqm",)
MAGIC = b"DIMODBQM"
DESCRIPTION = "dimod's binary quadratic model as its `to_file` writes it, labels included"
MEMORY = 25

_LABELS = b"VARS"
_BIAS_TYPES = ("float64", "float32")
_INDEX_TYPES = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


def read(source: Source) -> Ising:
    """Read a model of either variable type, labels included."""
    with archives.reading(source, "binary quadratic model of dimod"):
        return _model(_Bytes(source.data))


class _Bytes:
    """Bytes that are taken from their beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise ValueError(f"it ends {self._at - len(self._data)} bytes before its model does")
        return self._data[self._at - size : self._at]

    def length(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def array(self, count: int, kind: Any) -> NDArray[Any]:
        kind = np.dtype(kind).newbyteorder("<")
        return np.frombuffer(self.take(count * kind.itemsize), kind)


def _model(file: _Bytes) -> Ising:
    magic, version = file.take(len(MAGIC)), tuple(file.take(2))
    if magic != MAGIC or version not in ((1, 0), (2, 0)):
        raise ValueError(f"{magic!r} of version {version}; {MAGIC!r} of (1, 0) and (2, 0) is read")
    header = json.loads(file.take(file.length()))
    n, pairs = (int(x) for x in header["shape"])
    if not 0 <= n <= MAX_SPINS or pairs < 0:
        raise ValueError(f"{n} variables and {pairs} interactions; at most {MAX_SPINS} are read")
    bias = _type(header, "dtype", _BIAS_TYPES)
    offset = file.array(1, bias).tolist()[0]
    linear = file.array(n, [("start", _type(header, "ntype", _INDEX_TYPES)), ("bias", bias)])
    ends = file.array(2 * pairs, [("to", _type(header, "itype", _INDEX_TYPES)), ("bias", bias)])
    row, col, value = _couplings(linear["start"].tolist(), ends, n)
    terms = ExactTerms.collect(
        n,
        ((i, dyadic(x, f"h[{i}]")) for i, x in enumerate(linear["bias"].tolist())),
        zip(row, col, (dyadic(x, "a coupling") for x in value), strict=True),
        dyadic(offset, "offset"),
    )
    kind = header["vartype"]
    if kind not in ("SPIN", "BINARY"):
        raise ValueError(f"vartype is {kind!r}; 'SPIN' and 'BINARY' are accepted")
    labels = _labels(file, header["variables"])
    return Ising.from_exact(terms.from_binary() if kind == "BINARY" else terms, labels)


def _type(header: dict[str, Any], key: str, types: tuple[str, ...]) -> str:
    if header[key] not in types:
        raise ValueError(f"{key} is {header[key]!r:.40}; {', '.join(types)} are accepted")
    return str(header[key])


def _couplings(
    starts: list[int], ends: NDArray[Any], n: int
) -> tuple[list[int], list[int], list[float]]:
    """Each pair of neighbours once; both of its entries must tell the same."""
    bounds = np.array([*starts, len(ends)], dtype=np.int64)
    counts = bounds[1:] - bounds[:-1]
    if (starts and starts[0] != 0) or (counts < 0).any():
        raise ValueError("neighbours of its variables do not begin one behind another")
    row, col = np.repeat(np.arange(n), counts), ends["to"].astype(np.int64)
    if len(row) != len(col) or ((col < 0) | (col >= n) | (col == row)).any():
        raise ValueError(f"a neighbour is out of range; another one of {n} variables is needed")
    once, again = row < col, row > col
    there, back = np.lexsort((col[once], row[once])), np.lexsort((row[again], col[again]))
    found = row[once][there], col[once][there], ends["bias"][once][there]
    mirrored = col[again][back], row[again][back], ends["bias"][again][back]
    if not all(np.array_equal(a, b) for a, b in zip(found, mirrored, strict=True)):
        raise ValueError("two neighbours do not tell the same of their interaction")
    return found[0].tolist(), found[1].tolist(), found[2].tolist()


def _labels(file: _Bytes, told: Any) -> list[Hashable] | None:
    if told is False:
        return None
    if told is True:
        if (magic := file.take(len(_LABELS))) != _LABELS:
            raise ValueError(f"{magic!r} where {_LABELS!r} begins its labels")
        told = json.loads(file.take(file.length()))
    if not isinstance(told, list):
        raise ValueError("its labels are no list")
    return [from_json(label) for label in told]
