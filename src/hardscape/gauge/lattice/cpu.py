"""Gauge fixing on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Team
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Turn
from hardscape.gauge.options import FixOptions


def over_rows(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Of each timeslice, shape (1, T), the two sums and the largest number that rows have, shape (3, T, Z)."""
    functional, total, largest = sums[:, None]
    return functional.sum(axis=2), total.sum(axis=2), largest.max(axis=2)


class CpuLattice(Lattices):
    """One copy on the CPU; the result is the same for any number of lanes."""

    def __init__(
        self, links: NDArray[np.complex128], options: FixOptions, single: bool, team: Team
    ) -> None:
        super().__init__(links, options, single, copies=1)
        self._packed = (self.group.components, *links.shape[:-3])
        self._team = team
        self._lattice = native.vector.gauge.Lattice(
            links, options.scales, options.directions, options.gauge == "mag", single
        )

    def sweep(self, turn: Turn) -> int:
        """See `Lattices.sweep`."""
        together = native.vector.gauge.Sweeps(
            self._lattice,
            turn.sweeps[0].method,
            np.array(turn.sweeps[0].row()),
            int(turn.seeds[0]),
            int(turn.first[0]),
            turn.count,
            turn.active[0].astype(np.uint8),
            self._team.size,
            turn.stop,
        )
        self._team.run(together.run)
        return int(together.done)

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        heights, thetas = np.empty(
            (2, *self._packed[1:3], self.volume // math.prod(self._packed[1:3]))
        )
        self._team.run(lambda rank: self._lattice.measure(heights, thetas, rank, self._team.size))
        return self.measured(*over_rows(native.vector.gauge.row_sums(heights, thetas)))

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set g from the Haar measure."""
        self._lattice.randomize(int(seeds[0]))

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set g of copy 0, the only one."""
        self._lattice.set_transformation(np.ascontiguousarray(g, dtype=np.complex128))

    def transformation(self, copy: int) -> Any:
        """Return g of copy 0, the only one."""
        return self._lattice.transformation()

    def gradient(self) -> Any:
        """Return Delta, packed."""
        delta = np.empty(self._packed, dtype=np.complex128)
        self._team.run(lambda rank: self._lattice.gradient(delta, rank, self._team.size))
        return delta[None]

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g."""
        along = np.ascontiguousarray(direction[0], dtype=np.complex128)
        steps = np.ascontiguousarray(step[0], dtype=np.float64)
        self._team.run(lambda rank: self._lattice.move(along, steps, rank, self._team.size))
