"""Which kernels a call of the library runs, and how long each of them takes by itself.

Every launch on a GPU stands between two events on its stream, which cost about a microsecond; every call
into the compiled core is timed by its thread's own clock. What lies between the kernels is left out.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
from typing import Any

from hardscape import native
from hardscape.engine import cuda_status
from hardscape.engine.cuda import CudaDevice, LoadedKernel


@dataclass
class Ran:
    """A kernel in one call of the library.

    Attributes
    ----------
    name : str
        Entry point on the GPU, or function of the compiled core.
    launches : int
    seconds : float
        Of all launches.
    facts : dict
        Of the longest launch on a GPU: registers and spilled bytes of a thread, grid, block, and
        bytes of shared memory of a block.
    """

    name: str
    launches: int = 0
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    longest: float = field(default=0.0, repr=False)

    def add(self, seconds: float, facts: dict[str, Any]) -> None:
        """Count one launch."""
        self.launches += 1
        self.seconds += seconds
        if seconds >= self.longest:
            self.longest, self.facts = seconds, facts


class Trace:
    """Watches the library from its making on; one a process, made before the first kernel is loaded."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, float]] = []
        self._launches: list[tuple[str, dict[str, Any], Any, Any]] = []
        self._names: dict[int, str] = {}
        for part in (native.core, native.vector):
            self._watch_core(part, "")
        if cuda_status().usable:
            self._watch_gpu()

    def of(self, call: Callable[[], float]) -> tuple[float, dict[str, Ran]]:
        """Make a call: what it returns, and the kernels that ran in it, by name."""
        self._calls.clear()
        self._launches.clear()
        value = call()
        found: dict[str, Ran] = {}
        for name, seconds in self._calls:
            found.setdefault(name, Ran(name)).add(seconds, {})
        for name, facts, begin, end in self._launches:
            end.synchronize()
            found.setdefault(name, Ran(name)).add(_elapsed(begin, end), facts)
        return value, found

    def _watch_core(self, place: Any, prefix: str) -> None:
        """Time all functions of the compiled core, those of its modules and classes included."""
        for name, value in list(vars(place).items()):
            if name.startswith("_"):
                continue
            if isinstance(value, ModuleType):
                self._watch_core(value, "")
            elif inspect.isclass(value):
                self._watch_core(value, f"{name}.")
            elif callable(value):
                setattr(place, name, self._timed(value, prefix + name))

    def _timed(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @wraps(function, assigned=("__doc__",))
        def timed(*arguments: Any, **keywords: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*arguments, **keywords)
            finally:
                self._calls.append((name, time.thread_time() - began))

        return timed

    def _watch_gpu(self) -> None:
        """Put events around all launches."""
        import cupy

        load, launch = CudaDevice.load, LoadedKernel.__call__

        def named(device: CudaDevice, kernel: Any) -> LoadedKernel:
            loaded = load(device, kernel)
            self._names[id(loaded)] = kernel.name
            return loaded

        def timed(
            kernel: LoadedKernel, grid: Any, block: Any, *arguments: Any, **keywords: Any
        ) -> None:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            stream = cupy.cuda.get_current_stream()
            begin.record(stream)
            launch(kernel, grid, block, *arguments, **keywords)
            end.record(stream)
            facts = {
                "grid": grid,
                "block": block,
                "registers": kernel.registers,
                "spilled": kernel.spilled,
                "shared": kernel.shared + keywords.get("shared", 0),
            }
            self._launches.append((self._names[id(kernel)], facts, begin, end))

        setattr(CudaDevice, "load", named)  # noqa: B010
        setattr(LoadedKernel, "__call__", timed)  # noqa: B010


def _elapsed(begin: Any, end: Any) -> float:
    import cupy

    return 1e-3 * float(cupy.cuda.get_elapsed_time(begin, end))
