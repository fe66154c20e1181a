"""NumPy archives: one array ``links``, shape (T, Z, Y, X, 4, Nc, Nc), complex64 or complex128.

The archive keeps a CRC-32 of it, which is compared whenever it is read.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Checksum, Content, Precision, in_precision

NAME = "npz"
SUFFIXES = (".npz",)
DESCRIPTION = "a NumPy archive with one array 'links'"
MAGIC = archives.MAGIC_NPZ
_MEMBER = "links.npy"


def read(source: Source) -> Content:
    """Read an archive; nothing in it is unpickled."""
    with archives.reading(source, "archive of links"):
        with zipfile.ZipFile(source.file()) as archive:
            if _MEMBER not in archive.namelist():
                raise source.error(None, f"holds no array 'links', but {archive.namelist()[:5]}")
            crc = f"{archive.getinfo(_MEMBER).CRC:08x}"
        # Reading compares the CRC-32.
        most = 64 * len(source) + 2**20
        links = archives.arrays(source, "c", ("links",), most)["links"]
        if not layouts.fits_ours(links.shape):
            raise ValueError(f"its links have shape {links.shape}")
    return Content(links, checksum=Checksum(crc, crc))


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["little"] = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write an archive, uncompressed."""
    file = io.BytesIO()
    field = in_precision(field, precision, any_dimension=True)
    np.savez(file, links=field.links.astype(field.dtype.newbyteorder(byteorder), copy=False))
    yield file.getvalue()
