r"""Polyakov loops, Wilson loops, and correlators of lines in time.

.. math::
    P &= \frac{1}{N_c V_3} \sum_{\vec x} \mathrm{tr} \prod_t U_4(\vec x, t),\\
    W(R, D) &= \frac{1}{3 N_c V} \sum_{x, i} \mathrm{Re\,tr}\, S_i(x; R)\, T(x + R\hat\imath; D)\,
    S_i(x + D\hat t; R)^\dagger\, T(x; D)^\dagger,\\
    G(R, D) &= \frac{1}{3 N_c V} \sum_{x, i} \mathrm{Re\,tr}\, T(x; D)\, T(x + R\hat\imath; D)^\dagger

with products S of R links in space and T of D links in time. W and P do not depend on the gauge; G is
measured in Coulomb gauge, which needs no lines in space (J. Greensite and S. Olejnik, Phys. Rev. D 67, 094503
(2003)).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arguments import integer
from hardscape.errors import InputError
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.intake import in_parts
from hardscape.interrupts import interruptible


@interruptible
def polyakov_loop(field: GaugeField | str | Path | Any) -> complex:
    """The Polyakov loop, averaged over space.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)

    Returns
    -------
    complex
        tr of the product of all links in t, over Nc. Below the temperature of deconfinement it vanishes in
        an infinite volume; for Nc = 3 it is near one of the directions 1, exp(2 pi i / 3), exp(-2 pi i / 3)
        above it.

    Raises
    ------
    InputError
        If the field has a boundary in time.

    Examples
    --------
    >>> from hardscape.gauge import GaugeField, polyakov_loop
    >>> polyakov_loop(GaugeField.identity((4, 4, 4, 4)))
    (1+0j)
    """
    links, closed = _links(field)
    if not closed:
        raise InputError("the field has a boundary in time; Polyakov loops are of periodic fields")
    line = links[0, ..., -1, :, :]
    for t in range(1, len(links)):
        line = line @ links[t, ..., -1, :, :]
    mean = np.trace(line, axis1=-2, axis2=-1).mean() / links.shape[-1]
    return complex(mean)


@interruptible
def wilson_loops(
    field: GaugeField | str | Path | Any, length: int, separation: int
) -> NDArray[np.float64]:
    """Planar Wilson loops, averaged over sites and the directions in space.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)
        Links in space may be smeared: :func:`smear`.
    length, separation : int
        Largest R and D, up to the shortest extent in space and that in time. From half of an extent on,
        the way around the lattice is no longer than the loop: potentials are of shorter ones.

    Returns
    -------
    float64, shape (length, separation)
        ``[R - 1, D - 1]`` is W(R, D).

    Raises
    ------
    InputError
        If a loop is longer than the lattice, or as long as one with a boundary in time.

    Notes
    -----
    With a boundary in time the loops between the first and the last timeslice are averaged, those on them too.

    Some 60 ns a site, direction and loop on one AVX-512 core.

    Examples
    --------
    >>> from hardscape.gauge import generate, wilson_loops
    >>> field = generate((4, 4, 4, 4), 5.7, seed=1, sweeps=10)
    >>> loops = wilson_loops(field, 2, 2)
    >>> bool(loops[0, 0] > loops[0, 1] > loops[1, 1])
    True
    """
    links, closed = _links(field)
    most_r, most_d = _within(links, length, separation)
    slices, volume, nc = len(links), int(np.prod(links.shape[:-3])), links.shape[-1]
    starts = _starts(slices, most_d, closed)
    time_direction = links.shape[-3] - 1
    times = list(_lines(links, time_direction, most_d))
    loops = np.zeros((most_r, most_d))
    summed = native.vector.gauge.loop_sum
    for mu in range(time_direction):
        for r, space in enumerate(_lines(links, mu, most_r)):
            for d, time in enumerate(times):
                parts = in_parts(
                    slices,
                    space.nbytes,
                    lambda i, j: summed(space, time, mu, r + 1, d + 1, i, j),  # noqa: B023
                )
                loops[r, d] += sum(parts)
    means: NDArray[np.float64] = loops / (time_direction * nc * volume // slices * starts)
    return means


@interruptible
def line_correlators(
    field: GaugeField | str | Path | Any, length: int, separation: int
) -> NDArray[np.float64]:
    """Correlators of lines in time, for fields in Coulomb gauge.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)
    length, separation : int
        Largest R and D, as for :func:`wilson_loops`.

    Returns
    -------
    float64, shape (length, separation)
        ``[R - 1, D - 1]`` is G(R, D), over the directions in space.

    Raises
    ------
    InputError
        If a line is longer than the lattice, or as long as one with a boundary in time.

    Examples
    --------
    >>> from hardscape import gauge
    >>> gauge.line_correlators(gauge.GaugeField.identity((4, 4, 4, 4)), 1, 2).tolist()
    [[1.0, 1.0]]
    """
    links, closed = _links(field)
    most_r, most_d = _within(links, length, separation)
    nc, space = links.shape[-1], links.shape[-3] - 1
    starts = _starts(len(links), most_d, closed)
    found = np.empty((most_r, most_d))
    for d, lines in enumerate(_lines(links, space, most_d)):
        for r in range(most_r):
            total = 0.0
            for mu in range(space):
                other = np.roll(lines, -(r + 1), axis=space - mu)
                total += float(np.vdot(other, lines).real)
            found[r, d] = total / (space * nc * lines[0, ..., 0, 0].size * starts[d])
    return found


def _links(field: Any) -> tuple[NDArray[np.complex128], bool]:
    """Links in double on the host, and whether the field is periodic."""
    taken = checked_field(field)
    links: NDArray[np.complex128] = np.asarray(taken.to("cpu").links, dtype=np.complex128)
    return links, taken.boundary == "periodic"


def _within(links: NDArray[np.complex128], length: int, separation: int) -> tuple[int, int]:
    """Largest R and D, which the lattice holds."""
    slices, *space = links.shape[:-3]
    for name, value, extent, what in (
        ("length", length, min(space), "shortest extent in space"),
        ("separation", separation, slices, "extent in time"),
    ):
        if integer(value, name, 1, 1024) > extent:
            raise InputError(f"{name}={value}; the {what} is {extent}, and loops are no longer")
    return int(length), int(separation)


def _starts(slices: int, most: int, closed: bool) -> NDArray[np.int64]:
    """On how many timeslices lines of 1, 2, ..., `most` links in t begin; others have links that are zero."""
    if closed:
        return np.full(most, slices)
    if most >= slices:
        raise InputError(
            f"separation={most}; with a boundary in time less than its {slices} timeslices are accepted"
        )
    return slices - np.arange(1, most + 1)


def _lines(links: NDArray[np.complex128], mu: int, most: int) -> Iterator[NDArray[np.complex128]]:
    """Products of 1, 2, ..., `most` links along mu, shape (T, Z, Y, X, Nc, Nc)."""
    one = np.ascontiguousarray(links[..., mu, :, :])
    line = one
    for count in range(1, most + 1):
        yield line
        if count < most:
            line = np.ascontiguousarray(line @ np.roll(one, -count, axis=one.ndim - 3 - mu))
