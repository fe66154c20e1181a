"""NumPy files .npz: an archive of one array, or a sparse matrix of ``scipy.sparse.save_npz``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source
from hardscape.permanents.matrix import MAX_SIDE

NAME = "npz"
SUFFIXES = (".npz",)
DESCRIPTION = "a NumPy archive of one such array, or what scipy.sparse.save_npz writes"
MAGIC = archives.MAGIC_NPZ
#: Indices of the sparse formats beside the data; those of rows and columns change places in csc.
_INDICES = {"coo": ("row", "col"), "csr": ("indptr", "indices"), "csc": ("indptr", "indices")}


def read(source: Source) -> NDArray[Any]:
    """Read the array; nothing is unpickled."""
    with archives.reading(source, "file of one array"):
        found = archives.arrays(source, "biufcSU")
        if "format" in found:
            return _sparse(found)
        if len(found) != 1:
            raise ValueError(
                f"it holds {len(found)} arrays ({', '.join(found):.200}); 1 is accepted"
            )
        (array,) = found.values()
        if array.dtype.kind in "SU":
            raise ValueError(f"it has dtype {array.dtype}; numbers are accepted")
        return array


def _sparse(found: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """A sparse matrix as a dense one, repeated entries added."""
    name = found["format"].item()
    name = name.decode() if isinstance(name, bytes) else str(name)
    if name not in _INDICES:
        raise ValueError(f"its sparse format is {name:.20}; {', '.join(_INDICES)} are accepted")
    data, first, second = (found[key] for key in ("data", *_INDICES[name]))
    m, n = (int(side) for side in found["shape"])
    if not (0 <= m <= MAX_SIDE and 0 <= n <= MAX_SIDE):
        raise ValueError(f"its shape is ({m}, {n}); sides up to {MAX_SIDE} are accepted")
    rows, columns = first, second
    if name != "coo":
        rows = np.repeat(np.arange(len(first) - 1), np.diff(first))
    if name == "csc":
        rows, columns = columns, rows
    if not len(rows) == len(columns) == len(data) or data.dtype.kind in "SU":
        raise ValueError("its indices and data do not belong together")
    if len(data) and not (
        rows.min() >= 0 and rows.max() < m and columns.min() >= 0 and columns.max() < n
    ):
        raise ValueError("it has indices outside of its shape")
    dense = np.zeros((m, n), dtype=object if data.dtype.kind in "biu" else data.dtype)
    np.add.at(dense, (rows, columns), data.astype(dense.dtype))
    return dense
