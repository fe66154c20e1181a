"""Executors as people have them: pools of processes however they start, and a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import distributed
import loky
import pytest

# What forked processes then need not import: most of the time of who is killed soon after. Families import the
# modules of their names when they are asked for them.
multiprocessing.set_forkserver_preload(
    [
        "pytest",
        "unittest.mock",
        "numpy.ma",
        "numpy.random",
        "sqlite3",
        "hardscape.gauge",
        "hardscape.ising.density",
        "hardscape.ising.mps",
        "hardscape.ising.plots",
        "hardscape.ising.spectrum",
        "hardscape.maxsat.modelling.cpsat",
        "hardscape.maxsat.modelling.pysat",
        "hardscape.maxsat.solve",
        "hardscape.permanents",
        "hardscape.xorsat",
    ]
)


@pytest.fixture(scope="session", params=["fork", "spawn", "forkserver", "loky", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | distributed.Client]:
    """Two workers, each a process of its own."""
    if request.param == "dask":
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    elif request.param == "loky":
        pool = loky.get_reusable_executor(max_workers=2)
        yield pool
        pool.shutdown()
    else:
        context = multiprocessing.get_context(request.param)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            yield pool
