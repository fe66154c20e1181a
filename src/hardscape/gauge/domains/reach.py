"""Transformations of the ranks beside this one, where their GPUs are within reach of this rank's.

Ranks of one host open each other's memory (CUDA's handles for other processes) and write what moved at their
sides where it is read, over NVLink or PCIe. What is left to MPI is to say that it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from socket import gethostname
from typing import Any

import numpy as np

from hardscape.engine import CudaDevice
from hardscape.errors import needed
from hardscape.gauge.domains.messages import Line, Swap


class Reach:
    """Memory of this process and of others that was opened, by its handle."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._runtime = needed("cupy", "cupy-cuda13x", "cuda", "CUDA").cuda.runtime
        self._opened: dict[bytes, int] = {}
        self._token = np.zeros(1, dtype=np.uint8)

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
