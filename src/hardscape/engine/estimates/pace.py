"""How fast this machine is beside the one whose rates the costs of methods are in.

A cost says how many seconds a core of an AVX-512 server takes. The pace of a method on this machine is what a
small work of its kind takes here, over what it is said to take: measured in some 30 ms when an estimate
first asks for it, and kept in the cache folder with a description of the machine, without which it is
measured again; so it is after an hour, as processors change their pace with what else they have to do.
Times are those that a processor spends on a thread, which other programs hardly lengthen.

Estimates and refusals go by it; what shapes an answer never does.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hardscape import native
from hardscape.engine.cuda.jit import cache_folder
from hardscape.engine.device import Cpu
from hardscape.engine.lanes import team
from hardscape.engine.machine import cpu_count, cpu_model
from hardscape.engine.work import Context, Work
from hardscape.errors import OutputError
from hardscape.files import store
from hardscape.version import __version__

#: Times that a work is timed, the median of which counts: the least is one that nobody disturbed.
_TIMES = 4
#: How much slower or faster than said a machine can be: what lies beyond is no measurement.
_SLOWEST, _QUICKEST = 1e3, 1e-3
#: Seconds for which what was measured holds.
_HOLDS = 3600.0
#: Bytes up to which programs mostly keep memory, those that are asked for to see how long that takes, and what
#: it is said to take a byte.
_KEPT, _ASKED, _SECONDS_A_BYTE = 1 << 25, 1 << 25, 2.5e-10


def pace(name: str, probe: Callable[[], tuple[Work[Any], float]], lanes: int = 1) -> float:
    """Seconds that a core takes here, `lanes` of them being at it at once, for what is said to take one.

    Parameters
    ----------
    name : str
        Of what is measured.
    probe : callable
        Gives a work of some milliseconds on one lane of a CPU, and the seconds that it is said to take;
        called where nothing is kept.
    lanes : int
    """

    def measured() -> float:
        work, said = probe()
        return _seconds(work, lanes) / said

    return _kept(f"{name} x{lanes}", measured)


def giving(size: float, large: bool = False) -> float:
    """Seconds that the system takes here to give so many bytes to a thread that writes to them.

    In `large` pages, if so: a virtual machine takes ten times as long to give one that it never gave before,
    and nobody can tell which those are. It is then the mean of the first time and of the later ones.
    """
    if size <= _KEPT:
        return 0.0
    name = "large pages" if large else "memory"
    return size * _SECONDS_A_BYTE * _kept(name, lambda: _byte(large) / _SECONDS_A_BYTE)


def _kept(key: str, measured: Callable[[], float]) -> float:
    """The pace of this name, as it is kept or measured."""
    known = _known()
    pace, when = known.get(key, (1.0, -_HOLDS))
    if not 0 <= time.time() - when < _HOLDS:
        pace = min(_SLOWEST, max(_QUICKEST, measured()))
        known[key] = pace, time.time()
        _keep(known)
    return pace


def _byte(large: bool) -> float:
    """The time in which the first writes to a byte's page are done, a byte."""
    taken = []
    for _ in range(_TIMES):
        with mmap.mmap(-1, _ASKED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            if large and hasattr(mmap, "MADV_HUGEPAGE"):
                with suppress(OSError):  # a system that refuses gives small ones
                    memory.madvise(mmap.MADV_HUGEPAGE)
            began = time.thread_time()
            memory[:: mmap.PAGESIZE] = bytes(_ASKED // mmap.PAGESIZE)
            taken.append(time.thread_time() - began)
    first, later = taken[0], min(taken)
    return (first + later) / 2 / _ASKED if large else later / _ASKED


def _seconds(work: Work[Any], lanes: int) -> float:
    """The usual time of a work that each of some lanes does at once."""
    stop = np.zeros(1, dtype=np.uint8)
    taken = np.zeros((_TIMES, lanes))

    def timed(rank: int) -> None:
        for k in range(_TIMES):
            began = time.thread_time()
            for shard in work.shards():
                work.run(shard, Context(Cpu(rank), None, stop))
            taken[k, rank] = time.thread_time() - began

    with team(lanes) as all_lanes:
        all_lanes.run(timed)
    return float(np.median(taken.mean(axis=1)))


@cache
def _machine() -> dict[str, Any]:
    """What a measurement is worth nothing without."""
    return {
        "hardscape": __version__,
        "cpu": cpu_model(),
        "cores": cpu_count(),
        "simd": native.level(),
        "host": os.uname().nodename,
    }


@cache
def _known() -> dict[str, tuple[float, float]]:
    """Paces that are kept of this machine, each with the time at which it was measured."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        kept = json.loads(_place().read_text())
        if kept["machine"] == _machine():
            return {
                str(name): (float(x), float(when))
                for name, (x, when) in kept["paces"].items()
                if _QUICKEST <= float(x) <= _SLOWEST
            }
    return {}


def _keep(known: dict[str, tuple[float, float]]) -> None:
    """Write what is known; a folder that cannot be written costs measurements, nothing else."""
    with suppress(OSError, OutputError, ValueError):
        _place().parent.mkdir(parents=True, exist_ok=True)
        store(_place(), json.dumps({"machine": _machine(), "paces": known}, indent=1).encode())


def _place() -> Path:
    folder = cache_folder()
    if folder is None:
        raise OSError
    return folder.parent / "pace.json"
