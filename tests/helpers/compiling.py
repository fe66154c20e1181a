"""Whether kernels compile, asked of NVRTC without a GPU."""

from __future__ import annotations

from dataclasses import replace

from hardscape.engine import Kernel
from hardscape.engine.cuda import jit

#: Types, instructions, shared memory and what links are refused all the same; optimizers take half of the time.
_QUICK = "--Ofast-compile=max"


def compiles(kernel: Kernel, arch: str = "sm_90") -> bool:
    """Whether a cubin is made of a kernel; what is wrong with it is raised."""
    quick = replace(kernel, options=(*kernel.options, _QUICK))
    return jit.compile(quick, arch).startswith(b"\x7fELF")
