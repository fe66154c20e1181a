"""Gauge fixing as work for the engine: a unit is a start, the answer the best Gribov copy."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from hardscape.arrays import array_namespace, to_device
from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    Device,
    Partial,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    cuda_device,
    split,
    team,
)
from hardscape.engine.cluster.parts import whole_of
from hardscape.engine.ledger import kept_shards
from hardscape.gauge.domains.together import Together
from hardscape.gauge.field import GaugeField
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.cuda import CudaLattices, require_even
from hardscape.gauge.lattice.lattices import Lattices
from hardscape.gauge.methods.descent import Descent
from hardscape.gauge.options import FixOptions
from hardscape.gauge.result import GaugeFixResult, GribovCopies

#: Most copies that a GPU moves at once.
_TOGETHER = 16
#: Most sites of a lattice of which ten sweeps are over in milliseconds.
_BRIEF = 2**12
#: Options that the result repeats.
_CHOICES = ("gauge", "method", "precision", "reduction")


@dataclass(frozen=True, eq=False)
class GaugeFixWork(Work[GaugeFixResult]):
    """Fix the gauge from several starts and keep the best.

    A partial holds ``functional``, ``theta``, ``sweeps`` and ``converged`` of each copy, and of the
    best one ``g``, ``slices`` (functional, theta as mean and as maximum of each timeslice),
    ``history`` and ``omega``; ``spent`` are the site updates and the seconds in sweeps.
    """

    links: Any  # complex128 of NumPy or CuPy, shape (T, Z, Y, X, 4, Nc, Nc), of any group
    options: FixOptions
    copies: int  # 1 starts from g = 1, more from random transformations
    seed: int
    together: int = 1  # most copies of a shard
    threads: int = 1  # of a shard on the CPU; the answer does not depend on it
    keep: bool = False  # whether g stays on the GPU, for a run in this process without a checkpoint
    domains: Together | None = None  # who holds the lattice together; ranks have `threads` each

    name: ClassVar[str] = "gauge.fix"
    revision: ClassVar[int] = 3
    unit: ClassVar[str] = "copies"

    @classmethod
    def build(
        cls,
        field: GaugeField,
        options: FixOptions,
        copies: int,
        run: RunOptions,
        domains: Together | None = None,
    ) -> GaugeFixWork:
        """Share the copies among devices: GPUs take many at once, the CPU one with spare threads."""
        if domains is not None:
            links = np.ascontiguousarray(to_device(field.links, "cpu"), dtype=np.complex128)
            return cls(links, options, copies, run.seed, threads=run.threads, domains=domains)
        lanes, on_gpu = len(run.devices), isinstance(run.devices[0], Cuda)
        if on_gpu:
            require_even(field.shape)
        # A ledger goes on with the shards that it was begun with, however many GPUs there are now.
        begun = None if run.checkpoint is None else kept_shards(whole_of(run.checkpoint))
        together = min(_TOGETHER, -(-copies // (begun or run.workers_now))) if on_gpu else 1
        threads = 1 if run.executor is not None else max(1, lanes // copies)
        # Links that lie on the one GPU that works stay there.
        stay = field.device == "cuda" and on_gpu and lanes == 1 and run.executor is None
        xp = array_namespace(field.links) if stay else np
        links = field.links if stay else to_device(field.links, "cpu")
        links = xp.ascontiguousarray(links, dtype=np.complex128)
        keep = stay and run.checkpoint is None
        return cls(links, options, copies, run.seed, together, threads, keep)

    @classmethod
    def within(
        cls,
        field: GaugeField,
        options: FixOptions,
        copies: int,
        seed: int,
        threads: int,
        on: Device,
    ) -> GaugeFixWork:
        """All copies for one device, as a shard of a larger work has them: see `whole`."""
        on_gpu = isinstance(on, Cuda)
        if on_gpu:
            require_even(field.shape)
        links = np.ascontiguousarray(to_device(field.links, "cpu"), dtype=np.complex128)
        return cls(links, options, copies, seed, min(_TOGETHER, copies) if on_gpu else 1, threads)

    def whole(self, context: Context) -> Partial | None:
        """All shards, one after the other; None if that was stopped."""
        merged: Partial | None = None
        for shard in self.shards():
            found = self.run(shard, context)
            if not found.complete:
                return None
            merged = found.partial if merged is None else self.merge(merged, found.partial)
        return merged

    def digest(self) -> str:
        """Digest of the links, the options and the starts."""
        head = (self.name, self.links.shape, self.options, self.copies, self.seed)
        return hashlib.sha256(
            repr(head).encode() + to_device(self.links, "cpu").tobytes()
        ).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Shards of up to `together` copies."""
        return split(self.copies, -(-self.copies // self.together))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Fix the copies of a shard."""
        starts = (
            np.random.SeedSequence([self.seed, copy]) for copy in range(shard.start, shard.stop)
        )
        seeds = np.concatenate([start.generate_state(1, np.uint64) for start in starts])
        descent = Descent(self.options, seeds, context)
        with self._place(context.device, len(seeds)) as lattices_in:
            partial = self._partial(descent, descent.descend(lattices_in, self.copies))
        return ShardResult(partial, complete=not context.stopped())

    @contextmanager
    def _place(self, device: Device, copies: int) -> Iterator[Callable[[bool], Lattices]]:
        """Open the device; gives what makes lattices there, in single precision or not."""
        if self.domains is not None:
            held = self.domains
            with held.placed(self.links, self.options, self.threads):
                usual = min(_TOGETHER, self.copies)
                yield lambda single: held.lattices(self.links, self.options, single, usual)
        elif isinstance(device, Cpu):
            with team(self.threads) as lanes:
                yield lambda single: CpuLattice(self.links, self.options, single, lanes)
        else:
            with cuda_device(device.ordinal) as opened:
                usual = min(_TOGETHER, self.copies)
                yield lambda single: CudaLattices(
                    opened, self.links, self.options, single, copies, usual=usual
                )

    def _partial(self, descent: Descent, lattices: Lattices) -> Partial:
        measured = lattices.measure()
        theta = measured.violation(self.options).max(axis=1)
        copies = GribovCopies(
            functional=measured.whole_functional(),
            theta=theta,
            sweeps=descent.sweeps,
            converged=theta <= self.options.theta,
        )
        best = copies.best
        g = lattices.transformation(best)
        lattices.fill_fixed_slices(g)
        return {
            **vars(copies),
            "g": g if self.keep else to_device(g, "cpu"),
            "slices": np.stack([values[best] for values in measured[:3]]),
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

    def brief(self, device: Device) -> bool:
        """Whether sweeps of one thread are over in milliseconds: between them the clock is looked at."""
        sites = math.prod(self.links.shape[:-3])
        return isinstance(device, Cpu) and sites <= _BRIEF

    def result(self, partial: Partial) -> GaugeFixResult:
        """The best copy, in terms of these links: others fill in what is returned, and how."""
        copies = _copies(partial)
        functional, theta_mean, theta_max = partial["slices"]
        omega = float(partial["omega"][0])
        updates, seconds = partial["spent"].tolist()
        return GaugeFixResult(
            g=partial["g"],
            **{name: getattr(self.options, name) for name in _CHOICES},
            functional=float(functional.mean()),
            theta_mean=float(theta_mean.mean()),
            theta_max=float(theta_max.max()),
            plaquette=float("nan"),
            slice_functional=functional,
            slice_theta_mean=theta_mean,
            slice_theta_max=theta_max,
            converged=bool(copies.converged[copies.best]),
            sweeps=int(copies.sweeps[copies.best]),
            history=partial["history"],
            copies=copies,
            copies_total=self.copies,
            stopped="",
            omega=None if np.isnan(omega) else omega,
            site_updates_per_second=updates / seconds if seconds else 0.0,
            seconds=seconds,
            device=(array_namespace(partial["g"]) is np and "cpu") or "cuda",
            seed=self.seed,
            field=GaugeField._of(self.links, self.options.boundary),
            output_precision="double",
            reproject=False,
        )


def _copies(partial: Partial) -> GribovCopies:
    return GribovCopies(*(partial[column.name] for column in fields(GribovCopies)))
