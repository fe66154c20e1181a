"""What a permanent is taken apart into: a product of blocks, blocks as sums of permanents, and so on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hardscape.engine import Device
from hardscape.permanents.matrix import Kind
from hardscape.permanents.methods.method import Block, Choice, Way
from hardscape.permanents.numbers.bounded import UNIT, product, total
from hardscape.permanents.numbers.gaussian import Conjugates, ExactComplex
from hardscape.permanents.structure.reduce import Reductions


class _Joint(ABC):
    """What is found in several parts: a permanent by blocks, a block by permanents."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Way | Combined | Program]:
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
    ways: tuple[Way | Combined, ...]  #: one for each block
    reductions: Reductions
    #: Sums that prove how wrong those of the blocks are, where bounds are asked for and one is cheap.
    proofs: tuple[Way | Combined | None, ...] = ()

    @property
    def parts(self) -> Sequence[Way | Combined]:
        """The ways of the blocks."""
        return self.ways

    def seconds(self, devices: tuple[Device, ...]) -> float:
        """Estimated time on `devices`, with that of the proofs."""
        proofs = (proof.seconds(devices) for proof in self.proofs if proof is not None)
        return super().seconds(devices) + sum(proofs)

    @property
    def every(self) -> list[Way]:
        """The ways of all parts, and those of the proofs."""
        return [*self.leaves, *(x for proof in self.proofs if proof for x in proof.leaves)]

    @property
    def precisions(self) -> set[str]:
        """Arithmetic of the blocks, or what was asked for if there are none."""
        return super().precisions or {self.choice.arithmetic}

    def total(self, values: Sequence[Any]) -> Any:
        """The permanent from those of the blocks: a Python number if exact, else a `BoundedNumber`."""
        if self.choice.exact:
            value: Any = math.prod((*self.factors, *values), start=self.scale)
            if self.choice.kind in ("gaussian", "complex"):
                return ExactComplex.of(value)
            return int(value) if self.choice.kind == "integer" else value
        return product([*self.factors, *values], self.scale, float_type(self.choice.kind))


@dataclass(frozen=True, eq=False)
class Combined(_Joint):
    """A block whose permanent is found from several."""

    memory = 0
    gpu_seconds = math.inf
    cancels = True
    promise = UNIT, 0.0
    reductions = Reductions()  #: what made them

    @property
    @abstractmethod
    def core_seconds(self) -> float:
        """Estimated time on one core."""

    @abstractmethod
    def total(self, found: Sequence[Any]) -> Any:
        """The permanent of the block from those of the parts."""


@dataclass(frozen=True, eq=False)
class Sum(Combined):
    """A block as a sum of permanents: of one whose lines were merged, or along longer lines."""

    programs: tuple[Program, ...]
    reductions: Reductions  #: what made them

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
        return sum(found) if choice.exact else total(found, float_type(choice.kind))


@dataclass(frozen=True, eq=False)
class Pair(Combined):
    """A block of Gaussian integers as two of integers."""

    conjugates: Conjugates
    ways: tuple[Way, Way]

    @property
    def parts(self) -> Sequence[Way]:
        """The ways of the two."""
        return self.ways

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        return sum(way.core_seconds for way in self.ways)

    def total(self, found: Sequence[Any]) -> ExactComplex:
        """The permanent of the block from those of the two."""
        return self.conjugates.joined(found)


def _joined(names: Iterable[str]) -> str:
    return "+".join(sorted(set(names)))


def float_type(kind: Kind) -> type:
    """That of floating permanents of a kind of matrix."""
    return complex if kind in ("gaussian", "complex") else float
