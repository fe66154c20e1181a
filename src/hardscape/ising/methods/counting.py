"""What the methods that count states by energy work on, what they answer, and what they must provide."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cpu, Device, Partial, Work
from hardscape.errors import InputError
from hardscape.ising.exact import ExactTerms

#: Longest level axis; one of 2**26 levels takes 0.5 GB a worker.
MAX_LEVELS = 2**26


@dataclass(frozen=True)
class LevelTerms:
    r"""The level :math:`\sum_i a_i q_i + \sum_{i<j} b_{ij} q_i q_j` of bits q, an integer.

    A state's exact energy is ``base + step * level``, in units of the model's power of two, and
    `step` is as large as possible. Each connected component without fields has one spin fixed to -1
    and left out: its states come in pairs that flips turn into one another.
    """

    num_bits: int  #: free spins n; bit 1 is spin +1
    linear: tuple[int, ...]  #: :math:`a_i`
    pairs: tuple[tuple[int, int, int], ...]  #: ``(i, j, b_ij)`` with i < j
    base: int
    step: int
    lowest: int  #: lower bound of all levels
    highest: int  #: upper bound of all levels
    doublings: int  #: spins left out: each count stands for ``2**doublings`` times as many states

    @classmethod
    def of(cls, terms: ExactTerms) -> LevelTerms:
        """Levels of a model; an `InputError` if there may be more than `MAX_LEVELS`."""
        couplings = list(zip(terms.row.tolist(), terms.col.tolist(), terms.couplings, strict=True))
        fixed = _flip_representatives(terms.fields, couplings)
        linear = [2 * h for h in terms.fields]
        base = terms.offset - sum(terms.fields) + sum(terms.couplings)
        for i, j, x in couplings:
            linear[i] -= 2 * x
            linear[j] -= 2 * x
        free = [i for i in range(terms.num_spins) if i not in fixed]
        position = {spin: i for i, spin in enumerate(free)}
        kept = [
            (position[i], position[j], 4 * x) for i, j, x in couplings if {i, j}.isdisjoint(fixed)
        ]
        bits = [linear[i] for i in free]
        step = math.gcd(*bits, *(b for _, _, b in kept)) or 1
        reach = terms.bound - abs(terms.offset)
        lowest = -((base - terms.offset + reach) // step)
        highest = (terms.offset + reach - base) // step
        if highest - lowest >= MAX_LEVELS:
            raise InputError(_too_many(highest - lowest, step, terms.exponent))
        return cls(
            len(free),
            tuple(a // step for a in bits),
            tuple((i, j, b // step) for i, j, b in kept),
            base,
            step,
            lowest,
            highest,
            len(fixed),
        )

    @property
    def num_levels(self) -> int:
        """Length of the level axis."""
        return self.highest - self.lowest + 1

    def matrix(self) -> NDArray[np.int64]:
        """Symmetric matrix of the :math:`b_{ij}`, shape (n, n)."""
        dense = np.zeros((self.num_bits, self.num_bits), dtype=np.int64)
        for i, j, b in self.pairs:
            dense[i, j] = dense[j, i] = b
        return dense

    def neighbours(self) -> list[dict[int, int]]:
        """For each bit i, the others j it is coupled to, with :math:`b_{ij}`."""
        result: list[dict[int, int]] = [{} for _ in range(self.num_bits)]
        for i, j, b in self.pairs:
            result[i][j] = result[j][i] = b
        return result

    def energies(self, levels: NDArray[np.int64]) -> list[int]:
        """Exact energies of positions on the level axis."""
        start = self.base + self.step * self.lowest
        return [start + self.step * level for level in levels.tolist()]


def _too_many(levels: int, step: int, exponent: int) -> str:
    unit = Fraction(2) ** exponent
    return (
        f"the model's energies are multiples of {float(step * unit):.3g} and span about "
        f"2**{levels.bit_length()} of them; at most 2**{MAX_LEVELS.bit_length() - 1} levels can be "
        "counted. Round the coefficients to multiples of a larger unit: about "
        f"{float(4 * levels * step * unit / MAX_LEVELS):.3g} will do"
    )


def _flip_representatives(
    fields: tuple[int, ...], couplings: list[tuple[int, int, int]]
) -> set[int]:
    """One spin, of highest degree, in each connected component without fields."""
    neighbours: list[list[int]] = [[] for _ in fields]
    for i, j, _ in couplings:
        neighbours[i].append(j)
        neighbours[j].append(i)
    return {
        max(component, key=lambda i: (len(neighbours[i]), i))
        for component in components(neighbours)
        if not any(fields[i] for i in component)
    }


def components(neighbours: Sequence[Collection[int]], start: int = 0) -> Iterator[list[int]]:
    """Connected components, that of `start` first, each in the order of Cuthill and McKee (1969)."""
    seen: set[int] = set()
    for seed in sorted(range(len(neighbours)), key=lambda i: (i != start, len(neighbours[i]))):
        if seed in seen:
            continue
        seen.add(seed)
        queue = [seed]
        for spin in queue:
            new = [j for j in neighbours[spin] if j not in seen]
            seen.update(new)
            queue.extend(sorted(new, key=lambda j: len(neighbours[j])))
        yield queue


def add_counts(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sum of counts of shape (words, levels), least significant word first."""
    result = np.empty_like(left)
    carry = np.zeros(left.shape[1], dtype=np.uint64)
    for word, (a, b) in enumerate(zip(left, right, strict=True)):
        with_carry = a + carry
        result[word] = with_carry + b
        carry = ((with_carry < a) | (result[word] < b)).astype(np.uint64)
    return result


@dataclass(frozen=True)
class Counts:
    """Exact energies that have states, ascending, and how many states each has."""

    energies: list[int]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class CountingWork(Work[Counts]):
    """The work of a method: of levels, and of what else shapes the shards.

    A partial holds ``counts``, uint64 words of shape (words, levels).
    """

    terms: LevelTerms

    @property
    @abstractmethod
    def core_seconds(self) -> float:
        """Guess of the time on one core."""

    @property
    @abstractmethod
    def explanation(self) -> str:
        """What will be done, for people."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that a lane needs at least: those of its counts."""
        return 8 * self.terms.num_levels

    def digest(self) -> str:
        """Digest of all fields."""
        shape = (self.name, *(getattr(self, x.name) for x in fields(self)))
        return hashlib.sha256(repr(shape).encode()).hexdigest()

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add counts."""
        return {"counts": add_counts(left["counts"], right["counts"])}

    def result(self, partial: Partial) -> Counts:
        """The levels that have states."""
        words = partial["counts"]
        levels = np.flatnonzero(words.any(axis=0))
        counts = [0] * len(levels)
        for word in words[::-1]:
            parts = word[levels].tolist()
            counts = [count << 64 | part for count, part in zip(counts, parts, strict=True)]
        doublings = self.terms.doublings
        return Counts(self.terms.energies(levels), tuple(count << doublings for count in counts))


class CountingMethod(ABC):
    """A row of the table of `density_of_states`; it runs on devices of these types."""

    name: ClassVar[str]
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    @abstractmethod
    def work(self, terms: LevelTerms) -> CountingWork | str:
        """The work that counts the states, or why this method cannot hold the model."""
