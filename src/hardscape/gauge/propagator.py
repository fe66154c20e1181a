"""The gluon propagator of gauge-fixed configurations.

The gluon field is A_mu(x + mu/2) = [U_mu(x) - U_mu(x)^dagger] / 2i without its trace, g0 included, and
A(p) its lattice Fourier transform. In Landau gauge

    D(p^2) = 2 sum_mu tr A_mu(p) A_mu(p)^dagger / ((Nc^2 - 1) (Nd - 1) V),    Nd = 4,

with Nd in place of Nd - 1 at p = 0; in Coulomb gauge the same of every timeslice by itself, Nd = 3,
averaged over time: the equal-time propagator. Momenta are p_mu = 2 sin(pi k_mu / L_mu), for which the
tree-level propagator of the Wilson action is 1 / p^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.engine import Context, RunArguments
from hardscape.errors import InputError, Interrupted
from hardscape.figures import COLORS, finish, new_figure
from hardscape.gauge.ensembles.averages import ErrorMethod, average, checked_errors
from hardscape.gauge.ensembles.run import Plan, run_task
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.groups import dagger
from hardscape.gauge.measure import measured
from hardscape.gauge.options import FixOptions
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none

#: Violation of the gauge condition up to which a field counts as fixed.
DEFAULT_THETA = 1e-8
#: Directions that the gauge condition sums over.
_DIRECTIONS = {"landau": 4, "coulomb": 3}
#: Colours of D and p^2 D.
_VALUE, _DRESSING, *_ = COLORS


@dataclass(frozen=True, eq=False)
class GluonPropagator(Plain):
    """The gluon propagator, binned by momentum.

    Attributes
    ----------
    gauge : {"landau", "coulomb"}
    momentum : float64, shape (B,)
        Mean abs(p) of each bin, in lattice units.
    value : float64, shape (B,)
        D, averaged over the momenta of a bin and over configurations.
    error : float64, shape (B,)
        Standard error over the configurations; of one configuration, over the bin's momenta (p and -p
        count once). NaN where there is only one.
    count : int64, shape (B,)
        Momenta of each bin.
    shape : 4 int
        Extents x, y, z, t.
    nc : int
    configurations : int
    theta : float
        The worst violation of the gauge condition among the configurations.
    beta : float or None
        As given: with it D is in units of the lattice spacing squared; without, times g0^2.
    cylinder : float or None
        Radius of the cut, in units of 2 pi / L.
    """

    COLUMNS: ClassVar[str] = "momentum value error count"

    gauge: str
    momentum: NDArray[np.float64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    count: NDArray[np.int64]
    shape: tuple[int, int, int, int]
    nc: int
    configurations: int
    theta: float
    beta: float | None
    cylinder: float | None

    @property
    def dressing(self) -> NDArray[np.float64]:
        """p^2 D(p^2): constant at tree level; shape (B,)."""
        return self.momentum**2 * self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes; an unknown error is None."""
        names = "gauge shape nc configurations theta beta cylinder momentum value error count"
        return self.listed(names, error=[finite_or_none(x) for x in self.error.tolist()])

    def plot(self, ax: Any = None) -> Any:
        """Draw D on a logarithmic scale and p^2 D beside it, against p.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw D; p^2 D has its own scale on the right.

        Returns
        -------
        matplotlib axes
            Those of D.
        """
        ax = new_figure().add_subplot() if ax is None else ax
        p, error = self.momentum, np.nan_to_num(self.error)
        unit = "g_0^2\\," if self.beta is None else ""
        style = {"fmt": "o", "markersize": 4, "capsize": 2, "linewidth": 0.8}
        ax.errorbar(p, self.value, error, color=_VALUE, **style)
        ax.set_yscale("log")
        right = ax.twinx()
        style["fmt"] = "s"
        right.errorbar(p, self.dressing, p**2 * error, color=_DRESSING, **style)
        right.set_ylabel(f"${unit}p^2 D(p^2)$ (squares)", color=_DRESSING)
        right.set_ylim(bottom=0)
        right.spines["top"].set_visible(False)
        extents = r"$\times$".join(map(str, self.shape))
        many = self.configurations
        title = (
            f"SU({self.nc}) gluon propagator, {self.gauge.capitalize()} gauge\n"
            f"{extents}, {many} configuration{'s' * (many > 1)}"
        )
        finish(ax, title, "momentum $p$ (lattice units)", f"${unit}D(p^2)$ (circles)")
        ax.yaxis.label.set_color(_VALUE)
        return ax

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return (
            f"<GluonPropagator: {self.gauge}, SU({self.nc}), {extents}, {len(self.momentum)} momenta, "
            f"{self.configurations} configuration{'s' * (self.configurations > 1)}>"
        )


@interruptible
def gluon_propagator(
    fields: GaugeField | str | Path | Iterable[GaugeField | str | Path],
    gauge: Literal["landau", "coulomb"] = "landau",
    *,
    beta: float | None = None,
    cylinder: float | None = 1.0,
    bin_width: float | None = None,
    theta: float | None = DEFAULT_THETA,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    read: Mapping[str, Any] | None = None,
    **run: Unpack[RunArguments],
) -> GluonPropagator:
    """Measure the gluon propagator on configurations that are fixed to a gauge.

    Parameters
    ----------
    fields : GaugeField, path, or iterable of them
        One configuration or several of one size, taken one at a time; NumPy or CuPy. Files of them, which
        may be patterns ("cfg.*"), are shared by all threads.
    gauge : {"landau", "coulomb"}
        The gauge that they are in; Coulomb gives the equal-time propagator.
    beta : float, optional
        Coupling of the action. D is then multiplied by beta / (2 Nc) = 1 / g0^2.
    cylinder : float or None
        Keep momenta whose distance from the diagonal (1, 1, 1, 1) or (1, 1, 1) is at most this many
        units 2 pi / L, L the shortest spatial extent: there the effects of the lattice are smallest
        (D. B. Leinweber et al., Phys. Rev. D 60, 094507 (1999)). None keeps all.
    bin_width : float, optional
        Width of the bins in abs(p), in lattice units. By default momenta of equal abs(p) form one.
    theta : float or None
        Largest mean violation tr(Delta Delta^dagger) / Nc of the gauge condition that is accepted;
        None accepts any field.
    error_method : {"jackknife", "gamma"}
        How errors over several configurations are estimated; "gamma" takes autocorrelations into account and
        needs pyerrors.
    bin_size : int
        Configurations that the jackknife leaves out together.
    read : mapping, optional
        What files do not say: arguments of :meth:`GaugeField.from_file`.
    **run
        Of files alone, how they are gone through: see :class:`hardscape.engine.RunArguments`; a unit is a
        configuration. On CPUs.

    Returns
    -------
    GluonPropagator

    Raises
    ------
    InputError
        If there is no field, sizes differ, a field has a boundary in time or is not in the gauge, or an
        option is out of range.

    Notes
    -----
    Nc^2 Nd Fourier transforms a configuration. `fields` may be a generator, so that an ensemble need
    not fit into memory.
    """
    if gauge not in _DIRECTIONS:
        raise InputError(f"gauge={gauge!r}; 'landau' and 'coulomb' are accepted")
    for name, value in (("beta", beta), ("cylinder", cylinder), ("bin_width", bin_width)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name}={value!r}; a number above 0 is accepted")
    checked_errors(error_method, bin_size)
    given = [fields] if isinstance(fields, GaugeField | str | Path) else fields
    every = iter(cast("Iterable[Any]", given))
    first = next(every, None)
    if first is None:
        raise InputError("fields is empty; at least one configuration is needed")
    every = chain([first], every)
    measure = PropagatorTask(gauge, cylinder, bin_width, theta)
    scale = _Scale(gauge, beta, cylinder, error_method, bin_size)
    if isinstance(first, str | Path):
        plan = Plan.checked("the gluon propagator", every, read, error_method, bin_size)
        opened, _ = plan.reader.read(plan.files[0])
        try:
            found = run_task(plan, replace(measure, like=(opened.shape, opened.nc)), **run)
        except Interrupted as stop:
            if stop.result is None:
                raise
            raise Interrupted(stop.signum, scale.of(opened, stop.result.values)) from None
        return scale.of(opened, found.values)
    if run or read:
        raise InputError(f"{', '.join(sorted({*run, *(read or {})}))}: for files; fields are given")
    rows: list[Mapping[str, Any]] = []
    opened = checked_field(first)
    measure = replace(measure, like=(opened.shape, opened.nc))
    for position, field in enumerate(every):
        rows.append(measure.of(checked_field(field), position))
    return scale.of(opened, {name: np.array([row[name] for row in rows]) for name in rows[0]})


@dataclass(frozen=True)
class PropagatorTask(Task):
    """The propagator of one configuration, binned."""

    name: ClassVar[str] = "propagator"
    revision: ClassVar[int] = 1

    gauge: Literal["landau", "coulomb"]
    cylinder: float | None
    bin_width: float | None
    theta: float | None
    like: tuple[tuple[int, int, int, int], int] | None = None  # shape and Nc of all

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """See `of`."""
        return self.of(configuration.field, configuration.number)

    def of(self, field: GaugeField, position: int) -> dict[str, Any]:
        """D and its spread over the momenta of each bin, and the violation; refuses other fields."""
        if self.like not in (None, (field.shape, field.nc)):
            raise InputError(
                f"configuration {position} is {field!r}; the first one is of SU({self.like[1]}), "
                f"{'x'.join(map(str, self.like[0]))}"
            )
        if field.boundary != "periodic":
            raise InputError(
                f"configuration {position} has a boundary in time ({field.boundary!r}); propagators in "
                "momentum space are of periodic fields"
            )
        field.require_unitary()
        found = _violation(field, self.gauge)
        if self.theta is not None and not found <= self.theta:
            raise InputError(
                f"configuration {position} is not in {self.gauge} gauge: theta = {found:.3g}, at most "
                f"{self.theta:g} is accepted; fix it with hardscape.gauge.fix, or raise theta"
            )
        bins = _Bins(field.shape, _DIRECTIONS[self.gauge], self.cylinder, self.bin_width)
        by_momentum = _by_momentum(field, _DIRECTIONS[self.gauge])
        mean, spread = bins.mean(by_momentum), bins.spread(by_momentum)
        return {
            "momentum": bins.momentum,
            "count": bins.count,
            "value": mean,
            "spread": spread,
            "theta": found,
        }


@dataclass(frozen=True)
class _Scale:
    """From rows to a result."""

    gauge: str
    beta: float | None
    cylinder: float | None
    error_method: ErrorMethod
    bin_size: int

    def of(self, first: GaugeField, rows: Mapping[str, NDArray[Any]]) -> GluonPropagator:
        scale = 1.0 if self.beta is None else self.beta / (2 * first.nc)
        samples = scale * rows["value"]
        several = len(samples) > 1
        seen = [average(column, self.error_method, self.bin_size) for column in samples.T]
        error = np.array([x.error for x in seen]) if several else scale * rows["spread"][0]
        return GluonPropagator(
            gauge=self.gauge,
            momentum=rows["momentum"][0],
            value=samples.mean(axis=0),
            error=error,
            count=rows["count"][0],
            shape=first.shape,
            nc=first.nc,
            configurations=len(samples),
            theta=float(rows["theta"].max()),
            beta=self.beta,
            cylinder=self.cylinder,
        )


def _gluon_field(field: GaugeField, mu: int) -> Any:
    """A_mu(x), hermitian and traceless, shape (T, Z, Y, X, Nc, Nc)."""
    xp = array_namespace(field.links)
    links = field.links[..., mu, :, :].astype(xp.complex128)
    a = (links - dagger(links)) / 2j
    trace = xp.trace(a, axis1=-2, axis2=-1)[..., None, None]
    return a - trace * xp.eye(field.nc) / field.nc


def _violation(field: GaugeField, gauge: Literal["landau", "coulomb"]) -> float:
    """Mean of tr(Delta Delta^dagger) / Nc over the sites; at its worst timeslice for Coulomb."""
    options = FixOptions(gauge=gauge, per_slice=gauge == "coulomb")
    return float(measured(field, options).violation(options).max())


def _by_momentum(field: GaugeField, directions: int) -> NDArray[np.float64]:
    """D at each momentum, in the order of the Fourier transform: (T, Z, Y, X), or (Z, Y, X)."""
    xp = array_namespace(field.links)
    axes = (0, 1, 2, 3) if directions == 4 else (1, 2, 3)
    square = xp.zeros(field.links.shape[:4])
    for mu in range(directions):
        a = _gluon_field(field, mu)
        for i in range(field.nc):
            for j in range(field.nc):
                square += xp.abs(xp.fft.fftn(a[..., i, j], axes=axes)) ** 2
    total = square if directions == 4 else square.mean(axis=0)
    d = total * (2 / ((field.nc**2 - 1) * total.size))
    on_host: NDArray[np.float64] = d if xp is np else d.get()
    zero = on_host[(0,) * on_host.ndim] / directions
    on_host = on_host / (directions - 1)
    on_host[(0,) * on_host.ndim] = zero
    return on_host


class _Bins:
    """Which momenta are averaged; one of p and -p stands for both, as A(-p) = A(p)^dagger."""

    def __init__(
        self,
        shape: Sequence[int],
        directions: int,
        cylinder: float | None,
        bin_width: float | None,
    ) -> None:
        extents = list(shape[:directions])
        k = np.indices(extents[::-1])[::-1].reshape(directions, -1)
        lengths = np.array(extents)[:, None]
        signed = (k + lengths // 2) % lengths - lengths // 2
        p = np.sqrt(np.sum((2 * np.sin(np.pi * k / lengths)) ** 2, axis=0))
        kept = self._halves(k, extents)
        if cylinder is not None:
            q = np.abs(2 * np.pi * signed / lengths)
            along = q.sum(axis=0) / math.sqrt(directions)
            across = np.sqrt(np.maximum(np.sum(q**2, axis=0) - along**2, 0))
            kept &= across <= cylinder * 2 * np.pi / min(shape[:3]) + 1e-9
        self._kept = np.flatnonzero(kept)
        key = p[self._kept] / bin_width if bin_width is not None else p[self._kept] * 1e8
        floor = np.floor(key) if bin_width is not None else np.rint(key)
        # The zero momentum has another normalisation, and a bin of its own.
        floor[p[self._kept] < 1e-12] = -1
        _, self._bin, self.count = np.unique(floor, return_inverse=True, return_counts=True)
        self.momentum = self._average(p[self._kept])

    @staticmethod
    def _halves(k: NDArray[np.int64], extents: list[int]) -> NDArray[np.bool_]:
        strides = np.cumprod([1, *extents[:-1]])[:, None]
        opposite = np.sum((-k % np.array(extents)[:, None]) * strides, axis=0)
        return np.asarray(np.sum(k * strides, axis=0) <= opposite)

    def _average(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self._bin, values) / self.count

    def mean(self, by_momentum: NDArray[np.float64]) -> NDArray[np.float64]:
        """Average over the momenta of each bin."""
        return self._average(by_momentum.reshape(-1)[self._kept])

    def spread(self, by_momentum: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard error of that average; NaN for a bin of one momentum."""
        values = by_momentum.reshape(-1)[self._kept]
        square = self._average((values - self._average(values)[self._bin]) ** 2)
        return np.where(self.count > 1, np.sqrt(square / np.maximum(self.count - 1, 1)), np.nan)
