"""Permanents on CUDA against the CPU and against exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.benchmarks.permanents import ladder
from hardscape.permanents.methods.extended.extended import CpuExtendedWork, CudaExtendedWork
from hardscape.permanents.methods.glynn.batch import CudaBatchWork
from hardscape.permanents.methods.glynn.cuda import glynn_kernels
from hardscape.permanents.methods.glynn.glynn import CudaGlynnWork
from helpers.permanent_sums import glynn, glynn_batch, sparse_glynn, summed
from helpers.sparse_matrices import sparse_matrix

pytestmark = pytest.mark.gpu

GPU = engine.Cuda(0)
CPU = engine.resolve("cpu")


def random_matrix(n, complex_entries, seed=0):
    rng = np.random.default_rng(seed + n)
    real = rng.normal(size=(n, n))
    return real + 1j * rng.normal(size=(n, n)) if complex_entries else real


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("n", [1, 2, 6, 7, 8, 13, 14, 15, 16, 17, 22, 25])
def test_cuda_agrees_with_the_cpu(n, complex_entries):
    a = random_matrix(n, complex_entries)
    ours, theirs = glynn(a, devices=[GPU]), glynn(a, devices=CPU)
    assert abs(ours.value - theirs.value) <= ours.error_bound + theirs.error_bound
    assert ours.error_bound < 1e-8 * abs(theirs.value)
    assert not ours.rigorous


@pytest.mark.parametrize("n", [9, 16, 23, 24])
def test_integers_of_twenty_bits(n):
    a = np.random.default_rng(n).integers(-(2**20), 2**20, (n, n))
    expected = hardscape.permanent(a)
    result = glynn(a.astype(float), devices=[GPU])
    assert abs(result.value - expected) <= result.error_bound
    assert result.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["ones", "wide rows", "zero column", "overflow"])
def test_special_matrices(kind):
    a = {
        "ones": np.ones((14, 14)),
        "wide rows": random_matrix(12, False) * 10.0 ** np.arange(-60, 60, 10)[:, None],
        "zero column": random_matrix(12, True) * (np.arange(12) != 5),
        "overflow": np.full((12, 12), -1e200),
    }[kind]
    ours, theirs = glynn(a, devices=[GPU]), glynn(a, devices=CPU)
    if kind == "overflow":
        assert ours.value == theirs.value == math.inf
    else:
        assert abs(ours.value - theirs.value) <= ours.error_bound + theirs.error_bound


def test_shards_join_to_the_whole():
    a = random_matrix(26, False)
    work = CudaGlynnWork(a)
    assert len(work.shards()) > 1
    context = engine.Context(GPU, None, np.zeros(1, np.uint8))
    whole = work.run(engine.Shard(0, 0, work.blocks), context).partial
    joined = engine.solve(work, engine.RunOptions.checked().on([GPU]))
    one, other = work.result(whole), joined.whole()
    assert abs(one.mantissa - other.mantissa) <= one.bound
    assert np.isclose(whole["magnitude"], joined.partial["magnitude"], rtol=1e-12)


def test_the_same_bytes_again():
    a = random_matrix(24, True)
    assert glynn(a, devices=[GPU]) == glynn(a, devices=[GPU])


@pytest.mark.parametrize("n", [62, 63])
def test_last_blocks_of_the_largest_matrices(n):
    # Every term of an identity has the same magnitude and sign.
    work = CudaGlynnWork(np.eye(n))
    block = 1 << glynn_kernels(n, 1).step_bits - 5
    context = engine.Context(GPU, None, np.zeros(1, np.uint8))
    shard = engine.Shard(0, work.blocks - 4 * block, work.blocks)
    result = work.run(shard, context)
    assert result.complete
    assert result.partial["high"][0] == result.partial["magnitude"][0] > 0


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize(("batch", "n"), [(1, 5), (3, 7), (300, 10), (40, 17), (2, 22)])
def test_batches_agree_with_the_cpu(batch, n, complex_entries):
    a = np.stack([random_matrix(n, complex_entries, seed) for seed in range(batch)])
    a[0] *= 10.0 ** np.arange(n)
    ours, theirs = glynn_batch(a, devices=[GPU]), glynn_batch(a, devices=CPU)
    assert (np.abs(ours.values - theirs.values) <= ours.error_bounds + theirs.error_bounds).all()
    # Sides below 7 are padded to 7 on GPUs and to 6 on CPUs, and both bounds count that.
    np.testing.assert_allclose(ours.error_bounds, theirs.error_bounds, rtol=1e-6 if n > 6 else 0.3)


def test_a_stopped_shard_is_incomplete():
    work = CudaGlynnWork(random_matrix(24, False))
    context = engine.Context(GPU, None, np.ones(1, np.uint8))
    assert not work.run(work.shards()[0], context).complete
    batch = CudaBatchWork(np.stack([random_matrix(9, True, seed) for seed in range(5)]))
    stopped = batch.run(engine.Shard(0, 0, 5), context)
    assert not stopped.complete
    assert stopped.partial["sum"].shape == (5, 2)


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize(("n", "density"), [(6, 1.0), (9, 0.5), (14, 0.4), (18, 0.3), (24, 0.2)])
def test_sparse_matrices_agree_with_the_cpu(n, density, complex_entries):
    a = sparse_matrix(n, density, complex_entries=complex_entries)
    ours, theirs = sparse_glynn(a, devices=[GPU]), glynn(a, devices=CPU)
    assert abs(ours.value - theirs.value) <= ours.error_bound + theirs.error_bound
    assert ours.value == pytest.approx(theirs.value, rel=1e-10)


def test_sparse_and_dense_kernels_agree_beyond_the_cpu():
    a = sparse_matrix(34, 0.25)
    ours, theirs = sparse_glynn(a, devices=[GPU]), glynn(a, devices=[GPU])
    assert ours.value == pytest.approx(theirs.value, rel=1e-10)
    assert ours.terms < theirs.terms


def test_permanent_chooses_a_device():
    a = random_matrix(33, False)
    found = hardscape.permanent(a, threads=1, full_output=True)
    assert "GPU" in found.device
    assert found.method == "glynn"
    expected = glynn(a, devices=CPU)
    assert abs(found.value - expected.value) <= found.error_bound + expected.error_bound
    small = hardscape.permanent(a[:12, :12], full_output=True)
    assert "CPU" in small.device


def test_permanent_of_a_batch_on_the_gpu():
    a = np.stack([random_matrix(12, True, seed) for seed in range(20)])
    np.testing.assert_allclose(
        hardscape.permanent(a, device="cuda:0"), hardscape.permanent(a, device="cpu"), rtol=1e-10
    )


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize("n", [1, 6, 7, 9, 14, 17, 22])
def test_extended_agrees_with_the_cpu(n, complex_entries):
    a = 1 + 1e-3 * random_matrix(n, complex_entries)
    results = []
    for device in (GPU, engine.Cpu()):
        work = CudaExtendedWork(a) if device is GPU else CpuExtendedWork(a)
        results.append(summed(work, [device]))
    ours, theirs = results
    assert abs(ours.value - theirs.value) <= ours.error_bound + theirs.error_bound
    assert ours.bound <= 2.0**-51 * abs(ours.mantissa)
    assert ours.rigorous
    assert ours.magnitude == pytest.approx(theirs.magnitude, rel=1e-10)


def test_extended_shards_join_and_the_last_ones_run():
    work = CudaExtendedWork(1 + 1e-3 * random_matrix(25, False))
    assert len(work.shards()) > 1
    context = engine.Context(GPU, None, np.zeros(1, np.uint8))
    whole = work.run(engine.Shard(0, 0, work.blocks), context).partial
    joined = summed(work, [GPU])
    assert work.result(whole).mantissa == pytest.approx(joined.mantissa, rel=1e-15)
    largest = CudaExtendedWork(np.eye(63))
    result = largest.run(engine.Shard(0, largest.blocks - 2**10, largest.blocks), context)
    assert result.partial["high"][0] == result.partial["magnitude"][0] > 0


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("modes", "photons"), [(1, 1), (3, 2), (6, 5), (20, 9), (5, 20), (300, 4)])
def test_patterns(modes, photons, kind):
    rng = np.random.default_rng(photons)
    a = np.linalg.qr(random_matrix(modes, True))[0]
    a = a if kind is complex else a.real
    rows, cols = (
        np.array(
            [np.bincount(one, minlength=modes) for one in rng.integers(0, modes, (500, photons))]
        )
        for _ in range(2)
    )
    for r, c in ((rows[0], cols), (rows, cols[:1]), (rows[:20], cols[:20])):
        ours = hardscape.permanent(a, rows=r, cols=c, device=GPU, precision="double")
        theirs = hardscape.permanent(a, rows=r, cols=c, device="cpu", precision="double")
        scale = np.sqrt(np.mean(np.abs(theirs) ** 2))
        loss = 1e-11 if photons < 20 else 1e-5  # Glynn's terms cancel there
        np.testing.assert_allclose(ours, theirs, rtol=loss, atol=loss * scale)
        again = hardscape.permanent(a, rows=r, cols=c, device=GPU)
        plain = hardscape.permanent(a, rows=r, cols=c, device="cpu")
        np.testing.assert_allclose(again, plain, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("n", [8, 13, 20])
def test_every_step_of_the_ladder_gives_the_permanent(n):
    ladder.checked(ladder.on_a_gpu, n)
