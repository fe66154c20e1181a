"""What the NVIDIA driver says, asked directly: its version, its GPUs, and why it cannot be used.

The driver's library is called through ctypes, so that this works, and explains itself, with none of
the CUDA packages installed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_LIBRARY = "libcuda.so.1"

# Result codes of the driver API (cuda.h, CUresult).
_NO_DEVICE = 100
_INSUFFICIENT_DRIVER = 35

# Device attributes (cuda.h, CUdevice_attribute).
_MULTIPROCESSORS = 16
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76


@dataclass(frozen=True)
class Gpu:
    """A GPU as the driver describes it.

    Attributes
    ----------
    ordinal : int
        Its number among the GPUs that this process sees.
    name : str
    compute_capability : str
        For example "9.0".
    memory_total : int
        Bytes.
    memory_free : int or None
        Bytes, or None where it was not asked for.
    multiprocessors : int
    """

    ordinal: int
    name: str
    compute_capability: str
    memory_total: int
    memory_free: int | None
    multiprocessors: int


@dataclass(frozen=True)
class DriverReport:
    """What the driver answered.

    Attributes
    ----------
    version : tuple of int or None
        Newest CUDA version that it supports, for example (13, 0); None without a driver.
    gpus : tuple of Gpu
    reason : str
        Why there is no GPU to use; empty if there is one.
    remedy : str
        What to do about it.
    """

    version: tuple[int, int] | None
    gpus: tuple[Gpu, ...]
    reason: str
    remedy: str


def query() -> DriverReport:
    """Ask the driver for its version and its GPUs. Creates no context."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        return DriverReport(
            None,
            (),
            f"no NVIDIA driver: {_LIBRARY} cannot be loaded ({error})",
            "install the NVIDIA driver; in a container, start it with access to the GPU",
        )
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    version = (number.value // 1000, number.value % 1000 // 10)
    status = library.cuInit(0)
    if status:
        return DriverReport(version, (), *_explain(library, status))
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    if not count.value:
        return DriverReport(version, (), *_explain(library, _NO_DEVICE))
    return DriverReport(version, tuple(_gpu(library, i) for i in range(count.value)), "", "")


def _explain(library: Any, status: int) -> tuple[str, str]:
    if status == _NO_DEVICE:
        return (
            "the NVIDIA driver shows no GPU to this process",
            "check nvidia-smi and the variable CUDA_VISIBLE_DEVICES",
        )
    if status == _INSUFFICIENT_DRIVER:
        return (
            "the NVIDIA kernel module is older than the driver's library",
            "update the NVIDIA driver and restart",
        )
    text = ctypes.c_char_p()
    library.cuGetErrorString(status, ctypes.byref(text))
    what = (text.value or b"unknown error").decode(errors="replace")
    return f"the NVIDIA driver does not start: error {status}, {what}", "check nvidia-smi"


def _gpu(library: Any, ordinal: int) -> Gpu:
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, len(name), device)
    total = ctypes.c_size_t()
    library.cuDeviceTotalMem_v2(ctypes.byref(total), device)

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        library.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    return Gpu(
        ordinal,
        name.value.decode(errors="replace"),
        f"{attribute(_CAPABILITY_MAJOR)}.{attribute(_CAPABILITY_MINOR)}",
        total.value,
        None,
        attribute(_MULTIPROCESSORS),
    )


def free_memory(ordinal: int) -> int | None:
    """Free bytes of a GPU that :func:`query` found; None if it gives no context (say, it is full).

    Retains the GPU's primary context for the moment of the question, which takes about 0.2 s if
    nothing else holds it.
    """
    library = ctypes.CDLL(_LIBRARY)
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), ordinal)
    context = ctypes.c_void_p()
    if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device):
        return None
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    library.cuCtxPushCurrent_v2(context)
    failed = library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    library.cuCtxPopCurrent_v2(ctypes.byref(context))
    library.cuDevicePrimaryCtxRelease_v2(device)
    return None if failed else free.value
