"""HDF5: a dataset ``links`` with the attributes ``nc``, ``shape`` (x, y, z, t) and ``plaquette``.

The dataset has shape (T, Z, Y, X, 4, Nc, Nc), h5py's complex numbers {r, i}, a chunk a timeslice, and
Fletcher's checksum on each chunk. Reading and writing need h5py: ``pip install 'hardscape[hdf5]'``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.errors import BudgetError, FormatError, needed
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Checksum, Claim, Content, Precision, in_precision

NAME = "hdf5"
SUFFIXES = (".h5", ".hdf5")
DESCRIPTION = "HDF5 with a dataset 'links' (needs h5py)"
MAGIC = b"\x89HDF\r\n\x1a\n"
_PACKAGE = ("h5py", "h5py", "hdf5", "an HDF5 file of links")


def read(source: Source) -> Content:
    """Read a file."""
    h5py = needed(*_PACKAGE)
    try:
        with h5py.File(source.file(), "r") as file:
            if "links" not in file:
                raise source.error(None, f"holds no dataset 'links', but {list(file)[:5]}")
            dataset = file["links"]
            if dataset.dtype.kind != "c" or not layouts.fits_ours(dataset.shape):
                raise source.error(
                    None, f"has links of shape {dataset.shape}, dtype {dataset.dtype}"
                )
            memory.require(dataset.nbytes, source.path)
            links = dataset[...]
            stated = dataset.attrs.get("plaquette")
            # The library has compared it while it read, chunk by chunk.
            checksum = Checksum("fletcher32", "fletcher32") if dataset.fletcher32 else None
    except (FormatError, BudgetError):
        raise
    except Exception as error:
        # h5py passes on what the C library says, as OSError, RuntimeError, KeyError and more.
        raise source.error(None, f"is no HDF5 file of links: {error}") from None
    itemsize = links.dtype.itemsize // 2
    claim = None if stated is None else Claim.from_double(float(stated), itemsize)
    links = links.astype(links.dtype.newbyteorder("="), copy=False)
    return Content(links, checksum=checksum, plaquette=claim)


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["little"] = "little",
    checksum: bool = True,
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file."""
    h5py = needed(*_PACKAGE)
    target = io.BytesIO()
    field = in_precision(field, precision, any_dimension=True)
    with h5py.File(target, "w") as file:
        dataset = file.create_dataset(
            "links",
            data=field.links.astype(field.dtype.newbyteorder(byteorder), copy=False),
            chunks=(1, *field.links.shape[1:]),
            fletcher32=checksum,
        )
        dataset.attrs["nc"] = field.nc
        dataset.attrs["shape"] = np.array(field.shape)
        dataset.attrs["plaquette"] = field.plaquette()
    yield target.getvalue()
