"""Carrying programs out, and again in higher precision where double precision lost too much."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from hardscape.engine import RunOptions, solve
from hardscape.errors import BudgetError
from hardscape.permanents.matrix import Matrix
from hardscape.permanents.methods.method import Block, Choice, Way
from hardscape.permanents.numbers.bounded import BoundedNumber, rounded
from hardscape.permanents.program import Program, Sum, prepare, rational, ways_of
from hardscape.permanents.result import Retry, devices_of
from hardscape.permanents.settings import Settings

log = logging.getLogger("hardscape.permanents")

#: Seconds of the blocks that are worth a checkpoint.
_CHECKPOINTED = 1.0
#: Seconds that a second sum in higher precision may always take where double precision lost too much,
#: and how many times longer than the first one it may be.
_AGAIN, _AGAIN_TIMES = 1.0, 30.0


@dataclass(frozen=True, eq=False)
class Answers:
    """A program that was carried out."""

    program: Program  #: with the ways that gave the values
    values: list[Any]  #: of the blocks: `BoundedNumber`, or Fraction where the program is exact
    seconds: list[float]
    retries: tuple[Retry, ...] = ()  #: what was found besides, and not kept

    @property
    def total(self) -> Any:
        """The permanent."""
        return self.program.total(self.values)


def answers(program: Program, matrix: Matrix, settings: Settings, options: RunOptions) -> Answers:
    """Carry a program out, and look again where it lost more than `settings` allow.

    Of all answers the one with the smallest bound is kept, proven or estimated.
    """
    found = _carried_out(program, options)
    if program.choice.arithmetic != "double" or settings.precision != "auto":
        return found
    found = _unmerged(found, matrix, settings, options)
    for i, block in enumerate(found.program.blocks):
        if block.error is None and block.shape == "square":
            found = _improved(found, i, settings, options)
    return found


def _carried_out(program: Program, options: RunOptions) -> Answers:
    values, seconds = [], []
    for way, path in zip(program.ways, _ledgers(program, options.checkpoint), strict=True):
        began = time.perf_counter()
        values.append(_value(way, replace(options, checkpoint=path)))
        seconds.append(time.perf_counter() - began)
    return Answers(program, values, seconds)


def _value(way: Way | Sum, options: RunOptions) -> Any:
    """The permanent of a block."""
    if options.deadline.up:
        raise BudgetError("the time limit came before the permanent; give time_limit more seconds")
    if isinstance(way, Sum):
        found = []
        for i, program in enumerate(way.programs, start=1):
            part = replace(options, checkpoint=_beside(options.checkpoint, f".part{i}"))
            found.append(_carried_out(program, part).total)
        return way.total(found)
    lanes = [device for device in options.devices if isinstance(device, way.device)]
    options = options.on(lanes) if lanes else options.on_cpu()
    return way.value(solve(way.work, options).whole())


def _ledgers(program: Program, checkpoint: Path | None) -> list[Path | None]:
    """The checkpoint of each block: the costliest block has the plain name."""
    seconds = [way.core_seconds for way in program.ways]
    paths: list[Path | None] = [None] * len(seconds)
    for rank, i in enumerate(sorted(range(len(seconds)), key=lambda i: -seconds[i])):
        if rank == 0:
            paths[i] = checkpoint
        elif seconds[i] > _CHECKPOINTED:
            paths[i] = _beside(checkpoint, f".{rank + 1}")
    return paths


def _beside(checkpoint: Path | None, ending: str) -> Path | None:
    return None if checkpoint is None else Path(f"{checkpoint}{ending}")


def _lost(value: BoundedNumber, settings: Settings) -> bool:
    """Whether double precision probably lost more than it may."""
    return value.likely_error > settings.rtol * abs(value.mantissa)


def _unmerged(found: Answers, matrix: Matrix, settings: Settings, options: RunOptions) -> Answers:
    """The same, or a better answer for all where entries were rounded and that lost too much."""
    pairs = zip(found.values, found.program.blocks, strict=True)
    if not any(block.error is not None and _lost(value, settings) for value, block in pairs):
        return found
    choice = replace(found.program.choice, arithmetic="extended", guard=True, method="auto")
    try:
        program = prepare(matrix, choice)
    except BudgetError:
        return found  # what is not merged is too large
    if program.seconds(options.devices) > _limit(found.program.seconds(options.devices)):
        log.debug("a sum in extended precision of the whole matrix would take too long")
        return found
    again = _carried_out(program, replace(options, checkpoint=None))
    both = [(one.program, one.total, sum(one.seconds)) for one in (found, again)]
    keeps, retry = _compared(len(matrix.entries), both, settings, options)
    return replace(again if keeps else found, retries=(*found.retries, retry))


def _improved(found: Answers, i: int, settings: Settings, options: RunOptions) -> Answers:
    """The same, or a better value of block i where double precision lost more than it may."""
    program, value = found.program, found.values[i]
    if program.choice.arithmetic != "double" or not _lost(value, settings):
        return found
    block, first = program.blocks[i], program.ways[i]
    ways = list(_more_precise(block, program.choice))
    way = min(ways, key=lambda way: way.seconds(options.devices), default=None)
    if way is None or way.seconds(options.devices) > _limit(first.seconds(options.devices)):
        log.debug("a more precise sum of a block of side %d would take too long", block.side)
        return found
    began = time.perf_counter()
    better = _value(way, replace(options, checkpoint=None))
    seconds = time.perf_counter() - began
    if isinstance(better, Fraction):
        better = rounded(better)
    better = replace(better, terms=way.terms + value.terms)
    alone, other = (replace(program, ways=(one,)) for one in (first, way))
    both = [(alone, value, found.seconds[i]), (other, better, seconds)]
    keeps, retry = _compared(block.side, both, settings, options)
    chosen, values, spent = list(program.ways), list(found.values), list(found.seconds)
    if keeps:
        chosen[i], values[i], spent[i] = way, better, seconds
    return Answers(replace(program, ways=tuple(chosen)), values, spent, (*found.retries, retry))


def _more_precise(block: Block, choice: Choice) -> Iterator[Way]:
    """Exact ways, and ways in extended precision if none of those is quick."""
    again = replace(choice, method="auto", guard=True)
    quick = False
    if not block.is_complex:
        entries = rational(Matrix("real", block.entries)).entries
        for way in ways_of(Block(entries), replace(again, arithmetic="exact"), searching=False):
            quick = quick or way.seconds(choice.devices) <= _AGAIN
            yield way
    if not quick:
        yield from ways_of(block, replace(again, arithmetic="extended"))


def _limit(seconds: float) -> float:
    return max(_AGAIN, _AGAIN_TIMES * seconds)


def _compared(
    side: int,
    both: Sequence[tuple[Program, BoundedNumber, float]],
    settings: Settings,
    options: RunOptions,
) -> tuple[bool, Retry]:
    """Whether the second answer, with its seconds, is the better one; and the one not kept."""
    (_, old, _), (_, new, _) = both
    better = new.is_better_than(old)
    reason = f"its bound is not below that of the answer kept, {old.error_bound:.1e}"
    if better:
        size = abs(old.mantissa)
        error = f"{old.likely_error / size:.1e} of the value" if size else "all of the value"
        reason = f"its error is probably up to {error}, above rtol={settings.rtol:g}"
    program, value, seconds = both[not better]
    retry = Retry(
        side, program.method, program.precision, devices_of(program.leaves, options.devices),
        value.error_bound, value.rigorous, seconds, reason,
    )  # fmt: skip
    log.debug("not kept: %s", retry)
    return better, retry
