"""The timeslices of one rank, or rows of them, on a GPU of its own.

Where the GPUs of all ranks may count in each other's memory, see `Reach`, they sweep side by side as those of
one process do, see gpus.py, any number of sweeps between two meetings. Else what the ranks tell each other of
their sides after a colour goes from GPU to GPU where GPUs are within reach, or the MPI library says that it
takes such memory, and through pinned memory of the hosts where neither is so. Sites at the sides move first
then and are on their way while the GPU moves the others. Where rows are cut they go through the hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from socket import gethostname
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_device
from hardscape.engine import CudaDevice, cuda_device
from hardscape.errors import needed
from hardscape.gauge.chain.cuda import ChainWindow
from hardscape.gauge.domains import sites
from hardscape.gauge.domains.chain import ChainSlab
from hardscape.gauge.domains.grid import Grid
from hardscape.gauge.domains.messages import Swap, takes_gpu_memory
from hardscape.gauge.domains.reach import Beside, Reach
from hardscape.gauge.domains.sites import ROWS, TIME, Faces
from hardscape.gauge.lattice.cuda import CudaLattices, summed
from hardscape.gauge.lattice.lattices import Sweep, Turn
from hardscape.gauge.lattice.schedule import Window
from hardscape.gauge.stored.instance import Instance

_NEVER = np.zeros(1, dtype=np.uint8)


class CudaSlab(ChainSlab):
    """One rank's part. Of a host's GPUs its first rank takes the first, and so on, by turns."""

    #: Into how many parts timeslices and rows are cut, where that is not to follow from their numbers.
    cut: tuple[int, int] | None = None

    def __init__(self, comm: Any) -> None:
        super().__init__(comm)
        hosts = comm.allgather(gethostname())
        gpus = needed("cupy", "cupy-cuda13x", "cuda", "CUDA").cuda.runtime.getDeviceCount()
        self._ordinal = hosts[: self.rank].count(hosts[self.rank]) % gpus
        self._direct = takes_gpu_memory(comm)
        self._pinned: dict[tuple[Any, ...], Any] = {}
        self._reach: Reach | None = None
        self._reach_rows: Reach | None = None
        self._faces: dict[int, Faces] = {}
        self._beside: dict[int, tuple[int, int] | None] = {}
        self._written: dict[int, tuple[Beside, ...]] = {}

    def grid_for(self, extents: Sequence[int]) -> tuple[int, int]:
        """See `Messages.grid_for`: timeslices alone while each rank has two of them."""
        grid = Grid.of(extents, self.ranks, self.cut)
        return grid.time.parts, grid.rows.parts

    @contextmanager
    def _gpu(self) -> Iterator[CudaDevice]:
        with cuda_device(self._ordinal) as device:
            yield device
            device.synchronize()

    def _window(self, near: bool = False) -> Window:
        """What kernels know of this rank's part; where nobody else writes to its sides, none are `near`."""
        return Grid(self.time.cut, self.rows.cut).window(self.rank, near)

    def open(self, key: int, single: bool) -> None:
        """See `Slab.open`."""
        with self._gpu() as device:
            reach = self._reach = self._reach or Reach(self.time)
            counts = self._counts(reach)
            window = self._window(counts)
            lattice = CudaLattices(device, self._links, self._options, single, 1, window=window)
            self._lattices[key] = lattice
            if self.cut_rows:
                self._faces[key] = Faces(lattice.instance)
            told = lattice.transformations, lattice.counters
            if counts:
                across = self._reach_rows.windows(*told) if self._reach_rows else ()
                self._written[key] = *reach.windows(*told), *across
            elif not self.cut_rows:
                self._beside[key] = reach.beside(lattice.transformations)

    def _counts(self, reach: Reach) -> bool:
        """Whether the kernels of all ranks may sweep side by side; the same on all of them."""
        if not self.cut_rows:
            return reach.counts(self._ordinal)
        rows = self._reach_rows = self._reach_rows or Reach(self.rows)
        each = [one.counts(self._ordinal) for one in (reach, rows)]
        runtime = needed("cupy", "cupy-cuda13x", "cuda", "CUDA").cuda.runtime
        uuid = str(runtime.getDeviceProperties(self._ordinal)["uuid"])
        told = self.comm.allgather((all(each), gethostname(), uuid))
        alone = len({who[1:] for who in told}) == self.ranks
        return alone and all(who[0] for who in told)

    def end(self) -> None:
        """See `Slab.end`."""
        self._beside.clear()
        self._written.clear()
        self._faces.clear()
        if self._reach is not None:
            with self._gpu():
                self._reach.close()
                if self._reach_rows is not None:
                    self._reach_rows.close()
            self.comm.allgather(None)  # nobody frees what others have open
            self._reach = self._reach_rows = None
        super().end()

    # -- what moves g --------------------------------------------------------------------------

    def sweeps(
        self,
        key: int,
        method: int,
        row: tuple[float, ...],
        seed: int,
        first: int,
        count: int,
        active: bytes,
    ) -> None:
        """See `Slab.sweeps`: in one launch where the GPUs sweep side by side."""
        reach, lattice = self._reach, self._lattices[key]
        if reach is None or key not in self._written:
            super().sweeps(key, method, row, seed, first, count, active)
            return
        seeds, numbers = np.array([seed], dtype=np.uint64), np.array([first])
        mask = self.moving(active)[None].astype(bool)
        turns = [Turn([Sweep(method, *row)], seeds, numbers, count, mask, _NEVER)]
        with self._gpu():
            lattice.prepare(turns, method)
        self._meet(reach)  # nothing is counted anywhere, and nobody reads what is written now
        with self._gpu():
            lattice.start(turns, method, self._written[key])
        self._meet(reach)  # what others write here is here

    def _meet(self, reach: Reach) -> None:
        """Wait until the ranks beside are here too."""
        reach.meet()
        if self._reach_rows is not None:
            self._reach_rows.meet()

    def sweep(
        self, key: int, method: int, row: tuple[float, ...], seed: int, number: int, active: bytes
    ) -> None:
        """See `Slab.sweep`."""
        lattice, moving = self._lattices[key], self.moving(active)

        def visit(color: int, some: NDArray[np.uint8], at: int = -1) -> None:
            seeds, numbers = np.array([seed], dtype=np.uint64), np.array([number])
            mask = some[None].astype(bool)
            turn = Turn([Sweep(method, *row)], seeds, numbers, 1, mask, _NEVER)
            lattice.sweep_color(turn, color, at)

        if self.cut_rows:
            for color in (0, 1):
                with self._gpu():
                    visit(color, moving, 1)
                    swaps = self._begun_swaps(key, color)
                with cuda_device(self._ordinal):  # under way while the sides are
                    visit(color, moving, 0)
                self._taken(key, swaps, color)
            return
        sides = np.zeros_like(moving)
        sides[[1, -2]] = moving[[1, -2]]
        reach = None if self._options.sliced else self._within_reach(key)
        if reach is not None:
            reach.meet()  # nobody reads what is written now
        for color in (0, 1):
            if self._options.sliced:
                with self._gpu():
                    visit(color, moving)
                continue
            with self._began():
                visit(color, sides)
                if reach is not None:
                    self._hand_over(reach, key, color)
                else:
                    found = self._sides(lattice, color)
            with cuda_device(self._ordinal):  # under way while the sides are
                visit(color, moving - sides)
            if reach is not None:
                self._over.synchronize()
                reach.meet()
            else:
                self._swapped(lattice, found, color)

    def randomize(self, key: int, seed: int) -> None:
        """See `Slab.randomize`."""
        lattice = self._lattices[key]
        with self._gpu():
            lattice.randomize(np.array([seed], dtype=np.uint64))
        self._exchange(key, always=True)

    def set_transformation(self, key: int) -> None:
        """See `Slab.set_transformation`."""
        nc = self._links.shape[-1]
        g = np.empty((len(self.time.held), *self._sites, nc, nc), dtype=np.complex128)
        self.deal(g)
        with self._gpu():
            self._lattices[key].set_transformation(0, g)

    def adopt(self, key: int, other: int) -> None:
        """Take over g of another key, of another precision, with that of the sides."""
        with self._gpu():
            self._lattices[key].adopt(self._lattices[other])

    def slab_move(self, key: int, direction: Any, step: Any) -> None:
        """See `Slab.slab_move`."""
        lattice = self._lattices[key]
        with self._gpu():
            lattice.move(to_device(direction, "cuda"), to_device(step, "cuda"))
        self._exchange(key)

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self, key: int) -> NDArray[np.float64] | None:
        """See `Slab.measure`. Where rows are cut, the first rank that has some of a slice adds up."""
        lattice = self._lattices[key]
        with self._gpu():
            if not self.cut_rows:
                parts = lattice.parts().get()
                return self.gathered_rows(np.concatenate(summed(parts))[:, :, None])
            numbers = sites.room(lattice, (len(self.rows.own), *self._sites[1:]))
            sites.tell(lattice, numbers, 0)
            whole = self._of_rows(numbers.get(), axis=2)
            if whole is None:
                return self.gathered_rows(np.empty((3, len(self.time.own), 0)))
            parts = sites.added(lattice, to_device(whole, "cuda")).get()
        return self.gathered_rows(np.concatenate(summed(parts))[:, :, None])

    def _of_rows(self, mine: NDArray[Any], axis: int) -> NDArray[Any] | None:
        """An array of whole timeslices, on the first of the ranks that have rows of them."""
        parts = self.rows.comm.gather(mine, root=0)
        return None if parts is None else np.ascontiguousarray(np.concatenate(parts, axis=axis))

    def slab_gradient(self, key: int) -> Any:
        """See `Slab.slab_gradient`."""
        with self._gpu():
            return self._lattices[key].gradient().astype(np.complex128)

    def accelerate(self, key: int) -> None:
        """See `Slab.accelerate`."""
        with self._gpu():
            super().accelerate(key)

    def advance(self, key: int, active: bytes) -> None:
        """See `Slab.advance`."""
        with self._gpu():
            super().advance(key, active)

    def transformation(self, key: int) -> None:
        """See `Slab.transformation`."""
        with self._gpu():
            mine = self._lattices[key].own_transformation().get()
        self.gather(mine)

    # -- from rank to rank ---------------------------------------------------------------------

    @contextmanager
    def _began(self) -> Iterator[None]:
        """Work of this GPU that is waited for by `_swapped`, and not before."""
        with cuda_device(self._ordinal) as device:
            yield
            self._over = device.stream.record()

    def _within_reach(self, key: int) -> Reach | None:
        """The ranks beside, where this one writes to their memory what lies together."""
        lies = self._planes(self._lattices[key], 0, 1) is not None
        return self._reach if lies and self._beside[key] is not None else None

    def _hand_over(self, reach: Reach, key: int, color: int) -> None:
        """Begin to write the sides of a colour where the ranks beside read them."""
        cut, part, own = self.time.cut, self.time.part, len(self.time.own)
        planes, beside = self._planes(self._lattices[key], color, 1, own), self._beside[key]
        assert planes is not None
        assert beside is not None
        before, after = (len(cut.held((part + step) % cut.parts)) for step in (-1, 1))
        places = color * before + before - 1, color * after
        with cuda_device(self._ordinal) as device:
            for start, place, plane in zip(beside, places, planes, strict=True):
                reach.write(start + place * plane.nbytes, plane, device)

    def _sides(self, lattice: Any, color: int | None = None) -> list[Any]:
        """Begin to take g of the first and of the last slice, to where MPI can send it from."""
        last = len(self.time.own)
        ends = self._planes(lattice, color, 1, last)
        if ends is None:
            ends = [lattice.slices_of(0, t, 1) for t in (1, last)]
        if self._direct:
            return ends
        rooms = [self._room(end, place) for place, end in enumerate(ends)]
        return [end.get(out=room, blocking=False) for end, room in zip(ends, rooms, strict=True)]

    def _planes(self, lattice: Any, color: int | None, *slices: int) -> list[Any] | None:
        """Sites of a colour as they lie in memory, where they lie together: others did not move."""
        if color is None:
            return None
        found = [lattice.plane(color, t) for t in slices]
        return None if found[0] is None else found

    def _room(self, end: Any, place: int) -> Any:
        """Pinned memory of the host for an array: what is copied there needs nobody to wait."""
        key = end.shape, end.dtype.str, place
        if key not in self._pinned:
            pinned = needed("cupyx", "cupy-cuda13x", "cuda", "CUDA").empty_pinned
            self._pinned[key] = pinned(end.shape, end.dtype)
        return self._pinned[key]

    def _swapped(self, lattice: Any, ends: list[Any], color: int | None = None) -> None:
        """Send the slices at the sides, and bring those beside up to date."""
        places = 0, len(self.time.own) + 1
        with cuda_device(self._ordinal) as device:
            beside = self._planes(lattice, color, *places)
            self._over.synchronize()
            if beside is None:
                for t, g in zip(places, Swap(self.time, ends[0], ends[1]).sides(), strict=True):
                    lattice.set_slices(0, t, g)
            elif self._direct:
                Swap(self.time, ends[0], ends[1], (beside[0], beside[1])).sides()
            else:
                rooms = self._room(beside[0], 2), self._room(beside[1], 3)
                for to, g in zip(
                    beside, Swap(self.time, ends[0], ends[1], rooms).sides(), strict=True
                ):
                    to.set(g, stream=device.stream)

    def _begun_swaps(self, key: int, color: int | None, always: bool = False) -> list[Swap]:
        """Begin to send what is at the sides where rows are cut: rows, then slices."""
        faces, stored = self._faces[key], self._lattices[key].transformations[0]
        lines = [(ROWS, self.rows), (TIME, self.time)]
        found = []
        for line, ranks in lines[: 1 if self._options.sliced and not always else 2]:
            sent = [faces.get(stored, line, at, color).get() for at in (1, len(ranks.own))]
            found.append(Swap(ranks, *sent))
        return found

    def _taken(self, key: int, swaps: list[Swap], color: int | None) -> None:
        """Bring the copies at the sides up to date."""
        faces, stored = self._faces[key], self._lattices[key].transformations[0]
        told = [swap.sides() for swap in swaps]
        with self._gpu():
            for line, ranks, sides in zip((ROWS, TIME), (self.rows, self.time), told, strict=False):
                for at, values in zip((0, len(ranks.own) + 1), sides, strict=True):
                    faces.put(stored, line, at, color, values)

    def _exchange(self, key: int, always: bool = False) -> None:
        lattice = self._lattices[key]
        if self.cut_rows:
            with self._gpu():
                swaps = self._begun_swaps(key, None, always)
            self._taken(key, swaps, None)
            return
        if self._options.sliced and not always:
            return
        with self._began():
            ends = self._sides(lattice)
        self._swapped(lattice, ends)
        with self._gpu():  # others may write there next
            pass

    # -- links that move -----------------------------------------------------------------------

    def begin_chain(
        self, shape: tuple[int, ...], ends: bool, fixed: int, xi: float, threads: int
    ) -> None:
        """See `ChainSlab.begin_chain`."""
        links = self.take_links(shape, threads)
        extents = tuple(links.shape[-4::-1])
        instance = Instance(extents, shape[-1], False, window=self._window())
        with self._gpu() as device:
            action = self.time.cut.slices, ends, fixed, xi
            self._chain = ChainWindow(device, links, instance, action)
            self._of_chain = Faces(instance)

    def sweep_links(
        self, beta: float, overrelax: int, seed: int, number: int
    ) -> NDArray[np.float64] | None:
        """See `ChainSlab.sweep_links`."""
        self.take_up()
        window = self._chain
        with self._gpu():
            window.expect(1, beta / window.instance.nc)
        for kind in range(overrelax + 1):
            for color in (0, 1):
                for mu in range(self._directions):
                    if self.cut_rows:
                        with self._gpu():
                            window.move(seed, number, kind == 0, color, mu)
                            self._swap_links(window, color, mu)
                        continue
                    with self._gpu():
                        window.move(seed, number, kind == 0, color, mu)
                        ends = [window.side(last) for last in (False, True)]
                        sent = ends if self._direct else [end.get() for end in ends]
                    with self._gpu():
                        below, above = Swap(self.time, *sent).sides()
                        window.set_side(False, below)
                        window.set_side(True, above)
        with self._gpu():
            if self.cut_rows:
                mine = window.site_traces(len(self.rows.own)).get()
                whole = self._of_rows(mine, axis=1)
                if whole is None:
                    return self.gathered_rows(np.empty((len(self.time.own), 0)))
                window.add_sites(to_device(whole, "cuda"), 0)
            else:
                window.measure(0)
            traces = window.sums().get()[0].sum(axis=1)
        return self.gathered_rows(traces[:, None])

    def _swap_links(self, window: ChainWindow, color: int, mu: int) -> None:
        """Bring the copies of what moved up to date: rows, and slices with what came of rows around corners."""
        for line, ranks in ((ROWS, self.rows), (TIME, self.time)):
            faces, last = self._of_chain, len(ranks.own)
            sent = [faces.get(window.stored, line, at, color, mu).get() for at in (1, last)]
            sides = Swap(ranks, *sent).sides()
            for at, values in zip((0, last + 1), sides, strict=True):
                faces.put(window.stored, line, at, color, values, mu)

    def gather_links(self) -> None:
        """See `ChainSlab.gather_links`."""
        self.take_up()
        with self._gpu():
            mine = self._chain.links().get()
        self.gather(mine)
