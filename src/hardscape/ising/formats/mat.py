"""MATLAB's files .mat with one matrix of couplings, dense or sparse, fields on the diagonal."""

from __future__ import annotations

from hardscape import matlab
from hardscape.files import Source
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.intake import Convention, side_of
from hardscape.ising.model import Ising

NAME = "mat"
SUFFIXES = ()
READS = ()  # text may be called .mat, too
DESCRIPTION = "a MATLAB file `.mat` of one matrix, which `Ising.from_matrix` takes"
MAGIC = matlab.MAGIC


def read(source: Source, *, convention: Convention = "dimod") -> Ising:
    """Read a matrix of that convention."""
    found = matlab.matrix(source)
    n = side_of(found, "the matrix")
    if n > MAX_SPINS:
        raise source.error(None, f"{n} spins; at most {MAX_SPINS} are read")
    if found.places is None:
        return Ising.from_matrix(found.value, convention=convention)
    return Ising.from_entries(n, *found.places, found.value, convention=convention)
