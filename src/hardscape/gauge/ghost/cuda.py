"""The Faddeev-Popov operator on a GPU: one thread a site and field."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice, Kernel, kernel
from hardscape.gauge.field import GaugeField
from hardscape.gauge.ghost.operator import FaddeevPopov

#: Threads of a block; parts that sums are made of, whatever the GPU; fields of a block of sums.
_THREADS, _PARTS, _SIDE = 128, 512, 32
#: Blocks of a kernel that goes over all numbers.
_BLOCKS = 4096


def ghost_kernel(name: str, shape: tuple[int, ...], nc: int, xi: float = 1.0) -> Kernel:
    """A kernel of ghost.cu for extents x, y, ..., t and any number of colours."""
    extents = {f"kExtent{mu}": extent for mu, extent in enumerate((*shape, 1, 1, 1)[:5])}
    of_lattice = {"kDimensions": len(shape), "kTimeWeight": float(xi) ** 2}
    constants = {"kColors": nc, "kThreads": _THREADS, **of_lattice, **extents}
    return kernel("gauge/ghost/ghost.cu", f"ghost_{name}", constants=constants)


class CudaFaddeevPopov(FaddeevPopov):
    """See `FaddeevPopov`; fields are CuPy arrays. To be used inside :func:`hardscape.engine.cuda_device`."""

    def __init__(self, field: GaugeField, device: CudaDevice, xi: float = 1.0) -> None:
        import cupy

        super().__init__(field, xi)
        self._cupy, self._device = cupy, device
        self._links = cupy.ascontiguousarray(cupy.asarray(field.links), dtype=np.complex128)
        self._operator, self._products, self._combine = (
            device.load(ghost_kernel(name, field.shape, field.nc, xi))
            for name in ("operator", "products", "combine")
        )

    def apply(self, fields: Any) -> Any:
        """See `FaddeevPopov.apply`."""
        found, count = self._cupy.empty_like(fields), fields.shape[-1]
        blocks = -(-self.volume * count // _THREADS)
        self._operator(blocks, _THREADS, self._links, fields, found, np.int32(count))
        return found

    def products(self, a: Any, b: Any) -> NDArray[np.float64]:
        """See `FaddeevPopov.products`."""
        count = a.shape[-1]
        parts = self._cupy.empty((_PARTS, count))
        grid = _PARTS, -(-count // _SIDE)
        self._products(grid, _THREADS, a, b, parts, np.int32(count))
        self._device.synchronize()
        total: NDArray[np.float64] = parts.get().sum(axis=0)
        return total

    def combine(self, y: Any, a: NDArray[np.float64], x: Any, b: NDArray[np.float64]) -> None:
        """See `FaddeevPopov.combine`."""
        factors = self._cupy.asarray(np.stack([a, b]))
        self._combine(_BLOCKS, _THREADS, y, factors[0], x, factors[1], np.int32(x.shape[-1]))
