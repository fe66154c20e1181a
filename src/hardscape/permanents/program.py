"""A permanent as a product of blocks, and the cheapest way for each of them."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from hardscape.engine import Device
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.matrix import Kind, Matrix
from hardscape.permanents.methods.method import (
    MAX_SIGNS,
    THOUGHT,
    Block,
    Choice,
    Way,
    core_seconds,
    started,
)
from hardscape.permanents.methods.table import METHODS
from hardscape.permanents.numbers.bounded import UNIT, BoundedNumber, product, total
from hardscape.permanents.numbers.integers import integers_of
from hardscape.permanents.numbers.rounding import Rounded
from hardscape.permanents.structure.expansion import Expansion, expansion
from hardscape.permanents.structure.reduce import (
    Reduced,
    Reductions,
    can_merge,
    reduce,
    reduce_entries,
)
from hardscape.permanents.structure.scaling import balanced

log = logging.getLogger("hardscape.permanents")

#: Seconds, or times the least, that a sum in which nothing cancels may take.
_SAFE, _SAFE_TIMES = 1.0, 4.0
#: Seconds, or times those of a sum, that a proof of its error may take.
_PROOF, _PROOF_TIMES = 1.0, 3.0
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
    def precisions(self) -> set[str]:
        """Arithmetic of all parts."""
        return {name for part in self.parts for name in part.precisions}

    @property
    def precision(self) -> str:
        """Arithmetic of all parts: "double", "extended", "exact", or several joined by "+"."""
        return _joined(self.precisions)

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
    #: Sums that prove how wrong those of the blocks are, where bounds are asked for and one is cheap.
    proofs: tuple[Way | Sum | None, ...] = ()

    @property
    def parts(self) -> Sequence[Way | Sum]:
        """The ways of the blocks."""
        return self.ways

    @property
    def precisions(self) -> set[str]:
        """Arithmetic of the blocks, or what was asked for if there are none."""
        return super().precisions or {self.choice.arithmetic}

    @property
    def proving(self) -> Program:
        """The same with proven bounds: each from a sharper sum, if one is cheap, or from its own."""
        if self.choice.exact:
            return self
        pairs = zip(self.blocks, self.ways, strict=True)
        proofs = tuple(_proof(block, way, self.choice) for block, way in pairs)
        ways = tuple(
            way.proving if proof is None else way
            for way, proof in zip(self.ways, proofs, strict=True)
        )
        return replace(self, ways=ways, proofs=proofs)

    def total(self, values: Sequence[Any]) -> Any:
        """The permanent from those of the blocks: a Python number if exact, else a `BoundedNumber`."""
        if self.choice.exact:
            value = math.prod((*self.factors, *values), start=self.scale)
            return int(value) if self.choice.kind == "integer" else value
        return product([*self.factors, *values], self.scale, _type(self.choice.kind))


@dataclass(frozen=True, eq=False)
class Sum(_Joint):
    """A block as a sum of permanents: of one whose lines were merged, or along longer lines."""

    programs: tuple[Program, ...]
    reductions: Reductions  #: what made them

    memory = 0
    gpu_seconds = math.inf
    cancels = True
    promise = UNIT, 0.0

    @property
    def parts(self) -> Sequence[Program]:
        """The permanents."""
        return self.programs

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        return sum(way.core_seconds for program in self.programs for way in program.ways)

    @property
    def proving(self) -> Sum:
        """The same with proven bounds, where they can be had."""
        return replace(self, programs=tuple(program.proving for program in self.programs))

    def total(self, found: Sequence[Any]) -> Any:
        """The permanent of the block from those that it is a sum of."""
        choice = self.programs[0].choice
        return sum(found) if choice.exact else total(found, _type(choice.kind))


def _joined(names: Any) -> str:
    return "+".join(sorted(set(names)))


def _type(kind: Kind) -> type:
    return complex if kind == "complex" else float


def prepare(matrix: Matrix, choice: Choice) -> Program:
    """Take the permanent of one matrix apart and choose ways, if there are any; runs nothing."""
    matrix, scale = _exactly(matrix) if choice.exact else (_floating(matrix), Fraction(1))
    if 0 < matrix.shape[0] < matrix.shape[1]:
        block = Block(matrix.entries)
        for way in ways_of(block, choice):
            if choice.method in ("auto", way.method):
                return Program(choice, scale, (), (block,), (way,), Reductions())
    square, share = _squared(matrix)
    return _programmed(reduce(square, merge=False), scale * share, choice)


def _squared(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A square matrix, and what its permanent is to be multiplied with."""
    m, n = matrix.shape
    # Rows of ones take the columns left over, in any of (n - m)! orders.
    ones = np.full((n - m, n), 1, dtype=matrix.entries.dtype)
    square = Matrix(matrix.kind, np.vstack([matrix.entries, ones]), matrix.transposed)
    return square, Fraction(1, math.factorial(n - m))


def _exactly(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A matrix of integers, and what its permanent is to be multiplied with; floats as what they are."""
    if matrix.kind == "complex":
        raise InputError(
            "precision='exact' takes integers, rationals and real floats, not complex ones"
        )
    if matrix.kind == "integer":
        return matrix, Fraction(1)
    rows, scale = integers_of(matrix.entries)
    entries = np.empty(matrix.shape, dtype=object)
    entries[:] = rows
    return Matrix("integer", entries, matrix.transposed), scale


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
    pairs = zip(reduced.blocks, reduced.errors, strict=True)
    blocks = tuple(Block(entries, error=error) for entries, error in pairs)
    if not choice.exact:
        blocks = tuple(map(_balanced, blocks))
    exponent = reduced.exponent + sum(block.power for block in blocks)
    above = expansions or (None,) * len(blocks)
    apart = replace(choice, thought=choice.thought / max(1, len(blocks)))
    ways = tuple(
        _way(block, apart) if found is None else _expanded(found, apart)
        for block, found in zip(blocks, above, strict=True)
    )
    factors: tuple[Any, ...] = reduced.factors
    if not choice.exact:
        factors = tuple(map(_bounded, reduced.factors))
    done = (way.reductions for way in ways if isinstance(way, Sum))
    return Program(
        choice,
        scale * Fraction(2) ** exponent,
        factors,
        blocks,
        ways,
        sum(done, start=reduced.reductions),
    )


def _balanced(block: Block) -> Block:
    """A floating block without powers of two on its lines, if it was not rounded."""
    return block if block.error is not None else Block(*balanced(block.entries))


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
    return Sum(tuple(programs), Reductions(expanded_lines=found.lines))


def _merged(block: Block, choice: Choice) -> Sum | None:
    """The program of a floating block whose lines of two entries are merged, if there are any.

    Double-double numbers are for those whose entries are not to be rounded before.
    """
    rounded = block.error is not None
    if choice.arithmetic != "double" or rounded or not can_merge(block.entries):
        return None
    reduced = reduce_entries(block.entries, "complex" if block.is_complex else "real")
    return Sum((_programmed(reduced, Fraction(1), choice),), reduced.reductions)


def _way(block: Block, choice: Choice) -> Way | Sum:
    """The cheapest way to find the permanent of a block."""
    if (merged := _merged(block, choice)) is not None:
        return merged
    found: list[Way | Sum] = [*ways_of(block, choice)]
    usable = [way for way in found if choice.method in ("auto", way.method)]
    least = min((way.seconds(choice.devices) for way in found), default=math.inf)
    if choice.method == "auto" and choice.arithmetic != "extended" and least > _EXPANDED_FROM:
        kind: Kind = "integer" if choice.exact else "complex" if block.is_complex else "real"
        expanded = expansion(block.entries, block.error, kind, choice.thinking(least))
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


def more_precise(block: Block, choice: Choice) -> Iterator[Way | Sum]:
    """Ways for a floating block that may lose fewer digits than those in which terms cancel."""
    quick = False
    for exact in _exact(block, choice):
        quick = exact.seconds(choice.devices) <= THOUGHT
        yield exact
    if not quick:
        yield from ways_of(block, replace(choice, method="auto", arithmetic="extended"))
        for way in ways_of(block, replace(choice, method="auto")):
            if not way.promise[1]:
                yield way


def _exact(block: Block, choice: Choice) -> Iterator[Sum]:
    """The way for a floating block as a matrix of integers, if there is one."""
    if block.is_complex:
        return
    exactly = replace(choice, kind="rational", arithmetic="exact", method="auto")
    try:
        program = prepare(Matrix("real", block.entries), exactly)
    except BudgetError:
        return
    yield Sum((program,), Reductions())


def _proof(block: Block, way: Way | Sum, choice: Choice) -> Way | Sum | None:
    """The quickest sum that proves how wrong that of a block is, if it is cheap."""
    limit = max(_PROOF, _PROOF_TIMES * way.seconds(choice.devices))
    least = math.inf
    best: Way | Sum | None = None
    extended = ways_of(block, replace(choice, method="auto", arithmetic="extended"))
    both: Iterator[Way | Sum] = chain(extended, _exact(block, choice))
    for sharper in both:
        seconds = sharper.seconds(choice.devices)
        if seconds <= THOUGHT:
            return sharper
        if seconds < min(least, limit):
            least, best = seconds, sharper
    return best


def ways_of(block: Block, choice: Choice) -> list[Way]:
    """The ways of all rows of the table."""
    found: list[Way] = []
    for row in METHODS:
        if row.arithmetic != choice.arithmetic:
            continue
        least = min((way.seconds(choice.devices) for way in found), default=math.inf)
        ways: list[Way] | str = f"it is for blocks that are {row.shape}"
        if row.shape in ("any", block.shape):
            ways = row.ways(block, choice, least)
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
