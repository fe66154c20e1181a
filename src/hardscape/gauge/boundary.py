"""Boundaries in time: what the links of the first and of the last timeslice are.

==============  =========================================================================================
``"periodic"``  the last timeslice borders on the first
``"open"``      it does not: the links in t of the last timeslice are zero
``"sf"``        open, and the links in space of the first and of the last timeslice are fixed: the same
                diagonal matrix everywhere, for each direction (the Schroedinger functional)
``"open-sf"``   open, and those of the last timeslice alone are fixed
==============  =========================================================================================

M. Lüscher, S. Schaefer, JHEP 07 (2011) 036; M. Lüscher et al., Nucl. Phys. B 384, 168 (1992).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.errors import InputError

Boundary = Literal["periodic", "open", "sf", "open-sf"]
#: Differences between links that are the same, up to rounding in the precision of a file.
_SAME = {8: 1e-6, 16: 1e-13}


def checked(boundary: Any, links: Any) -> Boundary:
    """Check that links, shape (T, Z, Y, X, 4, Nc, Nc), have what their boundary asks for."""
    if boundary not in get_args(Boundary):
        raise InputError(
            f"boundary={boundary!r}; 'periodic', 'open', 'sf' and 'open-sf' are accepted"
        )
    if boundary == "periodic":
        return "periodic"
    if not ends(links):
        raise InputError(
            f"boundary={boundary!r} needs links in t that are zero in the last timeslice, "
            "links[-1, ..., -1, :, :]; these are not"
        )
    if not all(fixed_slice(links[t]) for t in fixed_slices(boundary)):
        raise InputError(
            f"boundary={boundary!r} needs links in space that are the same diagonal matrix all over the last "
            "timeslice, and for 'sf' all over the first one; these are not"
        )
    found: Boundary = boundary
    return found


def of_links(links: Any) -> Boundary:
    """Tell the boundary from the links themselves."""
    if not ends(links):
        return "periodic"
    # All of them alike is a cold start, whose first and last timeslices are no others.
    if not fixed_slice(links[-1]) or all(fixed_slice(slice_) for slice_ in links[1:-1]):
        return "open"
    return "sf" if fixed_slice(links[0]) else "open-sf"


def fixed_slices(boundary: Any) -> list[int]:
    """Timeslices whose links in space are fixed, counted from either end."""
    return {"sf": [0, -1], "open-sf": [-1]}.get(boundary, [])


def ends(links: Any) -> bool:
    """Whether no link leads out of the last timeslice."""
    return not bool(links[-1, ..., -1, :, :].any())


def fixed_slice(links: Any) -> bool:
    """Whether the links in space of a timeslice, shape (Z, Y, X, 4, Nc, Nc), are one diagonal matrix each."""
    xp = array_namespace(links)
    space = links[..., :-1, :, :]
    tolerance = _SAME[links.dtype.itemsize]
    off = ~np.eye(links.shape[-1], dtype=bool)
    first = space[(0,) * (space.ndim - 3)]
    if float(xp.abs(first[:, xp.asarray(off)]).max()) > tolerance:
        return False
    return float(xp.abs(space - first).max()) <= tolerance


def live(boundary: Boundary, slices: int) -> NDArray[np.bool_]:
    """Timeslices whose gauge is free, shape (T,): fixed ones are not."""
    found = np.ones(slices, dtype=bool)
    found[fixed_slices(boundary)] = False
    return found


def plaquette_weights(boundary: Boundary, slices: int) -> tuple[NDArray[np.float64], int]:
    """Weights of the plaquettes in space of each timeslice, and the slices that they stand for together.

    Half at both ends of an open lattice, as openQCD counts them: in the action each belongs to the outside
    by half.
    """
    weights = np.ones(slices)
    if boundary == "periodic":
        return weights, slices
    weights[[0, -1]] = 0.5
    return weights, slices - 1
