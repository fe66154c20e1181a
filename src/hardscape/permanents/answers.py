"""Carrying programs out, and again in higher precision where double precision lost too much."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hardscape.engine import RunOptions, solve
from hardscape.errors import BudgetError, PartDone
from hardscape.permanents.methods.method import Block, Choice, Way
from hardscape.permanents.methods.sums import Rearranged
from hardscape.permanents.numbers.bounded import UNIT, BoundedNumber, rounded
from hardscape.permanents.parts import Combined, Program, float_type
from hardscape.permanents.program import more_precise
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
    lost: int = 0  #: terms of that

    @property
    def total(self) -> Any:
        """The permanent."""
        return self.program.total(self.values)


def answers(program: Program, settings: Settings, options: RunOptions) -> Answers:
    """Carry a program out, look again where it lost more than `settings` allow, and prove the bounds.

    Of all answers the one with the smallest bound is kept. Which one that is does not depend on whether
    bounds are asked for: those that are only estimated are compared as such.
    """
    found = _carried_out(program, options)
    if program.choice.exact:
        return found
    if program.choice.arithmetic == "double" and settings.precision == "auto":
        for i in range(len(program.blocks)):
            found = _improved(found, i, settings, options)
    for i in range(len(program.proofs)):
        found = _proven(found, i, options)
    return found


def _carried_out(program: Program, options: RunOptions) -> Answers:
    seconds = []

    def timed(way: Way | Combined, path: Path | None) -> Any:
        began = time.perf_counter()
        value = _value(way, replace(options, checkpoint=path))
        seconds.append(time.perf_counter() - began)
        return value

    paths = _ledgers(program, options.checkpoint)
    return Answers(program, _all(timed, program.ways, paths), seconds)


def _all(
    find: Callable[[Any, Path | None], Any], parts: Sequence[Any], paths: Sequence[Path | None]
) -> list[Any]:
    """What is found of each; where some shards of each are wanted, those of all before that is told."""
    found, divided = [], None
    for part, path in zip(parts, paths, strict=True):
        try:
            found.append(find(part, path))
        except PartDone as done:
            divided = done
    if divided is not None:
        raise divided
    return found


def _value(way: Way | Combined, options: RunOptions) -> Any:
    """The permanent of a block."""
    if options.deadline.up:
        raise BudgetError("the time limit came before the permanent; give time_limit more seconds")
    if isinstance(way, Combined):
        many = len(way.parts) > 1
        paths = [
            _beside(options.checkpoint, f".part{i}" if many else "")
            for i in range(1, len(way.parts) + 1)
        ]
        return way.total(_all(lambda part, path: _of_part(part, path, options), way.parts, paths))
    lanes = [device for device in options.devices if isinstance(device, way.device)][: way.most]
    options = options.on(lanes) if lanes else options.on_cpu()
    return way.value(solve(way.work, options).whole())


def _of_part(part: Any, path: Path | None, options: RunOptions) -> Any:
    own = replace(options, checkpoint=path)
    return _carried_out(part, own).total if isinstance(part, Program) else _value(part, own)


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


def _improved(found: Answers, i: int, settings: Settings, options: RunOptions) -> Answers:
    """The same, or a better value of block i where double precision lost more than it may.

    What is cheap is tried, the cheapest first that promises to lose little enough, until it is.
    """
    program, block = found.program, found.program.blocks[i]
    if _lost(found.values[i], settings):
        found = _rearranged(found, i, options)
    if not _lost(found.values[i], settings):
        return found
    untried = _others(block, program.ways[i], program.choice, options)
    while untried and _lost(found.values[i], settings):
        way = min(untried, key=lambda way: _merit(way, found.values[i], settings, options))
        untried.remove(way)
        if not _promised(way, found.values[i]) < found.values[i].compared:
            log.debug("%s promises no smaller bound", way.method)
            continue
        began = time.perf_counter()
        value = _bounded_value(way, program.choice, options)
        if value is None:
            break
        found = _kept(found, i, way, value, time.perf_counter() - began, settings, options)
    return found


def _rearranged(found: Answers, i: int, options: RunOptions) -> Answers:
    """The same, with what the sum of block i differs by in another order, if there is one."""
    way = found.program.ways[i]
    work = way.work.again() if isinstance(way, Way) and isinstance(way.work, Rearranged) else None
    if not isinstance(way, Way) or work is None:
        return found
    again = replace(way, work=work)
    other = _bounded_value(again, found.program.choice, options)
    if other is None:
        return found
    values = list(found.values)
    values[i] = values[i].rearranged(other)
    return replace(found, values=values, lost=found.lost + again.terms)


def _others(
    block: Block, first: Way | Combined, choice: Choice, options: RunOptions
) -> list[Way | Combined]:
    """Ways for a block besides the first that are exact, or promise a smaller bound, and are cheap."""
    limit = max(_AGAIN, _AGAIN_TIMES * first.seconds(options.devices))
    left = options.deadline.left
    limit = limit if left is None else min(limit, left)
    found = more_precise(block, replace(choice, worth=limit))
    ways = (way for way in found if not _same(way, first))
    return [way for way in ways if way.seconds(options.devices) <= limit]


def _same(one: Way | Combined, other: Way | Combined) -> bool:
    """Whether two ways for a block are by the same row of the table."""
    return isinstance(one, Way) and isinstance(other, Way) and one.by is other.by


def _promised(way: Way | Combined, value: BoundedNumber) -> float:
    """The bound that a way promises, in units of the value's."""
    relative, of_terms = way.promise
    return relative * abs(value.mantissa) + of_terms * value.magnitude


def _merit(
    way: Way | Combined, value: BoundedNumber, settings: Settings, options: RunOptions
) -> tuple[float, float]:
    """By which ways are ordered: those that promise enough by their time, the others by their promise."""
    promised = _promised(way, value)
    enough = promised <= settings.rtol * abs(value.mantissa)
    return 0.0 if enough else promised, way.seconds(options.devices)


def _bounded_value(
    way: Way | Combined, choice: Choice, options: RunOptions
) -> BoundedNumber | None:
    """The permanent of a block once more; None if that takes longer than there is."""
    try:
        value = _value(way, replace(options, checkpoint=None))
    except BudgetError:
        log.debug("the time limit came before a second sum")
        return None
    return value if isinstance(value, BoundedNumber) else rounded(value, float_type(choice.kind))


def _kept(
    found: Answers,
    i: int,
    way: Way | Combined,
    value: BoundedNumber,
    seconds: float,
    settings: Settings,
    options: RunOptions,
) -> Answers:
    """Answers with the better one of two values of block i."""
    program, first, block = found.program, found.values[i], found.program.blocks[i]
    size = abs(first.mantissa)
    error = f"{first.likely_error / size:.1e} of the value" if size else "all of the value"
    both = [(way, value, seconds), (program.ways[i], first, found.seconds[i])]
    reason = f"its error is probably up to {error}, above rtol={settings.rtol:g}"
    if not value.is_better_than(first):
        both.reverse()
        reason = "its bound is not below that of the answer kept"
    ways, values, spent = list(program.ways), list(found.values), list(found.seconds)
    ways[i], values[i], spent[i] = both[0]
    other, lost, time_lost = both[1]
    bound = replace(lost, exponent=lost.exponent + block.power).error_bound
    devices = devices_of(other.leaves, options.devices)
    retry = Retry(
        block.side, other.method, other.precision, devices, bound, lost.rigorous, time_lost, reason
    )
    log.debug("not kept: %s", retry)
    retries, terms = (*found.retries, retry), found.lost + other.terms
    return Answers(replace(program, ways=tuple(ways)), values, spent, retries, terms)


def _proven(found: Answers, i: int, options: RunOptions) -> Answers:
    """The same values, that of block i with the smaller bound that a sharper sum gives it, if one is cheap."""
    value, way = found.values[i], found.program.proofs[i]
    if way is None or (value.rigorous and value.bound <= 2 * UNIT * abs(value.mantissa)):
        return found
    other = _bounded_value(way, found.program.choice, options)
    if other is None:
        return found
    values = list(found.values)
    values[i] = value.beside(other)
    return replace(found, values=values)
