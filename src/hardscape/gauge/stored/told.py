"""What the kernels of sweeps read besides links and g: a few small arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import CudaDevice
from hardscape.gauge.lattice.lattices import Turn

#: Numbers of native ``Method`` Matrix and Heatbath, and of the kernel of both subgroups and heatbath.
_MATRIX, _HEATBATH, _MIXED = 1, 2, 3
#: Masks of timeslices that are kept on a GPU.
_MASKS = 64


def kernel_of(turns: Sequence[Turn]) -> int:
    """The kernel of a turn, or of several, which are heatbaths and hits in subgroups."""
    return turns[0].sweeps[0].method if len(turns) == 1 else _MIXED


def steps_of(turns: Sequence[Turn], method: int) -> NDArray[np.float64]:
    """What sweep.cu reads: a row a copy, or of sweeps that differ a row a sweep and copy."""
    if method != _MIXED:
        return np.array([sweep.row() for sweep in turns[0].sweeps])
    rows = [
        [
            (*sweep.row()[:3], sweep.temperature * (sweep.method == _HEATBATH))
            for sweep in turn.sweeps
        ]
        for turn in turns
    ]
    return np.repeat(np.array(rows), [turn.count for turn in turns], axis=0)


class Told:
    """These arrays on a GPU. Most stay the same from launch to launch, and copies take time.

    To be used inside :func:`hardscape.engine.cuda_device`.
    """

    def __init__(self, device: CudaDevice) -> None:
        import cupy

        self._cupy, self._device = cupy, device
        self._held: dict[str, tuple[Any, NDArray[Any]]] = {}
        self._masks: dict[bytes, Any] = {}

    def of(self, turns: Sequence[Turn], method: int) -> tuple[Any, ...]:
        """Steps, seeds, numbers of the first sweeps, and which slices move."""
        turn, random = turns[0], method != _MATRIX
        return (
            self._on_device("steps", steps_of(turns, method)),
            self.seeds(turn.seeds, read=random),
            self._on_device("firsts", np.asarray(turn.first, dtype=np.int64), read=random),
            self._mask(turn.active),
        )

    def seeds(self, seeds: NDArray[np.uint64], read: bool = True) -> Any:
        """The seeds of copies."""
        return self._on_device("seeds", np.asarray(seeds, dtype=np.uint64), read)

    def _mask(self, active: NDArray[np.bool_]) -> Any:
        """Which slices move, on the GPU: few masks come by turns."""
        key = active.tobytes()
        if key not in self._masks:
            if len(self._masks) == _MASKS:
                self._masks.clear()
            self._masks[key] = self._cupy.asarray(active.astype(np.uint8))
        return self._masks[key]

    def _on_device(self, name: str, values: NDArray[Any], read: bool = True) -> Any:
        """A small array on the GPU; most stay the same from sweep to sweep, and copies take time.

        Where nobody reads it, it may hold older values.
        """
        key = f"{name}{values.shape}"
        held = self._held.get(key)
        if held is None:
            held = self._cupy.empty(values.shape, values.dtype), values.copy()
            self._held[key] = held
            held[0].set(values, stream=self._device.stream)
        elif read and not np.array_equal(held[1], values):
            held[0].set(values, stream=self._device.stream)  # in order with the kernels there
            held[1][...] = values
        return held[0]
