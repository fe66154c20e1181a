r"""Smeared links: APE and stout.

APE replaces a link by the element of the group nearest to

.. math::
    (1 - \alpha)\, U_\mu(x) + \frac{\alpha}{2 (d - 1)} \sum_{\pm\nu \ne \mu} C_{\mu\nu}(x)

with the staples C (M. Albanese et al., Phys. Lett. B 192, 163 (1987)); nearest is the unitary part of its polar
decomposition, divided by the third, or second, root of its determinant. Stout takes

.. math::
    U'_\mu(x) = \exp\Big(\rho\, \mathcal{P}\big[\textstyle\sum_{\pm\nu} C_{\mu\nu}(x)\,
    U_\mu(x)^\dagger\big]\Big)\, U_\mu(x)

with the antihermitian traceless part P (C. Morningstar and M. Peardon, Phys. Rev. D 69, 054501 (2004)). Both
transform as links do. d is 4, or 3 where only links in space are smeared, with staples in space.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hardscape import native
from hardscape.arguments import integer
from hardscape.engine import team
from hardscape.engine.lanes import on_its_threads, working_threads
from hardscape.errors import InputError
from hardscape.gauge import boundary as boundaries
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.layouts import OURS
from hardscape.interrupts import interruptible

Kind = Literal["ape", "stout"]
#: Weights by default, and the most that are accepted.
_WEIGHTS: dict[str, tuple[float, float]] = {"ape": (0.5, 1.0), "stout": (0.1, 0.25)}
#: Sites from which a further thread is worth starting.
_SITES_A_THREAD = 4096


@interruptible
@on_its_threads
def smear(
    field: GaugeField | str | Path | Any,
    kind: Kind = "ape",
    *,
    weight: float | None = None,
    steps: int = 1,
    spatial: bool = False,
    threads: int | None = None,
) -> GaugeField:
    """Smear the links of a configuration. The field stays as it is.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)
    kind : {"ape", "stout"}
    weight : float, optional
        alpha of APE, up to 1, by default 0.5; rho of stout, up to 0.25, by default 0.1.
    steps : int
        How often, 0 or more.
    spatial : bool
        Only links in space, with staples in space: links in t stay.
    threads : int, optional
        By default what the lattice is worth; any number gives the same bytes.

    Returns
    -------
    GaugeField
        In double precision.

    Raises
    ------
    InputError
        If an argument is out of range, a link is not in the group, or the field has a boundary in time and
        links in t are to be smeared.

    Examples
    --------
    >>> from hardscape.gauge import generate, smear
    >>> field = generate((4, 4, 4, 4), 6.0, seed=1, sweeps=10)
    >>> field.plaquette() < smear(field, steps=3).plaquette() < 1
    True
    """
    links = checked_field(field)
    if kind not in _WEIGHTS:
        raise InputError(f"kind={kind!r}; 'ape' and 'stout' are accepted")
    usual, most = _WEIGHTS[kind]
    chosen = usual if weight is None else weight
    if isinstance(chosen, bool) or not isinstance(chosen, int | float) or not 0 < chosen <= most:
        raise InputError(f"weight={weight!r}; a number above 0, up to {most:g}, is accepted")
    count = integer(steps, "steps", 0, 10**6)
    if links.dimensions - spatial < 2:
        raise InputError(f"{links!r} has one direction in space, in which there are no staples")
    links.require_unitary()
    if links.boundary != "periodic" and not spatial:
        raise InputError(
            f"the field has a boundary in time ({links.boundary!r}); links in space are smeared by "
            "spatial=True, links in t of periodic fields"
        )
    worth = max(1, links.volume // _SITES_A_THREAD)
    lanes = (
        min(working_threads(), worth) if threads is None else integer(threads, "threads", 1, 2**16)
    )
    directions = links.dimensions - 1 if spatial else links.dimensions
    start = np.ascontiguousarray(links.to("cpu").links, dtype=np.complex128)
    smearing = native.vector.gauge.Smearing(start)
    with team(lanes) as together:
        for _ in range(count):  # a signal is heard between them
            work = native.vector.gauge.SmearingSteps(
                smearing, float(chosen), kind == "stout", directions, 1, together.size
            )
            together.run(work.run)
    if not math.isfinite(float(abs(smearing.links()).sum())):
        raise InputError("a sum of staples has no nearest element: the links are too rough")
    smeared = smearing.links()
    for t in boundaries.fixed_slices(links.boundary):
        smeared[t] = start[t]  # what is fixed stays
    return GaugeField(smeared, boundary=links.boundary, layout=OURS)
