"""The 3-XORSAT challenge's lists ``i j value`` of 2-body Ising models, ancillas marginalised."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.xorsat.intake import MAX_VARIABLES
from hardscape.xorsat.quadratic import quadratize
from hardscape.xorsat.system import XorSystem

NAME = "qh"
SUFFIXES = (".qh",)
DESCRIPTION = "the 3-XORSAT challenge's 2-body Ising models: lines 'i j value'"
MEMORY = 40

_INTEGER = re.compile(r"[0-9]{1,10}")
_HEADER = re.compile(r"#\s*hardscape variables=([0-9]{1,10}) clauses=([0-9]{1,10})\s*")


def sniff(source: Source) -> bool:
    """Whether it begins with spins and a value, or with our comment."""
    first = next(source.lines())[1]
    words = first.split()
    triple = len(words) == 3 and all(map(_INTEGER.fullmatch, words[:2]))
    return triple or _HEADER.fullmatch(first) is not None


@dataclass(frozen=True)
class _Entry:
    line: int
    value: float


class _Lists:
    """The entries of a file, 0-based with i <= j, and the sizes that a comment states."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.entries: dict[tuple[int, int], _Entry] = {}
        self.stated: tuple[int, int] | None = None
        for number, text in source.lines():
            if found := _HEADER.fullmatch(text):
                self.stated = (int(found[1]), int(found[2]))
            elif text and not text.startswith("#"):
                self._add(number, text.split())

    def _add(self, number: int, words: list[str]) -> None:
        if len(words) != 3 or not all(map(_INTEGER.fullmatch, words[:2])):
            raise self.source.error(number, f"{' '.join(words)[:60]!r}; 'i j value' is accepted")
        i, j = sorted((int(words[0]), int(words[1])))
        if i < 1 or j > MAX_VARIABLES:
            raise self.source.error(number, f"spins {i} and {j}; they count from 1")
        try:
            value = float(words[2])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.source.error(number, f"value {words[2][:40]!r} is not a finite number")
        known = self.entries.setdefault((i - 1, j - 1), _Entry(number, value))
        if known.line != number:
            raise self.source.error(number, f"spins {i} and {j} already stand on line {known.line}")

    def sizes(self) -> tuple[int, int]:
        """Variables and clauses."""
        spins = max((j for _, j in self.entries), default=-1) + 1
        if self.stated is not None:
            self.source.believe(sum(self.stated), "spins")
            if sum(self.stated) < spins:
                raise self.source.error(
                    None, f"{sum(self.stated)} spins are announced, and {spins} are there"
                )
            return self.stated
        if spins % 2:
            raise self.source.error(
                None,
                f"{spins} spins are no variables and as many ancillas; a comment '# hardscape "
                "variables=N clauses=M' says how many of each there are",
            )
        return spins // 2, spins // 2


def read(source: Source) -> XorSystem:
    """Read a system; see :mod:`hardscape.xorsat.formats`."""
    lists = _Lists(source)
    n, m = lists.sizes()
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(min(m, len(lists.entries) + 1))]
    if len(neighbours) < m:
        raise source.error(None, f"{m} clauses are announced in {len(lists.entries)} lines")
    for (i, j), entry in lists.entries.items():
        if i >= n and i != j:
            raise source.error(entry.line, f"ancillas {i + 1} and {j + 1} are coupled")
        if i < n <= j:
            if abs(entry.value) != 2:
                raise source.error(
                    entry.line, f"ancilla {j + 1} has a coupling {entry.value:g}; 2 or -2 is needed"
                )
            neighbours[j - n].append((i, entry.value))
    clauses, parity, signs = [], [], np.ones(n + m, dtype=np.int64)
    for a, links in enumerate(neighbours, start=n):
        own = lists.entries.get((a, a))
        line = None if own is None else own.line
        if len(links) != 3:
            raise source.error(
                line, f"ancilla {a + 1} has {len(links)} neighbours; a clause has three"
            )
        if len({value for _, value in links}) != 1:
            raise source.error(line, f"ancilla {a + 1} has couplings of both signs")
        if own is None or abs(own.value) != 2:
            shown = "no" if own is None else f"{own.value:g} as its"
            raise source.error(line, f"ancilla {a + 1} has {shown} field; 2 or -2 is needed")
        clauses.append([i for i, _ in links])
        parity.append(int(own.value * links[0][1] > 0))
        signs[a] = 1 if links[0][1] > 0 else -1
    system = XorSystem.from_clauses(clauses, np.array(parity, dtype=np.uint8), num_variables=n)
    _check(lists, system, signs)
    return system


def _check(lists: _Lists, system: XorSystem, signs: np.ndarray) -> None:
    """Compare every entry with what the clauses ask for."""
    wanted = quadratize(system).terms()
    n = system.num_variables
    for (i, j), entry in lists.entries.items():
        # An ancilla of the other sign turns its field and its couplings.
        value = wanted.pop((i, j), 0) * int(signs[j])
        if entry.value != value:
            what = (
                f"the field of spin {i + 1}" if i == j else f"the coupling of {i + 1} and {j + 1}"
            )
            raise lists.source.error(
                entry.line, f"{what} is {entry.value:g}; the clauses around it make {value}"
            )
    missing = next((pair for pair, value in wanted.items() if value and pair[0] < n), None)
    if missing is not None:
        i, j = missing
        raise lists.source.error(
            None, f"no line '{i + 1} {j + 1}'; the clauses around it make {wanted[missing]}"
        )


def write(system: XorSystem) -> bytes:
    """Write a system of clauses of three variables."""
    if (system.lengths != 3).any():
        clause = int(np.flatnonzero(system.lengths != 3)[0])
        raise InputError(
            f"clause {clause} has {system.lengths[clause]} variables; qh files hold clauses of three "
            "(quadratize() takes any length)"
        )
    n, m = system.num_variables, system.num_clauses
    told = 0 < n == m and system.degrees.all()  # by the entries
    lines = [] if told else [f"# hardscape variables={n} clauses={m}"]
    terms = quadratize(system).terms()
    lines += [f"{i + 1}\t{j + 1}\t{value}" for (i, j), value in terms.items() if value]
    return ("\n".join(lines) + "\n").encode("ascii")
