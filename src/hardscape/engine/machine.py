"""What this machine offers: processor, memory, and whether CUDA can be used, or why not."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from hardscape import native
from hardscape.engine.cuda import driver, jit
from hardscape.engine.cuda.driver import DriverReport, Gpu
from hardscape.errors import MissingDependencyError, SimdError
from hardscape.plain import Plain
from hardscape.version import __version__

_PIP = "pip install 'hardscape[cuda]'"

#: Distributions that hold the module ``cupy``.
_CUPY_NAMES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")


@dataclass(frozen=True)
class CudaStatus:
    """Whether CUDA can be used here.

    Attributes
    ----------
    usable : bool
    reason, remedy : str
        Why not, and what to do about it; empty if usable.
    driver : str
        Newest CUDA version that the driver supports, or "" without a driver.
    nvrtc, cuda_core, cupy : str
        Versions of the run-time compiler and of the packages, or "" if missing.
    gpus : tuple of Gpu

    Examples
    --------
    >>> from hardscape.engine import cuda_status
    >>> status = cuda_status()
    >>> isinstance(status.usable, bool), isinstance(status.gpus, tuple)
    (True, True)
    """

    usable: bool
    reason: str
    remedy: str
    driver: str
    nvrtc: str
    cuda_core: str
    cupy: str
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Machine(Plain):
    """What :func:`probe` found.

    Attributes
    ----------
    hardscape : str
        Version of this package.
    simd : str
        Instruction-set level in use, or why there is none.
    simd_levels : tuple of str
        Levels that were built and that this processor runs, widest first.
    cpu : str
        Model name of the processor.
    cores : int
        CPUs that this process may use.
    memory : int
        Bytes of main memory.
    cuda : CudaStatus

    Examples
    --------
    >>> from hardscape.engine import probe
    >>> probe().cores >= 1
    True
    """

    hardscape: str
    simd: str
    simd_levels: tuple[str, ...]
    cpu: str
    cores: int
    memory: int
    cuda: CudaStatus

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]


def probe() -> Machine:
    """Look at the machine. Takes about 0.2 s for each GPU, whose free memory is asked for.

    Examples
    --------
    >>> from hardscape.engine import probe
    >>> machine = probe()
    >>> machine.simd in machine.simd_levels
    True
    """
    cuda = cuda_status()
    gpus = tuple(replace(gpu, memory_free=driver.free_memory(gpu.ordinal)) for gpu in cuda.gpus)
    try:
        simd, levels = native.level(), native.available_levels()
    except SimdError as error:
        simd, levels = str(error), ()
    return Machine(
        hardscape=__version__,
        simd=simd,
        simd_levels=levels,
        cpu=cpu_model(),
        cores=cpu_count(),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        cuda=replace(cuda, gpus=gpus),
    )


def cpu_count() -> int:
    """Number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_model(cpuinfo: str = "/proc/cpuinfo") -> str:
    """Name of the processor."""
    try:
        lines = Path(cpuinfo).read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    import platform

    return models[0] if models else platform.processor() or platform.machine()


@cache
def cuda_status() -> CudaStatus:
    """Whether CUDA can be used here; asked once a process. Creates no CUDA context.

    Examples
    --------
    >>> from hardscape.engine import cuda_status
    >>> status = cuda_status()
    >>> status.usable or bool(status.reason)
    True
    """
    report = driver.query()
    try:
        nvrtc = jit.nvrtc_version()
    except MissingDependencyError:
        nvrtc = None
    core = _version("cuda.core", "cuda-core")
    cupy = _version("cupy", *_CUPY_NAMES)
    reason, remedy = _verdict(report, nvrtc, core, cupy)
    return CudaStatus(
        usable=not reason,
        reason=reason,
        remedy=remedy,
        driver=_dotted(report.version),
        nvrtc=_dotted(nvrtc),
        cuda_core=core,
        cupy=cupy,
        gpus=report.gpus,
    )


def _verdict(
    report: DriverReport, nvrtc: tuple[int, int] | None, core: str, cupy: str
) -> tuple[str, str]:
    """Why CUDA cannot be used and the remedy, the deepest cause first; or two empty strings."""
    if report.reason:
        return report.reason, report.remedy
    if not core:
        return "the package cuda-core is not installed", _PIP
    if nvrtc is None:
        return "the run-time compiler NVRTC is not installed", _PIP
    if not cupy:
        return "the package CuPy is not installed", _PIP
    # Code compiled by a newer minor version runs on an older driver, by a newer major one does not.
    if report.version is not None and report.version[0] < nvrtc[0]:
        return (
            f"the NVIDIA driver supports CUDA {_dotted(report.version)}, "
            f"the installed packages are for CUDA {_dotted(nvrtc)}",
            f"update the NVIDIA driver to one that supports CUDA {nvrtc[0]}",
        )
    return "", ""


def _dotted(version: tuple[int, int] | None) -> str:
    return "" if version is None else ".".join(map(str, version))


def _version(module: str, *distributions: str) -> str:
    """Version of an installed package, found without importing it; "" if it is missing."""
    try:
        if importlib.util.find_spec(module) is None:
            return ""
    except ModuleNotFoundError:  # the parent package is missing
        return ""
    from importlib import metadata  # takes longer to import than the rest of this module

    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"
