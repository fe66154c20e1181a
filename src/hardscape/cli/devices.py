"""The command ``hardscape devices``."""

from __future__ import annotations

from collections.abc import Iterator

from hardscape.cli.options import Json
from hardscape.cli.terminal import show
from hardscape.engine import Machine, probe


def devices(*, json: Json = False) -> None:
    """Show what this machine offers: processor, memory, GPUs, and why CUDA cannot be used."""
    machine = probe()
    plain = {**machine.to_dict(), "install": _install(machine)}
    show(json, "devices", lambda: plain, _facts(machine))


def _install(machine: Machine) -> str:
    """The line that installs missing packages for CUDA, or "" if none is missing."""
    cuda = machine.cuda
    complete = cuda.nvrtc and cuda.cuda_core and cuda.cupy
    return "" if complete else "pip install 'hardscape[cuda]'"


def _facts(machine: Machine) -> Iterator[tuple[str, str]]:
    cuda = machine.cuda
    yield "hardscape", machine.hardscape
    yield "processor", machine.cpu
    yield "cores", str(machine.cores)
    yield "memory", _gib(machine.memory)
    yield "SIMD level", f"{machine.simd} (usable here: {', '.join(machine.simd_levels) or 'none'})"
    yield "CUDA", "usable" if cuda.usable else f"not usable: {cuda.reason}"
    if cuda.remedy:
        yield "", f"remedy: {cuda.remedy}"
    if _install(machine) and _install(machine) != cuda.remedy:
        yield "", f"missing packages: {_install(machine)}"
    yield "CUDA driver", f"CUDA {cuda.driver}" if cuda.driver else "missing"
    for name, version in (
        ("NVRTC", cuda.nvrtc),
        ("cuda-core", cuda.cuda_core),
        ("CuPy", cuda.cupy),
    ):
        yield name, version or "missing"
    for gpu in cuda.gpus:
        free = "" if gpu.memory_free is None else f", {_gib(gpu.memory_free)} free"
        yield (
            f"GPU {gpu.ordinal}",
            f"{gpu.name}, compute capability {gpu.compute_capability}, "
            f"{gpu.multiprocessors} multiprocessors, {_gib(gpu.memory_total)}{free}",
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
