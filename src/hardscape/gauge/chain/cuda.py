"""The Markov chain of the Wilson action on one GPU, or on several that hold a window of the lattice each.

All links of one colour and direction move in a launch. Of several GPUs each writes what moved at the
sides of its window into its neighbours' copies, and begins a step when theirs before it is over. Random
numbers are those of link, sweep and seed, so that links are the same bit for bit on any number of GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, cuda_device, kernel
from hardscape.gauge.domains.gpus import lanes, linked
from hardscape.gauge.domains.grid import Grid, Held
from hardscape.gauge.lattice.cuda import require_even
from hardscape.gauge.lattice.schedule import WHOLE
from hardscape.gauge.stored.instance import AS_WRITTEN, THREADS, Instance
from hardscape.gauge.stored.storage import Storage

#: Blocks that share a timeslice when it is measured.
_PARTS = 16


def chain_kernel(
    name: str,
    instance: Instance,
    slices: int,
    ends: bool = False,
    fixed: int = 0,
    xi: float = 1.0,
    heat: bool = False,
) -> Kernel:
    """A kernel of chain.cu or sites.cu, of a lattice of so many slices; the instance has all or some."""
    of_action = {"kSlices": slices, "kEnds": ends, "kFixed": fixed, "kXi": float(xi)}
    of_launch = {"kThreads": THREADS, "kShares": _PARTS, "kHeat": heat}
    numbers = instance.constants | of_action | of_launch
    file = "sites" if name in ("sites", "sums") else "chain"
    path = f"gauge/chain/{file}.cu"
    return kernel(path, f"chain_{name}", constants=numbers, options=AS_WRITTEN)


class CudaChain:
    """Links that move, shape (T, ..., Nd, Nc, Nc) to begin with; see `native` ``WilsonChain``.

    `ends`, `fixed` and `xi` are those of the action: whether time is open, whether links in space rest on
    the first (1) or the last (2) timeslice, and the bare anisotropy.
    """

    def __init__(
        self,
        ordinals: Sequence[int],
        links: Any,
        ends: bool,
        fixed: int,
        xi: float,
        cut: tuple[int, int] | None = None,
    ) -> None:
        *space, self._directions, nc, _ = links.shape
        require_even(space)
        slices, whole = links.shape[0], len(ordinals) == 1
        grid = self._grid = Grid.of(links.shape[:-3], len(ordinals), cut)
        self._nc, self._extents = nc, tuple(space)
        linked(ordinals)
        self._lanes = lanes(ordinals)
        self._windows: list[ChainWindow] = []
        for part, lane in enumerate(self._lanes):
            with cuda_device(*lane) as device:
                some = links if whole else Held(links, grid.held(part))
                shape = some.shape[-4::-1]
                instance = Instance(shape, nc, False, window=WHOLE if whole else grid.window(part))
                action = slices, ends, fixed, xi
                self._windows.append(ChainWindow(device, some, instance, action))
        for part, one in enumerate(self._windows):
            one.beside = [self._windows[i] for i in grid.near(part)]
        if grid.rows.parts > 1:
            for part, one in enumerate(self._windows):
                one.rows = grid.own(part)[1].start, self._windows[part - grid.place(part)[1]]
                one.others = [other for other in self._windows if other is not one]
        planes = self._directions * (self._directions - 1) // 2
        sites = math.prod(space[1:])
        self._counted = (slices - (1 if ends else 0)) * sites * planes * nc

    def links(self) -> NDArray[np.complex128]:
        """The links of the moment, shape (T, ..., Nd, Nc, Nc)."""
        whole: NDArray[np.complex128] | None = None
        for part, own in enumerate(self._on_each(ChainWindow.links)):
            if whole is None:
                whole = np.empty((*self._extents, *own.shape[-3:]), dtype=np.complex128)
            slices, rows = self._grid.own(part)
            whole[slices.start : slices.stop, rows.start : rows.stop] = own.get()
        assert whole is not None
        return whole

    def run(
        self, beta: float, overrelax: int, seed: int, first: int, count: int
    ) -> NDArray[np.float64]:
        """Do sweeps; returns the plaquette after each."""
        self._on_each(lambda window: window.expect(count, beta / self._nc))
        for row in range(count):
            for kind in range(overrelax + 1):
                for color in (0, 1):
                    for mu in range(self._directions):
                        self._step(ChainWindow.move, seed, first + row, kind == 0, color, mu)
            self._step(ChainWindow.measure, row)
            if self._grid.rows.parts > 1:
                self._step(ChainWindow.add_up, row)
        told = self._on_each(ChainWindow.sums)[:: self._grid.rows.parts]
        slices = np.concatenate([sums.get() for sums in told], axis=1)
        found: NDArray[np.float64] = slices.sum(axis=2).sum(axis=1) / self._counted
        return found

    def _on_each(self, ask: Callable[[ChainWindow], Any]) -> list[Any]:
        """What each GPU says, when all it was asked before is over."""
        found = []
        for lane, window in zip(self._lanes, self._windows, strict=True):
            with cuda_device(*lane):
                found.append(ask(window))
        for lane, window in zip(self._lanes, self._windows, strict=True):
            with cuda_device(*lane):
                window.device.synchronize()
        return found

    def _step(self, begin: Callable[..., None], *given: int) -> None:
        """Begin a step on all GPUs, behind the step before of those beside."""
        if len(self._windows) > 1:
            for lane, window in zip(self._lanes, self._windows, strict=True):
                with cuda_device(*lane):
                    window.wait()
        for lane, window in zip(self._lanes, self._windows, strict=True):
            with cuda_device(*lane):
                begin(window, *given)
                window.over()


class ChainWindow:
    """The sites of one GPU.

    `beside` are the windows before and after this one and, where rows are cut, left and right, left and right
    of the one before, and of the one after; `rows` are then its first row and the window that adds up, and
    `others` all but this one.
    """

    def __init__(
        self,
        device: CudaDevice,
        links: Any,
        instance: Instance,
        action: tuple[int, bool, int, float],
    ) -> None:
        import cupy

        self._cupy = cupy
        self.device, self.instance = device, instance
        self.beside: list[ChainWindow] = []
        self.rows: tuple[int, ChainWindow] = 0, self
        self.others: list[ChainWindow] = []
        self._slices = links.shape[0] - 2 * instance.window.halo
        self._matrices = links.shape[-3]
        self._store = Storage(device, instance)
        self._links = self._store.empty(matrices=self._matrices)
        for first, part in self._store.in_parts(links):
            self._store.put(self._links, first, part, matrices=self._matrices)
        self._moves = [
            device.load(chain_kernel("step", instance, *action, heat=heat))
            for heat in (False, True)
        ]
        self._traces = device.load(chain_kernel("traces", instance, *action))
        if instance.window.rows.halo:
            self._tells = device.load(chain_kernel("sites", instance, *action))
            self._adds = device.load(chain_kernel("sums", instance, *action))
        self._over = cupy.cuda.Event(disable_timing=True)
        self.over()
        device.synchronize()

    def links(self) -> Any:
        """Those of its own sites, on the GPU."""
        halo, rim = self.instance.window.halo, self.instance.window.rows.halo
        held = self._store.get(self._links, halo, self._slices, self._matrices)
        return self._cupy.ascontiguousarray(held[:, rim : held.shape[1] - rim])

    def expect(self, count: int, coupling: float) -> None:
        """Take the coupling beta / Nc, and make room for what so many sweeps measure."""
        self._coupling = self._cupy.array([coupling])
        self._sums = self._cupy.zeros((count, self._slices, _PARTS))
        whole = self.instance.window.rows.whole
        if whole and self.rows[1] is self:
            *space, _, _ = self.instance.shape
            self._sites = self._cupy.empty((self._slices, whole, *space[::-1]))

    def sums(self) -> Any:
        """Of each sweep, slice and part of it the sum of Re tr of plaquettes."""
        return self._sums

    def side(self, last: bool) -> Any:
        """Links of its own first or last slice, on the GPU."""
        return self._store.get(self._links, self._slices if last else 1, 1, self._matrices)

    def set_side(self, last: bool, links: Any) -> None:
        """Take those of the slice before the first or behind the last one."""
        part = self._cupy.asarray(links)
        self._store.put(self._links, self._slices + 1 if last else 0, part, self._matrices)

    def wait(self) -> None:
        """Wait for what the GPUs beside did last, or where rows are cut all."""
        for window in self.others or self.beside[:2]:
            self.device.stream.wait_event(window._over)

    def over(self) -> None:
        """Note that what was begun is over when it is."""
        self._over.record(self.device.stream)

    def move(self, seed: int, number: int, heat: bool, color: int, mu: int) -> None:
        """Begin to move the links of a colour and direction."""
        before, after, *across = (*self.beside, *[self] * 8)[:8]
        self._moves[heat](
            -(-(self._store.volume // 2) // THREADS),
            THREADS,
            self._links,
            before._links,
            after._links,
            self._coupling,
            np.uint64(seed),
            np.int64(number),
            np.int32(color),
            np.int32(mu),
            np.int32(self.instance.window.first),
            np.int64(self.instance.origin),
            *[one._links for one in across],
        )

    def measure(self, row: int) -> None:
        """Begin to sum the plaquettes of each slice or, where rows are cut, to tell each site's."""
        first = np.int32(self.instance.window.first)
        if not self.instance.window.rows.halo:
            self._traces(_PARTS * self._slices, THREADS, self._links, self._sums[row], first)
            return
        place, adds = self.rows
        self._tell_sites(adds._sites, place)

    @property
    def stored(self) -> Any:
        """The links as they lie, see `Faces`."""
        return self._links[0]

    def site_traces(self, rows: int) -> Any:
        """The sum over plaquettes that start at each of its own sites, of so many rows."""
        *space, _, _ = self.instance.shape
        sites = self._cupy.empty((self._slices, rows, *space[::-1]))
        self._tell_sites(sites, 0)
        return sites

    def _tell_sites(self, sites: Any, place: int) -> None:
        """Begin to write each site's, shape (T, Z, ...), rows from `place` on."""
        deep = self.instance.box[2] // self.instance.shape[-2]
        first = np.int32(self.instance.window.first)
        rows = np.int32(sites.shape[1] * deep), np.int32(place * deep)
        blocks = -(-self._store.volume // THREADS)
        self._tells(blocks, THREADS, self._links, sites, first, *rows)

    def add_up(self, row: int) -> None:
        """Begin to sum over each slice what was told here."""
        if self.rows[1] is self:
            self.add_sites(self._sites, row)

    def add_sites(self, sites: Any, row: int) -> None:
        """Begin to sum numbers of the sites of whole slices, (T, Z, ...)."""
        many = np.int32(sites[0].size)
        self._adds(_PARTS * self._slices, THREADS, sites, self._sums[row], many)
