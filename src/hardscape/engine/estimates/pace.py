"""How fast this machine is beside the one whose rates the costs of methods are in.

A cost says how many seconds a core of an AVX-512 server takes. The pace of a method on this machine is what a
small work of its kind takes here, over what it is said to take: measured once, in some 30 ms, when an
estimate first asks for it, and kept in the cache folder with a description of the machine, without which
it is measured again. Times are those that a processor spends on a thread, which other programs hardly
lengthen.

Estimates and refusals go by it; what shapes an answer never does.
"""

from __future__ import annotations

import json
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

#: Times that a work is timed, the least of which counts.
_TIMES = 4
#: How much slower or faster than said a machine can be: what lies beyond is no measurement.
_SLOWEST, _QUICKEST = 1e3, 1e-3


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
    key = f"{name} x{lanes}"
    known = _known()
    if key not in known:
        work, said = probe()
        known[key] = min(_SLOWEST, max(_QUICKEST, _seconds(work, lanes) / said))
        _keep(known)
    return known[key]


def _seconds(work: Work[Any], lanes: int) -> float:
    """The least mean time of a work that each of some lanes does at once."""
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
    return float(taken.mean(axis=1).min())


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
def _known() -> dict[str, float]:
    """What is kept of this machine."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        kept = json.loads(_place().read_text())
        if kept["machine"] == _machine():
            return {
                str(name): float(x)
                for name, x in kept["paces"].items()
                if _QUICKEST <= float(x) <= _SLOWEST
            }
    return {}


def _keep(known: dict[str, float]) -> None:
    """Write what is known; a folder that cannot be written costs measurements, nothing else."""
    with suppress(OSError, OutputError, ValueError):
        _place().parent.mkdir(parents=True, exist_ok=True)
        store(_place(), json.dumps({"machine": _machine(), "paces": known}, indent=1).encode())


def _place() -> Path:
    folder = cache_folder()
    if folder is None:
        raise OSError
    return folder.parent / "pace.json"
