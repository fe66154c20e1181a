"""What a run and its workers on the same host share: a folder with flags to stop, words, and a large work."""

from __future__ import annotations

import fcntl
import functools
import mmap
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.work import Work

#: Most blocks in flight: bytes of flags.
SLOTS = 2**14
_PREFIX = "hardscape-run-"
#: Seconds after which a folder that nobody holds is one that a killed run left.
_STALE = 60.0


class Folder:
    """A folder of its own for a run, which it holds a lock on for as long as it lives.

    Attributes
    ----------
    flags : Path
        Maps to a byte for each block in flight, and then the words of `Work.shared`.
    stops : uint8 array, shape (SLOTS,)
        The bytes.
    """

    def __init__(self, shared: NDArray[np.uint64] | None) -> None:
        _remove_stale()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._held = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        self.flags = self.path / f"flags-{_host()}"
        words = np.empty(0, dtype=np.uint64) if shared is None else shared
        self.flags.write_bytes(bytes(SLOTS) + words.tobytes())
        self.stops = _mapped(str(self.flags))[:SLOTS]

    def remove(self) -> None:
        """Remove it; workers that have something of it mapped still see that."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)


def flags_of(path: str) -> NDArray[np.uint8]:
    """The flags of a run, by their file.

    Raises
    ------
    OSError
        If there is none, as on other hosts.
    """
    return _mapped(path)[:SLOTS]


def shared_of(path: str, work: Work[Any]) -> NDArray[np.uint64] | None:
    """The words that shards of a run share on this host, by the file of its flags.

    Where there is none they are this process's own. So they are where a file system shows the file of another
    host: memory is not shared with that.
    """
    kept = _kept.get("last")
    if kept is None or kept[0] != path:
        words = None
        if Path(path).name == f"flags-{_host()}":
            with suppress(OSError):
                words = _mapped(path)[SLOTS:].view(np.uint64)
        if words is None:
            words = work.shared()
        kept = _kept["last"] = path, words
    return kept[1] if kept[1] is not None and len(kept[1]) else None


_kept: dict[str, tuple[str, NDArray[np.uint64] | None]] = {}


def _mapped(path: str) -> NDArray[np.uint8]:
    with open(path, "r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)


@functools.cache
def _host() -> str:
    """What names this host since it was started."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename


def _remove_stale() -> None:
    """Remove folders of runs that were killed: nobody holds them."""
    for path in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with suppress(OSError):
            told = path.stat()
            if told.st_uid != os.getuid() or time.time() < told.st_mtime + _STALE:
                continue
            held = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(held)
