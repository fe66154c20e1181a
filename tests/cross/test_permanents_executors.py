"""Permanents whose shards run in other processes."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import hardscape


@pytest.fixture(scope="module")
def processes():
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


@pytest.mark.parametrize("kind", ["real", "complex", "integer", "extended", "repeated", "sparse"])
def test_processes_give_the_same_bytes(processes, kind):
    rng = np.random.default_rng(4)
    options = {}
    a = rng.normal(size=(20, 20))
    if kind == "complex":
        a = a + 1j * rng.normal(size=a.shape)
    elif kind == "integer":
        a = rng.integers(-99, 100, a.shape)
    elif kind == "extended":
        a, options = a[:16, :16], {"precision": "extended"}
    elif kind == "repeated":
        a, options = a[:6, :6], {"rows": [4] * 6, "cols": [4] * 6}
    elif kind == "sparse":
        a = rng.integers(1, 9, (40, 40)) * (np.abs(np.subtract.outer(range(40), range(40))) < 4)
    here = hardscape.permanent(a, device="cpu", full_output=True, **options)
    there = hardscape.permanent(a, device="cpu", full_output=True, executor=processes, **options)
    assert there.value == here.value
    assert there.error_bound == here.error_bound
    assert there.method == here.method


def test_a_batch_in_processes(processes):
    a = np.random.default_rng(6).normal(size=(40, 15, 15))
    there = hardscape.permanent(a, device="cpu", executor=processes)
    assert there.tobytes() == hardscape.permanent(a, device="cpu", threads=1).tobytes()


def test_a_dask_cluster_gives_the_same_bytes():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    a = np.random.default_rng(5).normal(size=(20, 20))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert hardscape.permanent(a, executor=client) == hardscape.permanent(a)
