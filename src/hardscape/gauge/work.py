"""Gauge fixing as work for the engine: a unit is a start, the answer the best Gribov copy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, Work, split
from hardscape.gauge.cpu import CpuLattice
from hardscape.gauge.descent import Descent, Lattices, Measurement, single_target
from hardscape.gauge.field import GaugeField
from hardscape.gauge.options import FixOptions
from hardscape.gauge.result import GribovCopies

__all__ = ["GaugeFixWork"]


@dataclass(frozen=True, eq=False)
class GaugeFixWork(Work):
    """Fix the gauge from several starts and keep the best.

    A partial holds ``functional``, ``theta``, ``sweeps`` and ``converged`` of each copy, and of the
    best one ``g``, ``slices`` (functional, theta as mean and as maximum of each timeslice),
    ``history`` and ``omega``; ``spent`` are the site updates and the seconds in sweeps.

    Attributes
    ----------
    links : complex128, shape (T, Z, Y, X, 4, Nc, Nc)
    options : FixOptions
    copies : int
        1 starts from g = 1, more from random transformations.
    seed : int
    together : int
        Most copies of a shard.
    threads : int
        Of a shard on the CPU; the answer does not depend on it.
    """

    links: NDArray[np.complex128]
    options: FixOptions
    copies: int
    seed: int
    together: int = 1
    threads: int = 1

    name: ClassVar[str] = "gauge.fix"
    unit: ClassVar[str] = "copies"

    @classmethod
    def build(
        cls,
        field: GaugeField,
        options: FixOptions,
        copies: int,
        seed: int,
        devices: Sequence[Device],
        executor: bool,
    ) -> GaugeFixWork:
        """Share the copies among devices: on the CPU one a shard, with the threads left over."""
        lanes = len(devices)
        threads = 1 if executor else max(1, lanes // copies)
        on_host = field.links if array_namespace(field.links) is np else field.links.get()
        links = np.ascontiguousarray(on_host, dtype=np.complex128)
        return cls(links, options, copies, seed, 1, threads)

    def digest(self) -> str:
        """Digest of the links, the options and the starts."""
        head = (self.name, self.links.shape, self.options, self.copies, self.seed, self.together)
        return hashlib.sha256(repr(head).encode() + self.links.tobytes()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Shards of up to `together` copies."""
        return split(self.copies, -(-self.copies // self.together))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Fix the copies of a shard."""
        seeds = np.array(
            [
                np.random.SeedSequence([self.seed, copy]).generate_state(1, np.uint64)[0]
                for copy in range(shard.start, shard.stop)
            ],
            dtype=np.uint64,
        )
        descent = Descent(self.options, seeds, context.stop)
        lattices = self._descend(descent)
        stopped = bool(context.stop[0])
        return ShardResult(self._partial(descent, lattices), complete=not stopped)

    def _descend(self, descent: Descent) -> Lattices:
        """From the start to the end; returns the lattices, in double precision."""
        options = self.options
        lattices = self._lattices(options.precision != "double")
        if self.copies > 1:
            lattices.randomize(descent.seeds)
        if options.method == "annealing" or (options.method == "auto" and self.copies > 1):
            descent.anneal(lattices)
        if options.precision == "double":
            descent.relax(lattices, options.theta)
            return lattices
        rough = options.precision == "mixed"
        descent.relax(lattices, single_target(options) if rough else options.theta)
        fine = self._lattices(False)
        fine.set_transformation(lattices.transformation())
        if rough:
            descent.relax(fine, options.theta)
        return fine

    def _lattices(self, single: bool) -> Lattices:
        return CpuLattice(self.links, self.options, single, self.threads)

    def _partial(self, descent: Descent, lattices: Lattices) -> Partial:
        measured = lattices.measure()
        theta = measured.violation(self.options).max(axis=1)
        copies = GribovCopies(
            functional=measured.functional.mean(axis=1),
            theta=theta,
            sweeps=descent.sweeps,
            converged=theta <= self.options.theta,
        )
        best = copies.best
        return {
            **vars(copies),
            "g": lattices.transformation()[best],
            "slices": _slices(measured, best),
            "history": np.array(descent.history[best]),
            "omega": descent.omegas[best : best + 1],
            "spent": np.array([descent.updates, descent.seconds]),
        }

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Append the copies of `right` and keep the better best one; at a tie the earlier."""
        parts = [_copies(left), _copies(right)]
        both = GribovCopies(
            *(np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0]))
        )
        winner = left if both.best < len(parts[0]) else right
        of_best = {name: winner[name] for name in ("g", "slices", "history", "omega")}
        return {**vars(both), **of_best, "spent": left["spent"] + right["spent"]}


def _copies(partial: Partial) -> GribovCopies:
    return GribovCopies(
        partial["functional"], partial["theta"], partial["sweeps"], partial["converged"]
    )


def _slices(measured: Measurement, copy: int) -> NDArray[Any]:
    return np.stack(
        [measured.functional[copy], measured.theta_mean[copy], measured.theta_max[copy]]
    )
