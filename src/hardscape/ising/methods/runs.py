"""Searches without a proof as work for the engine: runs that know nothing of one another.

A run is a function of the model, the seed and its number, so that an answer does not depend on who ran what.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.ising.exact import ExactTerms, from_limbs
from hardscape.ising.result import spectral_order, unpack

#: Sums of integers below this are 32-bit integers, else doubles.
_SHORT = 1 << 28
#: Moves that take milliseconds.
_BRIEF = 100_000


@dataclass(frozen=True)
class FlipModel:
    """A model as the compiled search takes it: fields, and each spin's neighbours with its couplings."""

    fields: NDArray[np.float64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    integers: bool

    @classmethod
    def of(cls, terms: ExactTerms) -> FlipModel:
        """Exact where the integers are short; else float64 of the largest coefficient near 1."""
        unit = math.gcd(*terms.fields, *terms.couplings) or 1
        reach = terms.bound - abs(terms.offset)
        short = reach < _SHORT * unit
        shift = 0 if short else max(0, reach.bit_length() - 900)
        fields, couplings = (
            np.array([float(x // unit if short else x >> shift) for x in given])
            for given in (terms.fields, terms.couplings)
        )
        if not short:
            largest = max(np.abs(fields).max(initial=0), np.abs(couplings).max(initial=0))
            exponent = int(np.frexp(largest)[1])
            fields, couplings = np.ldexp(fields, -exponent), np.ldexp(couplings, -exponent)
        row = np.concatenate([terms.row, terms.col])
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=terms.num_spins)
        return cls(
            fields,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([terms.col, terms.row])[order],
            np.concatenate([couplings, couplings])[order],
            short,
        )


@dataclass(frozen=True)
class RunsWork(Work[Partial]):
    """Runs of a search. A partial holds ``states`` and their exact ``energies``, and ``counters``."""

    name: ClassVar[str] = "ising.search"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "moves"
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

    @cached_property
    def model(self) -> FlipModel:
        """For the compiled search."""
        return FlipModel.of(self.terms)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "model"}

    def digest(self) -> str:
        """Hash of all fields."""
        kind = type(self).__name__
        shape = (kind, self.count, self.runs, self.moves, self.seed, self.given, self.target)
        return hashlib.sha256(self.terms.canonical() + repr(shape).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One a run."""
        return split(self.runs, self.runs)

    def brief(self, device: Device) -> bool:
        """Whether runs are short."""
        return self.runs == 1 and self.moves <= _BRIEF

    @staticmethod
    def length(run: int) -> int:
        """Of run 0, 1, 2, ...: 1, 1, 2, 1, 1, 2, 4, ... (Luby, Sinclair, Zuckerman, 1993)."""
        run += 1
        while run & (run + 1):
            run -= (1 << (run.bit_length() - 1)) - 1
        return (run + 1) >> 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Make a run; the given states are the first run's."""
        n = self.terms.num_spins
        if n == 0:
            return ShardResult(self.partial(np.zeros((1, 1), dtype=np.uint64), [1, 0]))
        given = np.frombuffer(b"".join(self.given if shard.start == 0 else ()), dtype=np.int8)
        states, complete, moved = self.made(
            given.reshape(-1, n), shard.start, self.moves * self.length(shard.start), context.stop
        )
        return ShardResult(self.partial(states, [1, moved]), complete)

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
