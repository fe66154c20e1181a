"""Kernels whose threads do not talk to one another, compiled for the host and run a thread after another."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest


class HostKernel:
    """A kernel of the package as a function of the host; arrays are changed in place."""

    def __init__(self, kernel, folder):
        compiler = shutil.which(os.environ.get("CXX", "g++"))
        if compiler is None:
            pytest.skip("no C++ compiler to run a kernel on the host with")
        for name, text in kernel.headers:
            if name != "cstdint":
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        source, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        shim = Path(__file__).with_suffix(".hpp")
        source.write_text(f'#include "{shim}"\n{kernel.source}')
        options = ["-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{folder}"]
        subprocess.run([compiler, *options, str(source), "-o", str(library)], check=True)
        self._library = ctypes.CDLL(str(library))
        self._function = self._library[kernel.name]
        self._function.restype = None

    def __call__(self, blocks, threads, *arguments):
        """Run it; arguments are arrays and NumPy scalars."""
        block, thread = (
            ctypes.c_uint32.in_dll(self._library, name) for name in ("blockIdx", "threadIdx")
        )
        types = {4: ctypes.c_uint32, 8: ctypes.c_uint64}
        given = [
            ctypes.c_void_p(x.ctypes.data) if x.ndim else types[x.dtype.itemsize](int(x))
            for x in arguments
        ]
        for block.value in range(blocks):
            for thread.value in range(threads):
                self._function(*given)
