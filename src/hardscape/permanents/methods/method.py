"""What a row of the table of methods is: for which blocks, at what cost, and the work it makes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Cpu, Cuda, Deadline, Device, Work
from hardscape.permanents.matrix import Kind
from hardscape.permanents.methods.frontier.order import GreedyOrder
from hardscape.permanents.numbers.bounded import UNIT, BoundedNumber, product
from hardscape.permanents.numbers.gaussian import ExactComplex
from hardscape.permanents.numbers.integers import Rows, integers_of
from hardscape.permanents.structure.multiplicity import Repeated, repeated_lines

Arithmetic = Literal["double", "extended", "exact"]

#: Rows whose signs, or terms over multiplicities, are counted in 64 bits.
MAX_SIGNS, MAX_TERMS = 70, 2**62
#: Seconds for each n 2^(n-1) on one core of an AVX-512 server by level, and on an NVIDIA H200.
_CORE = {"v4": 5.2e-11, "v3": 5.5e-11, "v2": 1.1e-10, "generic": 1.1e-10}
_H200 = 1.14e-13
#: Seconds that planning a permanent may always take, and the share of the best plan at hand that each search
#: for a better one may: together a tenth.
THOUGHT, THOUGHT_SHARE = 0.02, 0.02
#: How much more complex entries and a proven bound of their rounding cost in double precision.
COMPLEX, GUARD = 3.0, 2.7
#: Seconds to set up a sum, and to start a device.
START, START_DEVICE = 3e-4, {Cpu: 0.0, Cuda: 1.0}


def started(seconds: float, sums: int = 1) -> float:
    """Seconds of sums with what it takes to set them up."""
    return sums * START + seconds


def core_seconds(n: int, *times: float) -> float:
    """Seconds of n 2^(n-1) products in double precision on one core of this machine, times factors."""
    return math.prod(times, start=_CORE[native.level()]) * n * 2.0 ** (n - 1)


def gpu_seconds(n: int, *times: float) -> float:
    """Seconds of the same on one NVIDIA H200."""
    return math.prod(times, start=_H200) * n * 2.0 ** (n - 1)


@dataclass(frozen=True)
class Choice:
    """What methods are chosen by."""

    kind: Kind  #: of the value
    arithmetic: Arithmetic
    method: str  #: a name of the table, or "auto"
    devices: tuple[Device, ...]
    memory: int | None = None  #: bytes that tables may take; what the machine has left by default
    deadline: Deadline = field(default_factory=lambda: Deadline(None))  #: of plan and sums
    thought: float = THOUGHT  #: seconds that planning a block may always take
    #: Seconds of the longest sum that is of use; by default those of the quickest.
    worth: float | None = None

    @property
    def exact(self) -> bool:
        """Whether values are Fractions; else they are `BoundedNumber`."""
        return self.arithmetic == "exact"

    def thinking(self, seconds: float) -> float:
        """Seconds that a search for something quicker may take where the best so far takes `seconds`."""
        allowed = max(self.thought, THOUGHT_SHARE * seconds)
        left = self.deadline.left
        return allowed if left is None else min(allowed, THOUGHT_SHARE * left)

    def count(self, device: type[Device]) -> int:
        """How many devices of this type there are."""
        return sum(isinstance(one, device) for one in self.devices)

    def shared(self, core: float, gpu: float = math.inf) -> float:
        """Seconds, at least, of a sum that takes so many on one core, or on one GPU."""
        gpus = self.count(Cuda)
        on_gpus = START_DEVICE[Cuda] + gpu / gpus if gpus else math.inf
        return min(core / max(1, self.count(Cpu)), on_gpus)


@dataclass(frozen=True, eq=False)
class Block:
    """A matrix of which zeros say no more."""

    #: shape (n, n), or (m, n) with m < n; of the type of `Matrix.entries`; exact ones are ints or
    #: Fractions.
    entries: NDArray[Any]
    power: int = 0  #: of two, that was taken off the lines
    #: Bounds of the errors of the entries' parts, where they were rounded.
    error: NDArray[np.float64] | None = None
    #: Primes modulo which alone the permanent of exact entries is asked for.
    primes: tuple[int, ...] = ()

    @property
    def side(self) -> int:
        """Rows."""
        return len(self.entries)

    @property
    def shape(self) -> str:
        """What `Method.shape` calls it."""
        return "square" if self.side == self.entries.shape[1] else "rectangles"

    @property
    def is_complex(self) -> bool:
        """Whether entries are complex numbers."""
        return bool(np.iscomplexobj(self.entries))

    @property
    def is_gaussian(self) -> bool:
        """Whether entries are exact complex numbers."""
        return self.entries.dtype == object and ExactComplex in set(
            map(type, self.entries.ravel().tolist())
        )

    @property
    def density(self) -> float:
        """How many of the entries are not 0."""
        return float(np.count_nonzero(self.entries)) / self.entries.size

    @cached_property
    def greedy(self) -> GreedyOrder:
        """An order of lines with a narrow frontier, found in no time."""
        known = np.asarray(self.entries != 0, dtype=bool)
        return GreedyOrder.of(known if self.error is None else known | (self.error > 0))

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below 0, whatever its error."""
        if self.is_complex or (self.error is not None and (self.error > self.entries).any()):
            return False
        return bool((self.entries >= 0).all())

    @cached_property
    def integers(self) -> tuple[Rows, Fraction]:
        """Integers, and what their permanent is to be multiplied with; of real entries."""
        if self.primes:
            return tuple(map(tuple, self.entries.tolist())), Fraction(1)
        return integers_of(self.entries)

    @cached_property
    def lines(self) -> Repeated | None:
        """The lines of different direction, if any repeat."""
        # Lines that were rounded are hardly ever equal, and their errors differ.
        lines = repeated_lines(self.entries) if self.error is None else None
        return lines if lines is not None and lines.entries.size < self.entries.size else None


class Method(ABC):
    """A row of the table: one way of summing in one arithmetic."""

    name: ClassVar[str]  #: what people ask for
    arithmetic: ClassVar[Arithmetic]
    shape: ClassVar[str] = "square"  #: of the blocks that it is for
    gaussian: ClassVar[bool] = False  #: whether it takes exact complex numbers as they are
    look: ClassVar[float] = 0.0  #: seconds, at least, to search for what makes a block cheap

    @abstractmethod
    def least(self, block: Block, choice: Choice) -> float:
        """Seconds that a sum takes at least, told in no time; infinite where it is not worth a look."""

    @abstractmethod
    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """The ways to sum a block, or why it is not for this method.

        The arithmetic of `choice` is that of the method. Ways of more than `limit` seconds are of no
        use, and looking for one may take `choice.thinking(limit)`.
        """

    def cancels(self, block: Block) -> bool:
        """Whether terms may cancel, so that digits are lost."""
        return True


@dataclass(frozen=True, eq=False)
class Way:
    """One way to find the permanent of a block, with its cost before it is run."""

    by: Method
    work: Work[Any]  #: it gives ints or Fractions if the method is exact, else a `BoundedNumber`
    terms: int  #: terms or states summed
    core_seconds: float  #: estimated time on one core of this machine
    gpu_seconds: float = math.inf  #: the same on an NVIDIA H200; infinite if the method is for CPUs
    device: type[Device] = Cpu  #: of the devices that `work` runs on
    memory: int = 0  #: bytes beyond those of the matrix
    most: int | None = None  #: shards at a time, for the sake of memory
    cancels: bool = True  #: whether terms cancel, so that digits are lost
    scale: Fraction = Fraction(1)  #: the permanent is what `work` gives times this
    guarded: Work[Any] | None = (
        None  #: the same sum with a proven bound, if that of `work` is an estimate
    )
    sharp: bool = False  #: whether it promises a proven bound that is next to nothing
    #: What the bound promises to be: this times the magnitude of the value, and times that of the terms.
    promise: tuple[float, float] = (UNIT, 0.0)

    @property
    def method(self) -> str:
        """Its name."""
        return self.by.name

    @property
    def precision(self) -> str:
        """Its arithmetic."""
        return self.by.arithmetic

    @property
    def precisions(self) -> set[str]:
        """The same: sums of permanents have several."""
        return {self.precision}

    @property
    def leaves(self) -> list[Way]:
        """Itself: sums of permanents have several."""
        return [self]

    def seconds(self, devices: tuple[Device, ...]) -> float:
        """Estimated time on those of `devices` that the method runs on."""
        one = self.gpu_seconds if self.device is Cuda else self.core_seconds
        return START_DEVICE[self.device] + one / self.lanes(devices)

    def lanes(self, devices: tuple[Device, ...]) -> int:
        """How many of `devices` have something to do."""
        usable = max(1, sum(isinstance(device, self.device) for device in devices))
        return min(usable, len(self.work.shards()), self.most or usable)

    @property
    def proving(self) -> Way:
        """The same with a proven bound, where one can be had."""
        if self.guarded is None:
            return self
        return replace(
            self, work=self.guarded, core_seconds=GUARD * self.core_seconds, guarded=None
        )

    def value(self, answer: Any) -> Any:
        """The permanent, Fraction or `BoundedNumber`, from what `work` gives."""
        if isinstance(answer, BoundedNumber):
            return product([answer], self.scale, type(answer.mantissa))
        return answer * self.scale
