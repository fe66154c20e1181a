"""NumPy files .npy: a square matrix of couplings, as :meth:`hardscape.ising.Ising.from_matrix` takes it."""

from __future__ import annotations

from hardscape import archives
from hardscape.files import Source
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.intake import Convention
from hardscape.ising.model import Ising

NAME = "npy"
SUFFIXES = ()
READS = (".npy",)
DESCRIPTION = "a NumPy array: the matrix J of Ising.from_matrix"
MAGIC = archives.MAGIC_NPY
MEMORY = 8


def read(source: Source, *, convention: Convention = "dimod") -> Ising:
    """Read the matrix; nothing is unpickled."""
    with archives.reading(source, "square matrix of couplings"):
        matrix = archives.array(source.data, "biuf")
        if len(matrix) > MAX_SPINS:
            raise ValueError(f"{len(matrix)} spins; at most {MAX_SPINS} are read")
        return Ising.from_matrix(matrix, convention=convention)
