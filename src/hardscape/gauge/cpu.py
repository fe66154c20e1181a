"""Gauge fixing on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.gauge.descent import Lattices, Measurement, Sweep
from hardscape.gauge.options import FixOptions

__all__ = ["CpuLattice"]


class CpuLattice(Lattices):
    """One copy on the CPU.

    Parameters
    ----------
    links : complex128, shape (T, Z, Y, X, 4, Nc, Nc)
    options : FixOptions
    single : bool
        Whether to compute in single precision.
    threads : int
        The result is the same for any number.
    """

    def __init__(
        self, links: NDArray[np.complex128], options: FixOptions, single: bool, threads: int
    ) -> None:
        self.copies = 1
        self.single = single
        self.slices = links.shape[0]
        self.volume = int(np.prod(links.shape[:4]))
        self._counted = options.links_counted(links.shape[-1])
        self.threads = threads
        self._lattice = native.vector.gauge.Lattice(
            links, options.weights, options.directions, options.gauge == "mag", single
        )

    def sweep(
        self,
        sweeps: list[Sweep],
        seeds: NDArray[np.uint64],
        first: NDArray[np.int64],
        count: int,
        active: NDArray[np.bool_],
        stop: NDArray[np.uint8],
    ) -> int:
        """Do `count` sweeps."""
        done: int = self._lattice.sweep(
            sweeps[0].method,
            np.array(sweeps[0].row()),
            int(seeds[0]),
            int(first[0]),
            count,
            active[0].astype(np.uint8),
            self.threads,
            stop,
        )
        return done

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        functional, total, largest = self._lattice.measure(self.threads)[:, None, :]
        sites = self.volume / self.slices
        return Measurement(functional / (sites * self._counted), total / sites, largest)

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
        return self._lattice.gradient(self.threads)[None]

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g."""
        self._lattice.move(
            np.ascontiguousarray(direction[0], dtype=np.complex128),
            np.ascontiguousarray(step[0], dtype=np.float64),
            self.threads,
        )
