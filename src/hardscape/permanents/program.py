"""A permanent as a product of blocks, and the cheapest way for each of them."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hardscape.engine import Device
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.matrix import Kind, Matrix
from hardscape.permanents.methods.method import MAX_SIGNS, Block, Choice, Way, core_seconds, started
from hardscape.permanents.methods.table import METHODS
from hardscape.permanents.numbers.bounded import BoundedNumber, product, total
from hardscape.permanents.numbers.rounding import Rounded
from hardscape.permanents.structure.expansion import Expansion, expansion
from hardscape.permanents.structure.reduce import Reduced, Reductions, reduce

log = logging.getLogger("hardscape.permanents")

#: Seconds, or times the least, that a sum in which nothing cancels may take.
_SAFE, _SAFE_TIMES = 1.0, 4.0
#: Seconds from which it is worth trying expansions along lines of three and four entries.
_EXPANDED_FROM = 2.0


class _Joint(ABC):
    """What is found in several parts: a permanent by blocks, a block by permanents."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Way | Sum | Program]:
        """These."""

    @property
    def leaves(self) -> list[Way]:
        """The ways of all parts."""
        return [leaf for part in self.parts for leaf in part.leaves]

    @property
    def method(self) -> str:
        """Their methods, joined by "+", or "structure" if there is none."""
        return _joined(way.by.name for way in self.leaves) or "structure"

    @property
    def terms(self) -> int:
        """Terms or states of all parts."""
        return sum(part.terms for part in self.parts)

    def seconds(self, devices: tuple[Device, ...]) -> float:
        """Estimated time on `devices`."""
        return float(sum(part.seconds(devices) for part in self.parts))


@dataclass(frozen=True, eq=False)
class Program(_Joint):
    """A permanent taken apart: scale * prod(factors) * prod(permanents of the blocks)."""

    choice: Choice  #: what the ways were chosen by
    scale: Fraction
    factors: tuple[Any, ...]  #: `BoundedNumber` unless all is exact
    blocks: tuple[Block, ...]
    ways: tuple[Way | Sum, ...]  #: one for each block
    reductions: Reductions

    @property
    def parts(self) -> Sequence[Way | Sum]:
        """The ways of the blocks."""
        return self.ways

    @property
    def precision(self) -> str:
        """Arithmetic of the blocks: "double", "extended", "exact", or several joined by "+"."""
        return _joined(way.by.arithmetic for way in self.leaves) or self.choice.arithmetic

    def total(self, values: Sequence[Any]) -> Any:
        """The permanent from those of the blocks: a Python number if exact, else a `BoundedNumber`."""
        if self.choice.exact:
            value = math.prod((*self.factors, *values), start=self.scale)
            return int(value) if self.choice.kind == "integer" else value
        return product([*self.factors, *values], self.scale, _type(self.choice.kind))


@dataclass(frozen=True, eq=False)
class Sum(_Joint):
    """A block as a sum of permanents, along lines of three or four entries."""

    programs: tuple[Program, ...]
    lines: int  #: lines that were expanded

    memory = 0
    gpu_seconds = math.inf
    cancels = True

    @property
    def parts(self) -> Sequence[Program]:
        """The permanents."""
        return self.programs

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        return sum(way.core_seconds for program in self.programs for way in program.ways)

    def total(self, found: Sequence[Any]) -> Any:
        """The permanent of the block from those that it is a sum of."""
        choice = self.programs[0].choice
        return Fraction(sum(found)) if choice.exact else total(found, _type(choice.kind))


def _joined(names: Any) -> str:
    return "+".join(sorted(set(names)))


def _type(kind: Kind) -> type:
    return complex if kind == "complex" else float


def prepare(matrix: Matrix, choice: Choice) -> Program:
    """Take the permanent of one matrix apart and choose ways, if there are any; runs nothing."""
    matrix = rational(matrix) if choice.exact else _floating(matrix)
    if 0 < matrix.shape[0] < matrix.shape[1]:
        block = Block(matrix.entries)
        for way in ways_of(block, choice):
            if choice.method in ("auto", way.method):
                return Program(choice, Fraction(1), (), (block,), (way,), Reductions())
    square, scale = _squared(matrix)
    # Double-double numbers are for those whose entries are not to be rounded before.
    reduced = reduce(square, merge=choice.arithmetic != "extended")
    return _programmed(reduced, scale, choice)


def _squared(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A square matrix, and what its permanent is to be multiplied with."""
    m, n = matrix.shape
    # Rows of ones take the columns left over, in any of (n - m)! orders.
    ones = np.full((n - m, n), 1, dtype=matrix.entries.dtype)
    square = Matrix(matrix.kind, np.vstack([matrix.entries, ones]), matrix.transposed)
    return square, Fraction(1, math.factorial(n - m))


def rational(matrix: Matrix) -> Matrix:
    """The same matrix in rational numbers, where it is real."""
    if matrix.kind == "complex":
        raise InputError(
            "precision='exact' takes integers, rationals and real floats, not complex ones"
        )
    if matrix.kind != "real":
        return matrix
    return Matrix("rational", np.frompyfunc(Fraction, 1, 1)(matrix.entries), matrix.transposed)


def _floating(matrix: Matrix) -> Matrix:
    """The same matrix in float64 or complex128; integers must fit."""
    if matrix.kind in ("real", "complex"):
        return matrix
    try:
        entries = np.array(matrix.entries, dtype=np.float64).reshape(matrix.entries.shape)
        pairs = zip(entries.ravel().tolist(), matrix.entries.flat, strict=True)
        exact = all(x == y for x, y in pairs)
    except OverflowError:
        exact = False
    if not exact:
        raise InputError(
            "precision='double': an entry is not a float64; precision='exact' takes such matrices"
        )
    return Matrix("real", entries, matrix.transposed)


def _programmed(
    reduced: Reduced,
    scale: Fraction,
    choice: Choice,
    expansions: Sequence[Expansion | None] = (),
) -> Program:
    """Choose ways for what is left of a matrix, where no expansion is chosen already."""
    blocks = tuple(map(Block, reduced.blocks, reduced.errors))
    above = expansions or (None,) * len(blocks)
    ways = tuple(
        _way(block, choice) if found is None else _expanded(found, choice)
        for block, found in zip(blocks, above, strict=True)
    )
    factors: tuple[Any, ...] = reduced.factors
    if not choice.exact:
        factors = tuple(map(_bounded, reduced.factors))
    lines = sum(way.lines for way in ways if isinstance(way, Sum))
    return Program(
        choice,
        scale * Fraction(2) ** reduced.exponent,
        factors,
        blocks,
        ways,
        replace(reduced.reductions, expanded_lines=lines),
    )


def _bounded(number: Any) -> BoundedNumber:
    found = number if isinstance(number, Rounded) else Rounded(number)
    return BoundedNumber(found.value, found.error, magnitude=abs(found.value))


def _expanded(found: Expansion, choice: Choice) -> Sum:
    """The sum that an expansion stands for, with the cheapest ways for its own blocks."""
    programs = []
    for term in found.terms:
        factored = replace(term.reduced, factors=(term.factor, *term.reduced.factors))
        power = Fraction(2) ** found.exponent
        programs.append(_programmed(factored, power, choice, term.expansions))
    return Sum(tuple(programs), found.lines)


def _way(block: Block, choice: Choice) -> Way | Sum:
    """The cheapest way to find the permanent of a block."""
    found: list[Way | Sum] = [*ways_of(block, choice)]
    usable = [way for way in found if choice.method in ("auto", way.method)]
    least = min((way.seconds(choice.devices) for way in found), default=math.inf)
    if choice.method == "auto" and choice.arithmetic != "extended" and least > _EXPANDED_FROM:
        kind: Kind = "rational" if choice.exact else "complex" if block.is_complex else "real"
        expanded = expansion(block.entries, block.error, kind)
        if expanded is not None:
            usable.append(_expanded(expanded, choice))
    if not usable:
        raise _none(block.side, found, choice)
    best = _preferred(usable, choice)
    for way in found:
        if way is not best:
            log.debug(
                "%s would take a block of side %d %.2g s; %s is taken, for %.2g s",
                way.method, block.side, way.seconds(choice.devices),
                best.method, best.seconds(choice.devices),
            )  # fmt: skip
    return best


def ways_of(block: Block, choice: Choice, *, searching: bool = True) -> list[Way]:
    """The ways of all rows of the table; without `searching`, of those that find theirs at once."""
    found: list[Way] = []
    for row in METHODS:
        if row.arithmetic != choice.arithmetic:
            continue
        least = min((way.seconds(choice.devices) for way in found), default=math.inf)
        ways: list[Way] | str = f"it is for blocks that are {row.shape}"
        if row.shape in ("any", block.shape):
            ways = row.ways(block, choice, least if searching else 0.0)
        if isinstance(ways, list) and ways:
            found += ways
            continue
        log.debug(
            "%s, %s, passed over for a block of shape %s: %s",
            row.name, row.arithmetic, block.entries.shape, ways or "it would take too much",
        )  # fmt: skip
    return found


def _none(side: int, found: Sequence[Way | Sum], choice: Choice) -> InputError | BudgetError:
    """What to say where no way can be used."""
    if found:
        others = " and ".join(sorted({repr(way.method) for way in found}))
        return InputError(
            f"method={choice.method!r} is not for a block of side {side} as it is here; "
            f"{others} and 'auto' are accepted"
        )
    years = duration(started(core_seconds(min(side, 900))))
    return BudgetError(
        f"a block of side {side} is left, without a structure to use: its 2^{side - 1} terms would "
        f"take a core {years}; dense blocks of side up to {MAX_SIGNS} are accepted, larger "
        "ones where rows or columns repeat or few entries are nonzero"
    )


def _preferred(ways: Sequence[Way | Sum], choice: Choice) -> Way | Sum:
    """The cheapest way, or one that loses no digits and takes not much longer."""
    best = min(ways, key=lambda way: way.seconds(choice.devices))
    safe = [way for way in ways if not (choice.exact or way.cancels)]
    if not safe:
        return best
    second = min(safe, key=lambda way: way.seconds(choice.devices))
    limit = max(_SAFE, _SAFE_TIMES * best.seconds(choice.devices))
    return second if second.seconds(choice.devices) <= limit else best
