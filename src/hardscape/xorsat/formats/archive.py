"""NumPy archives of XOR systems: the four arrays, nothing pickled."""

from __future__ import annotations

import io
import zipfile
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hardscape.files import MAX_BYTES, Source
from hardscape.xorsat.system import XorSystem

__all__ = ["parse", "render"]

_NAMES = ("num_variables", "offsets", "variables", "parity")


def parse(source: Source) -> XorSystem:
    """Read a system; see :mod:`hardscape.xorsat.formats`."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            arrays = {name: _array(archive, name) for name in _NAMES}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError) as error:
        raise source.error(None, f"is no archive of a XOR system: {error}") from None
    count = arrays["num_variables"]
    if count.ndim:
        raise source.error(None, f"num_variables has shape {count.shape}; a number is needed")
    return XorSystem(int(count), arrays["offsets"], arrays["variables"], arrays["parity"])


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Decode one array; its header cannot ask for more memory than it has bytes."""
    with archive.open(f"{name}.npy") as member:
        content = member.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} holds more than {MAX_BYTES} bytes")
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(file)
    body = content[file.tell() :]
    if dtype.kind not in "iu" or len(shape) > 1 or len(body) != prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} has dtype {dtype}, shape {shape} and {len(body)} bytes")
    return np.frombuffer(body, dtype=dtype).reshape(shape)


def render(system: XorSystem) -> bytes:
    """Write any system."""
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(getattr(system, name)) for name in _NAMES}
    np.savez_compressed(file, **arrays)
    return file.getvalue()
