"""Coordinate lists: lines ``i j value``, the diagonal holding the fields."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from hardscape.files import Source, plain_name, shown
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.text import (
    MAX_SPINS,
    Row,
    Text,
    counts,
    decimal,
    first_fields,
    named_coefficients,
    rendered,
)
from hardscape.ising.intake import Convention
from hardscape.ising.model import Ising

NAME = "coo"
SUFFIXES = (".coo", ".qh")
DESCRIPTION = "a coordinate list: lines 'i j value', fields on the diagonal"
MEMORY = 45

_HEADER = re.compile(r"#\s*hardscape\s(.*)")
_VARTYPE = re.compile(r"#.*\bvartype\s*[:=]\s*(SPIN|BINARY)\b")
_KEYS = {"num_spins", "offset", "base", "convention"}


def sniff(source: Source) -> bool:
    """Whether the first line has three fields, or comments are all: they may state the rest."""
    return counts(source, 3) or not first_fields(source)


@dataclass(frozen=True)
class _Header:
    """What comments say about the entries."""

    num_spins: int | None = None
    offset: Fraction = Fraction(0)
    base: int | None = None
    convention: str | None = None
    binary: bool = False


def read(
    source: Source, *, base: Literal[0, 1] | None = None, convention: Convention = "dimod"
) -> Ising:
    """Read entries, summing repeated and mirrored ones; see :mod:`hardscape.ising.formats`."""
    text = Text.of(source)
    header = _header(text)
    declared = header.convention or ("dimod" if header.binary else convention)
    if declared != convention:
        raise source.error(
            None,
            f"the file's comments say convention {declared!r}; "
            f"convention={convention!r} was asked for",
        )
    header, rows = _sized(header, text)
    entries = [(row, *_entry(row)) for row in rows]
    first = header.base if base is None else base
    if first is None:
        first = 0 if any(0 in (i, j) for _, i, j, _ in entries) else 1
    num_spins = header.num_spins
    if num_spins is None:
        if not entries:
            raise source.error(None, "there are no entries 'i j value'")
        num_spins = max(max(i, j) for _, i, j, _ in entries) + 1 - first
    sign = -1 if convention == "ising" else 1
    fields: list[tuple[int, Fraction]] = []
    pairs: list[tuple[int, int, Fraction]] = []
    for row, _, _, value in entries:
        i = row.index(0, first, min(num_spins, MAX_SPINS))
        j = row.index(1, first, min(num_spins, MAX_SPINS))
        if i == j:
            fields.append((i, sign * value))
        else:
            pairs.append((i, j, sign * value))
    terms = ExactTerms.collect(num_spins, fields, pairs, header.offset)
    return Ising.from_exact(terms.from_binary() if header.binary else terms)


def _sized(header: _Header, text: Text) -> tuple[_Header, list[Row]]:
    """The rows of entries; a line ``sites lines`` before them, which Qubist's files have, gives the spins."""
    named = plain_name(Path(text.source.path)).endswith(".qh")
    if not (named and text.rows and len(text.rows[0].fields) == 2):
        return header, text.rows
    first = text.rows[0]
    rows = text.body(first.count(1, "number of lines"), "lines")
    sites = first.num_spins(0, "number of sites")
    return replace(header, num_spins=sites, base=0 if header.base is None else header.base), rows


def _entry(row: Row) -> tuple[int, int, Fraction]:
    if len(row.fields) != 3:
        raise row.error(
            f"{len(row.fields)} fields where 'i j value' is needed (a header 'n m' belongs to the "
            "formats 'biqmac' and 'rudy')"
        )
    return row.integer(0, "index"), row.integer(1, "index"), row.value(2)


def _header(text: Text) -> _Header:
    header: _Header | None = None
    vartype: str | None = None
    for number, comment in text.comments:
        if match := _HEADER.match(comment):
            if header is not None:
                raise text.source.error(number, "a second '# hardscape' comment")
            header = _declared(Row(text.source, number, match[1].split()))
        elif match := _VARTYPE.match(comment):
            if vartype not in (None, match[1]):
                raise text.source.error(number, f"vartype {match[1]} after vartype {vartype}")
            vartype = match[1]
    if header is None:
        # dimod's writer counts from 0, and a spin 0 without entries must not shift the others.
        return _Header(base=None if vartype is None else 0, binary=vartype == "BINARY")
    if vartype is not None:
        raise text.source.error(None, "a '# hardscape' comment and a vartype exclude each other")
    return header


def _declared(row: Row) -> _Header:
    words = dict(word.partition("=")[::2] for word in row.fields)
    if len(words) != len(row.fields) or not words.keys() <= _KEYS:
        raise row.error(f"{shown(' '.join(row.fields))}; words of {sorted(_KEYS)} are accepted")
    base = words.get("base")
    if base not in (None, "0", "1"):
        raise row.error(f"base={shown(base)}; 0 and 1 are accepted")
    convention = words.get("convention")
    if convention not in (None, "dimod", "ising"):
        raise row.error(f"convention={shown(convention)}; 'dimod' and 'ising' are accepted")

    def number(key: str) -> Row:
        return Row(row.source, row.number, [words[key]])

    return _Header(
        num_spins=number("num_spins").num_spins(0, "num_spins") if "num_spins" in words else None,
        offset=number("offset").value(0) if "offset" in words else Fraction(0),
        base=None if base is None else int(base),
        convention=convention,
    )


def write(model: Ising, *, base: Literal[0, 1] = 0, convention: Convention = "dimod") -> bytes:
    """Write the entries that are not zero under a comment that makes the round trip exact."""
    sign = -1 if convention == "ising" else 1
    fields, couplings, offset = named_coefficients(model.exact)
    head = (
        f"# hardscape num_spins={model.num_spins} offset={decimal(offset, 'offset', NAME)} "
        f"base={base} convention={convention}"
    )
    entries = ((i, j, sign * x, name) for i, j, x, name in fields + couplings if x)
    return rendered([head], entries, base, NAME)
