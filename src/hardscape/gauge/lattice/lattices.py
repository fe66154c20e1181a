"""Copies of a gauge transformation over one field: what every device moves and measures."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.gauge import boundary
from hardscape.gauge.groups import group
from hardscape.gauge.options import FLOORS, FixOptions, Reduction


@dataclass(frozen=True)
class Sweep:
    """What a sweep does at each site; the numbers are those of native ``Method`` and ``Step``."""

    method: int  # 0 one hit in each SU(2) subgroup, 1 the whole matrix, 2 heatbath
    omega: float = 1.0  # overrelaxation
    second: float = 0.0  # weight of the second order in r - 1
    probability: float = 1.0  # of overrelaxing a site
    temperature: float = 1.0

    def row(self) -> tuple[float, float, float, float]:
        """The step as numbers."""
        return self.omega, self.second, self.probability, self.temperature


@dataclass(frozen=True, eq=False)
class Turn:
    """`count` sweeps, `sweeps[i]` on copy i, numbered from `first[i]`, where active (copies, T)."""

    sweeps: list[Sweep]
    seeds: NDArray[np.uint64]
    first: NDArray[np.int64]
    count: int
    active: NDArray[np.bool_]
    stop: NDArray[np.uint8]


#: r -> r^2 leaves the functional as it is.
MICROCANONICAL = Sweep(0, omega=2.0, second=1.0)


class Measurement(NamedTuple):
    """Gauge functional and gauge violation of each copy and timeslice, arrays of shape (copies, T)."""

    #: Mean over the links of the slice's sites; a link in t counts half for the site at each end.
    functional: NDArray[np.float64]
    #: Mean and maximum of tr(Delta Delta^dagger) / Nc over the slice's sites; 0 where the gauge is fixed.
    theta_mean: NDArray[np.float64]
    theta_max: NDArray[np.float64]
    #: Links that count on each slice, in any unit, and slices whose gauge is free, shape (T,).
    counted: NDArray[np.float64]
    live: NDArray[np.bool_]

    def whole_functional(self) -> NDArray[np.float64]:
        """The functional of each copy, shape (copies,)."""
        if (self.counted == self.counted[0]).all():
            return np.asarray(self.functional.mean(axis=1))
        return np.asarray((self.functional * self.counted).sum(axis=1) / self.counted.sum())

    def whole_theta(self, reduction: Reduction) -> NDArray[np.float64]:
        """The violation of each copy, shape (copies,)."""
        if reduction == "max":
            return np.asarray(self.theta_max.max(axis=1))
        # In the order of memory, so that a copy's mean does not depend on how many there are.
        return np.asarray(np.compress(self.live, self.theta_mean, axis=1).mean(axis=1))

    def violation(self, options: FixOptions) -> NDArray[np.float64]:
        """What is compared with theta: by slice, or the same number for all slices of a copy."""
        if options.per_slice:
            return self.theta_mean if options.reduction == "mean" else self.theta_max
        whole = self.whole_theta(options.reduction)
        return np.repeat(whole[:, None], self.theta_mean.shape[1], axis=1)


#: What is known of a copy: overrelaxation and the least that was too little; the smallest theta, the
#: rounds since then without progress, the decades that a sweep of the last one gained, its theta.
STANDING = np.dtype(
    [(name, np.float64) for name in ("omega", "floor", "best", "waited", "gained", "worst")]
)


def standings(omegas: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[Any]:
    """Where copies stand before their first round."""
    standing = np.zeros(len(omegas), STANDING)
    standing["omega"], standing["floor"] = omegas, 1.0
    standing["best"] = standing["worst"] = theta
    return standing


@dataclass(frozen=True)
class Rules:
    """When a timeslice rests, a copy is given up and omega changes."""

    target: float  # theta below which a slice rests
    noise: float  # theta below which rounding shows
    exhausted: float  # theta above which no copy is given up
    patience: int  # rounds without progress after which one is
    count: int  # sweeps of a round
    per_slice: bool  # whether each slice is a problem of its own
    largest: bool  # whether theta is the largest of the sites', not their mean
    tuned: bool  # whether omega is

    def numbers(self) -> NDArray[np.float64]:
        """What is not a constant of the kernel, in its order."""
        theta = self.target, self.noise, self.exhausted
        return np.array([*theta, self.patience, self.count, self.tuned], dtype=np.float64)


class Rounds(NamedTuple):
    """What was seen after each of some rounds, of no meaning for copies that rested."""

    measured: Measurement  # of the first round's copies, then of the second's, and so on
    standing: NDArray[Any]  # `STANDING`, shape (rounds, copies)
    moved: NDArray[np.int64]  # timeslices that moved, shape (rounds, copies)


class Accelerator(Protocol):
    """The steps of the Fourier-accelerated conjugate gradient."""

    def advance(self, active: NDArray[np.bool_]) -> None:
        """Do one iteration where active, shape (copies, T)."""


class Lattices(ABC):
    """Copies of a gauge transformation over one field, on one device and in one precision."""

    #: What an iteration of the conjugate gradient costs in sweeps, as far as time goes.
    iteration_cost: float = 3.0
    #: What it costs to begin with it, in iterations.
    beginning_cost: float = 2.0

    def __init__(self, links: Any, options: FixOptions, single: bool, copies: int) -> None:
        self.single = single
        self.copies = copies
        self.slices = links.shape[0]
        self.volume = math.prod(links.shape[:-3])
        self.group = group(links.shape[-1])
        self.live = boundary.live(options.boundary, self.slices)
        self._counted = options.links_counted(self.group.nc, self.slices)

    def floor(self, options: FixOptions) -> float:
        """Smallest theta that the precision is sure to reach."""
        return FLOORS["single" if self.single else "double"][options.reduction]

    @abstractmethod
    def sweep(self, turn: Turn) -> int:
        """Do these sweeps; returns how many were done before `stop` became 1."""

    def sweep_in_turn(self, turns: Sequence[Turn]) -> list[int]:
        """Do turns one after the other; returns how many sweeps were done of each that was begun."""
        done = []
        for turn in turns:
            done.append(self.sweep(turn))
            if done[-1] < turn.count:
                break
        return done

    def rounds(
        self,
        turn: Turn,
        rules: Rules,
        standing: NDArray[Any],
        most: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Rounds]:
        """Rounds like `turn` by `rules`, from where copies stand, as far as the device decides by itself."""
        return iter(())

    @abstractmethod
    def measure(self) -> Measurement:
        """Functional and violation of the moment."""

    def measured(
        self,
        functional: NDArray[np.float64],
        total: NDArray[np.float64],
        largest: NDArray[np.float64],
    ) -> Measurement:
        """A measurement from sums of functional and violation over a slice's sites, and the largest one."""
        sites = self.volume // self.slices
        return Measurement(
            functional / (sites * self._counted),
            np.where(self.live, total / sites, 0.0),
            np.where(self.live, largest, 0.0),
            self._counted,
            self.live,
        )

    def hold_fixed_slices(self) -> None:
        """Set g to 1 on timeslices whose gauge is fixed."""
        if self.live.all():
            return
        for copy in range(self.copies):
            g = self.transformation(copy)
            self.fill_fixed_slices(g)
            self.set_transformation(copy, g)

    def fill_fixed_slices(self, g: Any) -> None:
        """Write 1 into a transformation, shape (T, ...), on timeslices whose gauge is fixed."""
        for t in np.flatnonzero(~self.live).tolist():
            g[t] = array_namespace(g).eye(self.group.nc)

    @abstractmethod
    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set each copy's g from the Haar measure."""

    @abstractmethod
    def set_transformation(self, copy: int, g: Any) -> None:
        """Set a copy's g, shape (T, Z, Y, X, Nc, Nc), brought to the group in this precision."""

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of the same field in another precision."""
        for copy in range(self.copies):
            self.set_transformation(copy, others.transformation(copy))

    @abstractmethod
    def transformation(self, copy: int) -> Any:
        """Return a copy's g, shape (T, Z, Y, X, Nc, Nc), complex128, on the device."""

    def accelerator(self) -> Accelerator | None:
        """What does the conjugate gradient's steps, where these lattices have their own way to."""
        return None

    @abstractmethod
    def gradient(self) -> Any:
        """Return Delta, packed (`Algebra` of algebra.hpp), shape (copies, components, T, Z, Y, X)."""

    @abstractmethod
    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g, for a packed direction and steps of shape (copies, T)."""
