"""What `test_mpi.py` runs by ``mpiexec -n 3 python -m mpi4py.futures``: rank 0 asks, the others work."""

from __future__ import annotations

import json
import sys
import time
from hashlib import sha256
from typing import Any

from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

import hardscape
from hardscape import native
from hardscape.engine import Cpu
from hardscape.engine.cluster.channels import channel_of
from hardscape.engine.cluster.worker import StopSign, run_in_worker
from hardscape.engine.fold import Block
from helpers.instances import dense_gaussian
from helpers.jobs import JOBS
from helpers.works import HarmonicSum


def rank(_: int) -> int:
    """The rank of the process that runs this, after a while, so that others take the next."""
    time.sleep(0.05)
    return int(MPI.COMM_WORLD.Get_rank())


def long_spectrum(**options: Any) -> bytes:
    """A spectrum that two processes need seconds for."""
    found = hardscape.spectrum(dense_gaussian(36, 5), 500, device="cpu", prune=False, **options)
    return found.energies.tobytes() + found.states.tobytes()


def stopped_by_message(executor: MPIPoolExecutor) -> dict[str, Any]:
    """A shard that sees no flags, as on another host, and is told to stop after a second."""
    channel, work = channel_of(executor), HarmonicSum(units=8000, count=1, pause=0.01)
    assert channel is not None
    stop = StopSign("/nowhere/on/this/host", 0, None, channel)
    arguments = (work, Block(0, 1), (Cpu(),), None, stop, native.level(), 60.0)
    future = executor.submit(run_in_worker, *arguments)
    time.sleep(1.0)
    began = time.monotonic()
    while not future.done() and time.monotonic() - began < 30:
        channel.tell(executor, 0)  # until the worker has begun to listen
        time.sleep(0.25)
    return {"complete": bool(future.result().nodes), "seconds": time.monotonic() - began}


def jobs(executor: MPIPoolExecutor) -> dict[str, Any]:
    """Who works, and digests of all jobs."""
    return {
        "ranks": sorted(set(executor.map(rank, range(8)))),
        "digests": {name: sha256(job(executor=executor)).hexdigest() for name, job in JOBS.items()},
    }


def limit(executor: MPIPoolExecutor) -> dict[str, Any]:
    """How what would take minutes ends."""
    began = time.monotonic()
    found = hardscape.spectrum(
        dense_gaussian(40, 5),
        500,
        device="cpu",
        prune=False,
        executor=executor,
        time_limit=0.5,
    )
    return {"certified": found.certified, "seconds": time.monotonic() - began}


def main(what: list[str]) -> None:
    """Print what ranks found, each by its name; or run a long job with a checkpoint."""
    do = {"jobs": jobs, "limit": limit, "channel": stopped_by_message}
    with MPIPoolExecutor() as executor:
        if what[0] == "checkpoint":
            long_spectrum(executor=executor, checkpoint=what[1])
        else:
            print(json.dumps({name: do[name](executor) for name in what}))


if __name__ == "__main__":
    main(sys.argv[1:])
