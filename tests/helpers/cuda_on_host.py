"""Kernels compiled by g++ and run without a GPU, thread by thread: see cuda_on_host.hpp."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hardscape.engine import Kernel
from hardscape.ising.methods.walkers.place import Place

HERE = Path(__file__).parent
#: Arguments of a launch, at most; what a kernel does not take is ignored.
_ARGS = 32
_LAUNCH = """
alignas(16) unsigned char pool[1 << 18];
namespace { long long args[COUNT]; void (*kernel)(TYPES); }
extern "C" void on_host_launch(void* entry, unsigned grid, unsigned threads, const long long* given) {
  for (int i = 0; i < COUNT; ++i) args[i] = given[i];
  kernel = reinterpret_cast<decltype(kernel)>(entry);
  on_host::launch(grid, threads, [] { kernel(PASSED); });
}
"""
_LAUNCH = _LAUNCH.replace("COUNT", str(_ARGS))
_LAUNCH = _LAUNCH.replace("TYPES", ", ".join(["long long"] * _ARGS))
_LAUNCH = _LAUNCH.replace("PASSED", ", ".join(f"args[{i}]" for i in range(_ARGS)))


#: Fibers jump between stacks, and each library has its own.
_PLAIN = ("-U_FORTIFY_SOURCE", "-fcf-protection=none", "-fno-gnu-unique")
_OPTIONS = ("-std=c++20", "-w", "-fPIC", "-ffp-contract=off", *_PLAIN)
#: Words of PTX that kernels of several GPUs use, and what they are for g++.
_PTX = {
    r'asm volatile\("ld\.(acquire|relaxed)\.\w+\.global\.u32 .*?: "memory"\);': (
        "value = __atomic_load_n(from, __ATOMIC_ACQUIRE);"
    ),
    r'asm volatile\("red\.release\.\w+\.global\.add\.u32 .*?: "memory"\);': (
        "__atomic_fetch_add(counter, 1u, __ATOMIC_ACQ_REL);"
    ),
}


def _plain(text: str) -> str:
    for words, meaning in _PTX.items():
        text = re.sub(words, meaning, text)
    return text


@cache
def _prepared(level: str) -> tempfile.TemporaryDirectory[str]:
    """Where the header is, read by g++ once for all kernels: that takes longer than most of them."""
    folder = tempfile.TemporaryDirectory()
    header = shutil.copy(HERE / "cuda_on_host.hpp", folder.name)
    subprocess.run(["g++", level, *_OPTIONS, "-x", "c++-header", header], check=True)
    return folder


def compiled(
    source: str, headers: tuple[tuple[str, str], ...], copies: int = 1, *, level: str = "-O1"
) -> Any:
    """A source with its kernels as a library of this process, or a list of copies of it.

    What computes for no longer than it takes to compile is not optimized: level "-O0".
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in headers:
            if path != "cstdint":
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(_plain(text))
        text = source.replace("extern __shared__", "extern")
        (folder / "kernel.cpp").write_text(f'#include "cuda_on_host.hpp"\n{text}{_LAUNCH}')
        places = [f"-I{_prepared(level).name}", f"-I{folder}", str(folder / "kernel.cpp"), "-o"]
        library = folder / "kernel.so"
        subprocess.run(["g++", level, *_OPTIONS, "-shared", *places, str(library)], check=True)
        if copies == 1:
            return ctypes.CDLL(str(library))
        places = [shutil.copy(library, folder / f"kernel-{i}.so") for i in range(copies)]
        return [ctypes.CDLL(str(place)) for place in places]


def launched(library: ctypes.CDLL, name: str, grid: int, threads: int, *args: Any) -> None:
    """Run a kernel of a library to its end; arrays are passed as their addresses."""
    passed = [int(x.ctypes.data) if isinstance(x, np.ndarray) else int(x) for x in args]
    whole = [x if x < 2**63 else x - 2**64 for x in passed]
    given = (ctypes.c_longlong * _ARGS)(*whole)
    entry = ctypes.cast(getattr(library, name), ctypes.c_void_p)
    library.on_host_launch(entry, ctypes.c_uint(grid), ctypes.c_uint(threads), given)


class HostPlace(Place):
    """Does a GPU's work on the CPU."""

    def __init__(self, level: str = "-O1") -> None:
        self._level = level
        self._libraries: dict[tuple[str, object], ctypes.CDLL] = {}

    def array(self, host: NDArray[Any]) -> Any:
        return np.ascontiguousarray(host).copy()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        return np.zeros(shape, dtype=dtype)

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def host(self, array: Any) -> NDArray[Any]:
        found: NDArray[Any] = array.copy()
        return found

    def wait(self) -> None:
        pass

    def launch(self, kernel: Kernel, grid: int, threads: int, *args: Any, shared: int) -> None:
        key = kernel.source, kernel.headers
        if key not in self._libraries:
            self._libraries[key] = compiled(kernel.source, kernel.headers, level=self._level)
        launched(self._libraries[key], kernel.name, grid, threads, *args)

    def free(self) -> int:
        return 2**40
