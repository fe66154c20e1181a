"""A permanent as a product of blocks, and the cheapest way for each of them."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.matrix import Kind, Matrix
from hardscape.permanents.methods.method import (
    MAX_SIGNS,
    THOUGHT,
    Block,
    Choice,
    Method,
    Way,
    core_seconds,
    started,
)
from hardscape.permanents.methods.table import METHODS
from hardscape.permanents.numbers.bounded import BoundedNumber
from hardscape.permanents.numbers.gaussian import Conjugates, gaussian_integers_of
from hardscape.permanents.numbers.integers import integers_of
from hardscape.permanents.numbers.rounding import Rounded
from hardscape.permanents.parts import Combined, Pair, Program, Sum, float_type
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
#: How much longer than the best way Glynn's sums of what they leave may take: other ways may take less.
_HOPEFUL_TIMES = 16.0


def prepare(matrix: Matrix, choice: Choice) -> Program:
    """Take the permanent of one matrix apart and choose ways, if there are any; runs nothing."""
    matrix, scale = _exactly(matrix) if choice.exact else (_floating(matrix), Fraction(1))
    if 0 < matrix.shape[0] < matrix.shape[1]:
        block = Block(matrix.entries)
        if (way := _rectangle(block, choice)) is not None:
            return Program(choice, scale, (), (block,), (way,), Reductions())
    square, share = _squared(matrix)
    return _programmed(reduce(square, merge=False), scale * share, choice)


def _rectangle(block: Block, choice: Choice) -> Way | Pair | None:
    """A way for a rectangle as it is, if there is one."""
    if block.is_gaussian:
        try:
            return _pair(block, choice)
        except (BudgetError, InputError):
            return None
    ways = (way for way in ways_of(block, choice) if choice.method in ("auto", way.method))
    return next(ways, None)


def _squared(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A square matrix, and what its permanent is to be multiplied with."""
    m, n = matrix.shape
    # Rows of ones take the columns left over, in any of (n - m)! orders.
    ones = np.full((n - m, n), 1, dtype=matrix.entries.dtype)
    square = Matrix(matrix.kind, np.vstack([matrix.entries, ones]), matrix.transposed)
    return square, Fraction(1, math.factorial(n - m))


def _exactly(matrix: Matrix) -> tuple[Matrix, Fraction]:
    """A matrix of (Gaussian) integers, and what its permanent is to be times; floats as what they are."""
    if matrix.kind == "integer":
        return matrix, Fraction(1)
    if matrix.kind in ("gaussian", "complex"):
        gaussian, scale = gaussian_integers_of(matrix.entries)
        return Matrix("gaussian", gaussian, matrix.transposed), scale
    rows, scale = integers_of(matrix.entries)
    entries = np.array(rows, dtype=object).reshape(matrix.shape)
    return Matrix("integer", entries, matrix.transposed), scale


def _floating(matrix: Matrix) -> Matrix:
    """The same matrix in float64 or complex128; integers must fit."""
    if matrix.kind in ("real", "complex"):
        return matrix
    kind: Kind = "complex" if matrix.kind == "gaussian" else "real"
    try:
        entries: NDArray[Any] = np.array(matrix.entries, dtype=float_type(kind)).reshape(
            matrix.entries.shape
        )
        pairs = zip(entries.ravel().tolist(), matrix.entries.flat, strict=True)
        exact = all(x == y for x, y in pairs)
    except OverflowError:
        exact = False
    if not exact:
        raise InputError("an entry is not a float64; precision='exact' takes such matrices")
    return Matrix(kind, entries, matrix.transposed)


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
    done = (way.reductions for way in ways if isinstance(way, Combined))
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


def _pair(block: Block, choice: Choice) -> Pair:
    """The cheapest ways for the two matrices of integers that a block of Gaussian ones stands for."""
    conjugates = Conjugates.of(block.entries)
    blocks = [Block(matrix, primes=conjugates.primes) for matrix in conjugates.matrices]
    plus, minus = (_best(one, choice) for one in blocks)
    return Pair(conjugates, (plus, minus))


def _of_gaussian(block: Block, choice: Choice) -> Way | Pair:
    """The cheapest way for Gaussian integers: for two matrices of integers, or as they are."""
    ways: list[Way | Pair] = []
    refused: BudgetError | InputError | None = None
    worth = choice.worth
    try:
        ways.append(_pair(block, choice))
        worth = min(_least(ways, choice), math.inf if worth is None else worth)
    except (BudgetError, InputError) as error:
        refused = error
    ways += ways_of(block, replace(choice, worth=worth))
    if refused is not None and not ways:
        raise refused
    return min(ways, key=lambda way: way.seconds(choice.devices))


def _best(block: Block, choice: Choice) -> Way:
    """The cheapest way of the table."""
    found = ways_of(block, choice)
    usable = [way for way in found if choice.method in ("auto", way.method)]
    if not usable:
        raise _none(block.side, found, choice)
    return min(usable, key=lambda way: way.seconds(choice.devices))


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


def _way(block: Block, choice: Choice) -> Way | Combined:
    """The cheapest way to find the permanent of a block."""
    if choice.exact and block.is_gaussian:
        return _of_gaussian(block, choice)
    if (merged := _merged(block, choice)) is not None:
        return merged
    found: list[Way | Combined] = [*ways_of(block, choice)]
    usable = [way for way in found if choice.method in ("auto", way.method)]
    least = _least(found, choice)
    if choice.method == "auto" and choice.arithmetic != "extended" and least > _EXPANDED_FROM:
        kind: Kind = "integer" if choice.exact else "complex" if block.is_complex else "real"
        expanded = expansion(block.entries, block.error, kind, choice.thinking(least))
        if expanded is not None and core_seconds(1, expanded.cost) < _HOPEFUL_TIMES * least:
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


def more_precise(block: Block, choice: Choice) -> Iterator[Way | Combined]:
    """Ways for a floating block that may lose fewer digits than those in which terms cancel.

    Those that take `choice.worth` seconds at most are looked for.
    """
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
    kind: Kind = "complex" if block.is_complex else "real"
    exactly = replace(choice, kind=kind, arithmetic="exact", method="auto")
    try:
        program = prepare(Matrix(kind, block.entries), exactly)
    except BudgetError:
        return
    yield Sum((program,), Reductions())


def proving(program: Program) -> Program:
    """The same with proven bounds: each from a sharper sum, if one is cheap, or from its own."""
    if program.choice.exact:
        return program
    pairs = zip(program.blocks, program.ways, strict=True)
    proofs = tuple(_proof(block, way, program.choice) for block, way in pairs)
    ways = tuple(
        _guarded(way) if proof is None else way
        for way, proof in zip(program.ways, proofs, strict=True)
    )
    return replace(program, ways=ways, proofs=proofs)


def _guarded(way: Way | Combined) -> Way | Combined:
    """A way that proves its bound itself, where it can."""
    if isinstance(way, Way):
        return way.proving
    if not isinstance(way, Sum):
        return way
    guarded = (tuple(map(_guarded, program.ways)) for program in way.programs)
    programs = zip(way.programs, guarded, strict=True)
    return replace(way, programs=tuple(replace(one, ways=ways) for one, ways in programs))


def _proof(block: Block, way: Way | Combined, choice: Choice) -> Way | Combined | None:
    """The quickest sum that proves how wrong that of a block is, if it is cheap."""
    if isinstance(way, Way) and way.sharp:
        return None
    limit = max(_PROOF, _PROOF_TIMES * way.seconds(choice.devices))
    least = math.inf
    best: Way | Combined | None = None
    for sharper in _sharper(block, replace(choice, worth=limit)):
        seconds = sharper.seconds(choice.devices)
        if seconds <= THOUGHT:
            return sharper
        if seconds < min(least, limit):
            least, best = seconds, sharper
    return best


def _sharper(block: Block, choice: Choice) -> Iterator[Way | Combined]:
    """Ways for a floating block with a bound that is next to nothing."""
    extended = ways_of(block, replace(choice, method="auto", arithmetic="extended"))
    yield from (way for way in extended if way.sharp)
    yield from _exact(block, choice)


def ways_of(block: Block, choice: Choice) -> list[Way]:
    """The ways of the rows of the table that may be of use.

    Rows race in the order of the least that they may take, those that search after those that need not: a row
    is not asked if a sum takes longer than the best so far at least, or the search for it does.
    """
    rows = [row for row in METHODS if row.arithmetic == choice.arithmetic]
    fitting = [row for row in rows if row.shape in ("any", block.shape)]
    if block.is_gaussian:
        fitting = [row for row in fitting if row.gaussian]
    found: list[Way] = []
    for searching in (False, True):
        at_hand = min(_least(found, choice), math.inf if choice.worth is None else choice.worth)
        racing = {
            row: row.least(block, choice) if _is_worth(row, at_hand, choice) else math.inf
            for row in fitting
            if bool(row.look) is searching
        }
        for row in sorted(racing, key=lambda row: racing[row]):
            limit = _limit(row, block, found, choice)
            ways: list[Way] | str = "another way is asked for, or takes less"
            if racing[row] < math.inf and racing[row] <= limit:
                ways = row.ways(block, choice, limit)
            if isinstance(ways, list) and ways:
                found += ways
                continue
            log.debug(
                "%s, %s, passed over for a block of shape %s: %s",
                row.name, row.arithmetic, block.entries.shape, ways or "it would take too much",
            )  # fmt: skip
    return found


def _is_worth(row: Method, at_hand: float, choice: Choice) -> bool:
    """Whether to look for ways of a row where another one takes `at_hand` seconds."""
    if choice.method != "auto":
        return not row.look or choice.method == row.name
    return row.look <= at_hand


def _least(ways: Iterable[Way | Combined], choice: Choice) -> float:
    """Seconds of the quickest way."""
    return min((way.seconds(choice.devices) for way in ways), default=math.inf)


def _limit(row: Method, block: Block, found: Sequence[Way], choice: Choice) -> float:
    """Seconds of the longest sum of a row that is of use beside the ways that were found."""
    if choice.method != "auto":
        return math.inf
    least = _least(found, choice)
    if choice.exact:
        return least if choice.worth is None else min(least, choice.worth)
    if choice.worth is not None:
        return choice.worth
    return least if row.cancels(block) else _as_safe(least)


def _as_safe(least: float) -> float:
    """Seconds that a sum in which nothing cancels may take beside another one."""
    return max(_SAFE, _SAFE_TIMES * least)


def _none(side: int, found: Sequence[Way | Combined], choice: Choice) -> InputError | BudgetError:
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


def _preferred(ways: Sequence[Way | Combined], choice: Choice) -> Way | Combined:
    """The cheapest way, or one that loses no digits and takes not much longer."""
    best = min(ways, key=lambda way: way.seconds(choice.devices))
    safe = [way for way in ways if not (choice.exact or way.cancels)]
    if not safe:
        return best
    second = min(safe, key=lambda way: way.seconds(choice.devices))
    limit = _as_safe(best.seconds(choice.devices))
    return second if second.seconds(choice.devices) <= limit else best
