"""Small works for the engine's tests, where other processes can import them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Chain, Context, Partial, Shard, ShardResult, Team, Work, split


@dataclass(frozen=True)
class HarmonicSum(Work[Partial]):
    """1 + 1/2 + ... + 1/units in float64: rounding makes the sum depend on the order of merging.

    `pause` seconds are slept before each unit, with an eye on the stop flag; `unfair` makes shards
    take different times, so that they finish out of order.
    """

    name: ClassVar[str] = "test.harmonic"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "terms"
    units: int = 997
    count: int = 23
    pause: float = 0.0
    unfair: bool = False

    def digest(self) -> str:
        return f"{self.units:x}"

    def shards(self) -> Sequence[Shard]:
        return split(self.units, self.count)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        if self.unfair:
            time.sleep(0.02 * ((self.count - shard.index) % 5))
        total = np.zeros(())
        terms = np.zeros((), dtype=np.int64)
        for k in range(shard.start, shard.stop):
            if self.pause:
                time.sleep(self.pause)
            if context.stop[0]:
                return ShardResult({"sum": total, "terms": terms}, complete=False)
            total = total + 1.0 / (k + 1)
            terms = terms + 1
        return ShardResult({"sum": total, "terms": terms})

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {key: np.asarray(left[key] + right[key]) for key in ("sum", "terms")}

    def result(self, partial: Partial) -> Partial:
        return partial


def harmonic(work: HarmonicSum) -> Partial:
    """The answer of a `HarmonicSum`: sums of its shards, added in pairs until one is left."""
    sums = []
    for shard in work.shards():
        part = np.zeros(())
        for k in range(shard.start, shard.stop):
            part = part + 1.0 / (k + 1)
        sums.append(part)
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    return {"sum": np.asarray(sums[0]), "terms": np.asarray(work.units, dtype=np.int64)}


def scrambled(unit: int) -> int:
    """A value of a unit without order (a multiplicative hash), with many ties."""
    return (unit * 2654435761 % 2**32) >> 20


@dataclass(frozen=True)
class Lowest(Work[Partial]):
    """The `keep` lowest (value, unit) pairs; the incumbent's last value closes the door early."""

    name: ClassVar[str] = "test.lowest"
    revision: ClassVar[int] = 1
    units: int = 3000
    count: int = 40
    keep: int = 10

    def digest(self) -> str:
        return f"{self.units:x}{self.keep:x}"

    def shards(self) -> Sequence[Shard]:
        return split(self.units, self.count)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        door = 2**63 - 1 if context.incumbent is None else int(context.incumbent["door"])
        found = [(scrambled(k), k) for k in range(shard.start, shard.stop) if scrambled(k) <= door]
        return ShardResult(self._pack(found))

    def merge(self, left: Partial, right: Partial) -> Partial:
        pairs = [
            pair
            for part in (left, right)
            for pair in zip(part["value"].tolist(), part["unit"].tolist(), strict=True)
        ]
        return self._pack(pairs)

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        values = np.sort(np.concatenate([part["value"] for part in parts]))
        if len(values) < self.keep:
            return known
        door = values[self.keep - 1]
        return {"door": door if known is None else np.minimum(door, known["door"])}

    def result(self, partial: Partial) -> Partial:
        return partial

    def _pack(self, pairs: list[tuple[int, int]]) -> Partial:
        best = np.array(sorted(pairs)[: self.keep], dtype=np.int64).reshape(-1, 2)
        return {"value": best[:, 0].copy(), "unit": best[:, 1].copy()}


@dataclass(frozen=True)
class FirstHit(Work[Partial]):
    """Looks for `targets`; any one of them settles the answer. Lower shards are slower."""

    name: ClassVar[str] = "test.hit"
    revision: ClassVar[int] = 1
    units: int = 400
    count: int = 20
    targets: tuple[int, ...] = ()

    def digest(self) -> str:
        return repr((self.units, self.targets))

    def shards(self) -> Sequence[Shard]:
        return split(self.units, self.count)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        deadline = time.monotonic() + 0.005 * (self.count - shard.index)
        while time.monotonic() < deadline:
            if context.stop[0]:
                return ShardResult({"hits": np.empty(0, dtype=np.int64)}, complete=False)
            time.sleep(0.001)
        hits = [k for k in self.targets if shard.start <= k < shard.stop]
        return ShardResult({"hits": np.array(hits, dtype=np.int64)})

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {"hits": np.concatenate([left["hits"], right["hits"]])}

    def result(self, partial: Partial) -> Partial:
        return partial

    def finished(self, partial: Partial) -> bool:
        return len(partial["hits"]) > 0


@dataclass(frozen=True)
class Signed(HarmonicSum):
    """A `HarmonicSum` of which each process that takes part leaves a file in `folder` by its number."""

    folder: str = ""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        Path(self.folder, str(os.getpid())).touch()
        return super().run(shard, context)


@dataclass(frozen=True)
class Failing(HarmonicSum):
    """A `HarmonicSum` whose shard `culprit` raises."""

    culprit: int = 5

    def run(self, shard: Shard, context: Context) -> ShardResult:
        if shard.index == self.culprit:
            raise ZeroDivisionError(f"shard {shard.index}")
        return super().run(shard, context)


#: Slow enough to be caught in the middle, fast enough to be finished afterwards.
SLOW = HarmonicSum(units=400, count=40, pause=0.004)


class Walk(Chain[int]):
    """x -> 3 x + step (mod 2**61 - 1); a lane each adds its share of the increment."""

    name: ClassVar[str] = "test.walk"
    revision: ClassVar[int] = 1

    def __init__(self, total: int, *, start: int = 1, pause: float = 0.0, end: int = -1) -> None:
        self.total = total
        self.start = self.x = start
        self.done = 0
        self.pause = pause
        self.end = end

    def digest(self) -> str:
        return f"{self.start:x}"

    def advance(self, count: int, team: Team) -> int:
        for i in range(count):
            if team.stop[0] or self.finished():
                return i
            shares = np.zeros(team.size, dtype=np.int64)

            def add(rank: int, shares: NDArray[np.int64] = shares, step: int = self.done) -> None:
                shares[rank] = sum(range(rank, step % 7, len(shares)))

            team.run(add)
            self.x = (3 * self.x + int(shares.sum())) % (2**61 - 1)
            self.done += 1
            if self.pause:
                time.sleep(self.pause)
        return count

    def state(self) -> Partial:
        return {"x": np.array(self.x), "done": np.array(self.done)}

    def restore(self, state: Partial) -> None:
        self.x, self.done = int(state["x"]), int(state["done"])

    def finished(self) -> bool:
        return self.done == self.end

    def result(self) -> int:
        return self.x
