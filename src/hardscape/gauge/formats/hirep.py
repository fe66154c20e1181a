"""HiRep's format: Nc, T, X, Y, Z and the plaquette, then double links, z fastest.

Big-endian; the little-endian files that HiRep's converter makes are read too.

The links of a site are in the order t, x, y, z. Matrices are complete; those of SU(2) are quaternions q with
U = q0 + i (q1 sigma_1 + q2 sigma_2 + q3 sigma_3), as HiRep writes them unless it was built to keep them in
that form; files of complete ones are read too.

With open boundaries the links in t of the last timeslice are zero. With those of the Schroedinger functional
the first timeslice of the file is outside, all identities, in older files zeros; the boundaries are its second
and its last one, whose links in t are identities. A field has it without the first timeslice.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.files import Source
from hardscape.gauge import boundary, layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.content import (
    Claim,
    Content,
    in_precision,
    lattice_shape,
    numbers,
    plaquette_means,
    whole_links,
)
from hardscape.gauge.groups import COLOURS

NAME = "hirep"
SUFFIXES = (".hirep",)
DESCRIPTION = "HiRep, double, periodic, open and Schroedinger-functional"

_HEADERS = {order: struct.Struct(f"{order}5id") for order in "><"}
_HEADER = _HEADERS[">"]
_LAYOUT = layouts.Layout.parse("t x y z mu[txyz] a b")
_NUMBERS, _REALS = ">c16", ">f8"


def sniff(source: Source) -> bool:
    """Whether header and size make this format plausible; it has no magic number."""
    if len(source) < _HEADER.size:
        return False
    return _byteorder(source) is not None


def _byteorder(source: Source) -> str | None:
    for order, header in _HEADERS.items():
        nc, *extents, _ = header.unpack(source.bytes(0, header.size))
        if nc in COLOURS and all(2 <= extent <= 2**16 for extent in extents):
            return order
    return None


def read(source: Source) -> Content:
    """Read a file of either byte order."""
    order = _byteorder(source) or ">"
    nc, t, x, y, z, plaquette = _HEADERS[order].unpack(source.bytes(0, _HEADER.size))
    shape = lattice_shape(source, (x, y, z, t))
    if nc == 2 and len(source) - _HEADER.size == 128 * math.prod(shape):
        q = numbers(source, _HEADER.size, 16 * math.prod(shape), np.dtype(f"{order}f8"))
        stored = _matrices(q.reshape(-1, 4).astype(np.float64))
    else:
        stored = whole_links(source, _HEADER.size, shape, np.dtype(f"{order}c16"), nc=nc)
    links = np.ascontiguousarray(_LAYOUT.view(stored, shape, nc), dtype=np.complex128)
    inside = _inside(links)
    if inside is None:
        return _content(links, plaquette, boundary.of_links(links))
    # Where zeros are outside, the header has the mean over all slices of the file.
    older = () if links[0].any() else (GaugeField(links, layout=layouts.OURS).plaquette(),)
    return _content(inside, plaquette, "sf", older)


def _content(
    links: NDArray[Any],
    plaquette: float,
    edge: boundary.Boundary,
    others: tuple[float, ...] = (),
) -> Content:
    try:
        field = GaugeField(links, boundary=edge, layout=layouts.OURS)
    except ValueError:  # numbers that no field has: whoever makes one says which
        return Content(links, plaquette=Claim.from_double(plaquette))
    return Content(
        links,
        plaquette=Claim.from_double(plaquette, among=(*plaquette_means(field), *others)),
        boundary=edge,
    )


def _inside(links: NDArray[Any]) -> NDArray[Any] | None:
    """The links between the boundaries of a Schroedinger functional; None of other fields."""
    one = np.eye(links.shape[-1])
    outside = (links[0] == one).all() or not links[0].any()
    if len(links) < 4 or not outside or not (links[-1, ..., 3, :, :] == one).all():
        return None
    if not (boundary.fixed_slice(links[1]) and boundary.fixed_slice(links[-1])):
        return None
    if (links == one).all():
        return None
    found = links[1:].copy()
    found[-1, ..., 3, :, :] = 0
    return found


def _matrices(q: NDArray[np.float64]) -> NDArray[np.complex128]:
    found = np.empty((len(q), 2, 2), dtype=np.complex128)
    found[:, 0, 0] = q[:, 0] + 1j * q[:, 3]
    found[:, 0, 1] = -q[:, 2] + 1j * q[:, 1]
    found[:, 1, 0] = q[:, 2] + 1j * q[:, 1]
    found[:, 1, 1] = q[:, 0] - 1j * q[:, 3]
    return found


def _quaternions(links: NDArray[Any]) -> NDArray[Any]:
    a, b, c, d = (links[..., i, j] for i in (0, 1) for j in (0, 1))
    q = [a.real + d.real, b.imag + c.imag, c.real - b.real, a.imag - d.imag]
    return np.stack(q, axis=-1) / 2


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: Literal["big"] = "big",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file."""
    field = in_precision(field, precision)
    links, plaquette = field.links, field.plaquette()
    if field.boundary == "sf":
        outside = np.broadcast_to(np.eye(field.nc), links[:1].shape)
        links = np.concatenate([outside, links])
        links[-1, ..., 3, :, :] = np.eye(field.nc)
        plaquette = plaquette_means(field)[1]
    t, z, y, x = links.shape[:4]
    yield _HEADER.pack(field.nc, t, x, y, z, plaquette)
    sites = _LAYOUT.numbers(links)
    if field.nc == 2:
        yield np.ascontiguousarray(_quaternions(sites), dtype=_REALS)
    else:
        yield np.ascontiguousarray(sites, dtype=_NUMBERS)
