"""Searches without a proof as work for the engine: runs that know nothing of one another.

A run is a function of the model, the seed and its number, so that an answer does not depend on who ran what.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cuda, Device, Partial, Shard, ShardResult, Work, split
from hardscape.engine.cuda import cuda_device
from hardscape.errors import DeviceError
from hardscape.ising.exact import ExactTerms, from_limbs
from hardscape.ising.methods.walkers.batch import Batch, Effort, Teams, batches
from hardscape.ising.methods.walkers.model import FlipModel
from hardscape.ising.methods.walkers.place import GpuPlace, Place
from hardscape.ising.result import pack, spectral_order, unpack

#: Moves that take milliseconds.
_BRIEF = 100_000
#: Spins that all moves of a run in a launch look at in the end, and moves of the first launch and at most:
#: launches take some 10 ms, and how they are cut decides when a target ends them, so it is the same everywhere.
_LOOKS, _LEAST_MOVES, _MOST_MOVES = 1 << 22, 256, 1 << 14
#: Runs that fill a GPU: so many, but of models beyond so many spins fewer, and at least.
_TOGETHER, _SPINS, _LEAST_TOGETHER = 8192, 256, 2048


@dataclass(frozen=True)
class RunsWork(Work[Partial]):
    """Runs of a search. A partial holds ``states`` and their exact ``energies``, and ``counters``."""

    name: ClassVar[str] = "ising.search"
    revision: ClassVar[int] = 3
    unit: ClassVar[str] = "moves"
    #: Moves that take a GPU as long as a look at all spins.
    looks: ClassVar[int] = 1
    #: Of the shortest run, by default.
    moves_a_spin: ClassVar[int]
    #: Whether it finds one state, in one run, from nothing.
    one_state: ClassVar[bool] = False

    terms: ExactTerms
    count: int  #: states wanted
    runs: int
    moves: int  #: of a run of length 1: see `length`
    seed: int
    given: tuple[bytes, ...] = ()  #: int8 spins of states to start from
    target: int | None = None  #: exact energy that ends it
    equal: int = 1  #: runs of one length before those of the next one
    together: int = 1  #: runs of a shard, which a GPU makes at once

    @cached_property
    def model(self) -> FlipModel:
        """For the compiled search."""
        return FlipModel.of(self.terms)

    @property
    def level(self) -> float | None:
        """The target as the compiled search knows energies: who meets it has met the target."""
        return None if self.target is None else self.model.level(self.target - self.terms.offset)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "model"}

    def digest(self) -> str:
        """Hash of all fields."""
        kind = type(self).__name__
        numbers = (self.count, self.runs, self.moves, self.seed, self.equal)
        shape = (kind, numbers, self.given, self.target)
        return hashlib.sha256(self.terms.canonical() + repr(shape).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One for so many runs as are made together."""
        return split(self.runs, -(-self.runs // self.together))

    def brief(self, device: Device) -> bool:
        """Whether runs are short, or a GPU's host asks whether to stop."""
        return isinstance(device, Cuda) or (self.runs == 1 and self.moves <= _BRIEF)

    @staticmethod
    def length(run: int) -> int:
        """Of run 0, 1, 2, ...: 1, 1, 2, 1, 1, 2, 4, ... (Luby, Sinclair, Zuckerman, 1993)."""
        run += 1
        while run & (run + 1):
            run -= (1 << (run.bit_length() - 1)) - 1
        return (run + 1) >> 1

    def moves_of(self, run: int) -> int:
        """Of a run."""
        return self.moves * self.length(run // self.equal)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Make some runs; the given states are the first run's."""
        n = self.terms.num_spins
        if n == 0:
            return ShardResult(self.partial(np.zeros((1, 1), dtype=np.uint64), [len(shard), 0]))
        given = np.frombuffer(b"".join(self.given if shard.start == 0 else ()), dtype=np.int8)
        given = given.reshape(-1, n)
        if isinstance(context.device, Cuda):
            with cuda_device(context.device.ordinal) as device:
                return self.made_together(shard, given, GpuPlace(device), context)
        return self._one_by_one(shard, given, context)

    def _one_by_one(self, shard: Shard, given: NDArray[np.int8], context: Context) -> ShardResult:
        found: Partial | None = None
        for run in range(shard.start, shard.stop):
            states, complete, moved = self.made(given, run, self.moves_of(run), context.stop)
            part = self.partial(states, [1, moved])
            found = part if found is None else self.merge(found, part)
            if not complete:
                return ShardResult(found, complete=False)
            given = given[:0]
        assert found is not None
        return ShardResult(found)

    def made_together(
        self, shard: Shard, given: NDArray[np.int8], place: Place, context: Context
    ) -> ShardResult:
        """Make runs by teams of threads at one place: all at once, or as many as there is room for."""
        moves, sweeps = (
            np.array([of(run) for run in range(shard.start, shard.stop)], dtype=np.int64)
            for of in (self.moves_of, self.sweeps)
        )
        numbers = self.numbers()
        effort = Effort(self.seed, shard.start, moves, sweeps, self.count, given, numbers)
        teams = self.teams()
        found: Partial | None = None
        for part in batches(teams, effort, place):
            result = self._made(Batch(teams, part, place), context)
            found = result.partial if found is None else self.merge(found, result.partial)
            if not result.complete or self.finished(found):
                return ShardResult(found, result.complete)
        assert found is not None
        return ShardResult(found)

    def _made(self, batch: Batch, context: Context) -> ShardResult:
        most = self.looks * min(max(_LOOKS // self.terms.num_spins, _LEAST_MOVES), _MOST_MOVES)
        moves, turn, least = 0, self.looks * _LEAST_MOVES, np.inf
        while moves == 0 or not (batch.over or context.stopped()):
            moves += turn
            turn = min(2 * turn, most)
            batch.run(moves)
            if self.target is not None and batch.least < least:
                least = batch.least
                if self.finished(met := self._met(batch)):
                    return ShardResult(met)
        return ShardResult(self._met(batch), batch.over)

    def _met(self, batch: Batch) -> Partial:
        moved = int(batch.moves().sum())
        return self.partial(pack(batch.lowest(self.count)), [batch.runs, moved])

    def sweeps(self, run: int) -> int:
        """Of one annealing in a run; 0 where there are none."""
        return 0

    @staticmethod
    def unfit(terms: ExactTerms) -> str:
        """Why a GPU does not take a model; "" if it does."""
        return "it is made for CPUs"

    def teams(self) -> Teams:
        """How a GPU holds a model that it takes."""
        raise DeviceError(self.unfit(self.terms))

    def numbers(self) -> dict[str, float]:
        """What a GPU is told of the search: see `Effort`."""
        return {}

    @staticmethod
    def that_fill_a_gpu(num_spins: int) -> int:
        """How many runs do, the same for every GPU, as answers depend on it."""
        runs = _TOGETHER
        while runs > _LEAST_TOGETHER and runs * num_spins > _TOGETHER * _SPINS:
            runs //= 2
        return runs

    @abstractmethod
    def made(
        self, given: NDArray[np.int8], run: int, moves: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], bool, int]:
        """Make run `run`, of so many moves: states met, whether it was not stopped, and its moves."""

    def partial(self, states: NDArray[np.uint64], counters: Sequence[int]) -> Partial:
        """The lowest of some states."""
        energies = self.terms.words(unpack(states, self.terms.num_spins))
        lowest = distinct(states, energies, self.count)
        return {**lowest, "counters": np.array(counters, dtype=np.int64)}

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The lowest distinct states of both."""
        both = {name: np.concatenate([left[name], right[name]]) for name in ("states", "energies")}
        counters = left["counters"] + right["counters"]
        return {**distinct(both["states"], both["energies"], self.count), "counters": counters}

    def check(self) -> None:
        """Refuse models that it does not take."""

    def lower_bound(self, partial: Partial) -> int | None:
        """What no energy lies below; None if that is all that is known of any model."""
        return None

    def memory_bytes(self, lanes: int) -> int:
        """A matrix a lane where the model is dense, lists of neighbours, and the states kept."""
        n, pairs = self.terms.num_spins, len(self.terms.couplings)
        matrix = 8 * n * n if 16 * pairs > n * n else 0
        return lanes * (matrix + 64 * pairs + 3 * self.count * (n // 8 + 40)) + 100 * pairs

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        least = from_limbs(partial["energies"][:1])
        return self.target is not None and least[0] <= self.target


def distinct(
    states: NDArray[np.uint64], energies: NDArray[np.uint64], count: int | None = None
) -> Partial:
    """Different ones of these states, the `count` lowest in spectral order."""
    order = spectral_order(energies, states)
    states, energies = states[order], energies[order]
    first = np.append(True, (states[1:] != states[:-1]).any(axis=1))[: len(states)]
    return {"states": states[first][:count], "energies": energies[first][:count]}
