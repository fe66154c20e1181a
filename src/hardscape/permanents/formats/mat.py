"""MATLAB's files .mat with one matrix, dense or sparse; reading needs SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import matlab
from hardscape.files import Source
from hardscape.permanents.matrix import MAX_SIDE

NAME = "mat"
SUFFIXES = ()
READS = ()  # text may be called .mat, too
DESCRIPTION = "a MATLAB file `.mat` of one matrix (needs SciPy)"
MAGIC = matlab.MAGIC


def read(source: Source) -> NDArray[Any]:
    """Read the matrix, a sparse one as a dense one."""
    found = matlab.matrix(source)
    if isinstance(found, np.ndarray):
        return found
    if max(found.shape) > MAX_SIDE:
        raise source.error(None, f"shape {found.shape}; at most {MAX_SIDE} a side")
    dense: NDArray[Any] = found.toarray()
    return dense
