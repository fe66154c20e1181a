"""Files of matrices: MatrixMarket, NumPy and CSV.

==============  ============  ========================================================
format          suffix        entries
==============  ============  ========================================================
MatrixMarket    .mtx          coordinate and array; real, integer, complex, pattern;
                              general, symmetric, skew-symmetric, hermitian
NumPy           .npy          any bool, integer, floating or complex dtype
NumPy archive   .npz          the same, one array
CSV             .csv          integers, fractions ``p/q``, decimal and complex ``1-2j``
==============  ============  ========================================================

MatrixMarket is read to the letter (R. F. Boisvert, R. Pozo and K. A. Remington, NISTIR 5935, 1996):
indices count from 1, entries of symmetric matrices are given for the lower triangle only, one entry
a line. An entry given twice is an error. Integers are exact at any size.
"""

from __future__ import annotations

import io
import math
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hardscape.errors import FormatError, InputError
from hardscape.permanents.matrix import MAX_SIDE, Number, intake

__all__ = ["MAX_BYTES", "SUFFIXES", "read"]

#: Most bytes read from one file, and from one array of an archive.
MAX_BYTES = 2**30

_WHOLE = r"[+-]?[0-9]{1,4000}"
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_INTEGER = re.compile(_WHOLE)
_REAL = re.compile(_DECIMAL)
_FRACTION = re.compile(rf"{_WHOLE}/[0-9]{{1,4000}}")
_COMPLEX = re.compile(rf"(?:{_DECIMAL}(?=[+-]))?{_DECIMAL}j")
#: Values on a line of each MatrixMarket field.
_WIDTH = {"real": 1, "integer": 1, "complex": 2, "pattern": 0}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@dataclass(frozen=True)
class _File:
    path: Path
    data: bytes

    def error(self, line: int | None, reason: str) -> FormatError:
        return FormatError(self.path, line, reason)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines with their 1-based numbers; latin-1 so that no comment is undecodable."""
        for number, line in enumerate(self.data.split(b"\n"), start=1):
            yield number, line.decode("latin-1").strip(" \t\r")


def read(path: str | Path) -> NDArray[Any]:
    """Read a matrix; the suffix tells the format.

    Parameters
    ----------
    path : str or pathlib.Path
        A file that ends in one of `SUFFIXES`, in any case.

    Returns
    -------
    numpy.ndarray, shape (m, n), or any that `hardscape.permanents.matrix.intake` accepts (.npy, .npz)
        Objects of type int or `fractions.Fraction`, float64 or complex128 from text; the array's own
        dtype from NumPy files. Pattern matrices hold the integer 1.

    Raises
    ------
    FormatError
        If the file is missing, not readable, or does not follow its format; the message starts with
        path and line. No bytes lead to another error, and nothing is unpickled.
    InputError
        If `path` is no path.
    """
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise InputError(f"path is {path!r}; a string or Path without null characters is accepted")
    place = Path(path)
    parse = _PARSERS.get(place.suffix.lower())
    if parse is None:
        raise FormatError(
            place, None, f"suffix {place.suffix!r} is unknown; accepted: {', '.join(SUFFIXES)}"
        )
    try:
        with place.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except UnicodeEncodeError as error:
        raise InputError(f"path {path!r} cannot name a file here: {error.reason}") from None
    except OSError as error:
        raise FormatError(place, None, f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise FormatError(place, None, f"holds more than {MAX_BYTES} bytes, the most that is read")
    return parse(_File(place, data))


def _shown(field: str) -> str:
    return repr(field if len(field) <= 40 else field[:40] + "...")


def _real(file: _File, line: int, field: str) -> float:
    value = float(field) if _REAL.fullmatch(field) else math.nan
    if not math.isfinite(value):
        raise file.error(line, f"{_shown(field)} is not a finite decimal number")
    return value


def _integer(file: _File, line: int, field: str, what: str = "entry") -> int:
    if not _INTEGER.fullmatch(field):
        raise file.error(line, f"{what} {_shown(field)} is not an integer of at most 4000 digits")
    return int(field)


@dataclass(frozen=True)
class _Market:
    """The words of a MatrixMarket header."""

    layout: str
    field: str
    symmetry: str

    def value(self, file: _File, line: int, fields: list[str]) -> Number:
        """The number that the fields of one entry stand for."""
        if self.field == "pattern":
            return 1
        if self.field == "integer":
            return _integer(file, line, fields[0])
        parts = [_real(file, line, field) for field in fields]
        return parts[0] if self.field == "real" else complex(*parts)

    def mirrored(self, value: Any) -> Any:
        """The entry (j, i) that the entry (i, j) of value `value` implies."""
        if self.symmetry == "skew-symmetric":
            return -value
        return value.conjugate() if self.symmetry == "hermitian" else value

    def empty(self, m: int, n: int) -> NDArray[Any]:
        dtype = {"real": np.float64, "complex": np.complex128}.get(self.field, object)
        return np.zeros((m, n), dtype=dtype)


def _parse_market(file: _File) -> NDArray[Any]:
    lines = file.lines()
    market = _market_header(file, next(lines)[1])
    rows = ((k, text.split()) for k, text in lines if text and not text.startswith("%"))
    line, sizes = next(rows, (None, []))
    wanted = 3 if market.layout == "coordinate" else 2
    if len(sizes) != wanted or line is None:
        raise file.error(line, f"a size line of {wanted} integers is needed, and has {len(sizes)}")
    m, n, *count = (_integer(file, line, size, "size") for size in sizes)
    if not (0 <= m <= MAX_SIDE and 0 <= n <= MAX_SIDE):
        raise file.error(line, f"shape ({sizes[0]:.20}, {sizes[1]:.20}); at most {MAX_SIDE} a side")
    if market.symmetry != "general" and m != n:
        raise file.error(line, f"shape ({m}, {n}); a {market.symmetry} matrix is square")
    if count:
        _fill_coordinates(file, market, rows, result := market.empty(m, n), count[0])
    else:
        _fill_array(file, market, rows, result := market.empty(m, n))
    return result


def _market_header(file: _File, text: str) -> _Market:
    words = text.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise file.error(1, "the header '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY' is needed")
    layout, field, symmetry = words[2:]
    for word, accepted in (
        (layout, ("coordinate", "array")),
        (field, tuple(_WIDTH)),
        (symmetry, _SYMMETRIES),
    ):
        if word not in accepted:
            raise file.error(1, f"header word {_shown(word)}; accepted: {', '.join(accepted)}")
    if field == "pattern" and (layout == "array" or symmetry == "skew-symmetric"):
        raise file.error(1, f"a pattern matrix cannot be {layout} and {symmetry}")
    if symmetry == "hermitian" and field != "complex":
        raise file.error(1, f"a hermitian matrix is complex, not {field}")
    return _Market(layout, field, symmetry)


def _place(
    file: _File, market: _Market, line: int, at: tuple[int, int], value: Any, out: NDArray[Any]
) -> None:
    """Set an entry and the one that the symmetry implies; indices count from 0."""
    i, j = at
    if i == j and market.symmetry == "hermitian" and value.imag != 0:
        raise file.error(line, f"diagonal entry {value} of a hermitian matrix is not real")
    out[i, j] = value
    if market.symmetry != "general" and i != j:
        out[j, i] = market.mirrored(value)


def _fill_coordinates(
    file: _File,
    market: _Market,
    rows: Iterator[tuple[int, list[str]]],
    out: NDArray[Any],
    count: int,
) -> None:
    given: dict[tuple[int, int], int] = {}
    width = 2 + _WIDTH[market.field]
    for line, fields in rows:
        if len(fields) != width:
            raise file.error(line, f"{len(fields)} fields; an entry has {width}")
        i, j = (_integer(file, line, field, "index") for field in fields[:2])
        if not (1 <= i <= out.shape[0] and 1 <= j <= out.shape[1]):
            raise file.error(
                line, f"entry ({fields[0]:.20}, {fields[1]:.20}) is outside of shape {out.shape}"
            )
        first = 1 if market.symmetry == "skew-symmetric" else 0
        if market.symmetry != "general" and i < j + first:
            raise file.error(
                line, f"entry ({i}, {j}) is not in the triangle that {market.symmetry} files give"
            )
        if (i, j) in given:
            raise file.error(line, f"entry ({i}, {j}) was given in line {given[i, j]} already")
        given[i, j] = line
        value = market.value(file, line, fields[2:])
        _place(file, market, line, (i - 1, j - 1), value, out)
    if len(given) != count:
        raise file.error(None, f"holds {len(given)} entries, and its size line announces others")


def _fill_array(
    file: _File, market: _Market, rows: Iterator[tuple[int, list[str]]], out: NDArray[Any]
) -> None:
    m, n = out.shape
    diagonal, below = market.symmetry != "general", market.symmetry == "skew-symmetric"
    for j in range(n):
        for i in range(j * diagonal + below, m):
            line, fields = next(rows, (None, []))
            if line is None:
                raise file.error(None, f"ends before entry ({i + 1}, {j + 1})")
            if len(fields) != _WIDTH[market.field]:
                raise file.error(line, f"{len(fields)} fields; an entry has {_WIDTH[market.field]}")
            _place(file, market, line, (i, j), market.value(file, line, fields), out)
    for line, _ in rows:
        raise file.error(line, "more entries than the size line announces")


def _parse_csv(file: _File) -> NDArray[Any]:
    """Rows of numbers separated by commas; blank lines and lines that start with # are skipped."""
    rows: list[list[Number]] = []
    for line, text in file.lines():
        if not text or text.startswith("#"):
            continue
        row = [_csv_number(file, line, field.strip(" \t")) for field in text.split(",")]
        if rows and len(row) != len(rows[0]):
            raise file.error(line, f"{len(row)} entries; the rows before have {len(rows[0])}")
        rows.append(row)
    if not rows:
        raise file.error(None, "holds no entries")
    try:
        matrix = intake(rows)
    except InputError as error:
        raise file.error(None, str(error)) from None
    return np.array(matrix.entries.T if matrix.transposed else matrix.entries)


def _csv_number(file: _File, line: int, field: str) -> Number:
    if _INTEGER.fullmatch(field):
        return int(field)
    if _FRACTION.fullmatch(field):
        numerator, denominator = field.split("/")
        if int(denominator) == 0:
            raise file.error(line, f"{_shown(field)} divides by 0")
        return Fraction(int(numerator), int(denominator))
    if _COMPLEX.fullmatch(field) and np.isfinite(complex(field)):
        return complex(field)
    return _real(file, line, field)


def _parse_npy(file: _File) -> NDArray[Any]:
    return _decoded(file, lambda: _array(file.data))


def _parse_npz(file: _File) -> NDArray[Any]:
    return _decoded(file, lambda: _only_member(file.data))


def _decoded(file: _File, decode: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what NumPy only warns of is a damaged header here
            return decode()
    except Exception as error:
        # zipfile, zlib and NumPy's header parser answer damaged bytes with errors of a dozen types.
        raise file.error(None, f"is no file of one array: {error}") from None


def _only_member(data: bytes) -> NDArray[Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(
                f"it holds {len(names)} arrays ({', '.join(names):.200}); 1 is accepted"
            )
        with archive.open(names[0]) as member:
            content = member.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"its array has more than {MAX_BYTES} bytes")
    return _array(content)


def _array(content: bytes) -> NDArray[Any]:
    """Decode the bytes of a .npy file; its header cannot ask for more memory than it has bytes."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its format version is {version}; (1, 0) and (2, 0) are read")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read_header(file)
    if dtype.kind not in "biufc":
        raise ValueError(f"its dtype is {dtype}; bool, integer, floating and complex are accepted")
    body = content[file.tell() :]
    if min(shape, default=0) < 0 or len(body) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"it has {len(body)} bytes of entries, and its header announces others")
    if dtype.kind == "b" and max(body, default=0) > 1:
        raise ValueError("its bools have other bytes than 0 and 1")
    array = np.frombuffer(body, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="))


_PARSERS: dict[str, Callable[[_File], NDArray[Any]]] = {
    ".mtx": _parse_market,
    ".npy": _parse_npy,
    ".npz": _parse_npz,
    ".csv": _parse_csv,
}
#: Suffixes that `read` knows.
SUFFIXES = tuple(_PARSERS)
