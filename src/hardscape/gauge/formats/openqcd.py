"""openQCD's format, and that of CLS: little-endian extents T, X, Y, Z, Nc times the plaquette, double links.

Sites of odd t + x + y + z follow with z fastest and t slowest. Each has eight links: for t, x, y, z in
turn the one that starts here and the one that ends here.

With open boundaries the links in t of the last timeslice are zero. With those of the Schroedinger functional
the links in space of the first timeslice are fixed; the timeslice T, where the links in t of the last one end,
is not in the file. It is added to the field: its links are exp(i phi'_j / L_k), with the angles phi' that the
plaquette of the header agrees with, or with `angles`. So it is where time 0 is open and T fixed (open-SF,
type 2 of openQCD), of which a file says nothing but by its plaquette.

The header has the sum over all plaquettes, divided by 6 T V_3.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.files import Source
from hardscape.gauge import boundary, layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats import ddalphaamg
from hardscape.gauge.formats.content import (
    Claim,
    Content,
    in_precision,
    plaquette_means,
    whole_links,
)
from hardscape.gauge.groups import COLOURS

NAME = "openqcd"
SUFFIXES = (".openqcd",)
DESCRIPTION = "openQCD and CLS, double, even extents, periodic, open and Schroedinger-functional"

_HEADER = struct.Struct("<4id")
#: mu = t, x, y, z in the order x, y, z, t.
_DIRECTIONS = (3, 0, 1, 2)
_NUMBERS = np.dtype("<c16")
#: Angles phi' of the boundary T that are in use: none, and those of the coupling's definition.
_ANGLES = {
    2: ((0.0, 0.0), (-math.pi, math.pi)),
    3: (
        (0.0, 0.0, 0.0),
        (-math.pi, math.pi / 3, 2 * math.pi / 3),
        (-5 * math.pi / 3, 2 * math.pi / 3, math.pi),
    ),
}

_UNTOLD = (
    "a plaquette that its links do not have may be that of a lattice which is open at time 0 and fixed at T: "
    "angles= (--angles) says phi' of T"
)


def sniff(source: Source) -> bool:
    """Whether extents and size make this format plausible; it has no magic number."""
    if len(source) < _HEADER.size:
        return False
    *extents, _ = _HEADER.unpack(source.bytes(0, _HEADER.size))
    if min(extents) < 2 or max(extents) > 2**16:
        return False
    size = 64 * math.prod(extents)
    if len(source) - _HEADER.size not in [size * nc * nc for nc in COLOURS]:
        return False
    return not any(extent % 2 for extent in extents) and not ddalphaamg.sniff(source)


def read(source: Source, *, angles: Sequence[float] | None = None) -> Content:
    """Read a file; Nc follows from its size. `angles` are phi' of a Schroedinger functional."""
    t, x, y, z, plaquette = _HEADER.unpack(source.bytes(0, _HEADER.size))
    stored = whole_links(source, _HEADER.size, (x, y, z, t), _NUMBERS)
    if any(extent % 2 for extent in (t, x, y, z)):
        raise source.error(
            None, f"has extents x, y, z, t = {x}, {y}, {z}, {t}; even ones are accepted"
        )
    nc = stored.shape[-1]
    links = _from_odd_sites(stored.reshape(-1, 8, nc, nc), (t, x, y, z))
    stated = plaquette / nc
    try:
        field = GaugeField(links, boundary=boundary.of_links(links), layout=layouts.OURS)
    except InputError:  # whoever makes a field of them says what is wrong
        return Content(links, plaquette=Claim.from_double(stated))
    claim = Claim.from_double(stated, among=plaquette_means(field))
    told = Content(links, plaquette=claim, boundary=field.boundary)
    if angles is None and (claim.holds(field.plaquette()) or field.boundary != "periodic"):
        return told
    if _fixed(links):
        return _schroedinger(source, links, stated, angles, "sf") or _refused(source, nc)
    found = _schroedinger(source, links, stated, angles, "open-sf")
    return found or replace(told, notes=(_UNTOLD,))


def _from_odd_sites(stored: NDArray[Any], extents: tuple[int, int, int, int]) -> NDArray[Any]:
    t, x, y, z = extents
    nc = stored.shape[-1]
    links = np.empty((t, z, y, x, 4, nc, nc), dtype=np.complex128)
    sites = links.transpose(0, 3, 2, 1, 4, 5, 6)
    odd = _odd_sites(extents)
    ending = np.empty((*extents, nc, nc), dtype=np.complex128)
    for axis, mu in enumerate(_DIRECTIONS):
        ending[odd] = stored[:, 2 * axis + 1]
        # What ends on an odd site starts on its even neighbour behind.
        sites[..., mu, :, :] = np.roll(ending, -1, axis=axis)
        sites[odd, mu] = stored[:, 2 * axis]
    return links


def _odd_sites(extents: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    return np.asarray(np.indices(extents, sparse=False).sum(axis=0) % 2 == 1)


def _fixed(links: NDArray[Any]) -> bool:
    """Whether the first timeslice is a boundary, and no other is as it is."""
    return boundary.fixed_slice(links[0]) and not any(map(boundary.fixed_slice, links[1:]))


def _likely_angles(links: NDArray[Any], edge: boundary.Boundary) -> Iterator[Sequence[float]]:
    """Angles phi' in use, and those that go with phi of the first timeslice where that is fixed.

    With phi of the coupling's definition, which depends on eta, phi' is another function of it: M. Luescher et
    al., Nucl. Phys. B 384, 168 (1992), eq. 4.14 for SU(2); B 413, 481 (1994), eq. 2.19 for SU(3).
    """
    nc = links.shape[-1]
    yield from _ANGLES.get(nc, ((0.0,) * nc,))
    if edge != "sf":
        return
    phi = np.angle(np.diagonal(links[0, 0, 0, 0, 0])) * links.shape[3]
    yield from (phi.tolist(), (-phi).tolist())
    if nc == 2:
        yield [-math.pi - phi[0], math.pi - phi[1]]
    if nc == 3:
        yield [-phi[0] - 4 * math.pi / 3, -phi[2] + 2 * math.pi / 3, -phi[1] + 2 * math.pi / 3]


def _schroedinger(
    source: Source,
    links: NDArray[Any],
    stated: float,
    angles: Sequence[float] | None,
    edge: boundary.Boundary,
) -> Content | None:
    """The field with the boundary T whose angles the header's plaquette agrees with; None where none are."""
    nc = links.shape[-1]
    tried = list(_likely_angles(links, edge)) if angles is None else [tuple(angles)]
    if len(tried[0]) != nc:
        raise InputError(f"angles={angles!r}; {nc} numbers are accepted for SU({nc})")
    for phi in tried:
        whole = np.concatenate([links, _boundary_slice(links, phi)])
        field = GaugeField(whole, boundary=edge, layout=layouts.OURS)
        claim = Claim.from_double(stated, among=plaquette_means(field))
        if claim.holds(field.plaquette()) or angles is not None:
            shown = ", ".join(f"{x:.4g}" for x in phi)
            note = f"Schroedinger functional: timeslice {len(links)} added, with phi' = {shown}"
            return Content(whole, plaquette=claim, boundary=edge, notes=(note,))
    return None


def _refused(source: Source, nc: int) -> Content:
    raise source.error(
        None,
        "has a first timeslice of equal diagonal links, as the Schroedinger functional has it, and no angles "
        "of its other boundary, which is not in the file, agree with the plaquette in its header; "
        f"angles=(phi'_1, ..., phi'_{nc}) (--angles) says them",
    )


def _boundary_slice(links: NDArray[Any], phi: Sequence[float]) -> NDArray[Any]:
    found = np.zeros_like(links[:1])
    for mu in range(3):
        phases = np.exp(1j * np.array(phi) / links.shape[3 - mu])
        found[..., mu, :, :] = np.diag(phases)
    return found


def write(
    field: GaugeField,
    *,
    precision: Literal["double"] = "double",
    byteorder: Literal["little"] = "little",
) -> Iterator[bytes | NDArray[Any]]:
    """Write a file of even extents; the last timeslice of a Schroedinger functional is left out."""
    field = in_precision(field, precision)
    links, plaquette = field.links, plaquette_means(field)[-1]
    if boundary.fixed_slices(field.boundary):
        links, plaquette = links[:-1], plaquette_means(field)[2]
    t, z, y, x = links.shape[:4]
    if any(extent % 2 for extent in (x, y, z, t)):
        raise InputError(
            "an odd extent cannot be written as openQCD, which needs even ones "
            "(without the last timeslice of a Schroedinger functional)"
        )
    yield _HEADER.pack(t, x, y, z, field.nc * plaquette)
    sites = links.transpose(0, 3, 2, 1, 4, 5, 6)
    odd = _odd_sites((t, x, y, z))
    stored = np.empty((math.prod((t, x, y, z)) // 2, 8, field.nc, field.nc), dtype=_NUMBERS)
    for axis, mu in enumerate(_DIRECTIONS):
        stored[:, 2 * axis] = sites[odd, mu]
        stored[:, 2 * axis + 1] = np.roll(sites[..., mu, :, :], 1, axis=axis)[odd]
    yield stored
