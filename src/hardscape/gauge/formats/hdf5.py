"""HDF5: a dataset ``links`` with the attributes ``nc``, ``shape`` (x, y, z, t) and ``plaquette``.

The dataset has shape (T, Z, Y, X, 4, Nc, Nc), h5py's complex numbers {r, i}, a chunk a timeslice, and
Fletcher's checksum on each chunk. Files of others are read where they hold one array of links, in the orders of
``npy``, or four of shape (T, Z, Y, X, Nc, Nc), one a direction, as PyQUDA writes them, X, Y, Z and T. Reading
and writing need h5py: ``pip install 'hardscape[hdf5]'``.
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
from hardscape.gauge.formats.npy import in_layout

NAME = "hdf5"
SUFFIXES = (".h5", ".hdf5")
DESCRIPTION = "HDF5 with a dataset 'links' (needs h5py)"
MAGIC = b"\x89HDF\r\n\x1a\n"
#: Last letters of the names of four datasets, in the order of directions.
_AXES = "XYZTxyzt0123"
_PACKAGE = ("h5py", "h5py", "hdf5", "an HDF5 file of links")


def read(source: Source) -> Content:
    """Read a file."""
    h5py = needed(*_PACKAGE)
    try:
        with h5py.File(source.file(), "r") as file:
            if "links" not in file:
                return in_layout(source, _of_others(source, h5py, file), None)
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


def _of_others(source: Source, h5py: Any, file: Any) -> Any:
    """The array of the only dataset that may be links, or of four, one a direction, as PyQUDA has them."""
    found: dict[str, Any] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind == "c":
            found[name] = item

    file.visititems(note)
    whole = [x for x in found.values() if x.ndim in (7, 8)]
    if len(found) == len(whole) == 1:
        memory.require(2 * whole[0].nbytes, source.path)
        return whole[0][...]
    four = sorted(found, key=lambda name: (_AXES.find(name[-1:]), name))
    shapes = {x.shape for x in found.values()}
    folders = {name.rpartition("/")[0] for name in found}
    if len(four) != 4 or len(shapes) != 1 or len(folders) != 1 or len(*shapes) != 6:
        told = ", ".join(f"{name} {item.shape}" for name, item in [*found.items()][:5])
        raise source.error(
            None,
            "holds no dataset 'links', and neither one of links nor four, one a direction, but "
            f"{told or list(file)[:5]}",
        )
    memory.require(8 * found[four[0]].nbytes, source.path)
    return np.stack([found[name][...] for name in four])


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
