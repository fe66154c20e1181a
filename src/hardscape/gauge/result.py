"""What gauge fixing found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.figures import COLORS, GREY, finish, new_figure
from hardscape.gauge.field import GaugeField
from hardscape.gauge.fixed.links import transformed
from hardscape.plain import Plain

#: Of links, by precision.
DTYPES = {"single": np.complex64, "double": np.complex128}
_TITLES = {
    "landau": "Landau gauge",
    "coulomb": "Coulomb gauge",
    "mag": "Maximally Abelian gauge",
}


@dataclass(frozen=True, eq=False)
class GribovCopies(Plain):
    """The end of every start, arrays of shape (copies,).

    Attributes
    ----------
    functional : float64
        Gauge functional F.
    theta : float64
        Gauge violation, in the reduction asked for.
    sweeps : int64
        Sweeps done; an iteration of the conjugate gradient counts as one.
    converged : bool

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> copies = gauge.fix(field, "landau", copies=3, seed=1, device="cpu").copies
    >>> len(copies.functional), bool(copies.functional[copies.best] == max(copies.functional))
    (3, True)
    """

    COLUMNS: ClassVar[str] = "functional theta sweeps converged"

    functional: NDArray[np.float64]
    theta: NDArray[np.float64]
    sweeps: NDArray[np.int64]
    converged: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.functional)

    @property
    def best(self) -> int:
        """The converged copy of the largest functional; if none converged, of the least theta."""
        if self.converged.any():
            return int(np.argmax(np.where(self.converged, self.functional, -np.inf)))
        return int(np.argmin(np.where(np.isnan(self.theta), np.inf, self.theta)))

    def to_dict(self) -> dict[str, list[Any]]:
        """Plain data."""
        return self.listed(self.COLUMNS)

    def __repr__(self) -> str:
        return f"<GribovCopies: {len(self)}, of which {int(self.converged.sum())} converged>"


@dataclass(frozen=True, eq=False)
class GaugeFixResult(Plain):
    """A gauge transformation g(x), and how well it fixes the gauge.

    Attributes
    ----------
    g : complex128, shape (T, Z, Y, X, Nc, Nc)
        On the device of the links that were given.
    gauge, method, precision, reduction : str
    functional : float
        F: mean of Re tr U / Nc over the links that count; for "mag" of the squared moduli of U_jj. This, theta
        and the plaquette are of the very links that :meth:`fixed` returns.
    theta_mean, theta_max : float
        Mean and maximum of tr(Delta Delta^dagger) / Nc over all sites whose gauge is free.
    plaquette : float
    slice_functional, slice_theta_mean, slice_theta_max : float64, shape (T,)
        The same for each timeslice; a link in t counts half for the site at each of its ends.
    converged : bool
        Whether theta reached the tolerance, on each timeslice where that was asked for, and so in the links
        that :meth:`fixed` returns.
    sweeps : int
        Sweeps of this copy; an iteration of the conjugate gradient counts as one.
    history : float64, shape (n, 3)
        Sweeps, functional and the theta that was waited for, at each measurement.
    copies : GribovCopies
        The starts that were gone through, the ones that were cut short included.
    copies_total : int
        Starts that were asked for.
    stopped : str
        "" if all starts came to their end, else what cut the call short: "time_limit", "SIGINT" or
        "SIGTERM".
    omega : float or None
        Overrelaxation at the end.
    site_updates_per_second : float
        Of all copies together, without the measurements.
    seconds : float
        Wall-clock time.
    device : str
    seed : int
    field : GaugeField
        What was fixed, untouched.
    output_precision : {"single", "double"}
        Of the links that :meth:`fixed` returns.
    reproject : bool
        Whether they were brought to the group before the transformation.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> found = gauge.fix(field, "landau", theta=1e-12, seed=1, device="cpu")
    >>> found.converged, found.theta < 1e-12
    (True, True)
    >>> abs(found.fixed().plaquette() - field.plaquette()) < 1e-10
    True
    """

    COLUMNS: ClassVar[str] = "copy_functional copy_theta copy_sweeps copy_converged"

    g: Any
    gauge: str
    method: str
    precision: str
    reduction: str
    functional: float
    theta_mean: float
    theta_max: float
    plaquette: float
    slice_functional: NDArray[np.float64]
    slice_theta_mean: NDArray[np.float64]
    slice_theta_max: NDArray[np.float64]
    converged: bool
    sweeps: int
    history: NDArray[np.float64]
    copies: GribovCopies
    copies_total: int
    stopped: str
    omega: float | None
    site_updates_per_second: float
    seconds: float
    device: str
    seed: int
    field: GaugeField
    output_precision: str
    reproject: bool

    @property
    def theta(self) -> float:
        """Gauge violation over all sites, in the reduction asked for."""
        return self.theta_mean if self.reduction == "mean" else self.theta_max

    def fixed(self) -> GaugeField:
        """The field in the gauge, g(x) U_mu(x) g(x+mu)^dagger, in the output's precision."""
        field, kind = self.field, np.dtype(DTYPES[self.output_precision])
        if self.reproject or kind.itemsize > field.dtype.itemsize:
            field = field.astype(np.complex128)
        if self.reproject:
            field = field.reproject()
        return GaugeField._of(transformed(field.links, self.g), field.boundary).astype(kind)

    def plot(self, ax: Any = None) -> Any:
        """Histogram of the copies' functional, or theta against sweeps where there is one copy.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        ax = new_figure().add_subplot() if ax is None else ax
        return self._draw_history(ax) if len(self.copies) == 1 else self._draw_copies(ax)

    def _draw_copies(self, ax: Any) -> Any:
        """Histogram of how far the copies' functionals are below the best one."""
        below = self.functional - self.copies.functional
        # Copies that are the same differ by rounding, which is no width for a bar.
        width = max(float(below.max()), 1e-9)
        bins = max(5, min(40, len(below) // 2))
        done = self.copies.converged
        parts = {"converged": (done, COLORS[0]), "not converged": (~done, GREY)}
        kept = {
            f"{name}: {x.sum()}": (below[x], color) for name, (x, color) in parts.items() if x.any()
        }
        ax.hist(
            [values for values, _ in kept.values()],
            bins,
            range=(-0.02 * width, width),
            color=[color for _, color in kept.values()],
            label=list(kept),
            stacked=True,
        )
        best = f"the best of {len(below)}"
        ax.axvline(0, color=COLORS[1], linewidth=1, label=best)
        title = f"{_TITLES[self.gauge]}, best functional F = {self.functional:.9g}"
        return finish(ax, title, "F of the best, less F", "Gribov copies", whole="y", legend=True)

    def _draw_history(self, ax: Any) -> Any:
        """Theta against sweeps on a logarithmic scale."""
        color = COLORS[0] if self.converged else GREY
        reached = "reached" if self.converged else "NOT reached"
        ax.semilogy(self.history[:, 0], self.history[:, 2], marker=".", color=color)
        title = f"{_TITLES[self.gauge]} {reached}, {self.method}, F = {self.functional:.9g}"
        return finish(ax, title, "sweeps", f"theta ({self.reduction})", whole="x")

    def to_dict(self) -> dict[str, Any]:
        """All but g and the field, as plain numbers, strings and lists."""
        of_field = {
            "shape": list(self.field.shape),
            "nc": self.field.nc,
            "boundary": self.field.boundary,
        }
        columns = {f"copy_{name}": values for name, values in self.copies.to_dict().items()}
        names = (
            "gauge method precision reduction shape nc boundary functional theta_mean theta_max plaquette "
            "output_precision reproject slice_theta_mean "
            f"slice_theta_max slice_functional converged sweeps copies copies_total {' '.join(columns)} "
            "omega site_updates_per_second seconds device seed stopped"
        )
        return self.listed(names, copies=len(self.copies), **of_field, **columns)

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.field.shape))
        return (
            f"<GaugeFixResult: {self.gauge} of SU({self.field.nc}) {extents}, "
            f"F={self.functional:.12g}, theta={self.theta:.3g}, {self.sweeps} sweeps, "
            f"best of {len(self.copies)}, converged={self.converged}"
            f"{self.stopped and f', stopped by {self.stopped}'}>"
        )
