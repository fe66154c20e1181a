"""GPUs of one host that hold one lattice together, each a window of its timeslices, and of rows of these.

A GPU moves its own sites and holds one more slice, or row, at each side, whose g are copies of its
neighbours'. These write there through peer access while they sweep, see lattice/sweep.cu. An update depends on
neighbours of the other colour alone and random numbers are those of the site's number in the whole lattice, so
that g is the same bit for bit however many GPUs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_device
from hardscape.engine import Cuda, Device, cuda_device, resolve
from hardscape.errors import DeviceError, InputError
from hardscape.gauge.domains import sites
from hardscape.gauge.domains.grid import Grid, Held
from hardscape.gauge.domains.reach import counts_there
from hardscape.gauge.domains.together import Together
from hardscape.gauge.lattice.cuda import (
    BEGINNING,
    CudaLattices,
    iteration_cost,
    launches,
    require_even,
    summed,
)
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Turn
from hardscape.gauge.options import FixOptions
from hardscape.gauge.stored.told import kernel_of


class Gpus(Together):
    """GPUs of this host; see `Together`. A GPU that is named twice has two windows.

    `cut` is into how many parts timeslices and rows of them are cut, where it is given.
    """

    def __init__(self, devices: Sequence[Cuda], cut: tuple[int, int] | None = None) -> None:
        self.ordinals = [device.ordinal for device in devices]
        self.cut = cut

    def __repr__(self) -> str:
        return f"<Gpus: {self.names()}>"

    def names(self) -> str:
        """See `Together.names`."""
        return ",".join(f"cuda:{ordinal}" for ordinal in self.ordinals)

    @contextmanager
    def placed(self, links: Any, choices: FixOptions, threads: int) -> Iterator[None]:
        """Let the GPUs write to each other's memory; links follow with each of `lattices`."""
        self.grid(links)
        require_even(links.shape[:-3])
        linked(self.ordinals)
        with cuda_device(self.ordinals[0]):  # where what is asked of all slices comes together
            yield

    def forget(self) -> None:
        """See `Together.forget`: they are handed out with each of `lattices`."""

    def lattices(self, links: Any, choices: FixOptions, single: bool, usual: int) -> Lattices:
        """See `Together.lattices`."""
        return PeerLattices(self.ordinals, links, choices, single, usual, self.grid(links))

    def grid(self, links: Any) -> Grid:
        """How they cut links of a shape (T, Z, ..., mu, Nc, Nc)."""
        return Grid.of(links.shape[:-3], len(self.ordinals), self.cut)


def lanes(ordinals: Sequence[int]) -> list[tuple[int, int]]:
    """GPUs, with the number that each has among those of its own that were named before."""
    return [(ordinal, list(ordinals[:i]).count(ordinal)) for i, ordinal in enumerate(ordinals)]


def linked(ordinals: Sequence[int]) -> None:
    """Let GPUs write to each other's memory."""
    for here in ordinals:
        for there in ordinals:
            if here != there:
                _link(here, there)


def _link(here: int, there: int) -> None:
    """Let a GPU write to another's memory, and count there."""
    import cupy

    if not counts_there(here, there):
        raise DeviceError(
            f"cuda:{here} has no access to the memory of cuda:{there} with atomic operations, as over "
            "NVLink; without it ranks of MPI, one a GPU, hold a lattice together (mpiexec)"
        )
    with cupy.cuda.Device(here):
        try:
            cupy.cuda.runtime.deviceEnablePeerAccess(there)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if "PeerAccessAlreadyEnabled" not in str(error):
                raise


class PeerLattices(Lattices):
    """One copy over several GPUs; to be used inside :func:`hardscape.engine.cuda_device` of the first."""

    def __init__(
        self,
        ordinals: Sequence[int],
        links: Any,
        options: FixOptions,
        single: bool,
        usual: int,
        grid: Grid,
    ) -> None:
        super().__init__(links, options, single, copies=1)
        self._extents = links.shape[:-3]
        self.iteration_cost = iteration_cost(self.volume * usual, single)
        self.beginning_cost = BEGINNING
        self._lanes, self._grid = lanes(ordinals), grid
        self._parts = range(grid.parts)
        self._windows: list[CudaLattices] = []
        sharing = max(lane for _, lane in self._lanes) + 1
        for part, lane in enumerate(self._lanes):
            with cuda_device(*lane) as device:
                some, window = Held(links, grid.held(part)), grid.window(part)
                made = CudaLattices(
                    device, some, options, single, 1, window=window, sharing=sharing
                )
                self._windows.append(made)
        self._beside = [[self._windows[i] for i in grid.around(part)] for part in self._parts]

    def _on_each(self, ask: Callable[..., Any]) -> list[Any]:
        """Begin something on all GPUs, then wait for all of them."""
        begun = []
        for part, (lane, window) in enumerate(zip(self._lanes, self._windows, strict=True)):
            with cuda_device(*lane):
                begun.append(ask(part, window))
        for lane, window in zip(self._lanes, self._windows, strict=True):
            with cuda_device(*lane):
                window.synchronize()
        return begun

    # -- what moves g --------------------------------------------------------------------------

    def sweep(self, turn: Turn) -> int:
        """See `Lattices.sweep`."""
        return sum(self.sweep_in_turn([turn]))

    def sweep_in_turn(self, turns: Sequence[Turn]) -> list[int]:
        """See `Lattices.sweep_in_turn`."""
        done: list[int] = []
        method = kernel_of(turns)
        for some in launches(turns, self.volume):
            if turns[0].stop[0]:
                break
            of_each = [
                [replace(turn, active=self._own(turn.active, part)) for turn in some]
                for part in self._parts
            ]
            self._on_each(lambda part, window, given=of_each: window.prepare(given[part], method))
            # Blocks of one GPU wait for those of others: nothing else may be asked before all have begun.
            self._on_each(
                lambda part, window, given=of_each: window.start(
                    given[part], method, self._beside[part]
                )
            )
            done += [turn.count for turn in some]
        return done

    def _own(self, active: NDArray[np.bool_], part: int) -> NDArray[np.bool_]:
        """Which of the slices that a GPU holds move."""
        slices, _ = self._grid.own(part)
        moving = np.zeros((1, len(slices) + 2), dtype=bool)
        moving[:, 1:-1] = active[:, slices]
        return moving

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set g from the Haar measure."""
        self._on_each(lambda _, window: window.randomize(seeds))
        self._exchange()

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set g of copy 0, the only one."""
        held = self._grid.held
        self._on_each(lambda part, window: window.set_transformation(0, Held(g, held(part))))

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of these GPUs in another precision."""
        assert isinstance(others, PeerLattices)
        self._on_each(lambda part, window: window.adopt(others._windows[part]))

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g."""
        import cupy

        along = cupy.ascontiguousarray(direction, np.complex64 if self.single else np.complex128)
        steps, components = to_device(step, "cpu"), range(along.shape[1])
        slabs = [
            [cupy.ascontiguousarray(along[(0, c, *self._own_part(part))]) for c in components]
            for part in self._parts
        ]
        cupy.cuda.get_current_stream().synchronize()

        def moved(part: int, window: CudaLattices) -> None:
            slab = cupy.empty((1, len(components), *slabs[part][0].shape), along.dtype)
            for component in components:
                self._copy(slab[0, component], part, slabs[part][component], 0)
            window.move(slab, cupy.asarray(steps[:, self._own_part(part)[0]]))

        self._on_each(moved)
        self._exchange()

    def _own_part(self, part: int) -> tuple[slice, slice]:
        """What a GPU moves of an array (T, Z, ...)."""
        slices, rows = self._grid.own(part)
        return slice(slices.start, slices.stop), slice(rows.start, rows.stop)

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        if self._grid.rows.parts == 1:
            told = self._on_each(lambda _, window: window.parts())
        else:
            told = self._parts_of_rows()
        parts = [sums.get() for sums in told]
        return self.measured(*summed(np.concatenate(parts, axis=1)))

    def _parts_of_rows(self) -> list[Any]:
        """The same where several GPUs have the rows of a slice: the first of them adds up."""
        across, (_, *space) = self._grid.rows.parts, self._extents
        rows = range(0, self._grid.parts, across)
        numbers: dict[int, Any] = {}

        def room(part: int, window: CudaLattices) -> None:
            if part in rows:
                numbers[part] = sites.room(window, space)

        def told(part: int, window: CudaLattices) -> None:
            _, own = self._grid.own(part)
            sites.tell(window, numbers[part - part % across], own.start)

        def added(part: int, window: CudaLattices) -> Any:
            return sites.added(window, numbers[part]) if part in rows else None

        self._on_each(room)
        self._on_each(told)
        return [sums for sums in self._on_each(added) if sums is not None]

    def transformation(self, copy: int) -> Any:
        """Return g of copy 0, the only one, on the host."""
        parts = self._on_each(lambda _, window: window.own_transformation())
        whole = np.empty((*self._extents, *parts[0].shape[-2:]), dtype=np.complex128)
        for part in self._parts:
            whole[self._own_part(part)] = parts[part].get()
        return whole

    def gradient(self) -> Any:
        """Return Delta, packed, on the first GPU."""
        import cupy

        slabs = self._on_each(lambda _, window: window.gradient())
        components = slabs[0].shape[1]
        whole = cupy.empty((1, components, *self._extents), slabs[0].dtype)
        for part, slab in enumerate(slabs):
            for component in range(components):
                place = whole[(0, component, *self._own_part(part))]
                together = place.flags.c_contiguous
                into = place if together else cupy.empty(place.shape, place.dtype)
                self._copy(into, 0, slab[0, component], part)
                if not together:
                    place[...] = into
        return whole

    # -- from GPU to GPU -----------------------------------------------------------------------

    def _exchange(self) -> None:
        """Bring the copies at the sides up to date."""
        self._on_each(lambda part, window: window.hand_over(self._beside[part]))

    def _copy(self, to: Any, part: int, source: Any, source_part: int) -> None:
        """Copy contiguous arrays between GPUs, on the stream of the one that is current."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyPeerAsync(
            to.data.ptr,
            self._lanes[part][0],
            source.data.ptr,
            self._lanes[source_part][0],
            source.nbytes,
            stream.ptr,
        )


def together(domains: Together | str | Sequence[str | Device] | None) -> Together | None:
    """What holds a lattice together: GPUs where they are named."""
    if domains is None or isinstance(domains, Together):
        return domains
    gpus = [device for device in resolve(domains) if isinstance(device, Cuda)]
    if not gpus:
        raise InputError(
            f"domains={domains!r}; GPUs such as 'cuda:0,1' and what hardscape.gauge.domains gives are accepted"
        )
    return Gpus(gpus)
