"""The gluon propagator of gauge-fixed configurations.

The gluon field is A_mu(x + mu/2), g0 included, by the linear definition or the logarithmic one
(:mod:`hardscape.gauge.gluon.algebra`), and A(p) its lattice Fourier transform. In Landau gauge

    D(p^2) = 2 sum_mu tr A_mu(p) A_mu(p)^dagger / ((Nc^2 - 1) (Nd - 1) V),    Nd = 4,

with Nd in place of Nd - 1 at p = 0; in Coulomb gauge the same of every timeslice by itself, Nd = 3,
averaged over time: the equal-time propagator. Momenta are p_mu = 2 sin(pi k_mu / L_mu), for which the
tree-level propagator of the Wilson action is 1 / p^2. On a lattice whose spacing in time is xi times smaller
p_t is 2 xi sin(pi k_t / L_t), A_t is xi times what its link says and D is divided by xi: all in units of the
spacing in space. In other dimensions Nd is another number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import RunArguments
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import InputError
from hardscape.figures import COLORS, finish, new_figure
from hardscape.gauge.ensembles.averages import ErrorMethod, average, checked_errors
from hardscape.gauge.ensembles.run import Plan, run_made
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.gluon.algebra import FIELDS, Definition
from hardscape.gauge.gluon.measuring import PropagatorTask
from hardscape.gauge.gluon.momenta import Cut
from hardscape.gauge.options import checked_xi
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none

#: Violation of the gauge condition up to which a field counts as fixed.
DEFAULT_THETA = 1e-8
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
    by_direction : float64, shape (Nd, B)
        D as A_mu alone has it, D_mumu / (1 - p_mu^2 / p^2), in the directions of the gauge: all the same
        where the symmetry between space and time is there. NaN where a bin has no transverse part.
    shape : 2 to 5 int
        Extents x, y, z, t.
    nc : int
    configurations : int
    theta : float
        The worst violation of the gauge condition among the configurations.
    beta : float or None
        As given: with it D is in units of the lattice spacing squared; without, times g0^2.
    definition : {"linear", "logarithmic"}
        Of the gluon field.
    cylinder, cone : float or None
        Of the cut: radius in units of 2 pi / L, angle in degrees.
    xi : float
        As given: the spacing in space over that in time.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> found = gauge.gluon_propagator(gauge.fix(field, "landau", seed=1, device="cpu").fixed())
    >>> found.configurations, bool((found.value > 0).all())
    (1, True)
    """

    COLUMNS: ClassVar[str] = "momentum value error count"

    gauge: str
    momentum: NDArray[np.float64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    count: NDArray[np.int64]
    by_direction: NDArray[np.float64]
    shape: tuple[int, ...]
    nc: int
    configurations: int
    theta: float
    beta: float | None
    definition: Definition
    cylinder: float | None
    cone: float | None
    xi: float = 1.0

    @property
    def dressing(self) -> NDArray[np.float64]:
        """p^2 D(p^2): constant at tree level; shape (B,)."""
        return self.momentum**2 * self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes; an unknown error is None."""
        names = (
            "gauge definition shape nc configurations theta beta xi cylinder cone momentum value error "
            "count by_direction"
        )
        return self.listed(
            names,
            error=[finite_or_none(x) for x in self.error.tolist()],
            by_direction=[[finite_or_none(x) for x in row] for row in self.by_direction.tolist()],
        )

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
@on_its_threads
def gluon_propagator(
    fields: GaugeField | str | Path | Iterable[GaugeField | str | Path],
    gauge: Literal["landau", "coulomb"] = "landau",
    *,
    definition: Definition = "linear",
    beta: float | None = None,
    xi: float = 1.0,
    cylinder: float | None = 1.0,
    cone: float | None = None,
    bin_width: float | None = None,
    slices: tuple[int, int] | None = None,
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
    definition : {"linear", "logarithmic"}
        Of the gluon field. In a gauge that was fixed by the linear functional the linear A is transverse, the
        logarithmic one up to its third order.
    xi : float
        Spacing in space over that in time, the renormalised one. In Landau gauge the condition is that of
        ``fix(xi=xi)``.
    beta : float, optional
        Coupling of the action. D is then multiplied by beta / (2 Nc) = 1 / g0^2.
    cylinder : float or None
        Keep momenta whose distance from the diagonal (1, 1, 1, 1) or (1, 1, 1) is at most this many
        units 2 pi / L, L the shortest spatial extent: there the effects of the lattice are smallest
        (D. B. Leinweber et al., Phys. Rev. D 60, 094507 (1999)). None keeps all.
    cone : float, optional
        Keep momenta whose angle to the diagonal is at most so many degrees; the same paper takes 20, which
        leaves out small momenta off the diagonal, that the lattice's volume touches.
    bin_width : float, optional
        Width of the bins in abs(p), in lattice units. By default momenta of equal abs(p) form one.
    slices : (int, int), optional
        Of Coulomb gauge, the first timeslice and the one after the last that are averaged over, such as those
        far from the ends of an open lattice. By default all but those whose links in space are fixed.
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
        If there is no field, sizes differ, a field is not in the gauge, or of Landau gauge and has a boundary
        in time, or an option is out of range.
    FormatError, ChecksumError
        If a file cannot be read; it is left out, as what is refused for another reason, and told of when all
        others are done. ``result`` is what they give.

    Notes
    -----
    Nc^2 Nd Fourier transforms a configuration; the logarithm of a link adds some 4 us. `fields` may be a
    generator, so that an ensemble need not fit into memory.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> fixed = gauge.fix(field, "landau", theta=1e-12, seed=1, device="cpu").fixed()
    >>> bool((gauge.gluon_propagator(fixed).value > 0).all())
    True
    """
    if gauge not in ("landau", "coulomb"):
        raise InputError(f"gauge={gauge!r}; 'landau' and 'coulomb' are accepted")
    if definition not in FIELDS:
        raise InputError(f"definition={definition!r}; 'linear' and 'logarithmic' are accepted")
    for name, value in (("beta", beta), ("bin_width", bin_width)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name}={value!r}; a number above 0 is accepted")
    if slices is not None:
        slices = _checked_slices(gauge, slices)
    cut, xi = Cut(cylinder, cone), checked_xi(xi)
    checked_errors(error_method, bin_size)
    given = [fields] if isinstance(fields, GaugeField | str | Path) else fields
    every = iter(cast("Iterable[Any]", given))
    first = next(every, None)
    if first is None:
        raise InputError("fields is empty; at least one configuration is needed")
    every = chain([first], every)
    measure = PropagatorTask(gauge, definition, cut, bin_width, theta, xi, slices=slices)
    scale = _Scale(gauge, definition, beta, cut, error_method, bin_size, xi)
    if isinstance(first, str | Path):
        plan = Plan.checked("the gluon propagator", every, read, error_method, bin_size)
        opened = plan.first()
        task = replace(measure, like=(opened.shape, opened.nc))
        return run_made(plan, task, lambda found: scale.of(opened, found.values), **run)
    if run or read:
        raise InputError(f"{', '.join(sorted({*run, *(read or {})}))}: for files; fields are given")
    rows: list[Mapping[str, Any]] = []
    opened = checked_field(first)
    measure = replace(measure, like=(opened.shape, opened.nc))
    for position, field in enumerate(every):
        try:
            rows.append(measure.of(checked_field(field)))
        except InputError as error:
            raise InputError(f"configuration {position}: {error}") from None
    return scale.of(opened, {name: np.array([row[name] for row in rows]) for name in rows[0]})


def _checked_slices(gauge: str, slices: tuple[int, int]) -> tuple[int, int]:
    if gauge != "coulomb":
        raise InputError(f"slices={slices!r}; timeslices are chosen in Coulomb gauge alone")
    if len(tuple(slices)) != 2:
        raise InputError(
            f"slices={slices!r}; two integers, the first and one after the last, are accepted"
        )
    first = integer(slices[0], "slices", 0, 2**31 - 1)
    return first, integer(slices[1], "slices", first + 1, 2**31 - 1)


@dataclass(frozen=True)
class _Scale:
    """From rows to a result."""

    gauge: str
    definition: Definition
    beta: float | None
    cut: Cut
    error_method: ErrorMethod
    bin_size: int
    xi: float

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
            by_direction=scale * rows["by_direction"].mean(axis=0),
            shape=first.shape,
            nc=first.nc,
            configurations=len(samples),
            theta=float(rows["theta"].max()),
            beta=self.beta,
            definition=self.definition,
            cylinder=self.cut.cylinder,
            cone=self.cut.cone,
            xi=self.xi,
        )
