"""Matrices of a lattice's sites or links on a GPU, in the order of the kernels: see site.cuh."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hardscape.engine import CudaDevice, LoadedKernel
from hardscape.gauge.stored.instance import ONE_EACH, THREADS, Instance

#: Sites whose matrices lie together.
_TOGETHER = 32
#: Bytes of users' arrays that are brought to the kernels' order at a time.
IN_FLIGHT = 2**28


class Storage:
    """Arrays [site / 32][matrix][chunk][site % 32][lane], of the rows that determine a matrix, from and
    to users' arrays. To be used inside :func:`hardscape.engine.cuda_device`.
    """

    def __init__(self, device: CudaDevice, instance: Instance) -> None:
        import cupy

        self._cupy = cupy
        self._device = device
        self._kernels: dict[str, LoadedKernel] = {}
        self.instance = instance
        self.volume = math.prod(instance.shape)

    def kernel(self, file: str, name: str, **constants: int) -> LoadedKernel:
        """A kernel of the instance with one thread a site."""
        key = f"{name}{constants}"
        if key not in self._kernels:
            made = self.instance.kernel(file, name, ONE_EACH, **constants)
            self._kernels[key] = self._device.load(made)
        return self._kernels[key]

    def empty(self, copies: int = 1, matrices: int = 1) -> Any:
        """Room for so many matrices a site."""
        instance = self.instance
        blocks, lanes = -(-self.volume // _TOGETHER), 4 if instance.single else 2
        chunks = instance.link_chunks if matrices > 1 else instance.chunks
        shape = copies, blocks, matrices, chunks, _TOGETHER, lanes
        return self._cupy.zeros(shape, dtype=np.float32 if self.instance.single else np.float64)

    @staticmethod
    def part(stored: Any, number: int, sites: int) -> Any:
        """So many sites, those of a number, as they lie; None where they share blocks with others."""
        if sites % _TOGETHER:
            return None
        blocks = sites // _TOGETHER
        return stored[number * blocks : (number + 1) * blocks]

    def in_parts(self, field: Any) -> Iterator[tuple[int, Any]]:
        """Some timeslices at a time of an array (T, ...), on the GPU, and the number of the first."""
        step = max(1, IN_FLIGHT // (math.prod(field.shape[1:]) * 16))
        for first in range(0, field.shape[0], step):
            part = self._cupy.asarray(field[first : first + step], dtype=np.complex128)
            yield first, self._cupy.ascontiguousarray(part)

    def put(self, to: Any, first: int, part: Any, matrices: int = 1) -> None:
        """Write timeslices from `first` on, shape (..., Nc, Nc)."""
        put = self.kernel("start", "gauge_put", kMatrices=matrices)
        threads = part.size // self.instance.nc**2
        put(-(-threads // THREADS), THREADS, to, part, np.int32(first), np.int32(len(part)))

    def get(self, source: Any, first: int, count: int, matrices: int = 1) -> Any:
        """Copy timeslices, complex128, number for number in the rows that are stored."""
        *space, _ = self.instance.shape
        nc = self.instance.nc
        many = (matrices,) if matrices > 1 else ()
        found = self._cupy.empty((count, *space[::-1], *many, nc, nc), dtype=np.complex128)
        get = self.kernel("start", "gauge_get", kMatrices=matrices)
        blocks = -(-count * math.prod(space) * matrices // THREADS)
        get(blocks, THREADS, source, found, np.int32(first), np.int32(count))
        return found
