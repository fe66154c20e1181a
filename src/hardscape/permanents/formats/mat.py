"""MATLAB's files .mat with one matrix, dense or sparse."""

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
DESCRIPTION = "a MATLAB file `.mat` of one matrix"
MAGIC = matlab.MAGIC


def read(source: Source) -> NDArray[Any]:
    """Read the matrix, a sparse one as a dense one."""
    found = matlab.matrix(source)
    if max(found.shape) > MAX_SIDE:
        raise source.error(None, f"shape {found.shape}; at most {MAX_SIDE} a side")
    if found.places is None:
        return found.value
    dense = np.zeros(found.shape, dtype=found.value.dtype)
    np.add.at(dense, found.places, found.value)
    return dense
