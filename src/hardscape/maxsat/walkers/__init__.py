"""Thousands of focused random walks on GPUs."""

from hardscape.maxsat.walkers.batch import WalkBatch
from hardscape.maxsat.walkers.tables import WalkTables, fits
from hardscape.maxsat.walkers.walks import CudaWalks

__all__ = ["CudaWalks", "WalkBatch", "WalkTables", "fits"]
