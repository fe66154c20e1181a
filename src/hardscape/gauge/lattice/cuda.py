"""Gauge fixing on a GPU: one thread a site, all copies of a shard in each launch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, LoadedKernel, kernel
from hardscape.errors import BudgetError
from hardscape.gauge.groups import project_to_group
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Turn
from hardscape.gauge.lattice.schedule import Schedule
from hardscape.gauge.options import FixOptions

#: Threads of a block, but for sweeps.
_THREADS = 128
#: Seconds of an iteration of the conjugate gradient, which many small launches make up, and site
#: updates a second in double and in single precision: measured on an H200, to compare them.
_ITERATION, _RATE = 2e-3, {False: 3.4e9, True: 7.3e9}
#: Sites whose matrices lie together.
_TOGETHER = 32
#: Blocks that share a timeslice when it is measured.
_PARTS = 16
#: One thread a site of the lattice.
_ONE_EACH = Schedule(threads=_THREADS)


@dataclass(frozen=True)
class Instance:
    """What the kernels are compiled for."""

    shape: tuple[int, int, int, int]  # X, Y, Z, T, all even
    nc: int
    single: bool
    directions: int = 4
    abelian: bool = False  # whether the gauge is the maximally Abelian one
    weight: float = 1.0  # of the links in t

    @property
    def rows(self) -> int:
        """Rows that are stored of a matrix: the last one of a small group follows from the others."""
        return self.nc if self.nc > 3 else self.nc - 1

    @property
    def chunks(self) -> int:
        """Pieces of 16 bytes of a stored matrix."""
        return -(-2 * self.rows * self.nc * (4 if self.single else 8) // 16)

    @property
    def matrix_bytes(self) -> int:
        """Of a stored matrix."""
        return 16 * self.chunks

    def sweep_kernel(self, method: int, schedule: Schedule) -> Kernel:
        """Return the kernel of sweeps as data."""
        return self.kernel("sweep", "gauge_sweep", schedule, kMethod=method)

    def kernel(
        self, file: str, name: str, schedule: Schedule = _ONE_EACH, **constants: int
    ) -> Kernel:
        """Return a kernel as data."""
        x, y, z, t = self.shape
        of_instance = {
            "kSingle": self.single,
            "kAbelian": self.abelian,
            "kColors": self.nc,
            "kDirections": self.directions,
            "kX": x,
            "kY": y,
            "kZ": z,
            "kT": t,
            "kTimeWeight": self.weight,
        }
        numbers = of_instance | schedule.constants() | constants
        return kernel(f"gauge/lattice/{file}.cu", name, constants=numbers)


@cache
def site_order(shape: tuple[int, int, int, int]) -> NDArray[np.int64]:
    """Natural numbers of the sites in the order of the kernels: even ones first."""
    x, y, z, t = shape
    parity = np.indices((t, z, y, x)).sum(axis=0).ravel() % 2
    return np.argsort(parity, kind="stable")


class CudaLattices(Lattices):
    """Copies on one GPU, all from g = 1. To be used inside :func:`hardscape.engine.cuda_device`.

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
    ) -> None:
        import cupy

        super().__init__(links, options, single, copies)
        self._cupy = cupy
        self.iteration_cost = 3 + _ITERATION * _RATE[single] / (self.volume * (usual or copies))
        self._nc = self.group.nc
        self._device = device
        t, z, y, x = links.shape[:4]
        self.instance = Instance(
            (x, y, z, t),
            self._nc,
            single,
            options.directions,
            options.gauge == "mag",
            float(options.anisotropy),
        )
        most = 2**32 // (4 * self.instance.chunks) - 1  # chunks of links are numbered in 32 bits
        if self.volume > most:
            raise BudgetError(
                f"a lattice of {self.volume} sites of SU({self._nc}) on a GPU; "
                f"{most} sites are the most there, device='cpu' takes it"
            )
        self._order = cupy.asarray(site_order((x, y, z, t)))
        by_site = cupy.asarray(links).reshape(self.volume, 4, self._nc, self._nc)
        self._links = cupy.stack([self._packed(by_site[:, mu]) for mu in range(4)], axis=1)
        one = cupy.zeros((self.volume, self._nc, self._nc), dtype=np.complex128)
        one[:] = cupy.eye(self._nc)
        self._g = cupy.repeat(self._packed(one)[None], copies, axis=0)
        self.schedule = schedule or Schedule.of(
            self.instance.shape,
            self.instance.matrix_bytes,
            single,
            options.directions,
            copies,
            device.multiprocessors,
            int(cupy.cuda.Device().attributes["L2CacheSize"]),
            staging=not device.arch.startswith("sm_7"),
        )
        slabs = self.slices * self.schedule.parts
        self._done = cupy.zeros((self.schedule.groups, 2, slabs), dtype=np.uint32)
        self._told: dict[str, tuple[Any, NDArray[Any]]] = {}
        self._kernels: dict[str, LoadedKernel] = {}
        self._sweeping: dict[int, tuple[LoadedKernel, int, int]] = {}

    # -- layout: [site / 32][chunk][site % 32][lane], of the rows that determine a matrix --------

    def _packed(self, matrices: Any) -> Any:
        """Rows of matrices (V, Nc, Nc), as they are stored."""
        rows = self._cupy.ascontiguousarray(matrices[self._order, : self.instance.rows])
        return self._by_block(rows.view(np.float64).reshape(self.volume, -1))

    def _by_block(self, numbers: Any) -> Any:
        """The numbers of sites in the kernels' order, shape (V, numbers), as they are stored."""
        blocks, lanes = -(-self.volume // _TOGETHER), 4 if self.single else 2
        shape = blocks * _TOGETHER, self.instance.chunks * lanes
        padded = self._cupy.zeros(shape, dtype=np.float32 if self.single else np.float64)
        padded[: self.volume, : numbers.shape[1]] = numbers
        by_block = padded.reshape(blocks, _TOGETHER, -1, lanes)
        return self._cupy.ascontiguousarray(by_block.transpose(0, 2, 1, 3))

    def _by_site(self, copy: int) -> Any:
        """The numbers of a copy's g, shape (V, numbers), of sites in the kernels' order."""
        by_site = self._g[copy].transpose(0, 2, 1, 3)
        padded = by_site.reshape(by_site.shape[0] * _TOGETHER, -1)
        return padded[: self.volume, : 2 * self.instance.rows * self._nc]

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set a copy's g, brought to the group."""
        matrices = project_to_group(self._cupy.asarray(g, dtype=np.complex128))
        self._g[copy] = self._packed(matrices.reshape(self.volume, self._nc, self._nc))

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of this GPU in another precision."""
        for copy in range(self.copies):
            self._g[copy] = self._by_block(cast(CudaLattices, others)._by_site(copy))
        self._on_sites("start", "gauge_project")

    def transformation(self, copy: int) -> Any:
        """Return a copy's g as a CuPy array."""
        x, y, z, t = self.instance.shape
        numbers = self._cupy.ascontiguousarray(self._by_site(copy), dtype=np.float64)
        rows = self._cupy.zeros((self.volume, self.instance.rows, self._nc), dtype=np.complex128)
        rows[self._order] = numbers.view(np.complex128).reshape(rows.shape)
        determining = rows[:, : self._nc - 1]
        return self.group.completed(determining).reshape(t, z, y, x, self._nc, self._nc)

    # -- kernels -------------------------------------------------------------------------------

    def _on_sites(self, file: str, name: str, *arguments: Any) -> None:
        """Launch a kernel with one thread a site of each copy, on g and more arguments."""
        grid = -(-self.volume // _THREADS), self.copies
        self._kernel(file, name)(grid, _THREADS, self._g, *arguments)

    def _kernel(self, file: str, name: str) -> LoadedKernel:
        if name not in self._kernels:
            self._kernels[name] = self._device.load(self.instance.kernel(file, name))
        return self._kernels[name]

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set each copy's g from the Haar measure."""
        keys = self._on_device("seeds", np.asarray(seeds, dtype=np.uint64))
        self._on_sites("start", "gauge_start", keys)

    def sweep(self, turn: Turn) -> int:
        """See `Lattices.sweep`."""
        if turn.stop[0]:
            return 0
        steps = np.array([sweep.row() for sweep in turn.sweeps])
        numbers = (
            self._on_device("steps", steps),
            self._on_device("seeds", np.asarray(turn.seeds, dtype=np.uint64)),
            self._on_device("firsts", np.asarray(turn.first, dtype=np.int64)),
            self._on_device("active", turn.active.astype(np.uint8)),
        )
        self._done.data.memset_async(0, self._done.nbytes)
        kernel, shared, resident = self._kernel_of(turn.sweeps[0].method)
        kernel(
            min(resident, self.schedule.tasks(self.instance.shape, turn.count)),
            self.schedule.threads,
            self._links,
            self._g,
            *numbers,
            self._done,
            np.int32(self.copies),
            np.int32(turn.count),
            shared=shared,
            cooperative=True,  # blocks wait for each other
        )
        self._device.synchronize()
        return turn.count

    def _kernel_of(self, method: int) -> tuple[LoadedKernel, int, int]:
        """The kernel of sweeps, its shared memory, and how many of its blocks are resident at once."""
        if method not in self._sweeping:
            schedule = self.schedule
            kernel = self._device.load(self.instance.sweep_kernel(method, schedule))
            shared = schedule.staged * self.instance.matrix_bytes * schedule.threads
            resident = kernel.blocks_per_multiprocessor(schedule.threads, shared)
            self._sweeping[method] = kernel, shared, resident * self._device.multiprocessors
        return self._sweeping[method]

    def _on_device(self, name: str, values: NDArray[Any]) -> Any:
        """A small array on the GPU; most stay the same from sweep to sweep, and copies take time."""
        held = self._told.get(name)
        if held is None or held[1].shape != values.shape:
            self._told[name] = held = self._cupy.asarray(values), values.copy()
        elif not np.array_equal(held[1], values):
            held[0].set(values)
            held[1][...] = values
        return held[0]

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        sums = self._cupy.empty((self.copies, self.slices, _PARTS, 3))
        kernel = self._kernel("measure", "gauge_measure")
        kernel((_PARTS, self.slices, self.copies), _THREADS, self._links, self._g, sums)
        self._device.synchronize()
        parts = sums.get()
        return self.measured(
            parts[..., 0].sum(axis=2), parts[..., 1].sum(axis=2), parts[..., 2].max(axis=2)
        )

    def gradient(self) -> Any:
        """Delta, packed, shape (copies, components, T, Z, Y, X)."""
        x, y, z, t = self.instance.shape
        kind = np.complex64 if self.single else np.complex128
        delta = self._cupy.empty((self.copies, self.group.components, t, z, y, x), dtype=kind)
        self._on_sites("flow", "gauge_gradient", self._links, delta)
        return delta

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g, with steps of shape (copies, T)."""
        kind = np.complex64 if self.single else np.complex128
        along = self._cupy.ascontiguousarray(direction, dtype=kind)
        steps = self._cupy.ascontiguousarray(step, dtype=np.float64)
        self._on_sites("flow", "gauge_move", along, steps)
