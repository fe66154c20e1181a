"""Gauge fixing on a GPU: one thread a site, all copies of a shard in each launch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, LoadedKernel
from hardscape.errors import BudgetError, InputError
from hardscape.gauge.groups import project_to_group
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Rounds, Rules, Turn
from hardscape.gauge.lattice.schedule import WHOLE, Schedule, Window, parted
from hardscape.gauge.options import FixOptions
from hardscape.gauge.rounds.cuda import CudaRounds
from hardscape.gauge.sides.cuda import sides
from hardscape.gauge.sides.pages import paged_links
from hardscape.gauge.stored.instance import THREADS, Instance
from hardscape.gauge.stored.storage import IN_FLIGHT, Storage
from hardscape.gauge.stored.told import Told, kernel_of

#: What an iteration of the conjugate gradient costs on a GPU, to compare it with sweeps: seconds of the many
#: small launches that make it up and, where lattices are large, so many sweeps; site updates of sweeps a
#: second in double and in single precision. From 16^4 and 32^4 on an H200 and an H100.
_ITERATION, _PASSES, _RATE = 2e-3, 9.0, {False: 3.4e9, True: 7.3e9}
#: What it costs to begin with it there, in iterations: plans of transforms, and room for fields.
BEGINNING = 10.0
#: Site updates that may wait on a GPU before signals are heard: tens of milliseconds.
_WAITING = 10**8
#: Timeslices between the colours, which the second-level cache must hold or it does not pay to page links:
#: 64^3 x 32 in single precision runs at 4.5e9 for 5.1e9 so (H100).
_UNDER_WAY = 3
#: Whether transformations are stored in ten numbers as links are.
_TEN = False
#: Blocks that share a timeslice when it is measured.
PARTS = 16
#: Sites are numbered in 31 bits, and their chunks of a transformation in double precision.
_MOST = 2**30


def iteration_cost(sites: int, single: bool) -> float:
    """What an iteration of the conjugate gradient costs in sweeps of so many sites."""
    return _PASSES + _ITERATION * _RATE[single] / sites


def summed(parts: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Sums of functional and violation, and the largest violation, of each copy and timeslice.

    One part after the other, as rounds/round.cu adds them up.
    """
    total = parts[:, :, 0, :2].copy()
    for part in range(1, parts.shape[2]):
        total += parts[:, :, part, :2]
    return total[..., 0], total[..., 1], parts[..., 2].max(axis=2)


def require_even(shape: Sequence[int]) -> None:
    """Refuse extents that no kernel for GPUs takes."""
    if any(extent % 2 for extent in shape):
        raise InputError(
            f"shape {tuple(shape)} has an odd extent, which the CUDA kernels' two colours do not "
            "fit; device='cpu' takes it"
        )


def launches(turns: Sequence[Turn], sites: int) -> Iterator[list[Turn]]:
    """Turns by launches: several at a time while signals may wait for them."""
    some: list[Turn] = []
    for turn in turns:
        if some and sum(one.count for one in (turn, *some)) * sites > _WAITING:
            yield some
            some = []
        some.append(turn)
    yield some


class Written(Protocol):
    """What kernels write to of the windows beside."""

    @property
    def transformations(self) -> Any:
        """Their g."""

    @property
    def counters(self) -> Any:
        """How far they are."""


class CudaLattices(Lattices):
    """Copies on one GPU, all from g = 1. To be used inside :func:`hardscape.engine.cuda_device`.

    Of a window's GPU so many windows are `sharing` it, and sweep side by side.
    `schedule` is by default what suits the lattice and the GPU. Decisions follow from the cost of the
    `usual` number of copies, by default these, so that a copy's way is the same whatever it lies beside.
    """

    def __init__(
        self,
        device: CudaDevice,
        links: Any,
        options: FixOptions,
        single: bool,
        copies: int,
        schedule: Schedule | None = None,
        usual: int | None = None,
        window: Window = WHOLE,
        sharing: int = 1,
    ) -> None:
        import cupy

        super().__init__(links, options, single, copies)
        self._cupy = cupy
        self.iteration_cost = iteration_cost(self.volume * (usual or copies), single)
        self.beginning_cost = BEGINNING
        self._device = device
        self.instance = Instance(
            tuple(links.shape[-4::-1]),
            self.group.nc,
            single,
            options.directions,
            options.gauge == "mag",
            float(options.scales[-1]) if options.xi != 1 else 1.0,
            window,
        )
        if self.volume > _MOST:
            raise BudgetError(
                f"a lattice of {self.volume} sites on a GPU; {_MOST} sites are the most there, "
                "device='cpu' takes it, and so do domains on several GPUs"
            )
        self._sharing = sharing
        self.moving = self.instance.moving
        self.schedule = schedule or self._planned(options)
        if window.uneven:
            self.schedule = replace(self.schedule, lag=0, sides=1)
        if window.rows.halo:
            self.schedule = self._beside_rows(options.dimensions)
        told = sides(device) if self.schedule.sides > 1 else None
        if self.group.nc == 3 and not single:
            # Blocks that keep links read them often, and take their rows; the numbers are the same.
            ten = not self.schedule.kept
            self.instance = replace(self.instance, rounded=not ten, ten_links=ten, ten=_TEN)
        under_way = _UNDER_WAY * math.prod(self.instance.box[:3])
        paged = told is not None and (
            under_way * self.instance.site_bytes(options.dimensions, copies) <= device.cache
        )
        self.instance = replace(self.instance, paged=paged)
        self._storage = Storage(device, self.instance)
        self.links = (
            self._storage.empty(matrices=options.dimensions)
            if told is None or not paged
            else paged_links(device, self.instance, told)
        )
        for first, part in self._storage.in_parts(links):
            self._storage.put(self.links, first, part, matrices=options.dimensions)
        self.transformations = self._storage.empty(copies=copies)
        self._on_sites("start", "gauge_unit")
        slabs = self.instance.box[3] * (self.schedule.parts + 2 * window.rows.halo)
        none = cupy.zeros(device.multiprocessors, dtype=np.uint8)
        self._side_of = none if told is None else cupy.asarray(told)
        counted = self.schedule.groups * 2 * slabs + 2  # and the blocks of two sides
        self.counters = cupy.zeros(counted, dtype=np.uint32)
        self._always = cupy.ones(copies, dtype=np.int32)
        self._rounds: CudaRounds | None = None
        self._told = Told(device)
        self._sweeping: dict[int, tuple[LoadedKernel, int, int]] = {}
        self._coloring: dict[int, LoadedKernel] = {}

    def _planned(self, options: FixOptions) -> Schedule:
        """The schedule that suits the lattice and the GPU."""
        device, halo = self._device, self.instance.window.halo

        def planned(two_sided: bool) -> Schedule:
            return Schedule.of(
                self.moving,
                self.instance.matrix_bytes,
                self.single,
                options.directions,
                self.copies,
                device.multiprocessors,
                device.cache,
                staging=not device.arch.startswith("sm_7"),
                cut=options.dimensions < 5,
                shared=0 if halo else device.whole_shared,
                two_sided=two_sided,
            )

        found = planned(True)
        return found if found.sides == 1 or sides(device) is not None else planned(False)

    def _beside_rows(self, dimensions: int) -> Schedule:
        """The schedule with what it must know of those left and right."""
        x, y, z, _ = self.instance.box
        rows, deep = self.instance.window.rows, z // self.instance.shape[-2]
        left, right = (
            parted(x, y, max(1, many - 2 * rows.halo) * deep, self.single, dimensions < 5)
            for many in (rows.left, rows.right)
        )
        return replace(self.schedule, left=left, right=right)

    # -- g from and to users' arrays ---------------------------------------------------------

    def slices_of(self, copy: int, first: int, count: int) -> Any:
        """Copy a transformation's timeslices, complex128, number for number in the rows that are stored."""
        return self._storage.get(self.transformations[copy], first, count)

    def set_slices(self, copy: int, first: int, g: Any) -> None:
        """Write timeslices that `slices_of` gave, of these lattices or of others."""
        part = self._cupy.asarray(g, dtype=np.complex128)
        self._storage.put(self.transformations[copy], first, self._cupy.ascontiguousarray(part))

    def plane(self, color: int, t: int) -> Any:
        """A timeslice's sites of a colour in copy 0, as they lie; None where others lie among them."""
        *space, slices = self.instance.shape
        return self._storage.part(
            self.transformations[0], color * slices + t, math.prod(space) // 2
        )

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set a copy's g, brought to the group."""
        for first, part in self._storage.in_parts(g):
            self.set_slices(copy, first, project_to_group(part))

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of this GPU in another precision."""
        *space, t = self.instance.shape
        step = max(1, IN_FLIGHT // (math.prod(space) * self.instance.nc**2 * 16))
        for copy in range(self.copies):
            for first in range(0, t, step):
                part = cast(CudaLattices, others).slices_of(copy, first, min(step, t - first))
                self.set_slices(copy, first, part)
        self._on_sites("start", "gauge_project")

    def transformation(self, copy: int) -> Any:
        """Return a copy's g as a CuPy array."""
        return self.slices_of(copy, 0, self.instance.shape[-1])

    def own_transformation(self) -> Any:
        """Return g of copy 0 where it moves here."""
        halo, rim = self.instance.window.halo, self.instance.window.rows.halo
        part = self.slices_of(0, halo, self.moving[3])
        return self._cupy.ascontiguousarray(part[:, rim : part.shape[1] - rim])

    # -- kernels -------------------------------------------------------------------------------

    def _on_sites(self, file: str, name: str, *arguments: Any) -> None:
        """Launch a kernel with one thread a site of each copy, on g and more arguments."""
        grid = -(-self.volume // THREADS), self.copies
        self._storage.kernel(file, name)(grid, THREADS, self.transformations, *arguments)

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set each copy's g from the Haar measure."""
        keys = self._told.seeds(seeds)
        self._on_sites("start", "gauge_start", keys, self._origin)

    def sweep(self, turn: Turn) -> int:
        """See `Lattices.sweep`."""
        return sum(self.sweep_in_turn([turn]))

    def sweep_in_turn(self, turns: Sequence[Turn]) -> list[int]:
        """See `Lattices.sweep_in_turn`: many in one launch. What is asked next waits for those under way."""
        done: list[int] = []
        method, waiting = kernel_of(turns), 0
        for some in launches(turns, self.volume * self.copies):
            if turns[0].stop[0]:
                break
            self.prepare(some, method)
            self.start(some, method)
            done += [turn.count for turn in some]
            waiting += sum(turn.count for turn in some) * self.volume * self.copies
            if waiting > _WAITING:
                self.synchronize()
                waiting = 0
        return done

    def prepare(self, turns: Sequence[Turn], method: int) -> None:
        """Bring all that a launch needs to the GPU, where nothing is counted of it yet."""
        self._numbers = self._told.of(turns, method)
        self._kernel_of(method)
        self.clear_counters()

    def clear_counters(self) -> None:
        """Nothing is counted of the next launch yet."""
        self.counters.data.memset_async(0, self.counters.nbytes)

    def start(self, turns: Sequence[Turn], method: int, beside: Sequence[Written] = ()) -> None:
        """Begin the sweeps that were prepared; those of a window write to the windows beside it.

        These are those before and after it and, where rows are cut, left and right.
        """
        count = sum(turn.count for turn in turns)
        self.prepared(method, count, self._numbers, self._always, beside)()

    def prepared(
        self,
        method: int,
        count: int,
        numbers: tuple[Any, ...],
        going: Any,
        beside: Sequence[Written] = (),
    ) -> Callable[..., None]:
        """What begins `count` sweeps, told of them, of the copies that are `going`."""
        kernel, shared, resident = self._kernel_of(method)
        before, after, left, right = (*beside, self, self, self, self)[:4]
        return kernel.prepared(
            self.schedule.blocks_of(self.moving, count, resident),
            self.schedule.threads,
            self.links,
            self.transformations,
            *numbers,
            going,
            self.counters,
            np.int32(self.copies),
            np.int32(count),
            before.transformations,
            after.transformations,
            before.counters,
            after.counters,
            self._origin,
            self._side_of,
            left.transformations,
            right.transformations,
            left.counters,
            right.counters,
            shared=shared,
            cooperative=self._sharing == 1,  # blocks wait for each other
        )

    def hand_over(self, beside: Sequence[Written]) -> None:
        """Begin to write what lies at the sides of this window into those beside it."""
        kernel = self._device.load(self.instance.window_kernel("gauge_hand"))
        there = [one.transformations for one in (*beside, self, self)[:4]]
        kernel(-(-self.volume // THREADS), THREADS, self.transformations, *there)

    def load(self, kernel: Kernel) -> LoadedKernel:
        """A kernel on the GPU of these lattices."""
        return self._device.load(kernel)

    def rounds(
        self,
        turn: Turn,
        rules: Rules,
        standing: NDArray[Any],
        most: int,
        stopped: Callable[[], bool],
    ) -> Iterator[Rounds]:
        """See `Lattices.rounds`. Of a window nothing is known without those beside it."""
        if self.instance.window.halo:
            return
        if self._rounds is None:
            self._rounds = CudaRounds(self, rules, _WAITING)
        yield from self._rounds.run(turn, rules, standing, most, stopped)

    def sweep_color(self, turn: Turn, color: int, sides: int = -1) -> None:
        """Begin one colour of one sweep of one copy; others bring the sides of a window up to date.

        Where rows are cut, 1 moves what is at the sides, and 0 what is not.
        """
        method, threads = turn.sweeps[0].method, self.schedule.threads
        if method not in self._coloring:
            kernel = self.instance.color_kernel(method, self.schedule)
            self._coloring[method] = self._device.load(kernel)
        self._coloring[method](
            -(-(self.volume // 2) // threads),
            threads,
            self.links,
            self.transformations,
            *self._told.of([turn], method),
            np.int32(color),
            self._origin,
            np.int32(sides),
        )

    @property
    def _origin(self) -> np.int64:
        """Number of the first site in the whole lattice."""
        return np.int64(self.instance.origin)

    def synchronize(self) -> None:
        """Wait until all is done."""
        self._device.synchronize()

    def _kernel_of(self, method: int) -> tuple[LoadedKernel, int, int]:
        """The kernel of sweeps, its shared memory, and how many of its blocks are resident at once."""
        if method not in self._sweeping:
            schedule = self.schedule
            kernel = self._device.load(self.instance.sweep_kernel(method, schedule))
            shared = 16 * self.instance.link_chunks * schedule.staged * schedule.threads
            resident = kernel.blocks_per_multiprocessor(schedule.threads, shared)
            many = resident * self._device.multiprocessors // self._sharing
            self._sweeping[method] = kernel, shared, many
        return self._sweeping[method]

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        return self.measured(*summed(self.parts().get()))

    def parts(self) -> Any:
        """Begin to sum functional and violation: (copies, T, parts, 3), with the largest violation."""
        slices = self.moving[3]
        sums = self._cupy.empty((self.copies, slices, PARTS, 3))
        kernel = self._storage.kernel("measure", "gauge_measure")
        kernel((PARTS, slices, self.copies), THREADS, self.links, self.transformations, sums)
        return sums

    def gradient(self) -> Any:
        """Delta, packed, shape (copies, components, T, Z, Y, X)."""
        *space, rows, _ = self.instance.shape
        sites = self.moving[3], rows - 2 * self.instance.window.rows.halo, *space[::-1]
        kind = np.complex64 if self.single else np.complex128
        delta = self._cupy.empty((self.copies, self.group.components, *sites), dtype=kind)
        self._on_sites("flow", "gauge_gradient", self.links, delta)
        return delta

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g, with steps of shape (copies, T)."""
        kind = np.complex64 if self.single else np.complex128
        along = self._cupy.ascontiguousarray(direction, dtype=kind)
        steps = self._cupy.ascontiguousarray(step, dtype=np.float64)
        self._on_sites("flow", "gauge_move", along, steps)
