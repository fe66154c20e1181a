"""NumPy files .npy: NumPy array of any bool, integer, floating or complex dtype."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source

NAME = "npy"
SUFFIXES = (".npy",)
DESCRIPTION = "a NumPy array of any bool, integer, floating or complex dtype"
MAGIC = archives.MAGIC_NPY


def read(source: Source) -> NDArray[Any]:
    """Read the array; nothing is unpickled."""
    with archives.reading(source, "file of one array"):
        return archives.array(source.data, "biufc")
