"""The Markov chain of the Wilson action on one GPU, or on several that hold a window of timeslices each.

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
from hardscape.errors import InputError
from hardscape.gauge.domains.gpus import Held, linked, windows
from hardscape.gauge.lattice.cuda import require_even
from hardscape.gauge.lattice.schedule import WHOLE
from hardscape.gauge.stored.instance import THREADS, Instance
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
    """A kernel of chain.cu, for a lattice of so many slices of which the instance has all or some."""
    of_action = {"kSlices": slices, "kEnds": ends, "kFixed": fixed, "kXi": float(xi)}
    of_launch = {"kThreads": THREADS, "kShares": _PARTS, "kHeat": heat}
    numbers = instance.constants | of_action | of_launch
    return kernel("gauge/chain/chain.cu", f"chain_{name}", constants=numbers)


class CudaChain:
    """Links that move, shape (T, ..., Nd, Nc, Nc) to begin with; see `native` ``WilsonChain``.

    `ends`, `fixed` and `xi` are those of the action: whether time is open, whether links in space rest on
    the first (1) or the last (2) timeslice, and the bare anisotropy.
    """

    def __init__(
        self, ordinals: Sequence[int], links: Any, ends: bool, fixed: int, xi: float
    ) -> None:
        self._shape = links.shape
        *space, self._directions, nc, _ = links.shape
        require_even(space)
        slices, many = links.shape[0], len(ordinals)
        if slices < many:
            raise InputError(
                f"{many} GPUs hold a lattice of at least as many timeslices, not of {slices}; fewer "
                "GPUs are accepted"
            )
        self._nc = nc
        linked(ordinals)
        self._windows: list[ChainWindow] = []
        for ordinal, held, window in zip(ordinals, *windows(slices, many), strict=True):
            with cuda_device(ordinal) as device:
                whole = many == 1
                some = links if whole else Held(links, held)
                shape = some.shape[-4::-1]
                instance = Instance(shape, nc, False, window=WHOLE if whole else window)
                action = slices, ends, fixed, xi
                self._windows.append(ChainWindow(device, some, instance, action))
        beside = [self._windows[-1], *self._windows, self._windows[0]]
        for before, one, after in zip(beside, self._windows, beside[2:], strict=False):
            one.beside = before, after
        planes = self._directions * (self._directions - 1) // 2
        sites = math.prod(space[1:])
        self._counted = (slices - (1 if ends else 0)) * sites * planes * nc

    def links(self) -> NDArray[np.complex128]:
        """The links of the moment, shape (T, ..., Nd, Nc, Nc)."""
        return np.concatenate([part.get() for part in self._on_each(ChainWindow.links)])

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
        slices = np.concatenate([sums.get() for sums in self._on_each(ChainWindow.sums)], axis=1)
        found: NDArray[np.float64] = slices.sum(axis=2).sum(axis=1) / self._counted
        return found

    def _on_each(self, ask: Callable[[ChainWindow], Any]) -> list[Any]:
        """What each GPU says, when all it was asked before is over."""
        found = []
        for window in self._windows:
            with cuda_device(window.device.ordinal):
                found.append(ask(window))
        for window in self._windows:
            with cuda_device(window.device.ordinal):
                window.device.synchronize()
        return found

    def _step(self, begin: Callable[..., None], *given: int) -> None:
        """Begin a step on all GPUs, behind the step before of those beside."""
        if len(self._windows) > 1:
            for window in self._windows:
                with cuda_device(window.device.ordinal):
                    window.wait()
        for window in self._windows:
            with cuda_device(window.device.ordinal):
                begin(window, *given)
                window.over()


class ChainWindow:
    """The timeslices of one GPU."""

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
        self.beside: tuple[ChainWindow, ChainWindow] = self, self
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
        self._over = cupy.cuda.Event(disable_timing=True)
        self.over()
        device.synchronize()

    def links(self) -> Any:
        """Those of its own slices, on the GPU."""
        halo = self.instance.window.halo
        return self._store.get(self._links, halo, self._slices, self._matrices)

    def expect(self, count: int, coupling: float) -> None:
        """Take the coupling beta / Nc, and make room for what so many sweeps measure."""
        self._coupling = self._cupy.array([coupling])
        self._sums = self._cupy.zeros((count, self._slices, _PARTS))

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
        """Wait for what the GPUs beside did last."""
        for window in self.beside:
            self.device.stream.wait_event(window._over)

    def over(self) -> None:
        """Note that what was begun is over when it is."""
        self._over.record(self.device.stream)

    def move(self, seed: int, number: int, heat: bool, color: int, mu: int) -> None:
        """Begin to move the links of a colour and direction."""
        window = self.instance.window
        before, after = self.beside
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
            np.int32(window.first),
            np.int32(window.first * math.prod(self.instance.shape[:-1])),
        )

    def measure(self, row: int) -> None:
        """Begin to sum the plaquettes of each slice."""
        first = np.int32(self.instance.window.first)
        self._traces(_PARTS * self._slices, THREADS, self._links, self._sums[row], first)
