"""NumPy's files .npy and .npz as strangers may have made them: nothing in them is unpickled or trusted."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hardscape import memory
from hardscape.errors import BudgetError, FormatError
from hardscape.files import MAX_BYTES, Source, pieces

MAGIC_NPY, MAGIC_NPZ = b"\x93NUMPY", b"PK\x03\x04"


@contextmanager
def reading(source: Source, what: str) -> Iterator[None]:
    """Turn whatever is wrong with the bytes of `source` into a FormatError: "is no `what`"."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what NumPy only warns of is a damaged header here
            yield
    except (FormatError, BudgetError):
        raise
    except Exception as error:
        # zipfile, zlib and NumPy's header parser answer damaged bytes with errors of a dozen types.
        raise source.error(None, f"is no {what}: {error}") from None


def array(content: bytes, kinds: str, name: str = "it") -> NDArray[Any]:
    """Decode the bytes of a .npy file of a dtype of the `kinds`, letters of "biufcSU".

    Its header cannot ask for more memory than it has bytes. NumPy raises ValueErrors and more of its own.
    """
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{name} has the format version {version}; (1, 0) and (2, 0) are read")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read_header(file)
    if dtype.kind not in kinds:
        raise ValueError(f"{name} has dtype {dtype}; dtypes of the kinds {kinds!r} are accepted")
    start = file.tell()
    if min(shape, default=0) < 0 or len(content) - start != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{name} has {len(content) - start} bytes, and its header announces others"
        )
    body = np.frombuffer(content, np.uint8, offset=start)
    if dtype.kind == "b" and body.max(initial=0) > 1:
        raise ValueError(f"{name} has bools with other bytes than 0 and 1")
    found = np.frombuffer(content, dtype, offset=start) if body.size else np.empty(0, dtype)
    return found.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def arrays(
    source: Source, kinds: str, names: Collection[str] | None = None, limit: int = MAX_BYTES
) -> dict[str, NDArray[Any]]:
    """Decode the arrays of a .npz file, or those of the given names; zipfile raises errors of its own."""
    found: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(source.file()) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if names is not None and name not in names:
                continue
            if name in found:
                raise ValueError(f"array {name!r} is there twice")
            # Once as bytes, once as an array.
            memory.require(2 * min(member.file_size, limit), f"{source.path}: array {name!r}")
            with archive.open(member) as file:
                found[name] = array(pieces(file, limit), kinds, name)
    for name in names or ():
        if name not in found:
            raise ValueError(f"array {name!r} is missing")
    return found


def packed(**given: Any) -> bytes:
    """The bytes of a compressed .npz file."""
    file = io.BytesIO()
    np.savez_compressed(file, **given)
    return file.getvalue()
