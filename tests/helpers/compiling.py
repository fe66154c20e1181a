"""Whether kernels compile, asked of NVRTC without a GPU."""

from __future__ import annotations

from dataclasses import replace

from hardscape.engine import Kernel
from hardscape.engine.cuda import jit

#: Types, instructions, shared memory and what links are refused all the same; optimizers take half of the time.
_QUICK = "--Ofast-compile=max"


def compiles(kernel: Kernel, arch: str = "sm_90", *, quick: bool = True) -> bool:
    """Whether a cubin is made of a kernel; what is wrong with it is raised.

    Thousands of statements without a branch are not to be told `quick`: that takes them minutes.
    """
    if quick:
        kernel = replace(kernel, options=(*kernel.options, _QUICK))
    return jit.compile(kernel, arch).startswith(b"\x7fELF")
