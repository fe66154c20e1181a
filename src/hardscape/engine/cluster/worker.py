"""A worker's side of an executor: a block of shards, on this worker's device, until it should stop."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine.cluster.folder import flags_of, shared_of
from hardscape.engine.deadline import Deadline
from hardscape.engine.device import Cpu, Cuda, Device, resolve
from hardscape.engine.fold import Block
from hardscape.engine.pool import BlockResult, run_block
from hardscape.engine.work import Context, Partial, Work
from hardscape.errors import DeviceError

#: Seconds between two questions whether to stop, where they go over a network.
_POLL = 0.25
#: Workers that share a GPU before one takes what it gets.
_SHARING = 64


class Channel(Protocol):
    """Tells workers what should stop: blocks with shards from an index on."""

    def tell(self, executor: Any, first: int) -> None:
        """Called where the run is: shards with index `first` or above are not needed. Waits for nobody."""

    def listen(self) -> Callable[[], int | None]:
        """Called in a worker, in the thread of its block: a function that gives `first`, once it is told."""
        ...


@dataclass(frozen=True)
class StopSign:
    """How a block hears that it should stop.

    On the host of the run by a mapped file with a byte for each slot, elsewhere by a channel of the
    executor's, if it has one, and anywhere by its time.
    """

    path: str
    slot: int
    #: Seconds that were left when the block was sent: clocks of hosts need not agree.
    seconds: float | None
    channel: Channel | None = None

    @contextmanager
    def watched(self, index: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the flag of a block whose last shard is `index`, shape (1,)."""
        try:
            flags = flags_of(self.path)
        except OSError:
            with Deadline(self.seconds).watched() as flag, self._heard(index, flag):
                yield flag
        else:
            yield flags[self.slot : self.slot + 1]

    @contextmanager
    def _heard(self, index: int, flag: NDArray[np.uint8]) -> Iterator[None]:
        """Set the flag when the channel says so."""
        if self.channel is None:
            yield
            return
        asked, over = self.channel.listen(), threading.Event()

        def listen() -> None:
            while not over.wait(_POLL):
                first = asked()
                if first is not None and index >= first:
                    flag.fill(1)
                    return

        threading.Thread(target=listen, name="hardscape-stop", daemon=True).start()
        try:
            yield
        finally:
            over.set()


@dataclass(frozen=True)
class Parcel:
    """A large work, which each worker unpacks once: in a file of this host, or with every shard."""

    key: str
    path: str | None
    packed: bytes | None

    @classmethod
    def of(cls, packed: bytes, folder: Path | None) -> Parcel:
        """Pack it, into a file of a folder of this host if there is one."""
        key = hashlib.sha256(packed).hexdigest()
        if folder is None:
            return cls(key, None, packed)
        path = folder / "work"
        path.write_bytes(packed)
        return cls(key, str(path), None)

    def work(self) -> Work[Any]:
        """The work; a worker keeps the last one."""
        kept = _kept.get("last")  # with its key in one piece: workers may be threads
        if kept is None or kept[0] != self.key:
            packed = self.packed
            if packed is None:
                assert self.path is not None
                packed = Path(self.path).read_bytes()
            kept = _kept["last"] = self.key, pickle.loads(packed)
        return kept[1]


_kept: dict[str, tuple[str, Work[Any]]] = {}


def unpacked(packed: bytes) -> Any:
    """The work of a task of Dask."""
    return pickle.loads(packed)


def run_in_worker(
    work: Work[Any] | Parcel,
    block: Block,
    devices: tuple[Device, ...],
    incumbent: Partial | None,
    stop: StopSign,
    level: str,
    seconds: float,
) -> BlockResult:
    """Run a block in a worker of an executor, on the device that belongs to this worker.

    Raises
    ------
    DeviceError
        If this worker's vectors are not those of the run, `level`: last digits would depend on who did what.
    """
    if native.level() != level:
        raise DeviceError(
            f"the worker on {os.uname().nodename} computes with SIMD level {native.level()}, this process "
            f"with {level}: set HARDSCAPE_SIMD for all of them to one that every processor has"
        )
    work = work.work() if isinstance(work, Parcel) else work
    with stop.watched(block.stop - 1) as flag, _ctrl_c_sets(flag):
        shared = shared_of(stop.path, work)
        context = Context(_device_of_worker(devices), incumbent, flag, shared=shared)
        return run_block(work, block, context, seconds)


class _Own(threading.local):
    """The GPU that a thread of a worker took, of each list of GPUs that it was given."""

    def __init__(self) -> None:
        self.gpus: dict[tuple[Device, ...], Device] = {}


_own = _Own()


def _device_of_worker(devices: tuple[Device, ...]) -> Device:
    gpus = tuple(device for device in devices if isinstance(device, Cuda))
    if not gpus:
        return Cpu()
    if gpus not in _own.gpus:
        with_cpus = len(gpus) < len(devices)
        here = _here(gpus, needed=not with_cpus)
        taken = _taken(here, 1 if with_cpus else _SHARING)
        if taken is None and with_cpus:
            return Cpu()
        _own.gpus[gpus] = taken or here[os.getpid() % len(here)]
    return _own.gpus[gpus]


def _here(gpus: tuple[Device, ...], needed: bool) -> tuple[Device, ...]:
    """The GPUs, by their numbers in this process; those of this host where any will do."""
    if not any(isinstance(gpu, Cuda) and gpu.anywhere for gpu in gpus):
        return gpus
    return tuple(x for x in resolve("cuda" if needed else "auto") if isinstance(x, Cuda))


def _taken(gpus: tuple[Device, ...], sharing: int) -> Device | None:
    """A GPU that no other worker of this host holds, or one that the fewest do, `sharing` of them at most.

    A worker holds a lock for as long as it lives, on a file for each GPU and each worker that shares it.
    """
    for holder in range(sharing):
        for gpu in gpus:
            name = f"hardscape-{os.getuid()}-gpu-{_physical(gpu.ordinal)}-{holder}.lock"
            place = os.path.join(tempfile.gettempdir(), name)
            file = os.open(place, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                continue
            return gpu  # the file stays open
    return None


def _physical(ordinal: int) -> str:
    """What names a GPU on this host, whatever number it has in this process."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    named = visible[ordinal].strip() if ordinal < len(visible) else ""
    return "".join(c for c in named if c.isalnum() or c == "-") or str(ordinal)


@contextmanager
def _ctrl_c_sets(flag: NDArray[np.uint8]) -> Iterator[None]:
    """Turn Ctrl-C, which a terminal sends to workers too, into a stop of the shard in hand."""
    import multiprocessing  # 10 ms, and only workers come here

    child = multiprocessing.parent_process() is not None
    if not child or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: flag.fill(1))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
