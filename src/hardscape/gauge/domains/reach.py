"""Transformations of the ranks beside this one, where their GPUs are within reach of this rank's.

Ranks of one host open each other's memory (CUDA's handles for other processes) and write what moved at their
sides where it is read, over NVLink or PCIe. Where GPUs may also count there, kernels of all ranks sweep side by
side as those of one process do, and what is left to MPI is to say when all are ready and when all are done.
Else it says after each colour that what was written is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from socket import gethostname
from typing import Any, NamedTuple

import numpy as np

from hardscape.engine import CudaDevice
from hardscape.errors import DeviceError, needed
from hardscape.gauge.domains.messages import Line, Swap


class Beside(NamedTuple):
    """What kernels write to of the windows beside: g there, and how far it is."""

    transformations: Any
    counters: Any


def counts_there(here: int, there: int) -> bool:
    """Whether one GPU writes to another's memory, with atomic operations: over NVLink."""
    import cupy
    from cuda.bindings import runtime

    if here == there:
        return True
    kind = runtime.cudaDeviceP2PAttr.cudaDevP2PAttrNativeAtomicSupported
    _, counts = runtime.cudaDeviceGetP2PAttribute(kind, here, there)
    return bool(cupy.cuda.runtime.deviceCanAccessPeer(here, there) and counts)


class Reach:
    """Memory of this process and of others that was opened, by its handle."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._runtime = needed("cupy", "cupy-cuda13x", "cuda", "CUDA").cuda.runtime
        self._opened: dict[bytes, int] = {}
        self._token = np.zeros(1, dtype=np.uint8)
        self._counts: bool | None = None

    def counts(self, ordinal: int) -> bool:
        """Whether kernels of all ranks may sweep side by side: each on a GPU of its own, all of one kind."""
        if self._counts is None:
            known = [
                self._runtime.getDeviceProperties(number)
                for number in range(self._runtime.getDeviceCount())
            ]
            line, own = self._line, known[ordinal]
            told = line.comm.allgather((gethostname(), own["uuid"], own["name"]))
            parts = line.cut.parts
            alone = len({who[:2] for who in told}) == parts and len({who[2] for who in told}) == 1
            visible = [one["uuid"] for one in known]
            there = [told[(line.part + step) % parts] for step in (-1, 1)]
            near = all(
                host == gethostname()
                and uuid in visible
                and counts_there(ordinal, visible.index(uuid))
                for host, uuid, _ in there
            )
            within = self.beside(needed("cupy", "cupy-cuda13x", "cuda", "CUDA").zeros(1))
            agreed = line.comm.allgather(alone and near and within is not None)
            self._counts = all(agreed)
        return self._counts

    def windows(self, transformations: Any, counters: Any) -> tuple[Beside, Beside]:
        """What is beside of the windows before and after, where kernels `counts`."""
        there, done = self.beside(transformations), self.beside(counters)
        if there is None or done is None:
            raise DeviceError(
                "memory of a rank's GPU is not to be opened by the others, where other memory was; "
                "on_gpus=False holds the lattice on CPUs"
            )
        before, after = (Beside(_at(g), _at(count)) for g, count in zip(there, done, strict=True))
        return before, after

    def beside(self, stored: Any) -> tuple[int, int] | None:
        """Addresses of the same array of the ranks before and after; None where not all ranks have them."""
        line, pointer = self._line, int(stored.data.ptr)
        mine = gethostname(), os.getpid(), pointer, *self._handle(pointer)
        told = line.comm.allgather(mine)
        parts = line.cut.parts
        found = [self._address(told[(line.part + step) % parts]) for step in (-1, 1)]
        if not all(line.comm.allgather(None not in found)):
            return None
        before, after = found
        assert before is not None
        assert after is not None
        return before, after

    def write(self, to: int, plane: Any, device: CudaDevice) -> None:
        """Begin to copy what lies together to an address."""
        default = self._runtime.memcpyDefault
        self._runtime.memcpyAsync(to, plane.data.ptr, plane.nbytes, default, device.stream.ptr)

    def meet(self) -> None:
        """Wait until the ranks beside are here too."""
        Swap(self._line, self._token, self._token).sides()

    def close(self) -> None:
        """Let go of the memory of others."""
        while self._opened:
            self._runtime.ipcCloseMemHandle(self._opened.popitem()[1])

    def _handle(self, pointer: int) -> tuple[bytes, int]:
        """What tells others of memory, and how far into it an address is; nothing where GPUs do not share."""
        from cuda.bindings import driver

        status, base, _ = driver.cuMemGetAddressRange(driver.CUdeviceptr(pointer))
        if int(status) != 0:
            return b"", 0
        return self._tried(lambda: bytes(self._runtime.ipcGetMemHandle(int(base)))) or b"", (
            pointer - int(base)
        )

    def _address(self, told: tuple[str, int, int, bytes, int]) -> int | None:
        host, process, pointer, handle, offset = told
        if host != gethostname():
            return None
        if process == os.getpid():
            return pointer
        if handle and handle not in self._opened:
            opened = self._tried(lambda: int(self._runtime.ipcOpenMemHandle(handle)))
            if opened:
                self._opened[handle] = opened
        return self._opened[handle] + offset if handle in self._opened else None

    def _tried(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except self._runtime.CUDARuntimeError:
            return None


def _at(address: int) -> Any:
    """An array of one byte at an address, for kernels, which know what lies there."""
    import cupy

    memory = cupy.cuda.UnownedMemory(address, 1, None)
    return cupy.ndarray(1, dtype=np.uint8, memptr=cupy.cuda.MemoryPointer(memory, 0))
