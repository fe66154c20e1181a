"""Whether kernels compile, asked of NVRTC without a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from hardscape.engine import Kernel
from hardscape.engine.cuda import jit
from hardscape.errors import CompileError

#: Types, instructions, shared memory and what links are refused all the same; optimizers take half of the time.
_QUICK = "--Ofast-compile=max"

#: Bytes of shared memory that a kernel may declare, on every architecture.
_MOST_SHARED = 48 << 10

_SHARED = re.compile(r"^\s*\.shared .*?\.[bfsu](\d+) [\w$]+(?:\[(\d+)\])?;", re.MULTILINE)

_assembled: set[tuple[str, str]] = set()


def compiles(kernel: Kernel, arch: str = "sm_90", *, quick: bool = True) -> bool:
    """Whether NVRTC takes a kernel; what is wrong with it is raised.

    The first of a name is assembled on each architecture, which takes three quarters of the time; what
    assemblers refuse of its variants (shared memory, functions that nobody has) is looked for in their PTX.
    Thousands of statements without a branch are not to be told `quick`: that takes them minutes.
    """
    if quick:
        kernel = replace(kernel, options=(*kernel.options, _QUICK))
    if (kernel.name, arch) not in _assembled:
        _assembled.add((kernel.name, arch))
        return jit.compile(kernel, arch).startswith(b"\x7fELF")
    ptx = _ptx(replace(kernel, name=""), arch)
    return f".entry {kernel.name}(" in ptx and ".extern .func" not in ptx and _shared(ptx)


@cache
def _ptx(kernel: Kernel, arch: str) -> str:
    """What NVRTC makes of a source, which may hold several kernels, for the assembler."""
    from cuda.bindings import nvrtc

    names = [name.encode() for name, _ in kernel.headers]
    texts = [text.encode() for _, text in kernel.headers]
    source = kernel.source.encode()
    _, program = nvrtc.nvrtcCreateProgram(source, b"kernel.cu", len(names), texts, names)
    try:
        options = [f"-arch={arch.replace('sm_', 'compute_')}", "-std=c++20", *kernel.options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [x.encode() for x in options])
        if int(status) != 0:
            log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileError(log.decode(errors="replace"))
        text = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, text)
        return text.decode()
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _shared(ptx: str) -> bool:
    declared = ((int(bits) // 8) * int(count or 1) for bits, count in _SHARED.findall(ptx))
    return sum(declared) <= _MOST_SHARED
