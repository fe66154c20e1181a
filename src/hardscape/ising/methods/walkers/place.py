"""Where runs of a search lie and are moved on: arrays, and kernels that take their addresses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hardscape.engine import CudaDevice, Kernel


class Place(ABC):
    """A GPU, or what does its work in a test."""

    @abstractmethod
    def array(self, host: NDArray[Any]) -> Any:
        """A copy there."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """An array there, of zeros."""

    @abstractmethod
    def address(self, array: Any) -> int:
        """Where an array begins."""

    @abstractmethod
    def host(self, array: Any) -> NDArray[Any]:
        """A copy here of an array there, once all kernels are done."""

    @abstractmethod
    def launch(self, kernel: Kernel, grid: int, threads: int, *args: Any, shared: int) -> None:
        """Start a kernel; it takes arrays and NumPy scalars, and so many bytes of shared memory."""

    @abstractmethod
    def wait(self) -> None:
        """Until all kernels are done."""

    @abstractmethod
    def free(self) -> int:
        """Bytes that arrays may take."""


class GpuPlace(Place):
    """One GPU; to be used while it is the current one."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device

    def array(self, host: NDArray[Any]) -> Any:
        """See `Place.array`."""
        import cupy

        return cupy.asarray(host)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """See `Place.empty`."""
        import cupy

        return cupy.zeros(shape, dtype=dtype)

    def address(self, array: Any) -> int:
        """See `Place.address`."""
        return int(array.data.ptr)

    def host(self, array: Any) -> NDArray[Any]:
        """See `Place.host`."""
        self.wait()
        found: NDArray[Any] = array.get()
        return found

    def launch(self, kernel: Kernel, grid: int, threads: int, *args: Any, shared: int) -> None:
        """See `Place.launch`."""
        self._device.launch(kernel, grid, threads, *args, shared=shared)

    def wait(self) -> None:
        """See `Place.wait`."""
        self._device.synchronize()  # lets other threads run meanwhile, as a copy would not

    def free(self) -> int:
        """See `Place.free`."""
        return self._device.free_memory()


#: Rows that are copied one by one: to gather them there takes longer.
_FEW_ROWS = 4


def take(place: Place, array: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """A copy here of some rows of an array there."""
    if 0 < len(rows) <= _FEW_ROWS:
        return np.concatenate([place.host(array[row : row + 1]) for row in rows.tolist()])
    return place.host(array[place.array(rows)])
