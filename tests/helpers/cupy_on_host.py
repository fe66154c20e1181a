"""What walks ask of CuPy and of a GPU, of the host: so that their kernels run where there is no GPU."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from helpers.cuda_on_host import HostPlace


class HostArray(np.ndarray):
    """An array as CuPy has it."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=int(self.ctypes.data))

    def get(self) -> np.ndarray:
        return np.array(self)


def _made(make: Any) -> Any:
    return lambda *given, **how: np.array(make(*given, **how), order="C").view(HostArray)


def cupy_on_host() -> ModuleType:
    """A module with what it takes; what is empty holds nonsense."""
    module = ModuleType("cupy")
    for name in ("asarray", "zeros"):
        setattr(module, name, _made(getattr(np, name)))
    module.empty = _made(lambda shape, dtype: np.full(shape, 0xA5A5A5A5, dtype=dtype))
    return module


class HostDevice:
    """A GPU of one multiprocessor, which is the CPU."""

    multiprocessors = 1
    free = 2**40

    def __init__(self, monkeypatch: Any, most_shared: int = 1 << 18) -> None:
        monkeypatch.setitem(sys.modules, "cupy", cupy_on_host())
        self.most_shared = most_shared
        self._place = HostPlace("-O0")

    def load(self, kernel: Any) -> Any:
        return lambda grid, threads, *given, shared: self._place.launch(
            kernel, grid, threads, *given, shared=shared
        )

    def free_memory(self) -> int:
        return self.free

    def rest(self) -> None:
        pass
