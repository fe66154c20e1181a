"""NumPy archives: one array ``links``, shape (T, Z, Y, X, 4, Nc, Nc), complex64 or complex128.

The archive keeps a CRC-32 of it, which is compared whenever it is read.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hardscape.errors import FormatError
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Checksum, Content, Source, WriteOptions, number_type

__all__ = ["MAGIC", "parse", "render"]

MAGIC = b"PK\x03\x04"
_MEMBER = "links.npy"


def parse(source: Source) -> Content:
    """Read an archive; nothing in it is unpickled.

    Raises
    ------
    FormatError
        If it is damaged or holds something else.
    """
    try:
        links, crc = _links(source)
    except FormatError:
        raise
    except Exception as error:
        # zipfile, zlib and NumPy's header parser answer damaged bytes with errors of a dozen types.
        raise source.error(f"is no archive of links: {error}") from None
    return Content(links, checksum=Checksum(crc, crc))


def _links(source: Source) -> tuple[NDArray[Any], str]:
    """The array, and the CRC-32 of its member, with which the bytes agree."""
    with zipfile.ZipFile(source.path) as archive:
        if _MEMBER not in archive.namelist():
            raise source.error(f"holds no array 'links', but {archive.namelist()[:5]}")
        if archive.getinfo(_MEMBER).file_size > 64 * len(source) + 2**20:
            raise source.error("has links that would unpack to more than 64 times its size")
        crc = f"{archive.getinfo(_MEMBER).CRC:08x}"
        with archive.open(_MEMBER) as file:
            version = npy.read_magic(file)
            header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = header(file)
            if fortran or dtype.kind != "c" or len(shape) != 7:
                raise source.error(f"has links of shape {shape} and dtype {dtype}")
            data = file.read()
    if len(data) != prod(shape) * dtype.itemsize:
        raise source.error(f"has {len(data)} bytes of links; their shape is {shape}")
    links = np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    return links, crc


def render(field: GaugeField, options: WriteOptions) -> Iterator[bytes | NDArray[Any]]:
    """Write an archive, uncompressed."""
    file = io.BytesIO()
    itemsize = field.dtype.itemsize // 2
    np.savez(file, links=field.links.astype(number_type(itemsize, "little"), copy=False))
    yield file.getvalue()
