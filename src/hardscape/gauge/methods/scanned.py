"""What a scan of the methods' settings found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.figures import COLORS, GREY, finish, new_figure
from hardscape.gauge.field import GaugeField
from hardscape.gauge.methods.relaxation import temperatures
from hardscape.gauge.options import FixOptions
from hardscape.plain import Plain, finite_or_none

#: What is varied, as axes call it.
_AXES = {
    "omega": r"overrelaxation $\omega$",
    "probability": "probability $p$",
    "first_temperature": "first temperature",
}


@dataclass(frozen=True, eq=False)
class GaugeScan(Plain):
    """Sweeps to a gauge by setting, arrays of shape (points,) or (points, copies).

    Attributes
    ----------
    gauge, reduction : str
    theta : float
        That was to be reached.
    shape : 4 int
        Extents x, y, z, t.
    nc : int
    methods : tuple of str
        Of each point.
    omega, probability, first_temperature, last_temperature : float64, shape (points,)
        The setting; NaN where the method has none of it.
    sweeps : int64, shape (points, copies)
        Of each start, until it reached theta or was given up.
    functional : float64, shape (points, copies)
        Gauge functional F at the end.
    converged : bool, shape (points, copies)
    points_total : int
        Points that were asked for.
    device : str
    seed : int
    stopped : str
        "" if all points were gone through, else what cut it short.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> found = gauge.scan(field, omegas=(1.5, 1.7), seed=1, device="cpu")
    >>> found.points_total, bool(found.converged.all())
    (4, True)
    """

    COLUMNS: ClassVar[str] = (
        "methods omega probability first_temperature last_temperature num_converged mean_sweeps "
        "sweeps_error mean_functional functional_error best_functional"
    )

    gauge: str
    reduction: str
    theta: float
    shape: tuple[int, ...]
    nc: int
    methods: tuple[str, ...]
    omega: NDArray[np.float64]
    probability: NDArray[np.float64]
    first_temperature: NDArray[np.float64]
    last_temperature: NDArray[np.float64]
    sweeps: NDArray[np.int64]
    functional: NDArray[np.float64]
    converged: NDArray[np.bool_]
    points_total: int = 0
    device: str = ""
    seed: int = 0
    stopped: str = ""
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.methods)

    @property
    def num_converged(self) -> NDArray[np.int64]:
        """Starts that reached theta, by point."""
        return np.asarray(self.converged.sum(axis=1))

    @property
    def mean_sweeps(self) -> NDArray[np.float64]:
        """Mean over the starts that reached theta; NaN where none did."""
        return self._mean(self.sweeps)

    @property
    def sweeps_error(self) -> NDArray[np.float64]:
        """Standard error of that mean; NaN for less than two starts."""
        return self._error(self.sweeps)

    @property
    def mean_functional(self) -> NDArray[np.float64]:
        """Mean over the starts that reached theta; NaN where none did."""
        return self._mean(self.functional)

    @property
    def functional_error(self) -> NDArray[np.float64]:
        """Standard error of that mean; NaN for less than two starts."""
        return self._error(self.functional)

    @property
    def best_functional(self) -> NDArray[np.float64]:
        """The largest among the starts that reached theta; NaN where none did."""
        best = np.where(self.converged, self.functional, -np.inf).max(axis=1)
        return np.where(np.isfinite(best), best, np.nan)

    def _mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        many = self.num_converged
        kept = np.where(self.converged, values, 0).sum(axis=1)
        return np.asarray(kept / np.where(many, many, np.nan))

    def _error(self, values: NDArray[Any]) -> NDArray[np.float64]:
        many = self.num_converged.astype(float)
        away = np.where(self.converged, values - self._mean(values)[:, None], 0.0)
        many[many < 2] = np.nan
        return np.asarray(np.sqrt((away**2).sum(axis=1) / (many * (many - 1))))

    @property
    def parameters(self) -> tuple[str, ...]:
        """What was varied: "omega", "probability", "first_temperature"."""
        return tuple(name for name in _AXES if np.isfinite(getattr(self, name)).any())

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is not known is None."""
        names = self.COLUMNS.split()
        reals = {x: getattr(self, x) for x in names if x not in ("methods", "num_converged")}
        told = {
            name: [finite_or_none(x) for x in values.tolist()] for name, values in reals.items()
        }
        more = "sweeps functional converged points_total device seed stopped seconds"
        return self.listed(f"gauge reduction theta shape nc {self.COLUMNS} {more}", **told)

    def plot(self, ax: Any = None, *, parameter: str | None = None) -> Any:
        """Draw sweeps against a parameter; hollow where some starts did not reach theta.

        Parameters
        ----------
        ax : matplotlib axes, optional
        parameter : str, optional
            One of `parameters`, by default the first of them.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        InputError
            If `parameter` was not varied.
        """
        name = self.parameters[0] if parameter is None else parameter
        if name not in self.parameters:
            known = ", ".join(map(repr, self.parameters))
            raise InputError(f"parameter={parameter!r}; {known} are accepted")
        ax = new_figure().add_subplot() if ax is None else ax
        groups = self._curves(name)
        for color, (label, mine) in zip(COLORS * len(groups), groups.items(), strict=False):
            self._draw(ax, name, label, mine, color)
        ax.set_yscale("log")
        extents = r"$\times$".join(map(str, self.shape))
        title = f"{self.gauge.capitalize()} gauge, SU({self.nc}), {extents}"
        what = f"sweeps to $\\theta$ < {self.theta:g}"
        return finish(ax, title, _AXES[name], what, legend=True)

    def _draw(self, ax: Any, name: str, label: str, mine: NDArray[np.int64], color: str) -> None:
        seen = mine[self.num_converged[mine] > 0]
        x, y = getattr(self, name)[seen], self.mean_sweeps[seen]
        whole = self.converged[seen].all(axis=1)
        ax.errorbar(
            x, y, np.nan_to_num(self.sweeps_error[seen]), color=color, label=label, capsize=2
        )
        ax.plot(x[whole], y[whole], "o", markersize=5, color=color)
        ax.plot(x[~whole], y[~whole], "o", markersize=5, color=color, fillstyle="none")
        failed = np.setdiff1d(mine, seen)
        ends = self.sweeps[failed].mean(axis=1)
        ax.plot(getattr(self, name)[failed], ends, "^", markersize=5, color=GREY)

    def _curves(self, name: str) -> dict[str, NDArray[np.int64]]:
        """Points of each curve, in the order of their parameter."""
        curves: dict[str, list[int]] = {}
        for i in np.argsort(getattr(self, name), kind="stable").tolist():
            if not math.isfinite(getattr(self, name)[i]):
                continue
            last = self.last_temperature[i]
            label = self.methods[i] + (f" to {last:g}" if math.isfinite(last) else "")
            curves.setdefault(label, []).append(i)
        return {label: np.array(points) for label, points in curves.items()}

    def __repr__(self) -> str:
        seen = f"{len(self)} of {self.points_total} settings, {self.sweeps.shape[1]} starts each"
        extents = "x".join(map(str, self.shape))
        stopped = self.stopped and f", stopped by {self.stopped}"
        return f"<GaugeScan: {self.gauge} of SU({self.nc}) {extents}, {seen}{stopped}>"


def scanned(
    settings: Sequence[FixOptions], rows: Mapping[str, NDArray[Any]], field: GaugeField
) -> GaugeScan:
    """From option sets and their rows."""
    nan = math.nan
    heated = [
        temperatures(x, field.nc) if x.method == "annealing" else (nan, nan) for x in settings
    ]
    chances = [x.probability if x.method == "stochastic" else nan for x in settings]
    return GaugeScan(
        gauge=settings[0].gauge,
        reduction=settings[0].reduction,
        theta=settings[0].theta,
        shape=field.shape,
        nc=field.nc,
        methods=tuple(x.method for x in settings),
        omega=np.array([nan if x.omega is None else x.omega for x in settings]),
        probability=np.array(chances, dtype=float),
        first_temperature=np.array([x for x, _ in heated], dtype=float),
        last_temperature=np.array([x for _, x in heated], dtype=float),
        sweeps=rows["sweeps"],
        functional=rows["functional"],
        converged=rows["converged"],
    )
