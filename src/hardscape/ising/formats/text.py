"""Lines, indices and numbers of the text formats, read strictly and written exactly."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from hardscape.errors import FormatError, InputError
from hardscape.files import Source, shown
from hardscape.ising.exact import ExactTerms

#: Indices and value of an entry, and its name for errors.
Entry = tuple[int, int, Fraction, str]
#: Most spins that a header or an index may ask for; more is a damaged file, not a model.
MAX_SPINS = 1_000_000
#: What starts a comment.
_COMMENTS = ("#", "%", "c")

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: No float64 needs more characters than this, even with all its digits written out.
_LONGEST = 1200


@dataclass(frozen=True)
class Row:
    """One line that holds data: its 1-based number and its fields."""

    source: Source
    number: int
    fields: list[str]

    def error(self, reason: str) -> FormatError:
        """The error for this line, for the caller to raise."""
        return self.source.error(self.number, reason)

    def integer(self, position: int, what: str) -> int:
        """Field `position` as an integer of a size that an index or a count can have."""
        field = self.fields[position]
        if len(field) > 18 or not _INTEGER.fullmatch(field):
            raise self.error(f"{what} {shown(field)} is not an integer of at most 18 characters")
        return int(field)

    def index(self, position: int, base: int, num_spins: int) -> int:
        """Field `position` as a 0-based spin."""
        written = self.integer(position, "index")
        if written < base:
            raise self.error(f"index {written} is below {base}, the first one (base= sets it)")
        if written >= base + num_spins:
            raise self.error(
                f"index {written} is out of range; the last of {num_spins} spins counted "
                f"from {base} is {base + num_spins - 1}"
            )
        return written - base

    def count(self, position: int, what: str) -> int:
        """Field `position` as a count, 0 or more."""
        value = self.integer(position, what)
        if value < 0:
            raise self.error(f"{what} is {value}; it cannot be negative")
        return value

    def num_spins(self, position: int, what: str) -> int:
        """Field `position` as a number of spins that memory can hold."""
        value = self.count(position, what)
        if value > MAX_SPINS:
            raise self.error(f"{what} is {value}; at most {MAX_SPINS} are read")
        return value

    def value(self, position: int) -> Fraction:
        """Field `position`: an integer to its last digit, else the float64 that its decimal digits mean."""
        field = self.fields[position]
        if len(field) > _LONGEST or not _NUMBER.fullmatch(field):
            raise self.error(f"{shown(field)} is not a decimal number")
        value = float(field)
        if math.isinf(value):
            raise self.error(f"{shown(field)} is too large for float64")
        return Fraction(int(field) if _INTEGER.fullmatch(field) else value)


@dataclass(frozen=True)
class Text:
    """The lines of a text file, blank ones left out."""

    source: Source
    comments: list[tuple[int, str]]  #: lines that start with ``#``, ``%`` or ``c``, spaces aside
    rows: list[Row]  #: the other lines

    @classmethod
    def of(cls, source: Source) -> Text:
        """Split a text file; one of MatrixMarket, whose line of sizes looks like an entry, is refused."""
        comments: list[tuple[int, str]] = []
        rows: list[Row] = []
        for number, line in source.lines():
            if number == 1 and line.lower().startswith("%%matrixmarket"):
                raise source.error(
                    1,
                    "begins a matrix of MatrixMarket; Ising.from_matrix(scipy.io.mmread(path)) takes it",
                )
            if line.startswith(_COMMENTS):
                comments.append((number, line))
            elif line:
                rows.append(Row(source, number, line.split()))
        return cls(source, comments, rows)

    def header(self, names: str) -> Row:
        """The first row, which must hold the fields that `names` lists."""
        if not self.rows:
            raise self.source.error(None, f"the header '{names}' is missing")
        first = self.rows[0]
        if len(first.fields) != len(names.split()):
            raise first.error(f"{len(first.fields)} fields where the header '{names}' is needed")
        return first

    def body(self, count: int, what: str) -> list[Row]:
        """The rows after the header, which must be `count`."""
        rows = self.rows[1:]
        if len(rows) > count:
            raise rows[count].error(f"line beyond the {count} {what} that the header announces")
        if len(rows) < count:
            raise self.source.error(
                None, f"{len(rows)} {what} where the header announces {count}; the file is cut off"
            )
        return rows

    def entries(
        self, count: int, what: str, base: int, num_spins: int, least: int = 3
    ) -> Iterator[tuple[Row, int, int, Fraction]]:
        """The rows ``i j value`` after the header, each pair once; with `least` 2 the value may be left out."""
        given = set()
        for row in self.body(count, what):
            if not least <= len(row.fields) <= 3:
                needed = "'i j value'" if least == 3 else "'i j value' or 'i j'"
                raise row.error(f"{len(row.fields)} fields where {needed} is needed")
            i, j = row.index(0, base, num_spins), row.index(1, base, num_spins)
            if (i, j) in given:
                raise row.error("the pair is given a second time; one line stands for both orders")
            given |= {(i, j), (j, i)}
            yield row, i, j, row.value(2) if len(row.fields) == 3 else Fraction(1)


def is_integer(field: str) -> bool:
    """Whether a field is an integer of a size that an index or a count can have."""
    return len(field) <= 18 and _INTEGER.fullmatch(field) is not None


def counts(source: Source, number: int) -> bool:
    """Whether the first line with data has `number` fields, the first two of them integers."""
    fields = first_fields(source)
    return len(fields) == number and all(map(_INTEGER.fullmatch, fields[:2]))


def first_lines(source: Source, count: int) -> list[list[str]]:
    """The fields of the first lines that are neither blank nor comments; none where there is no such line."""
    lines = (line for _, line in data_lines(source))
    return [next(lines, "").split() for _ in range(count)]


def data_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor comments, and their numbers."""
    for number, line in source.lines():
        if line and not line.startswith(_COMMENTS):
            yield number, line


def first_fields(source: Source) -> list[str]:
    """The fields of the first of these lines."""
    return first_lines(source, 1)[0]


def loops(source: Source) -> bool:
    """Whether a line after the header joins an index to itself, as the diagonal of a matrix does."""
    rows = (line.split(None, 2) for _, line in source.lines() if not line.startswith(_COMMENTS))
    return any(len(row) == 3 and row[0] == row[1] for row in rows)


def exact_float(value: Fraction, name: str, format: str) -> float:
    """The float64 equal to a coefficient; an InputError where there is none."""
    number = float(value)
    if Fraction(number) != value:
        raise InputError(
            f"{name} is {number!r} only after rounding to float64, so format {format!r} cannot "
            "hold the model exactly; format 'npz' can"
        )
    return number


def decimal(value: Fraction, name: str, format: str) -> str:
    """Write a coefficient in the shortest digits that read back as the same number.

    Integers carry no decimal point, since many readers of these formats take nothing else.
    """
    if value.denominator == 1 and (abs(value) <= 2**53 or float(value) != value):
        return str(value.numerator)
    return repr(exact_float(value, name, format))


def rendered(head: list[str], entries: Iterable[Entry], base: int, format: str) -> bytes:
    """A file of the lines of `head` and a line ``i j value`` for each entry."""
    lines = [f"{i + base} {j + base} {decimal(x, name, format)}" for i, j, x, name in entries]
    return ("\n".join([*head, *lines]) + "\n").encode()


def refuse_offset(offset: Fraction, format: str) -> None:
    """Refuse what a format without a place for a constant cannot hold."""
    if offset:
        raise InputError(
            f"the model's QUBO has the offset {float(offset)!r}; format {format!r} has no place for "
            "one (it must be 0), formats 'qubo', 'coo' and 'npz' have"
        )


def named_coefficients(
    terms: ExactTerms, linear: str = "h", quadratic: str = "J"
) -> tuple[list[Entry], list[Entry], Fraction]:
    """Fields (zeros included) as entries (i, i), couplings, and offset."""
    unit = Fraction(2) ** terms.exponent
    fields = [(i, i, x * unit, f"{linear}[{i}]") for i, x in enumerate(terms.fields)]
    triples = zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True)
    couplings = [(i, j, x * unit, f"{quadratic}[{i}, {j}]") for i, j, x in triples]
    return fields, couplings, terms.offset * unit
