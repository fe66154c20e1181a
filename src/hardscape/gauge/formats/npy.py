"""One array of NumPy: links of shape (T, Z, Y, X, 4, Nc, Nc), or as PyQUDA has them, the direction first.

Of either memory order and byte order, complex64 or complex128. Where the shape fits several layouts the
plaquette tells which one it is: qcd_ml's arrays, which are mu x y z t a b, are read so too; `layout` says it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import archives, memory
from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge import layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import Content, Precision, in_precision

NAME = "npy"
SUFFIXES = (".npy",)
DESCRIPTION = "an array of NumPy"
MAGIC = b"\x93NUMPY"


def read(source: Source, *, layout: str | None = None) -> Content:
    """Read an array; nothing in it is unpickled."""
    memory.require(2 * len(source), source.path)
    with archives.reading(source, "array of links"):
        array = archives.array(source.data, "c")
    return in_layout(source, array, layout)


def in_layout(source: Source, array: NDArray[Any], layout: str | None) -> Content:
    """The links of an array of the given layout, or of the one that shape and plaquette tell."""
    if array.ndim not in range(5, 9) or array.size == 0:
        raise source.error(None, f"holds an array of shape {array.shape}, which are no links")
    notes: tuple[str, ...] = ()
    if layout is None:
        pyquda = layouts.pyquda_layout(array.shape)
        ours = layouts.fits_ours(array.shape)
        assumed = layouts.OURS if ours else pyquda
        layout = layouts.better_layout(array, assumed) if array.ndim == 7 else None
        if layout is None:
            layout = _chosen(source, array, pyquda) if pyquda and ours else assumed or layouts.OURS
        usual = (layouts.OURS, layouts.ours(array.ndim - 3))
        notes = () if layout in usual else (f"taken for links in the order {layout!r}",)
    try:
        links = layouts.laid_out(array, layout)
        return Content(links.astype(links.dtype.newbyteorder("=")), notes=notes)
    except InputError as error:
        raise source.error(None, str(error)) from None


def _chosen(source: Source, array: NDArray[Any], pyquda: str) -> str:
    names = (layouts.ours(array.shape[-3]), pyquda)
    winner, highest, second = layouts.best([layouts.laid_out(array, name) for name in names])
    noise = layouts.noise(array.shape[-1], array.shape[:-3])
    if highest - second <= max(layouts.STANDS_OUT, noise):
        raise source.error(
            None,
            f"holds links of shape {array.shape}, which are {names[0]!r} or {names[1]!r}, and the plaquette "
            "does not tell; layout= (--layout) does",
        )
    return names[winner]


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["little"] = "little",
    layout: str | None = None,
) -> Iterator[bytes | NDArray[Any]]:
    """Write an array."""
    field = in_precision(field, precision, any_dimension=True)
    order = layouts.Layout.parse(layout or layouts.ours(field.dimensions))
    numbers = order.numbers(field.links)
    file = io.BytesIO()
    np.lib.format.write_array(
        file, np.ascontiguousarray(numbers, dtype=field.dtype.newbyteorder(byteorder))
    )
    yield file.getvalue()
