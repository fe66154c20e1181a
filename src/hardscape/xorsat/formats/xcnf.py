"""DIMACS CNF whose clauses are XORs: ``x`` lines, and groups of ordinary clauses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.xorsat.intake import MAX_VARIABLES
from hardscape.xorsat.system import XorSystem

NAME = "xcnf"
SUFFIXES = (".cnf", ".xcnf")
DESCRIPTION = "DIMACS CNF with lines 'x1 2 -3 0', and groups of clauses that are a XOR"
MEMORY = 40

_INTEGER = re.compile(r"[+-]?[0-9]{1,12}")


def sniff(source: Source) -> bool:
    """Whether the first line that is no comment is a header."""
    return next(_lines(source), (0, ""))[1].startswith("p cnf")


@dataclass(frozen=True)
class _Clause:
    """A clause as it stands in the file."""

    line: int
    is_xor: bool
    literals: tuple[int, ...]


@dataclass
class _Group:
    """Ordinary clauses over the same variables: how often each pattern of negations occurs."""

    position: int
    line: int
    variables: tuple[int, ...]
    patterns: Counter[int] = field(default_factory=Counter)


def read(source: Source) -> XorSystem:
    """Read a system; see :mod:`hardscape.xorsat.formats`."""
    num_variables, clauses = _clauses(source)
    xors: list[tuple[int, list[int], int]] = []
    groups: dict[tuple[int, ...], _Group] = {}
    for position, clause in enumerate(clauses):
        negations = sum(x < 0 for x in clause.literals)
        if clause.is_xor:
            members = [abs(x) - 1 for x in clause.literals]
            xors.append((position, members, (1 + negations) % 2))
            continue
        ordered = sorted(clause.literals, key=abs)
        variables = tuple(abs(x) - 1 for x in ordered)
        if len(set(variables)) < len(variables):
            raise source.error(
                clause.line, "the clause holds a variable twice: it is part of no XOR"
            )
        group = groups.setdefault(variables, _Group(position, clause.line, variables))
        group.patterns[sum(1 << i for i, x in enumerate(ordered) if x < 0)] += 1
    for group in groups.values():
        xors += [(group.position, list(group.variables), b) for b in _parities(source, group)]
    xors.sort(key=lambda xor: xor[0])
    return XorSystem.from_clauses(
        [members for _, members, _ in xors],
        np.array([b for _, _, b in xors], dtype=np.uint8),
        num_variables=num_variables,
    )


def _parities(source: Source, group: _Group) -> list[int]:
    """Right-hand sides of the XORs that a group of clauses encodes."""
    k = len(group.variables)
    sides = []
    for b in (0, 1):
        # A clause excludes the assignment in which its negated variables, and they alone, are 1.
        times = {n for p, n in group.patterns.items() if p.bit_count() % 2 != b}
        patterns = sum(p.bit_count() % 2 != b for p in group.patterns)
        if not patterns:
            continue
        if patterns != 1 << (k - 1) or len(times) != 1:
            names = " ".join(str(i + 1) for i in group.variables)
            raise source.error(
                group.line,
                f"the clauses over variables {names} are no XOR: all 2^{k - 1} sign patterns of one "
                f"parity are needed, {patterns} are there",
            )
        sides += [b] * times.pop()
    return sides


def _clauses(source: Source) -> tuple[int, list[_Clause]]:
    """Header and clauses; a clause may span lines."""
    header: tuple[int, int, int] | None = None
    clauses: list[_Clause] = []
    literals: list[int] = []
    started = 0
    is_xor = False
    for number, text in _lines(source):
        if text.startswith("p"):
            if header is not None:
                raise source.error(number, "a second line 'p cnf'")
            header = (number, *_header(source, number, text))
            continue
        if header is None:
            raise source.error(number, f"{text[:40]!r} before a line 'p cnf variables clauses'")
        if text.startswith("x"):
            if literals:
                raise source.error(number, f"the clause of line {started} does not end in 0")
            is_xor, text, started = True, text[1:], number
        for word in text.split():
            literal = _literal(source, number, word, header[1])
            if not literals:
                started = number
            if literal:
                literals.append(literal)
                continue
            if not literals:
                raise source.error(
                    number, "an empty clause says 0 = 1; one literal or more is needed"
                )
            clauses.append(_Clause(started, is_xor, tuple(literals)))
            literals, is_xor = [], False
        if is_xor:
            raise source.error(number, "a line that starts with x ends in 0")
    if header is None:
        raise source.error(None, "there is no line 'p cnf variables clauses'")
    if literals:
        raise source.error(started, "the last clause does not end in 0")
    if len(clauses) != header[2]:
        raise source.error(
            header[0], f"{header[2]} clauses are announced, and {len(clauses)} are in the file"
        )
    return header[1], clauses


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines with content up to the end that SATLIB marks, their 1-based numbers."""
    for number, text in source.lines():
        if text.startswith("%"):
            return
        if text and not text.startswith("c"):
            yield number, text


def _header(source: Source, number: int, text: str) -> tuple[int, int]:
    words = text.split()
    if len(words) != 4 or words[:2] != ["p", "cnf"] or not all(map(_INTEGER.fullmatch, words[2:])):
        raise source.error(number, f"{text[:60]!r}; 'p cnf variables clauses' is accepted")
    variables, clauses = int(words[2]), int(words[3])
    if not 0 <= variables <= MAX_VARIABLES or clauses < 0:
        raise source.error(
            number,
            f"{variables} variables and {clauses} clauses; 0 to {MAX_VARIABLES} are accepted",
        )
    source.believe(variables, "variables", number)
    return variables, clauses


def _literal(source: Source, number: int, word: str, num_variables: int) -> int:
    if not _INTEGER.fullmatch(word):
        raise source.error(number, f"{word[:40]!r} is not a literal, an integer")
    literal = int(word)
    if abs(literal) > num_variables:
        raise source.error(
            number, f"literal {literal}: the header announces variables 1 to {num_variables}"
        )
    return literal


def write(system: XorSystem) -> bytes:
    """Write ``x`` lines."""
    lines = [f"p cnf {system.num_variables} {system.num_clauses}"]
    for clause, side in zip(system.clauses(), system.parity.tolist(), strict=True):
        if clause:
            first = clause[0] + 1 if side else -clause[0] - 1
            literals = [first, *(i + 1 for i in clause[1:])]
        elif system.num_variables:
            literals = [1, 1] if side else [1, -1]
        else:
            raise InputError("DIMACS cannot hold a clause where there is no variable; npz can")
        lines.append(f"x{' '.join(map(str, literals))} 0")
    return ("\n".join(lines) + "\n").encode("ascii")
