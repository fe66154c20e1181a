"""The CUDA kernels of permanents compile for every kind of matrix, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.benchmarks.permanents.ladder import IDEAS, ladder_kernel
from hardscape.permanents.methods.exact.cuda import STEP_BITS, residue_kernel, shared_bytes
from hardscape.permanents.methods.extended.extended import CudaExtendedWork
from hardscape.permanents.methods.frontier.cuda import (
    PRIMES_AT_ONCE,
    residues_kernel,
    sums_kernel,
    words_kernel,
)
from hardscape.permanents.methods.glynn.cuda import LEAST_SIDE, glynn_kernels
from hardscape.permanents.methods.repeated.patterns import CudaPatternWork
from hardscape.permanents.methods.sparse.cuda import CudaSparseWork
from helpers.compiling import compiles
from helpers.sparse_matrices import sparse_matrix


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(("n", "parts"), [(LEAST_SIDE, 1), (40, 1), (70, 1), (8, 2), (36, 2)])
def test_glynn_kernels(n: int, parts: int, arch: str) -> None:
    kernels = glynn_kernels(n, parts)
    assert compiles(kernels.kernel, arch)
    assert compiles(kernels.scaling(n - 1), arch)


def test_a_block_of_threads_finds_its_memory() -> None:
    # An SM of compute capability 9.0 lends 227 KiB to a block.
    assert all(glynn_kernels(n, 1).shared <= 227 * 1024 for n in range(LEAST_SIDE, 71))
    assert all(glynn_kernels(n, 2).shared <= 227 * 1024 for n in range(LEAST_SIDE, 71))
    assert shared_bytes(63) <= 227 * 1024


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize(("n", "density"), [(6, 1.0), (12, 0.5), (45, 0.25), (70, 0.1)])
def test_sparse_kernels(n: int, density: float, complex_entries: bool) -> None:
    work = CudaSparseWork(sparse_matrix(n, density, complex_entries=complex_entries))
    assert compiles(work.kernel, quick=False)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("n", [6, 13, 40, 70])
def test_extended_kernels(n: int, kind: type) -> None:
    work = CudaExtendedWork(np.eye(n, dtype=kind))
    assert compiles(work.kernel)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("photons", "rows", "width"), [(1, 1, 1), (7, 7, 20), (30, 5, 900)])
def test_pattern_kernels(photons: int, rows: int, width: int, kind: type) -> None:
    cols = np.zeros((2, width), dtype=np.int16)
    cols[:, 0] = photons
    work = CudaPatternWork(np.eye(width, dtype=kind), cols[:1], cols)
    assert compiles(work.kernel(rows, width))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("words", [1, 2, 4, 8])
def test_frontier_kernels_of_integers(words: int, arch: str) -> None:
    assert compiles(words_kernel(words), arch)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("signed", "errors"), [(False, False), (True, False), (True, True)])
def test_frontier_kernels_of_sums(parts: int, signed: bool, errors: bool) -> None:
    assert compiles(sums_kernel(parts, signed, errors))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("primes", [1, PRIMES_AT_ONCE])
def test_frontier_kernels_of_residues(primes: int, arch: str) -> None:
    assert compiles(residues_kernel(primes), arch)


@pytest.mark.parametrize(("n", "arch"), [(STEP_BITS + 1, "sm_80"), (40, "sm_90"), (63, "sm_100")])
def test_kernels_of_residues(n: int, arch: str) -> None:
    assert compiles(residue_kernel(n), arch)


@pytest.mark.parametrize("idea", range(len(IDEAS)))
def test_kernels_of_the_ladder(idea: int) -> None:
    assert compiles(ladder_kernel(idea, 36))
