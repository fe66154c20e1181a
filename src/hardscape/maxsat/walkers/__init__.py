"""Thousands of focused random walks that exchange their elites."""

from hardscape.maxsat.walkers.batch import CpuWalks
from hardscape.maxsat.walkers.cuda import CudaWalks, WalkArrays
from hardscape.maxsat.walkers.islands import WalkIslands
from hardscape.maxsat.walkers.tables import WalkTables, fits

__all__ = ["CpuWalks", "CudaWalks", "WalkArrays", "WalkIslands", "WalkTables", "fits"]
