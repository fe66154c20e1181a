"""GPUs of one host that hold one lattice together, each a window of its timeslices.

A GPU moves its own slices and holds one more at each side, whose g are copies of its neighbours'. These
write there through peer access while they sweep, see lattice/sweep.cu. An update depends on neighbours of the
other colour alone and random numbers are those of the site's number in the whole lattice, so that g is
the same bit for bit however many GPUs there are.
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
from hardscape.gauge.domains.reach import counts_there
from hardscape.gauge.domains.together import Cut, Together
from hardscape.gauge.lattice.cuda import (
    BEGINNING,
    CudaLattices,
    iteration_cost,
    kernel_of,
    launches,
    require_even,
    summed,
)
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Turn
from hardscape.gauge.lattice.schedule import Window
from hardscape.gauge.options import FixOptions


class Gpus(Together):
    """GPUs of this host; see `Together`."""

    def __init__(self, devices: Sequence[Cuda]) -> None:
        self.ordinals = [device.ordinal for device in devices]

    def __repr__(self) -> str:
        return f"<Gpus: {self.names()}>"

    def names(self) -> str:
        """See `Together.names`."""
        return ",".join(f"cuda:{ordinal}" for ordinal in self.ordinals)

    @contextmanager
    def placed(self, links: Any, choices: FixOptions, threads: int) -> Iterator[None]:
        """Let the GPUs write to each other's memory; links follow with each of `lattices`."""
        if links.shape[0] < len(self.ordinals):
            raise InputError(
                f"{len(self.ordinals)} GPUs hold a lattice of at least as many timeslices, not of "
                f"{links.shape[0]}; fewer GPUs are accepted"
            )
        require_even(links.shape[:-3])
        linked(self.ordinals)
        with cuda_device(self.ordinals[0]):  # where what is asked of all slices comes together
            yield

    def forget(self) -> None:
        """See `Together.forget`: they are handed out with each of `lattices`."""

    def lattices(self, links: Any, choices: FixOptions, single: bool, usual: int) -> Lattices:
        """See `Together.lattices`."""
        return PeerLattices(self.ordinals, links, choices, single, usual)


def linked(ordinals: Sequence[int]) -> None:
    """Let GPUs write to each other's memory."""
    for here in ordinals:
        for there in ordinals:
            if here != there:
                _link(here, there)


def windows(slices: int, many: int) -> tuple[list[list[int]], list[Window]]:
    """The timeslices that each of several GPUs holds of so many, and what its kernels know of them."""
    cut = Cut(slices, many)
    held = [cut.held(part) for part in range(many)]
    sizes = [len(some) for some in held]
    return held, [
        Window(
            halo=1,
            first=cut.own(part).start - 1,
            before=sizes[part - 1],
            after=sizes[(part + 1) % many],
            uneven=len(set(sizes)) > 1,
        )
        for part in range(many)
    ]


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


class Held:
    """Some timeslices of links, copied when they are asked for."""

    def __init__(self, links: Any, held: list[int]) -> None:
        self._links, self._held = links, held
        self.shape = len(held), *links.shape[1:]

    def __getitem__(self, part: slice) -> Any:
        return self._links[self._held[part]]


class PeerLattices(Lattices):
    """One copy over several GPUs; to be used inside :func:`hardscape.engine.cuda_device` of the first."""

    def __init__(
        self, ordinals: Sequence[int], links: Any, options: FixOptions, single: bool, usual: int
    ) -> None:
        super().__init__(links, options, single, copies=1)
        self.iteration_cost = iteration_cost(self.volume * usual, single)
        self.beginning_cost = BEGINNING
        self._ordinals, self._cut = ordinals, Cut(self.slices, len(ordinals))
        self._windows: list[CudaLattices] = []
        for ordinal, held, window in zip(
            ordinals, *windows(self.slices, len(ordinals)), strict=True
        ):
            with cuda_device(ordinal) as device:
                some = Held(links, held)
                self._windows.append(CudaLattices(device, some, options, single, 1, window=window))

    def _on_each(self, ask: Callable[..., Any]) -> list[Any]:
        """Begin something on all GPUs, then wait for all of them."""
        begun = []
        for part, (ordinal, window) in enumerate(zip(self._ordinals, self._windows, strict=True)):
            with cuda_device(ordinal):
                begun.append(ask(part, window))
        for ordinal, window in zip(self._ordinals, self._windows, strict=True):
            with cuda_device(ordinal):
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
        beside = [self._windows[-1], *self._windows, self._windows[0]]
        for some in launches(turns, self.volume):
            if turns[0].stop[0]:
                break
            of_each = [
                [replace(turn, active=self._own(turn.active, part)) for turn in some]
                for part in range(len(self._windows))
            ]
            self._on_each(lambda part, window, given=of_each: window.prepare(given[part], method))
            # Blocks of one GPU wait for those of others: nothing else may be asked before all have begun.
            self._on_each(
                lambda part, window, given=of_each: window.start(
                    given[part], method, beside[part], beside[part + 2]
                )
            )
            done += [turn.count for turn in some]
        return done

    def _own(self, active: NDArray[np.bool_], part: int) -> NDArray[np.bool_]:
        """Which of the slices that a GPU holds move."""
        moving = np.zeros((1, len(self._cut.held(part))), dtype=bool)
        moving[:, 1:-1] = active[:, self._cut.own(part)]
        return moving

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set g from the Haar measure."""
        self._on_each(lambda _, window: window.randomize(seeds))
        self._exchange()

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set g of copy 0, the only one."""
        self._on_each(lambda part, window: window.set_transformation(0, g[self._cut.held(part)]))

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of these GPUs in another precision."""
        assert isinstance(others, PeerLattices)
        self._on_each(lambda part, window: window.adopt(others._windows[part]))

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g."""
        import cupy

        along = cupy.ascontiguousarray(direction, np.complex64 if self.single else np.complex128)
        steps = to_device(step, "cpu")
        cupy.cuda.get_current_stream().synchronize()

        def moved(part: int, window: CudaLattices) -> None:
            own = self._cut.own(part)
            slab = cupy.empty((1, along.shape[1], len(own), *along.shape[3:]), along.dtype)
            for component in range(along.shape[1]):
                self._copy(slab[0, component], part, along[0, component, own.start : own.stop], 0)
            window.move(slab, cupy.asarray(steps[:, own.start : own.stop]))

        self._on_each(moved)
        self._exchange()

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        parts = [sums.get() for sums in self._on_each(lambda _, window: window.parts())]
        return self.measured(*summed(np.concatenate(parts, axis=1)))

    def transformation(self, copy: int) -> Any:
        """Return g of copy 0, the only one, on the host."""
        own = [len(self._cut.own(part)) for part in range(len(self._windows))]
        parts = self._on_each(lambda part, window: window.slices_of(0, 1, own[part]))
        return np.concatenate([part.get() for part in parts])

    def gradient(self) -> Any:
        """Return Delta, packed, on the first GPU."""
        import cupy

        slabs = self._on_each(lambda _, window: window.gradient())
        components, space = slabs[0].shape[1], slabs[0].shape[3:]
        whole = cupy.empty((1, components, self.slices, *space), slabs[0].dtype)
        for part, slab in enumerate(slabs):
            own = self._cut.own(part)
            for component in range(components):
                self._copy(whole[0, component, own.start : own.stop], 0, slab[0, component], part)
        return whole

    # -- from GPU to GPU -----------------------------------------------------------------------

    def _exchange(self) -> None:
        """Bring the slices at the sides up to date."""
        import cupy

        many = len(self._windows)
        ends = self._on_each(
            lambda part, window: (
                window.slices_of(0, 1, 1),
                window.slices_of(0, len(self._cut.own(part)), 1),
            )
        )

        def taken(part: int, window: CudaLattices) -> None:
            before, after = (part - 1) % many, (part + 1) % many
            below, above = cupy.empty_like(ends[part][0]), cupy.empty_like(ends[part][0])
            self._copy(below, part, ends[before][1], before)
            self._copy(above, part, ends[after][0], after)
            window.set_slices(0, 0, below)
            window.set_slices(0, len(self._cut.own(part)) + 1, above)

        self._on_each(taken)

    def _copy(self, to: Any, part: int, source: Any, source_part: int) -> None:
        """Copy contiguous arrays between GPUs, on the stream of the one that is current."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        cupy.cuda.runtime.memcpyPeerAsync(
            to.data.ptr,
            self._ordinals[part],
            source.data.ptr,
            self._ordinals[source_part],
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
