"""Many focused random walks that exchange their elites."""

from hardscape.maxsat.walkers.batch import MOST_AT_ONCE, CpuWalks
from hardscape.maxsat.walkers.cuda import CudaWalks, WalkArrays
from hardscape.maxsat.walkers.islands import WalkIslands
from hardscape.maxsat.walkers.tables import WalkTables, fits

__all__ = [
    "MOST_AT_ONCE",
    "CpuWalks",
    "CudaWalks",
    "WalkArrays",
    "WalkIslands",
    "WalkTables",
    "fits",
]
