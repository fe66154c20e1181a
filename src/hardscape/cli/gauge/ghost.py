"""The command ``hardscape gauge ghost``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from hardscape.cli.gauge.ensembles import ErrorOptions, deliver_anyway, measuring
from hardscape.cli.gauge.files import FileArgument, ReadOptions
from hardscape.cli.options import Flag, PlotOptions, SeededRunOptions
from hardscape.cli.terminal import seconds_text, show, table
from hardscape.gauge import layouts
from hardscape.gauge.ensembles.files import listed
from hardscape.gauge.ghost.propagator import GhostPropagator, ghost_propagator
from hardscape.gauge.gluon.propagator import DEFAULT_THETA

if TYPE_CHECKING:
    from rich.table import Table

_DEFAULT_READ, _DEFAULT_RUN = ReadOptions(), SeededRunOptions()
_DEFAULT_OUTPUT, _DEFAULT_ERRORS = PlotOptions(), ErrorOptions()


def ghost(
    *files: FileArgument,
    momenta: int = 8,
    cylinder: float = 1.0,
    cone: float | None = None,
    no_cut: Flag = False,
    xi: float = 1.0,
    sources: Literal["plane-wave", "point"] = "plane-wave",
    num_points: int = 1,
    residual: float = 1e-8,
    max_iterations: int = 10000,
    theta: float = DEFAULT_THETA,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: ErrorOptions = _DEFAULT_ERRORS,
    run: SeededRunOptions = _DEFAULT_RUN,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the ghost propagator on configurations that are fixed to Landau gauge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble, or patterns of their names in quotes.
    momenta
        How many of those near the diagonal, evenly from the smallest to the largest.
    cylinder
        Radius of the cylinder cut around the diagonal, in units of 2 pi / L.
    cone
        Largest angle to the diagonal, in degrees.
    no_cut
        No cylinder cut.
    xi
        Spacing in space over that in time.
    sources
        plane-wave, which averages over the lattice, or point: all momenta at once.
    num_points
        point: sites of each configuration, drawn by --seed.
    residual
        Residual of the conjugate gradient.
    max_iterations
        Iterations after which it is given up.
    theta
        Largest violation of the gauge condition that is accepted.
    """
    output.check(list(files))

    def report(found: GhostPropagator) -> None:
        show(output.json, "gauge ghost", found.to_dict, _facts(found), _rows(found))
        output.draw(found.plot)

    deliver_anyway(
        lambda: ghost_propagator(
            listed(files),
            momenta,
            cone=cone,
            cylinder=None if no_cut else cylinder,
            xi=xi,
            sources=sources,
            num_points=num_points,
            residual=residual,
            max_iterations=max_iterations,
            theta=theta,
            progress=len(files) > 1,
            **measuring(read, ensemble, run),
        ),
        GhostPropagator,
        report,
    )


def _facts(found: GhostPropagator) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.shape)}, SU({found.nc})"
    yield "gauge", f"landau, theta {found.theta:.3g}"
    yield "configurations", str(found.configurations)
    if found.num_points:
        yield "sources", f"{found.num_points} points, seed {found.seed}"
    yield "iterations", f"{found.iterations} at most"
    yield "time", seconds_text(found.seconds)


def _rows(found: GhostPropagator) -> Iterator[Table | str]:
    rows = [
        (
            f"{p:.5f}",
            ",".join(map(str, k)),
            f"{value:.6g}",
            "" if np.isnan(error) else f"{error:.2g}",
            f"{dressing:.6g}",
        )
        for p, k, value, error, dressing in zip(
            found.momentum,
            found.k.tolist(),
            found.value,
            found.error,
            found.dressing,
            strict=True,
        )
    ]
    yield ""
    yield table("><>>>", rows, ("p", "k", "G(p)", "error", "p^2 G(p)"))
