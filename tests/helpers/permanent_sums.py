"""The sums of :mod:`hardscape.permanents` on their own, without structure or a choice of method."""

from __future__ import annotations

from hardscape.engine import run
from hardscape.permanents.batch import BatchWork
from hardscape.permanents.glynn import GlynnWork
from hardscape.permanents.sparse import SparseWork


def glynn(a, *, devices, guard=True, **options):
    """Glynn's sum of a square matrix in double precision."""
    return summed(GlynnWork(a, guard, devices[0].kind), devices, options)


def glynn_batch(a, *, devices, **options):
    """The same for each matrix of a batch."""
    return summed(BatchWork(a, devices[0].kind), devices, options)


def sparse_glynn(a, *, devices, **options):
    """The sum of a sparse matrix on GPUs."""
    return summed(SparseWork(a), devices, options)


def summed(work, devices, options):
    outcome = run(work, devices=devices, **options)
    return work.total(outcome.whole())
