"""NumPy files .npz: NumPy archive of one such array."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source

NAME = "npz"
SUFFIXES = (".npz",)
DESCRIPTION = "a NumPy archive of one such array"
MAGIC = archives.MAGIC_NPZ


def read(source: Source) -> NDArray[Any]:
    """Read the array; nothing is unpickled."""
    with archives.reading(source, "file of one array"):
        found = archives.arrays(source, "biufc")
        if len(found) != 1:
            raise ValueError(
                f"it holds {len(found)} arrays ({', '.join(found):.200}); 1 is accepted"
            )
        return next(iter(found.values()))
