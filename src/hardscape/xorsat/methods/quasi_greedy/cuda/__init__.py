"""The search on CUDA: a kernel written out for the instance, or, where that does not fit, tables."""

from hardscape.xorsat.methods.quasi_greedy.cuda.clones import CudaClones
from hardscape.xorsat.methods.quasi_greedy.cuda.side import CudaRound, CudaSide

__all__ = ["CudaClones", "CudaRound", "CudaSide"]
