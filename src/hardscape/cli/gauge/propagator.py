"""The command ``hardscape gauge propagator``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hardscape.cli.gauge.ensembles import ErrorOptions, deliver_anyway, measuring
from hardscape.cli.gauge.files import ReadOptions, pair
from hardscape.cli.options import Flag, PlotOptions, RunOptions
from hardscape.cli.terminal import show, table
from hardscape.errors import InputError
from hardscape.gauge import layouts
from hardscape.gauge.gluon.algebra import Definition
from hardscape.gauge.gluon.momenta import Cut
from hardscape.gauge.gluon.propagator import DEFAULT_THETA, GluonPropagator, gluon_propagator

if TYPE_CHECKING:
    from rich.table import Table

#: Momenta that the table lists.
_ROWS = 40

_DEFAULT_READ, _DEFAULT_ERRORS = ReadOptions(), ErrorOptions()
_DEFAULT_LANES, _DEFAULT_OUTPUT = RunOptions(), PlotOptions()


def propagator(
    *files: Path,
    gauge: Literal["landau", "coulomb"] = "landau",
    definition: Definition = "linear",
    beta: float | None = None,
    xi: float = 1.0,
    cylinder: float = 1.0,
    cone: float | None = None,
    no_cut: Flag = False,
    bin_width: float | None = None,
    slices: str | None = None,
    theta: float = DEFAULT_THETA,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: ErrorOptions = _DEFAULT_ERRORS,
    run: RunOptions = _DEFAULT_LANES,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the gluon propagator on configurations that are fixed to Landau or Coulomb gauge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble, or patterns of their names in quotes.
    gauge
        The gauge that they are in: landau, or coulomb for the equal-time propagator.
    definition
        Of the gluon field: linear, (U - U^dagger) / 2i, or logarithmic, -i ln U.
    beta
        Coupling of the action, to divide by g0^2.
    xi
        Spacing in space over that in time.
    cylinder
        Radius of the cylinder cut around the diagonal, in units of 2 pi / L.
    cone
        Largest angle to the diagonal, in degrees.
    no_cut
        No cylinder cut.
    bin_width
        Width of momentum bins, in lattice units; by default equal momenta are averaged.
    slices
        coulomb: the timeslices that are averaged over, 8,24 for 8 to 23.
    theta
        Largest violation of the gauge condition that is accepted.
    """
    if not files:
        raise InputError("no file is given; at least one configuration is needed")
    output.check(files)

    def report(found: GluonPropagator) -> None:
        facts = _propagator_facts(found)
        show(output.json, "gauge propagator", found.to_dict, facts, _momenta(found))
        output.draw(found.plot)

    deliver_anyway(
        lambda: gluon_propagator(
            files,
            gauge,
            definition=definition,
            beta=beta,
            xi=xi,
            cone=cone,
            cylinder=None if no_cut else cylinder,
            bin_width=bin_width,
            slices=pair("slices", slices),
            theta=theta,
            progress=len(files) > 1,
            **measuring(read, ensemble, run),
        ),
        GluonPropagator,
        report,
    )


def _propagator_facts(found: GluonPropagator) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.shape)}, SU({found.nc})"
    yield "gauge", f"{found.gauge}, theta {found.theta:.3g}"
    yield "configurations", str(found.configurations)
    yield "field", found.definition
    yield "cut", f"{Cut(found.cylinder, found.cone)}, {len(found.momentum)} momenta left"
    yield "units", "lattice spacing" if found.beta is not None else "lattice spacing, times g0^2"


def _momenta(found: GluonPropagator) -> Iterator[Table | str]:
    chosen = np.unique(np.linspace(0, len(found.momentum) - 1, _ROWS).astype(int))
    rows = [
        (
            f"{found.momentum[i]:.5f}",
            f"{found.value[i]:.5g}",
            "" if np.isnan(found.error[i]) else f"{found.error[i]:.2g}",
            f"{found.dressing[i]:.5g}",
            str(found.count[i]),
        )
        for i in chosen.tolist()
    ]
    cut = len(chosen) < len(found.momentum)
    caption = f"{len(chosen)} of {len(found.momentum)} momenta; --json prints all of them"
    yield ""
    head = ("p", "D(p^2)", "error", "p^2 D(p^2)", "momenta")
    yield table(">>>>>", rows, head, caption if cut else "")
