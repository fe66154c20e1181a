"""Devices: where shards run, and what ``device="auto"`` means."""

from __future__ import annotations

import os
import re
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import ClassVar, Literal

from hardscape.arguments import integer
from hardscape.engine.machine import cpu_count, cuda_status
from hardscape.errors import DeviceError, InputError

#: Most CPU threads of a call: so many for each CPU, and on small machines so many in all.
_THREADS_A_CPU, _THREADS = 4, 64

_ACCEPTED = "'auto', 'cpu', 'cuda' (all GPUs), 'cuda:0' and 'cuda:0,1' are accepted"


@dataclass(frozen=True, slots=True)
class Device(ABC):
    """One place where one shard at a time runs: a `Cpu` or a `Cuda`.

    A computation that runs on both keeps a table from the type of device to its side.

    Attributes
    ----------
    kind : {"cpu", "cuda"}
        For people.
    ordinal : int
        Number of the GPU among those that CUDA sees; for the CPU, number of the thread.

    Examples
    --------
    >>> from hardscape.engine import Cpu, Cuda, Device
    >>> isinstance(Cpu(0), Device), isinstance(Cuda(0), Device)
    (True, True)
    """

    kind: ClassVar[Literal["cpu", "cuda"]]
    ordinal: int = 0

    def __post_init__(self) -> None:
        if type(self) is Device:
            raise InputError("Device is abstract; Cpu() and Cuda(0) are accepted")
        if self.ordinal < 0:
            raise InputError(f"device ordinal {self.ordinal}; 0 or more is accepted")

    def __str__(self) -> str:
        return f"{self.kind}:{self.ordinal}"


@dataclass(frozen=True, slots=True)
class Cpu(Device):
    """A thread of the CPU.

    Examples
    --------
    >>> from hardscape.engine import resolve
    >>> resolve("cpu", threads=2)
    (Cpu(ordinal=0), Cpu(ordinal=1))
    """

    kind: ClassVar[Literal["cpu", "cuda"]] = "cpu"


@dataclass(frozen=True, slots=True)
class Cuda(Device):
    """A GPU.

    Attributes
    ----------
    anywhere : bool
        Any GPU that a worker of an executor finds on its host; this process need not have one.

    Examples
    --------
    >>> from hardscape.engine import Cuda
    >>> Cuda(1).ordinal
    1
    """

    kind: ClassVar[Literal["cpu", "cuda"]] = "cuda"
    anywhere: bool = False

    def __str__(self) -> str:
        return "cuda" if self.anywhere else f"cuda:{self.ordinal}"


def resolve(
    device: str | Device | Sequence[str | Device] = "auto",
    *,
    threads: int | None = None,
    big_enough: bool = True,
) -> tuple[Device, ...]:
    """Turn what a user wrote into devices, one for each shard that runs at a time.

    Parameters
    ----------
    device : str, Device, or a sequence of them
        "auto" takes all GPUs if CUDA is usable here and the work is `big_enough`, else the CPU.
        "cpu" gives one lane a thread; "cuda" all GPUs; "cuda:0" and "cuda:0,1" the GPUs named. A
        `Device` is taken as it is, unchecked: it may exist only where an executor's workers run.
    threads : int, optional
        CPU lanes, by default the number of CPUs that this process may use.
    big_enough : bool
        Whether the work pays for starting a GPU; only "auto" asks.

    Raises
    ------
    InputError
        For a name that is not understood, a GPU named twice, or `threads` below 1.
    DeviceError
        If a GPU is asked for by name and cannot be used; the message says why and what to install.

    Examples
    --------
    >>> from hardscape.engine import resolve
    >>> len(resolve("cpu", threads=3))
    3
    """
    return among(cpu_lanes(threads), device, big_enough)


def among(
    lanes: tuple[Device, ...],
    device: str | Device | Sequence[str | Device],
    big_enough: bool,
    *,
    elsewhere: bool = False,
) -> tuple[Device, ...]:
    """What :func:`resolve` gives where the CPU has these lanes.

    GPUs that are named for `elsewhere` need not be here, and "cuda" is then what each worker has.
    """
    if isinstance(device, Device):
        return (device,)
    if not isinstance(device, str):
        if not isinstance(device, Sequence) or len(device) == 0:
            raise InputError(f"device={device!r}; {_ACCEPTED}")
        each = (among(lanes, one, big_enough, elsewhere=elsewhere) for one in device)
        return _distinct([found for one in each for found in one], device)
    if device == "cpu":
        return lanes
    if device == "auto":
        gpus = _usable_gpus() if big_enough else ()
        return gpus or lanes
    return _distinct(_named_gpus(device, elsewhere), device)


def cpu_lanes(threads: int | None) -> tuple[Device, ...]:
    """One lane of the CPU for each of `threads`, by default for each CPU that this process may use.

    Raises
    ------
    InputError
        If `threads` is no integer from 1 to four times the CPUs of this machine (64 on small ones).
    """
    if threads is None:
        return _lanes(cpu_count())
    return _lanes(integer(threads, "threads", 1, _most_threads()))


@cache
def _most_threads() -> int:
    return max(_THREADS, _THREADS_A_CPU * (os.cpu_count() or 1))


@lru_cache(maxsize=8)
def _lanes(count: int) -> tuple[Device, ...]:
    return tuple(Cpu(i) for i in range(count))


def describe(devices: Sequence[Device]) -> str:
    """Devices in words, as results name them: how many of which type."""
    words = {Cpu: "CPU thread(s)", Cuda: "GPU(s)"}
    counts = {word: sum(type(device) is kind for device in devices) for kind, word in words.items()}
    return " and ".join(f"{count} {word}" for word, count in counts.items() if count)


def device_names(devices: Sequence[Device]) -> str:
    """Devices as results name them where which GPU it was matters: how many threads, and each GPU."""
    threads = describe([device for device in devices if isinstance(device, Cpu)])
    others = ",".join(str(device) for device in devices if not isinstance(device, Cpu))
    return " and ".join(filter(None, (threads, others)))


def _distinct(devices: Sequence[Device], asked: object) -> tuple[Device, ...]:
    if len(set(devices)) != len(devices):
        raise InputError(f"device={asked!r} names a device twice; name each once")
    return tuple(devices)


def _usable_gpus() -> tuple[Device, ...]:
    status = cuda_status()
    return tuple(Cuda(gpu.ordinal) for gpu in status.gpus) if status.usable else ()


def _named_gpus(device: str, elsewhere: bool) -> tuple[Device, ...]:
    """The GPUs of "cuda" or "cuda:0,1"."""
    if not re.fullmatch(r"cuda(:\d+(,\d+)*)?", device):
        raise InputError(f"device={device!r}; {_ACCEPTED}")
    numbers = [int(number) for number in re.findall(r"\d+", device)]
    if elsewhere:
        return tuple(map(Cuda, numbers)) or (Cuda(anywhere=True),)
    status = cuda_status()
    if not status.usable:
        raise DeviceError(f"device={device!r} cannot be used: {status.reason}; {status.remedy}")
    if not numbers:
        return _usable_gpus()
    named = tuple(map(Cuda, numbers))
    for gpu in named:
        if gpu.ordinal >= len(status.gpus):
            raise DeviceError(
                f"device={device!r}: there is no GPU {gpu.ordinal}; this process sees "
                f"{len(status.gpus)}, numbered from 0"
            )
    return named
