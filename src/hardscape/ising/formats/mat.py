"""MATLAB's files .mat with one matrix of couplings, fields on the diagonal; reading needs SciPy."""

from __future__ import annotations

from hardscape import matlab
from hardscape.files import Source
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.intake import Convention
from hardscape.ising.model import Ising

NAME = "mat"
SUFFIXES = ()
READS = ()  # text may be called .mat, too
DESCRIPTION = "a MATLAB file `.mat` of one matrix, which `Ising.from_matrix` takes (needs SciPy)"
MAGIC = matlab.MAGIC


def read(source: Source, *, convention: Convention = "dimod") -> Ising:
    """Read a matrix of that convention, dense or sparse."""
    found = matlab.matrix(source)
    if max(found.shape) > MAX_SPINS:
        raise source.error(None, f"{max(found.shape)} spins; at most {MAX_SPINS} are read")
    return Ising.from_matrix(found, convention=convention)
