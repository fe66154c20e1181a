"""One array of NumPy: links of shape (T, Z, Y, X, 4, Nc, Nc), or as PyQUDA has them, the direction first.

Of either memory order and byte order, complex64 or complex128. Where the shape fits several layouts the
plaquette tells which one it is: qcd_ml's arrays, which are mu x y z t a b, are read so too; `layout` says it.
"""

from __future__ import annotations

import io
import warnings
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
        layout = _told(array)
        if layout is None:
            names = f"{layouts.ours(array.shape[-3])!r} or {layouts.pyquda_layout(array.shape)!r}"
            raise source.error(
                None,
                f"holds links of shape {array.shape}, which are {names}, and the plaquette does not tell; "
                "layout= (--layout) does",
            )
        usual = (layouts.OURS, layouts.ours(array.ndim - 3))
        notes = () if layout in usual else (f"taken for links in the order {layout!r}",)
    try:
        links = layouts.laid_out(array, layout)
        return Content(links.astype(links.dtype.newbyteorder("=")), notes=notes)
    except InputError as error:
        raise source.error(None, str(error)) from None


def _told(array: NDArray[Any]) -> str | None:
    """The layout that shape and plaquette of an array tell; None where they leave two."""
    pyquda = layouts.pyquda_layout(array.shape)
    ours = layouts.fits_ours(array.shape)
    assumed = layouts.OURS if ours else pyquda
    better = layouts.better_layout(array, assumed) if array.ndim == 7 else None
    if better or not (pyquda and ours):
        return better or assumed or layouts.OURS
    names = (layouts.ours(array.shape[-3]), pyquda)
    views = [layouts.laid_out(array, name) for name in names]
    winner, highest, second = layouts.best(views)
    noise = layouts.noise(array.shape[-1], array.shape[:-3])
    if second < -1:  # of links that are all the same
        return names[winner]
    # Links that were fixed to a gauge have large plaquettes in any order.
    told = highest - second > max(layouts.STANDS_OUT, noise)
    return names[winner] if told and layouts.in_order(views[winner], layouts.MOST, 2.0) else None


def write(
    field: GaugeField,
    *,
    precision: Precision | None = None,
    byteorder: Literal["little"] = "little",
    layout: str | None = None,
) -> Iterator[bytes | NDArray[Any]]:
    """Write an array."""
    field = in_precision(field, precision, any_dimension=True)
    order = layout or layouts.ours(field.dimensions)
    numbers = layouts.Layout.parse(order).numbers(field.links)
    numbers = np.ascontiguousarray(numbers, dtype=field.dtype.newbyteorder(byteorder))
    if layout is None and _told(numbers) not in (order, layouts.OURS):
        warnings.warn(
            f"shape and plaquette do not tell the order of the array's axes; layout={order!r} (--layout) "
            "reads it, and .npz tells it",
            stacklevel=2,
        )
    file = io.BytesIO()
    np.lib.format.write_array(file, numbers)
    yield file.getvalue()
