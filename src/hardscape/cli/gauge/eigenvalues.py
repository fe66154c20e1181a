"""The command ``hardscape gauge eigenvalues``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hardscape.cli.gauge.ensembles import ErrorOptions, deliver_anyway, measuring
from hardscape.cli.gauge.files import FileArgument, ReadOptions
from hardscape.cli.options import PlotOptions, RunOptions
from hardscape.cli.terminal import seconds_text, show, table
from hardscape.gauge import layouts
from hardscape.gauge.ensembles.files import listed
from hardscape.gauge.ghost.horizon import FaddeevPopovEigenvalues, faddeev_popov_eigenvalues
from hardscape.gauge.gluon.propagator import DEFAULT_THETA

if TYPE_CHECKING:
    from rich.table import Table

_DEFAULT_READ, _DEFAULT_RUN = ReadOptions(), RunOptions()
_DEFAULT_OUTPUT, _DEFAULT_ERRORS = PlotOptions(), ErrorOptions()


def eigenvalues(
    *files: FileArgument,
    count: int = 4,
    xi: float = 1.0,
    residual: float = 1e-8,
    max_iterations: int = 10000,
    theta: float = DEFAULT_THETA,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: ErrorOptions = _DEFAULT_ERRORS,
    run: RunOptions = _DEFAULT_RUN,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Find the lowest eigenvalues of the Faddeev-Popov operator of configurations in Landau gauge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble, or patterns of their names in quotes.
    count
        Eigenvalues, beside those of constant fields, which vanish.
    xi
        Spacing in space over that in time.
    residual
        Norm of M v - lambda v to reach: an eigenvalue is within it of each.
    max_iterations
        Iterations after which it is given up.
    theta
        Largest violation of the gauge condition that is accepted.
    """
    output.check(list(files))

    def report(found: FaddeevPopovEigenvalues) -> None:
        show(output.json, "gauge eigenvalues", found.to_dict, _facts(found), _rows(found))
        output.draw(found.plot)

    deliver_anyway(
        lambda: faddeev_popov_eigenvalues(
            listed(files),
            count,
            xi=xi,
            residual=residual,
            max_iterations=max_iterations,
            theta=theta,
            progress=len(files) > 1,
            **measuring(read, ensemble, run),
        ),
        FaddeevPopovEigenvalues,
        report,
    )


def _facts(found: FaddeevPopovEigenvalues) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.shape)}, SU({found.nc})"
    yield "gauge", f"landau, theta {found.theta:.3g}"
    yield "configurations", str(found.configurations)
    yield "residual", f"{found.residual:.2g} at most"
    yield "free", f"{found.free:.6g}, the least of links that are the identity"
    yield "time", seconds_text(found.seconds)


def _rows(found: FaddeevPopovEigenvalues) -> Iterator[Table | str]:
    rows = [
        (str(i), f"{value:.8g}", "" if np.isnan(error) else f"{error:.2g}")
        for i, (value, error) in enumerate(zip(found.value, found.error, strict=True), 1)
    ]
    yield ""
    yield table(">>>", rows, ("i", "eigenvalue", "error"))
