"""MATLAB's files .mat as strangers may have made them: the one matrix in a file, as SciPy reads it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardscape import archives, memory
from hardscape.errors import needed
from hardscape.files import Source

#: Of versions 5 to 7, which Octave writes too, and of 7.3, which is HDF5.
MAGIC = (b"MATLAB 5.0 MAT-f", b"MATLAB 7.3 MAT-f")
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
#: Types of MATLAB that are kept as smaller ones where all values allow it.
_TYPES = {"double": np.float64, "single": np.float32, "logical": np.bool_}
_WIDEST = 16  # bytes of a complex number


def matrix(source: Source) -> Any:
    """The one matrix of numbers that is larger than 1 x 1, or that there is; dense, or sparse of SciPy.

    It has MATLAB's type: whole numbers that are double there are float64.
    """
    if source.raw[: len(MAGIC[1])] == MAGIC[1]:
        raise source.error(
            None, "is of MATLAB's version 7.3; save(FILE, 'A', '-v7') writes one that is read"
        )
    scipy = needed("scipy.io", "scipy", "matlab", "a MATLAB file")
    with archives.reading(source, "MATLAB file of one matrix"):
        known = [
            (name, shape, kind)
            for name, shape, kind in scipy.whosmat(source.file(), appendmat=False)
            if kind in _INTEGERS or kind in _TYPES or kind == "sparse"
        ]
        large = [one for one in known if math.prod(one[1]) > 1]
        if len(chosen := large or known) != 1:
            names = ", ".join(name for name, _, _ in chosen)
            raise ValueError(
                f"it holds {len(chosen)} ({names:.200}); save(FILE, 'A') writes one that is read"
            )
        ((name, shape, kind),) = chosen
        if kind != "sparse":
            memory.require(_WIDEST * math.prod(shape), f"{source.path}: {name!r}")
        found = scipy.loadmat(source.file(), appendmat=False, variable_names=[name])[name]
        if kind == "sparse":
            found.check_format(full_check=True)  # SciPy believes what a file says of places
        elif kind in _TYPES and found.dtype.kind != "c":
            found = found.astype(_TYPES[kind])
        return found
