"""Files of matrices: MatrixMarket, NumPy, MATLAB, CSV and what ``numpy.savetxt`` writes.

Each format is a module here, which `hardscape.formats` finds; `FORMATS` lists them. A further suffix
.gz, .xz or .bz2 stands for compression, and the path ``-`` for standard input.

Text gives an array of shape (m, n) of float64, complex128, or objects of type int or `fractions.Fraction`;
pattern matrices hold the integer 1. NumPy files give their array as it is, of any shape that
`hardscape.permanents.matrix.intake` accepts. No bytes lead to another error than a `FormatError`, or a
`BudgetError` where memory is too small, and nothing is unpickled.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.formats import Formats

__all__ = ["FORMATS", "read", "read_matrix"]

#: The modules of formats by name.
FORMATS: Formats[NDArray[Any]] = Formats(__name__)

read = FORMATS.read


def read_matrix(path: str | Path, *, format: str | None = None, **how: Any) -> NDArray[Any]:
    """Read a file as `read` does, and refuse all but one matrix."""
    matrix = read(path, format=format, **how)
    if matrix.ndim != 2:
        raise InputError(f"{path} holds an array of shape {matrix.shape}; one matrix is accepted")
    return matrix
