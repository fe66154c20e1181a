r"""The ghost propagator of Landau gauge, and the running coupling of ghost and gluon.

.. math::
    G(p) = \frac{1}{(N_c^2 - 1) V} \sum_{a, x, y} e^{-i k (x - y)}\, (M^{-1})^{aa}_{xy}, \qquad
    \alpha_s(p) = \frac{g_0^2}{4 \pi}\, Z(p^2)\, J(p^2)^2

with the Faddeev-Popov operator M (:mod:`hardscape.gauge.ghost.operator`), :math:`J = p^2 G`,
:math:`Z = p^2 D` and :math:`g_0^2 = 2 N_c / \beta`: a coupling of its own scheme (L. von Smekal,
R. Alkofer and A. Hauck, Phys. Rev. Lett. 79, 3591 (1997)). The sources are plane waves, each colour by itself,
or points: of one site y alone in place of the average over y a solution a colour gives all momenta at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import RunArguments
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import InputError
from hardscape.figures import COLORS, finish, new_figure
from hardscape.gauge.ensembles.averages import ErrorMethod, average
from hardscape.gauge.ensembles.files import Configurations
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.ensembles.run import Plan, run_made
from hardscape.gauge.field import GaugeField
from hardscape.gauge.ghost.measuring import GhostTask
from hardscape.gauge.gluon.momenta import Cut, units
from hardscape.gauge.gluon.propagator import DEFAULT_THETA, GluonPropagator
from hardscape.gauge.options import checked_xi
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none


@dataclass(frozen=True, eq=False)
class GhostPropagator(Plain):
    """The ghost propagator at some momenta.

    Attributes
    ----------
    momentum : float64, shape (K,)
        abs(p), p_mu = 2 sin(pi k_mu / L_mu), in lattice units.
    k : int64, shape (K, Nd)
        The momenta as integers, x, y, z, t.
    value, error : float64, shape (K,)
        G, averaged over configurations, and its error; NaN for one configuration.
    shape : 2 to 5 int
    nc : int
    configurations : int
    iterations : int
        Of the conjugate gradient, the most of a configuration.
    theta : float
        The worst violation of the gauge condition among the configurations.
    seconds : float
        Wall-clock time.
    xi : float
        As given: the spacing in space over that in time, which multiplies p_t.
    num_points : int
        Sites of each configuration that sources were on; 0 where they were plane waves.
    seed : int
        That the sites were drawn by.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.fix(field, "landau", seed=1, device="cpu").fixed().to_file(f"{folder}/landau.npz")
    ...     found = gauge.ghost_propagator(f"{folder}/landau.npz", 1, device="cpu")
    >>> found.configurations, found.k.shape
    (1, (1, 4))
    """

    COLUMNS: ClassVar[str] = "momentum value error"

    momentum: NDArray[np.float64]
    k: NDArray[np.int64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    shape: tuple[int, ...]
    nc: int
    configurations: int
    iterations: int
    theta: float
    seconds: float
    xi: float = 1.0
    num_points: int = 0
    seed: int = 0

    @property
    def dressing(self) -> NDArray[np.float64]:
        """J = p^2 G(p): 1 at tree level; shape (K,)."""
        return self.momentum**2 * self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an unknown error is None."""
        names = "shape nc configurations theta xi num_points seed iterations momentum k value error seconds"
        return self.listed(names, error=[finite_or_none(x) for x in self.error.tolist()])

    def plot(self, ax: Any = None) -> Any:
        """Draw p^2 G against p; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        error = self.momentum**2 * np.nan_to_num(self.error)
        style = {"fmt": "o", "markersize": 4, "capsize": 2, "linewidth": 0.8}
        ax.errorbar(self.momentum, self.dressing, error, color=COLORS[0], **style)
        extents, many = r"$\times$".join(map(str, self.shape)), self.configurations
        title = (
            f"SU({self.nc}) ghost propagator, Landau gauge\n"
            f"{extents}, {many} configuration{'s' * (many > 1)}"
        )
        return finish(ax, title, "momentum $p$ (lattice units)", "$J = p^2 G(p)$")

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return (
            f"<GhostPropagator: SU({self.nc}), {extents}, {len(self.momentum)} momenta, "
            f"{self.configurations} configuration{'s' * (self.configurations > 1)}>"
        )


def _momentum(k: NDArray[np.int64], shape: Sequence[int], xi: float) -> NDArray[np.float64]:
    """abs(p) of integer momenta, shape (..., Nd)."""
    p = units(shape, len(shape), xi) * 2 * np.sin(np.pi * k / np.array(shape))
    return np.asarray(np.sqrt(np.sum(p**2, axis=-1)))


def chosen_momenta(
    shape: Sequence[int], count: int, cut: Cut, xi: float = 1.0
) -> list[tuple[int, ...]]:
    """Momenta near the diagonal, one of each abs(p), evenly from the smallest to the largest."""
    k = np.indices([extent // 2 + 1 for extent in shape]).reshape(len(shape), -1)
    p = _momentum(k.T, shape, xi)
    places = np.flatnonzero((p > 0) & cut.kept(k, shape, xi))
    if not len(places):
        raise InputError(f"no momentum is left by the cut ({cut}); a wider one is accepted")
    _, first = np.unique(np.rint(p[places] * 1e8), return_index=True)
    places = places[first]
    few = np.unique(np.linspace(0, len(places) - 1, min(count, len(places))).round().astype(int))
    return [tuple(map(int, k[:, i])) for i in places[few]]


@interruptible
@on_its_threads
def ghost_propagator(
    files: Configurations,
    momenta: Sequence[Sequence[int]] | int = 8,
    *,
    xi: float = 1.0,
    cylinder: float | None = 1.0,
    cone: float | None = None,
    sources: Literal["plane-wave", "point"] = "plane-wave",
    num_points: int = 1,
    residual: float = 1e-8,
    max_iterations: int = 10000,
    theta: float | None = DEFAULT_THETA,
    read: Mapping[str, Any] | None = None,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    **run: Unpack[RunArguments],
) -> GhostPropagator:
    """Measure the ghost propagator on configurations that are fixed to Landau gauge.

    Parameters
    ----------
    files : path, pattern, GaugeField, or iterable of them
        One configuration or several of one size; ``"*.landau.lime"`` stands for all that match.
    momenta : sequence of momenta, or int
        Momenta k, x, y, z, t; or how many of those within the cut, evenly from the smallest to the largest.
    xi : float
        Spacing in space over that in time, as of :func:`gluon_propagator`.
    cylinder, cone : float or None
        As of :func:`gluon_propagator`.
    sources : {"plane-wave", "point"}
        Plane waves, which average over the whole lattice, Nc^2 - 1 solutions a momentum; or sites, Nc^2 - 1
        solutions each for all momenta together, with larger errors.
    num_points : int
        Sites of "point" for each configuration, drawn by ``seed=``, at most all of them.
    residual : float
        Residual of the conjugate gradient relative to the source: about the relative error of G.
    max_iterations : int
    theta : float or None
        Largest mean violation tr(Delta Delta^dagger) / Nc of the gauge condition that is accepted.
    read : mapping, optional
        What the files do not say: arguments of :meth:`GaugeField.from_file`.
    error_method : {"jackknife", "gamma"}
        How errors are estimated; "gamma" takes autocorrelations into account and needs pyerrors.
    bin_size : int
        Configurations that the jackknife leaves out together.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. A unit is a configuration.

    Returns
    -------
    GhostPropagator

    Raises
    ------
    InputError
        If an argument is out of range, sizes differ, or a field is not in Landau gauge.
    FormatError, ChecksumError
        If a file cannot be read; it is left out, as what is refused for another reason, and told of when all
        others are done. ``result`` is what they give.
    NotConverged
        If the conjugate gradient does not converge, or the operator is not positive.
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` is what there is so far, or None.

    Notes
    -----
    Nc^2 - 1 solutions a momentum, several momenta at once. Some 0.15 us a site, iteration and solution on one
    AVX-512 core for SU(3); iterations grow with the shortest momentum's inverse.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> fixed = gauge.fix(field, "landau", seed=1, device="cpu").fixed()
    >>> gauge.ghost_propagator(fixed, [(1, 0, 0, 0)], device="cpu").k.tolist()
    [[1, 0, 0, 0]]
    """
    plan = Plan.checked("the ghost propagator", files, read, error_method, bin_size)
    if isinstance(residual, bool) or not 1e-14 <= residual < 1:
        raise InputError(f"residual={residual!r}; 1e-14 to 1 is accepted")
    first = plan.first()
    xi = checked_xi(xi)
    chosen = _checked_momenta(momenta, first, Cut(cylinder, cone), xi)
    most = integer(max_iterations, "max_iterations", 1, 2**31 - 1)
    like = (first.shape, first.nc)
    if sources not in ("plane-wave", "point"):
        raise InputError(f"sources={sources!r}; 'plane-wave' and 'point' are accepted")
    many = integer(num_points, "num_points", 1, first.volume) if sources == "point" else 0
    task = GhostTask(tuple(chosen), float(residual), most, theta, like, xi, many)

    def made(found: Ensemble) -> GhostPropagator:
        samples = found.values["value"]
        k = np.array(chosen)
        seen = [average(column, error_method, bin_size) for column in samples.T]
        return GhostPropagator(
            momentum=_momentum(k, first.shape, xi),
            k=k,
            value=samples.mean(axis=0),
            error=np.array([one.error for one in seen]),
            shape=first.shape,
            nc=first.nc,
            configurations=len(samples),
            iterations=int(found.values["iterations"].max()),
            theta=float(found.values["theta"].max()),
            seconds=found.seconds,
            xi=xi,
            num_points=many,
            seed=found.seed,
        )

    return run_made(plan, task, made, on_gpu=True, **run)


def _checked_momenta(
    momenta: Sequence[Sequence[int]] | int, field: GaugeField, cut: Cut, xi: float
) -> list[tuple[int, ...]]:
    if isinstance(momenta, int):
        return chosen_momenta(field.shape, integer(momenta, "momenta", 1, 2**20), cut, xi)
    found = [tuple(integer(x, "momenta", -(2**20), 2**20) for x in k) for k in momenta]
    for k in found:
        zero = all(x % extent == 0 for x, extent in zip(k, field.shape, strict=False))
        if len(k) != field.dimensions or zero:
            raise InputError(
                f"momenta has {k}; {field.dimensions} integers, not all of them 0, are accepted"
            )
    if not found:
        raise InputError("momenta is empty; at least one is needed")
    return found


@dataclass(frozen=True, eq=False, repr=False)
class RunningCoupling(Plain):
    """The running coupling of ghost and gluon in Landau gauge.

    Attributes
    ----------
    momentum, value, error : float64, shape (K,)
        abs(p) in lattice units, alpha_s, and its error from those of both propagators.
    beta : float

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.fix(field, "landau", seed=1, device="cpu").fixed().to_file(f"{folder}/landau.npz")
    ...     ghost = gauge.ghost_propagator(f"{folder}/landau.npz", 1, device="cpu")
    ...     gluon = gauge.gluon_propagator(f"{folder}/landau.npz", beta=6.0, cylinder=None)
    >>> coupling = gauge.running_coupling(ghost, gluon)
    >>> coupling.value.shape == coupling.momentum.shape
    True
    """

    COLUMNS: ClassVar[str] = "momentum value error"

    momentum: NDArray[np.float64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    beta: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an unknown error is None."""
        error = [finite_or_none(x) for x in self.error.tolist()]
        return self.listed("beta momentum value error", error=error)

    def plot(self, ax: Any = None) -> Any:
        """Draw alpha_s against p; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        style = {"fmt": "o", "markersize": 4, "capsize": 2, "linewidth": 0.8}
        ax.errorbar(self.momentum, self.value, np.nan_to_num(self.error), color=COLORS[0], **style)
        ax.set_ylim(bottom=0)
        title = f"Running coupling of ghost and gluon, beta = {self.beta:g}"
        return finish(ax, title, "momentum $p$ (lattice units)", r"$\alpha_s(p)$")


def running_coupling(ghost: GhostPropagator, gluon: GluonPropagator) -> RunningCoupling:
    """The running coupling g0^2 Z J^2 / (4 pi) at the momenta that both propagators have.

    Parameters
    ----------
    ghost : GhostPropagator
    gluon : GluonPropagator
        Of the same configurations, in Landau gauge, with `beta`, and bins of equal abs(p).

    Raises
    ------
    InputError
        If the gluon propagator has no `beta`, is of another lattice or gauge, or no momentum is in both.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.fix(field, "landau", seed=1, device="cpu").fixed().to_file(f"{folder}/landau.npz")
    ...     ghost = gauge.ghost_propagator(f"{folder}/landau.npz", 1, device="cpu")
    ...     gluon = gauge.gluon_propagator(f"{folder}/landau.npz", beta=6.0, cylinder=None)
    >>> gauge.running_coupling(ghost, gluon).beta
    6.0
    """
    if not (isinstance(ghost, GhostPropagator) and isinstance(gluon, GluonPropagator)):
        raise InputError(
            f"ghost={type(ghost).__name__}, gluon={type(gluon).__name__}; a GhostPropagator and a "
            "GluonPropagator are accepted"
        )
    alike = gluon.shape == ghost.shape and gluon.xi == ghost.xi
    if gluon.beta is None or gluon.gauge != "landau" or not alike:
        raise InputError(
            f"gluon={gluon!r}; one of Landau gauge, of this lattice, with beta is accepted"
        )
    nearest = np.abs(gluon.momentum[None, :] - ghost.momentum[:, None]).argmin(axis=1)
    same = np.abs(gluon.momentum[nearest] - ghost.momentum) < 1e-6
    if not same.any():
        raise InputError(
            "no momentum is in both propagators; measure the gluon's with cylinder=None"
        )
    z, z_error = (x[nearest][same] for x in (gluon.dressing, gluon.momentum**2 * gluon.error))
    j, j_error = (x[same] for x in (ghost.dressing, ghost.momentum**2 * ghost.error))
    value = 2 * ghost.nc / gluon.beta / (4 * math.pi) * z * j**2
    error = np.abs(value) * np.sqrt((z_error / z) ** 2 + (2 * j_error / j) ** 2)
    return RunningCoupling(ghost.momentum[same], value, error, gluon.beta)
