"""The sums of :mod:`hardscape.permanents` on their own, without structure or a choice of method."""

from __future__ import annotations

from hardscape.engine import Cuda, RunOptions, solve
from hardscape.permanents.methods.glynn.batch import BATCHES
from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork, CudaGlynnWork
from hardscape.permanents.methods.sparse.cuda import CudaSparseWork


def glynn(a, *, devices, guard=True, **options):
    """Glynn's sum of a square matrix in double precision."""
    on_gpu = isinstance(devices[0], Cuda)
    return summed(CudaGlynnWork(a) if on_gpu else CpuGlynnWork(a, guard=guard), devices, **options)


def glynn_batch(a, *, devices, **options):
    """The same for each matrix of a batch."""
    return summed(BATCHES[type(devices[0])](a), devices, **options)


def sparse_glynn(a, *, devices, **options):
    """The sum of a sparse matrix on GPUs."""
    return summed(CudaSparseWork(a), devices, **options)


def summed(work, devices, **options):
    """The answer of a work."""
    return solve(work, RunOptions.checked(**options).on(devices)).whole()
