r"""The static potential, of Wilson loops or of lines in time in Coulomb gauge.

.. math::
    V(R, D) = \ln \frac{W(R, D)}{W(R, D + 1)} \to V(R) \quad\text{for large}\ D,
    \qquad V(R) = A - \frac{e}{R} + \sigma R,

and Sommer's scale is where :math:`R^2 V'(R) = 1.65`, that is :math:`r_0 = \sqrt{(1.65 - e) / \sigma}`
(R. Sommer, Nucl. Phys. B 411, 839 (1994)). Of lines in Coulomb gauge, V(R, 0) = -ln G(R, 1) is the
instantaneous potential, whose slope is not below that of the static one.
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

#: R^2 V'(R) at Sommer's scale.
_SOMMER = 1.65


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
        A, e, sigma and r0 with their errors; NaN where there are less than four distances.

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
        scales = {
            name: [finite_or_none(x) for x in getattr(self, name)]
            for name in ("self_energy", "coulomb", "string_tension", "r0")
        }
        names = (
            "source configurations distance separation value error fitted_separation self_energy "
            "coulomb string_tension r0"
        )
        return self.listed(names, **numbers, **scales)

    def plot(self, ax: Any = None) -> Any:
        """Draw V(R, D) against R for each D, and the fit; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        for i, separation in enumerate(self.separation[: len(COLORS)].tolist()):
            shift = 0.04 * (i - len(self.separation) / 2)
            style = {"fmt": "o", "markersize": 3.5, "capsize": 2, "linewidth": 0.8}
            kept = self.error[:, i] < 0.25 * np.abs(self.value[:, i])
            where, value, error = (
                self.distance[kept] + shift,
                self.value[kept, i],
                self.error[kept, i],
            )
            ax.errorbar(where, value, error, color=COLORS[i], label=f"D = {separation}", **style)
        if np.isfinite(self.r0[0]):
            r = np.linspace(0.7, self.distance[-1] + 0.3, 200)
            fit = self.self_energy[0] - self.coulomb[0] / r + self.string_tension[0] * r
            column = self._column
            ax.plot(r, fit, color=COLORS[column % len(COLORS)], linewidth=1)
        ax.set_ylim(bottom=0)
        what = "Wilson loops" if self.source == "loops" else "lines in Coulomb gauge"
        scale = (
            f", $r_0/a$ = {self.r0[0]:.3f} +- {self.r0[1]:.3f}" if np.isfinite(self.r0[0]) else ""
        )
        title = f"Static potential of {what}\n{self.configurations} configurations{scale}"
        return finish(ax, title, "distance $R/a$", "$a\\,V(R, D)$", whole="x", legend=True)


def static_potential(
    ensemble: Ensemble,
    source: Literal["loops", "lines"] = "loops",
    *,
    separation: int | None = None,
    smallest: int = 1,
    largest: int | None = None,
) -> StaticPotential:
    """The static potential, from the loops or lines of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Of :func:`hardscape.gauge.observables` with ``loops=(R, D)``, or ``lines=(R, D)`` in Coulomb gauge.
    source : {"loops", "lines"}
    separation : int, optional
        D of the fit, by default the largest at which the error at every distance is below a tenth of
        V(R, D) - V(1, D), or 1.
    smallest, largest : int
        Distances of the fit.

    Returns
    -------
    StaticPotential

    Raises
    ------
    InputError
        If the ensemble has not measured what is needed, or an argument is out of range.

    Notes
    -----
    The fit is linear in A, e and sigma, with weights of the errors, and repeated in each bin of the jackknife.

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
    fitted = _chosen(value, error, separations) if separation is None else separation
    if fitted not in separations:
        raise InputError(
            f"separation={separation!r}; {separations[0]} to {separations[-1]} are measured"
        )
    kept = (distances >= smallest) & (distances <= (largest or len(distances)))
    column = int(fitted) - first + (source == "loops")
    scales = _fit(samples, distances, kept, column, ensemble.bin_size)
    return StaticPotential(
        source, distances, separations, value, error, len(samples), int(fitted), *scales
    )


def _logarithms(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """V(R, D) for D = 0, 1, ... from means at D = 1, 2, ..."""
    whole = np.concatenate([np.ones((len(means), 1)), means], axis=1)
    found: NDArray[np.float64] = np.log(whole[:, :-1] / whole[:, 1:])
    return found


def _chosen(
    value: NDArray[np.float64], error: NDArray[np.float64], separations: NDArray[np.int64]
) -> int:
    steep = value - value[:1]
    good = np.all(~(error[1:] > 0.1 * steep[1:]) & np.isfinite(value[1:]), axis=0)
    return int(separations[good].max()) if good.any() else int(separations[0])


def _fit(
    samples: NDArray[np.float64],
    distances: NDArray[np.int64],
    kept: NDArray[np.bool_],
    column: int,
    bin_size: int,
) -> list[tuple[float, float]]:
    """A, e, sigma and r0 with their errors."""
    r = distances[kept].astype(float)
    if len(r) < 4:
        return [(np.nan, np.nan)] * 4
    with np.errstate(all="ignore"):
        of_kept = samples[:, kept]
        _, error = jackknife(of_kept, lambda x: _logarithms(x)[:, column], bin_size=bin_size)
        weights = 1 / np.where(error > 0, error, 1.0)
        design = np.stack([np.ones_like(r), -1 / r, r], axis=1) * weights[:, None]

        def scales(means: NDArray[np.float64]) -> NDArray[np.float64]:
            seen = _logarithms(means)[:, column] * weights
            if not np.isfinite(seen).all():
                return np.full(4, np.nan)
            a, e, sigma = np.linalg.lstsq(design, seen, rcond=None)[0]
            return np.array([a, e, sigma, np.sqrt((_SOMMER - e) / sigma)])

        value, spread = jackknife(of_kept, scales, bin_size=bin_size)
    return list(zip(value.tolist(), spread.tolist(), strict=True))
