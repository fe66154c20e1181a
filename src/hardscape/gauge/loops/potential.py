r"""The static potential, of Wilson loops or of lines in time in Coulomb gauge.

.. math::
    V(R, D) = \ln \frac{W(R, D)}{W(R, D + 1)} \to V(R) \quad\text{for large}\ D,
    \qquad V(R) = A - e\, \Big[\frac1R\Big] + \sigma R,

where :math:`[1/R] = 4 \pi G(R)` is what one gluon exchanged on the lattice makes of 1/R, with the propagator in
space

.. math::
    G(R) = \int_{-\pi}^{\pi} \frac{d^3 k}{(2 \pi)^3} \frac{\cos k_1 R}{4 \sum_i \sin^2 (k_i / 2)}
    \to \frac{1}{4 \pi R}.

Sommer's scale is where :math:`R^2 V'(R) = 1.65` (R. Sommer, Nucl. Phys. B 411, 839 (1994)). Of the fit it is
:math:`\sqrt{(1.65 - e) / \sigma}`. Without a fit it is where the force, F(R_I) = V(R) - V(R - 1), interpolated
by :math:`f_1 + f_2 / r^2` between two distances, has :math:`R_I^2 F = 1.65`, with the distance that makes the
force of one gluon exact, :math:`4 \pi R_I^2 = 1 / [G(R - 1) - G(R)]` (S. Necco and R. Sommer, Nucl. Phys. B
622, 328 (2002)).

Of lines in Coulomb gauge, V(R, 0) = -ln G(R, 1) is the instantaneous potential, whose slope is not below that
of the static one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.figures import COLORS, finish, new_figure
from hardscape.gauge.ensembles.averages import jackknife
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.plain import Plain, finite_or_none

#: A value and its error.
_Known = tuple[float, float]
#: R^2 V'(R) at Sommer's scale.
_SOMMER = 1.65
#: G(0) (G. N. Watson, Q. J. Math. 10, 266 (1939)), and points of a quarter of the circle for differences of G.
_ORIGIN, _POINTS = 0.252731009858663, 400


@dataclass(frozen=True, eq=False)
class StaticPotential(Plain):
    """The potential between static sources, in units of the lattice spacing.

    Attributes
    ----------
    source : {"loops", "lines"}
        Wilson loops, or lines in time in Coulomb gauge.
    distance : int64, shape (R,)
    separation : int64, shape (D,)
        In time: that of the shorter one of two loops.
    value, error : float64, shape (R, D)
        V(R, D) and its error by the jackknife; NaN where noise made a loop negative.
    configurations : int
    fitted_separation : int
        D that A, e and sigma are of.
    self_energy, coulomb, string_tension, r0 : (float, float)
        A, e, sigma and r0 of the fit with their errors; NaN where there are less than four distances.
    force_distance, force, force_error : float64, shape (R - 1,)
        R_I, V(R) - V(R - 1) at `fitted_separation` and its error, for R = 2, 3, ...
    r0_of_force : (float, float)
        r0 of the interpolated force; NaN where it is not between two distances.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in (1, 2):
    ...         field = gauge.generate((4, 4, 4, 4), 6.0, seed=seed, sweeps=5, device="cpu")
    ...         field.to_file(f"{folder}/u.{seed}.nersc")
    ...     found = gauge.observables(f"{folder}/u.*", loops=(2, 2), device="cpu")
    >>> gauge.static_potential(found).value.shape
    (2, 1)
    """

    COLUMNS: ClassVar[str] = "distance fitted fitted_error"

    source: str
    distance: NDArray[np.int64]
    separation: NDArray[np.int64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    configurations: int
    fitted_separation: int
    self_energy: tuple[float, float]
    coulomb: tuple[float, float]
    string_tension: tuple[float, float]
    r0: tuple[float, float]
    force_distance: NDArray[np.float64]
    force: NDArray[np.float64]
    force_error: NDArray[np.float64]
    r0_of_force: tuple[float, float]

    def __repr__(self) -> str:
        scale = f"r0={self.r0[0]:.5g}({self.r0[1]:.2g})"
        return (
            f"<StaticPotential: of {self.source}, {len(self.distance)} distances, "
            f"{self.configurations} configurations, {scale}>"
        )

    @property
    def fitted(self) -> NDArray[np.float64]:
        """V(R) at `fitted_separation`, shape (R,)."""
        return self.value[:, self._column]

    @property
    def fitted_error(self) -> NDArray[np.float64]:
        """Its error."""
        return self.error[:, self._column]

    @property
    def _column(self) -> int:
        return int(np.flatnonzero(self.separation == self.fitted_separation)[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not known are None."""
        numbers = {
            name: [[finite_or_none(x) for x in row] for row in getattr(self, name).tolist()]
            for name in ("value", "error")
        }
        forces = {
            name: [finite_or_none(x) for x in getattr(self, name).tolist()]
            for name in ("force_distance", "force", "force_error")
        }
        scales = {
            name: [finite_or_none(x) for x in getattr(self, name)]
            for name in ("self_energy", "coulomb", "string_tension", "r0", "r0_of_force")
        }
        names = (
            "source configurations distance separation value error fitted_separation self_energy "
            "coulomb string_tension r0"
        )
        return self.listed(names, **numbers, **scales, **forces)

    def plot(self, ax: Any = None) -> Any:
        """Draw V(R, D) against R for each D, and the fit; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        for i, separation in enumerate(self.separation[: len(COLORS)].tolist()):
            shift = 0.04 * (i - len(self.separation) / 2)
            style = {"fmt": "o", "markersize": 3.5, "capsize": 2, "linewidth": 0.8}
            # Of one configuration there are no errors.
            noisy = self.error[:, i] >= 0.25 * np.abs(self.value[:, i])
            kept = np.isfinite(self.value[:, i]) & ~noisy
            where, value, error = (
                self.distance[kept] + shift,
                self.value[kept, i],
                self.error[kept, i],
            )
            ax.errorbar(where, value, error, color=COLORS[i], label=f"D = {separation}", **style)
        if np.isfinite(self.r0[0]):
            inverse = lattice_inverse(len(self.distance))
            fit = (
                self.self_energy[0]
                - self.coulomb[0] * inverse
                + self.string_tension[0] * self.distance
            )
            column = self._column
            ax.plot(self.distance, fit, color=COLORS[column % len(COLORS)], linewidth=1)
        ax.set_ylim(bottom=0)
        what = "Wilson loops" if self.source == "loops" else "lines in Coulomb gauge"
        scale = (
            f", $r_0/a$ = {self.r0[0]:.3f} +- {self.r0[1]:.3f}" if np.isfinite(self.r0[0]) else ""
        )
        several = "s" * (self.configurations != 1)
        title = f"Static potential of {what}\n{self.configurations} configuration{several}{scale}"
        return finish(ax, title, "distance $R/a$", "$a\\,V(R, D)$", whole="x", legend=True)


def static_potential(
    ensemble: Ensemble,
    source: Literal["loops", "lines"] = "loops",
    *,
    separation: int | None = None,
    smallest: int = 2,
    largest: int | None = None,
) -> StaticPotential:
    """The static potential, from the loops or lines of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Of :func:`hardscape.gauge.observables` with ``loops=(R, D)``, or ``lines=(R, D)`` in Coulomb gauge.
    source : {"loops", "lines"}
    separation : int, optional
        D of the fit and of the force, by default the first from which V(R, D) falls by no more than two errors
        to V(R, D + 1) at every distance of the fit, or the largest at which all of them are known.
    smallest, largest : int
        Distances of the fit. At 1 the potential of the lattice is not that of one gluon and a string.

    Returns
    -------
    StaticPotential

    Raises
    ------
    InputError
        If the ensemble has not measured what is needed, or an argument is out of range.

    Notes
    -----
    The fit is linear in A, e and sigma, with weights of the errors, and repeated in each bin of the jackknife,
    as is the interpolation of the force. Loops at short D hold excited states, which make V too large, the more
    so at large R, and r0 too small: compare separations, and smear (20 to 40 steps of APE at beta = 6).

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for seed in (1, 2):
    ...         field = gauge.generate((4, 4, 4, 4), 6.0, seed=seed, sweeps=5, device="cpu")
    ...         field.to_file(f"{folder}/u.{seed}.nersc")
    ...     found = gauge.observables(f"{folder}/u.*", loops=(2, 2), device="cpu")
    >>> gauge.static_potential(found).configurations
    2
    """
    if source not in ("loops", "lines"):
        raise InputError(f"source={source!r}; 'loops' and 'lines' are accepted")
    if not isinstance(ensemble, Ensemble):
        raise InputError(
            f"ensemble is a {type(ensemble).__name__}; what gauge.observables returns is accepted"
        )
    if source not in ensemble.values:
        raise InputError(
            f"the ensemble has no {source}; gauge.observables(files, {source}=(R, D)) measures them"
        )
    samples = ensemble.values[source]
    if samples.shape[2] < 2:
        raise InputError(f"{source} have the separation 1 alone; 2 or more are needed")
    with np.errstate(all="ignore"):
        value, error = jackknife(samples, _logarithms, bin_size=ensemble.bin_size)
    first = 0 if source == "lines" else 1
    if source == "loops":
        value, error = value[:, 1:], error[:, 1:]
    separations = np.arange(first, first + value.shape[1])
    distances = np.arange(1, len(value) + 1)
    kept = (distances >= smallest) & (distances <= (largest or len(distances)))
    fitted = separation
    if fitted is None:
        with np.errstate(all="ignore"):
            fall, spread = jackknife(
                samples[:, kept], lambda x: -np.diff(_logarithms(x)), bin_size=ensemble.bin_size
            )
        fitted = _settled(fall[:, first:], spread[:, first:], separations)
    if fitted not in separations:
        raise InputError(
            f"separation={separation!r}; {separations[0]} to {separations[-1]} are measured"
        )
    column = int(fitted) - first + (source == "loops")
    bins = ensemble.bin_size
    return StaticPotential(
        source,
        distances,
        separations,
        value,
        error,
        len(samples),
        int(fitted),
        *_fit(samples, distances, kept, column, bins),
        *_forces(samples, column, bins),
    )


def lattice_inverse(largest: int) -> NDArray[np.float64]:
    """[1/R] = 4 pi G(R) for R = 1, 2, ..., `largest`."""
    return 4 * np.pi * (_ORIGIN - np.cumsum(_propagator_falls(largest)))


def _propagator_falls(largest: int) -> NDArray[np.float64]:
    """G(R - 1) - G(R) for R = 1, 2, ..., `largest`, to 1e-9; the poles at k1 = +-i kappa are summed."""
    k = (np.arange(_POINTS) + 0.5) * (np.pi / _POINTS)
    kappa = np.arccosh(3 - np.cos(k)[:, None] - np.cos(k)[None, :])
    first = np.exp(-kappa)
    mean = (1 - first) / (2 * np.sinh(kappa))
    return np.array([float(np.mean(mean * first**r)) for r in range(largest)])


def _logarithms(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """V(R, D) for D = 0, 1, ... from means at D = 1, 2, ..."""
    whole = np.concatenate([np.ones((len(means), 1)), means], axis=1)
    found: NDArray[np.float64] = np.log(whole[:, :-1] / whole[:, 1:])
    return found


def _settled(
    fall: NDArray[np.float64], error: NDArray[np.float64], separations: NDArray[np.int64]
) -> int:
    """The first D from which no V(R, D) of shape (R, D) falls by more than two errors."""
    known = np.isfinite(fall).all(axis=0)
    settled = known & np.all(~(fall > 2 * error), axis=0)
    if settled.any():
        return int(separations[np.argmax(settled)])
    return int(separations[np.flatnonzero(known)[-1] + 1]) if known.any() else int(separations[0])


def _fit(
    samples: NDArray[np.float64],
    distances: NDArray[np.int64],
    kept: NDArray[np.bool_],
    column: int,
    bin_size: int,
) -> tuple[_Known, _Known, _Known, _Known]:
    """A, e, sigma and r0 with their errors."""
    r = distances[kept].astype(float)
    if len(r) < 4:
        unknown = np.nan, np.nan
        return unknown, unknown, unknown, unknown
    with np.errstate(all="ignore"):
        of_kept = samples[:, kept]
        _, error = jackknife(of_kept, lambda x: _logarithms(x)[:, column], bin_size=bin_size)
        weights = 1 / np.where(error > 0, error, 1.0)
        inverse = lattice_inverse(int(distances[-1]))[kept]
        design = np.stack([np.ones_like(r), -inverse, r], axis=1) * weights[:, None]

        def scales(means: NDArray[np.float64]) -> NDArray[np.float64]:
            seen = _logarithms(means)[:, column] * weights
            if not np.isfinite(seen).all():
                return np.full(4, np.nan)
            a, e, sigma = np.linalg.lstsq(design, seen, rcond=None)[0]
            return np.array([a, e, sigma, np.sqrt((_SOMMER - e) / sigma)])

        value, spread = jackknife(of_kept, scales, bin_size=bin_size)
    a, e, sigma, r0 = zip(value.tolist(), spread.tolist(), strict=True)
    return a, e, sigma, r0


def _forces(
    samples: NDArray[np.float64], column: int, bin_size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], _Known]:
    """R_I, the force there with its error, and r0 of it."""
    where = 1 / np.sqrt(4 * np.pi * _propagator_falls(samples.shape[1])[1:])

    def force(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.diff(_logarithms(means)[:, column])

    with np.errstate(all="ignore"):
        value, error = jackknife(samples, force, bin_size=bin_size)
        r0 = jackknife(samples, lambda x: _where_sommer(where, force(x)), bin_size=bin_size)
    return where, value, error, (float(r0[0]), float(r0[1]))


def _where_sommer(where: NDArray[np.float64], force: NDArray[np.float64]) -> float:
    """Where r^2 F(r) comes to 1.65 first, with f1 + f2 / r^2 between two distances; NaN if it does not."""
    above = np.flatnonzero(where**2 * force >= _SOMMER)
    if not len(above) or not above[0]:
        return float("nan")
    i = int(above[0])
    near, far = where[i - 1] ** -2, where[i] ** -2
    slope = (force[i - 1] - force[i]) / (near - far)
    constant = force[i] - slope * far
    found = (_SOMMER - slope) / constant
    return float(np.sqrt(found)) if found > 0 else float("nan")
