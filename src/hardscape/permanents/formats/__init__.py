"""Files of matrices: MatrixMarket, NumPy and CSV.

Each format is a module here, which `hardscape.formats` finds; `FORMATS` lists them. A further suffix
.gz, .xz or .bz2 stands for compression, and the path ``-`` for standard input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hardscape.formats import Formats

__all__ = ["FORMATS", "read"]

#: The modules of formats by name.
FORMATS: Formats[NDArray[Any]] = Formats(__name__)


def read(path: str | Path, *, format: str | None = None) -> NDArray[Any]:
    """Read a matrix.

    Parameters
    ----------
    path : str or pathlib.Path
    format : str, optional
        A name in `FORMATS`; by default what name and content tell.

    Returns
    -------
    numpy.ndarray, shape (m, n), or any that `hardscape.permanents.matrix.intake` accepts (.npy, .npz)
        Objects of type int or `fractions.Fraction`, float64 or complex128 from text; the array's own
        dtype from NumPy files. Pattern matrices hold the integer 1.

    Raises
    ------
    FormatError
        If the file is missing, not readable, or does not follow its format; the message starts with
        path and line. No bytes lead to another error, and nothing is unpickled.
    InputError
        If `path` is no path, or `format` is not known.
    """
    return FORMATS.read(path, format)
