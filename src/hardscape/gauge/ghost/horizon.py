r"""The lowest eigenvalues of the Faddeev-Popov operator: how near a field is to the Gribov horizon.

.. math::
    M\, v_i = \lambda_i v_i, \qquad 0 < \lambda_1 \le \lambda_2 \le \dots

on fields without a constant part, on which M vanishes. Within the Gribov region all are positive; the least one
vanishes on its boundary, the horizon, and falls faster than the free one, :math:`4 \sin^2(\pi / L)`, as the
lattice grows (A. Sternbeck, E.-M. Ilgenfritz and M. Müller-Preussker, Phys. Rev. D 73, 014502 (2006)).

The locally optimal block preconditioned conjugate gradient of SciPy finds them (A. V. Knyazev, SIAM J. Sci.
Comput. 23, 517 (2001)), with the inverse of the lattice's Laplacian as preconditioner. For a unit vector v with
:math:`|M v - \lambda v| \le r` there is an eigenvalue of M within r of :math:`\lambda`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import Context, RunArguments, team
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import InputError, NotConverged, needed
from hardscape.figures import COLORS, GREY, finish, new_figure
from hardscape.gauge.ensembles.averages import ErrorMethod, average
from hardscape.gauge.ensembles.files import Configurations
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.ensembles.run import Plan, run_made
from hardscape.gauge.ensembles.work import Configuration, Task
from hardscape.gauge.ghost.measuring import require_landau
from hardscape.gauge.ghost.operator import CpuFaddeevPopov, FaddeevPopov, generators
from hardscape.gauge.gluon.momenta import units
from hardscape.gauge.gluon.propagator import DEFAULT_THETA
from hardscape.gauge.options import checked_xi
from hardscape.interrupts import interruptible
from hardscape.plain import Plain, finite_or_none

#: Iterations after which it is looked whether those that are wanted are there; the others of a block help.
_STRETCH = 25


@dataclass(frozen=True, eq=False)
class FaddeevPopovEigenvalues(Plain):
    """The lowest eigenvalues of the Faddeev-Popov operator, beside the trivial ones, on each configuration.

    Attributes
    ----------
    eigenvalues : float64, shape (configurations, K)
        Ascending.
    value, error : float64, shape (K,)
        Their averages over configurations, and errors; NaN for one configuration.
    residual : float
        The largest norm of M v - lambda v: an eigenvalue is within it of each.
    free : float
        The least one of links that are the identity.
    shape : 2 to 5 int
    nc : int
    theta : float
        The worst violation of the gauge condition among the configurations.
    iterations : int
        The most of a configuration.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.fix(field, "landau", seed=1, device="cpu").fixed().to_file(f"{folder}/landau.npz")
    ...     found = gauge.faddeev_popov_eigenvalues(f"{folder}/landau.npz", 2, device="cpu")
    >>> bool((found.value > 0).all())
    True
    """

    COLUMNS: ClassVar[str] = "value error"

    eigenvalues: NDArray[np.float64]
    value: NDArray[np.float64]
    error: NDArray[np.float64]
    residual: float
    free: float
    shape: tuple[int, ...]
    nc: int
    theta: float
    iterations: int
    seconds: float

    @property
    def configurations(self) -> int:
        """How many there are."""
        return len(self.eigenvalues)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an unknown error is None."""
        names = (
            "shape nc configurations theta iterations residual free value error eigenvalues seconds"
        )
        return self.listed(names, error=[finite_or_none(x) for x in self.error.tolist()])

    def plot(self, ax: Any = None) -> Any:
        """Draw the eigenvalues of all configurations; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        numbers = np.arange(1, self.eigenvalues.shape[1] + 1)
        for row in self.eigenvalues:
            ax.plot(numbers, row, "o", markersize=4, alpha=0.5, color=COLORS[0])
        ax.plot(numbers, self.value, color=COLORS[1], linewidth=1, label="mean")
        ax.axhline(self.free, color=GREY, linestyle=":", label="free, the least")
        ax.set_ylim(bottom=min(0.0, float(self.eigenvalues.min())))
        extents, many = r"$\times$".join(map(str, self.shape)), self.configurations
        title = (
            f"SU({self.nc}) Faddeev-Popov operator, Landau gauge\n"
            f"{extents}, {many} configuration{'s' * (many > 1)}"
        )
        return finish(ax, title, "number $i$", r"$\lambda_i$", whole="x", legend=True)

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.shape))
        return (
            f"<FaddeevPopovEigenvalues: SU({self.nc}), {extents}, {len(self.value)} of "
            f"{self.configurations} configuration{'s' * (self.configurations > 1)}, "
            f"least {self.value[0]:.6g}>"
        )


@dataclass(frozen=True)
class HorizonTask(Task):
    """The lowest eigenvalues of one configuration."""

    name: ClassVar[str] = "horizon"
    revision: ClassVar[int] = 1
    goes_on: ClassVar[bool] = True

    count: int
    residual: float
    max_iterations: int
    theta: float | None
    like: tuple[tuple[int, ...], int]
    xi: float = 1.0

    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """Eigenvalues, their worst residual, the violation; refuses fields that are not in the gauge."""
        field = configuration.field
        violation = require_landau(configuration, self.like, self.theta, self.xi)
        with team(configuration.threads, context.stop) as lanes:
            lowest = _Lowest(CpuFaddeevPopov(field, lanes, self.xi), configuration.threads, context)
            found = lowest.find(self.count, self.residual, self.max_iterations)
        if found is None:
            return None
        values, residual, iterations = found
        return {
            "eigenvalues": values,
            "residual": residual,
            "iterations": np.int64(iterations),
            "theta": violation,
        }


class _Stopped(Exception):  # noqa: N818
    """The way out of the eigensolver."""


class _Lowest:
    """The search for the lowest eigenvalues of one operator, on real components of its fields."""

    def __init__(self, operator: FaddeevPopov, threads: int, context: Context) -> None:
        self._operator, self._threads, self._context = operator, threads, context
        self._fft = needed("scipy.fft", "scipy", "eigenvalues", "faddeev_popov_eigenvalues")
        self._colours = math.sqrt(2) * generators(operator.nc)
        grids = np.ogrid[tuple(slice(n) for n in operator.shape)]
        weights = [operator.xi**2, *[1.0] * (len(grids) - 1)]
        squares = [
            4 * weight * np.sin(np.pi * x / n) ** 2
            for weight, x, n in zip(weights, grids, operator.shape, strict=True)
        ]
        square = np.sum(np.broadcast_arrays(*squares), axis=0)
        square[(0,) * square.ndim] = np.inf
        last = operator.shape[-1] // 2 + 1  # of a transform of real numbers
        self._inverse = (1 / square)[..., :last, None]
        # tr T^a omega = sum_ij T^a_ji omega_ij, its real part; T is hermitian.
        self._components = np.stack([self._colours.real, self._colours.imag], axis=1)
        self._components = self._components.reshape(len(self._colours), -1)

    def find(
        self, count: int, residual: float, max_iterations: int
    ) -> tuple[NDArray[np.float64], float, int] | None:
        """The lowest `count` and their worst residual; None if it was stopped."""
        sparse = needed("scipy.sparse.linalg", "scipy", "eigenvalues", "faddeev_popov_eigenvalues")
        # What it says of the block's last vectors, which are not wanted.
        warnings.filterwarnings("ignore", category=UserWarning, module=re.escape(__name__))
        size = self._operator.volume * len(self._colours)
        block = min(count + max(2, count // 2), size // 8)
        vectors = np.random.default_rng(0).standard_normal((size, block))
        vectors = self._laplace_inverse(vectors)
        done, norm = 0, math.inf
        try:
            while done < max_iterations:
                stretch = min(_STRETCH, max_iterations - done)
                _, vectors = sparse.lobpcg(
                    self._apply, vectors, M=self._laplace_inverse, tol=residual / 2,
                    maxiter=stretch, largest=False,
                )  # fmt: skip
                done += stretch
                values, vectors, norm = self._ritz(vectors, count)
                if norm <= residual:
                    return values, norm, done
        except _Stopped:
            return None
        raise NotConverged(
            f"the eigenvalues came to a residual of {norm:.3g} in {done} iterations, {residual:g} was "
            "asked for; raise max_iterations"
        )

    def _ritz(
        self, vectors: NDArray[np.float64], count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Values and residual of the first ones, of what is there, not of what the solver says."""
        basis, _ = np.linalg.qr(vectors)
        image = self._apply(basis)
        values, turn = np.linalg.eigh(basis.T @ image)
        basis, image = basis @ turn, image @ turn
        wrong = np.linalg.norm((image - basis * values)[:, :count], axis=0)
        return values[:count], basis, float(wrong.max())

    def _apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._context.stopped():
            raise _Stopped
        nc, volume = self._operator.nc, self._operator.volume
        parts = vectors.reshape(len(self._colours), -1)
        # One product of matrices for real and imaginary parts: (2, Nc, Nc, V, fields).
        both = (self._components.T @ parts).reshape(2, nc, nc, volume, -1)
        fields = np.empty((volume, nc, nc, both.shape[-1]), dtype=np.complex128)
        fields.real, fields.imag = both.transpose(0, 3, 1, 2, 4)
        image = self._operator.projected(
            fields.reshape(*self._operator.shape, nc, nc, both.shape[-1])
        ).reshape(fields.shape)
        both[0], both[1] = (x.transpose(1, 2, 0, 3) for x in (image.real, image.imag))
        found: NDArray[np.float64] = self._components @ both.reshape(2 * nc**2, -1)
        return found.reshape(vectors.shape)

    def _laplace_inverse(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._context.stopped():
            raise _Stopped
        shape = self._operator.shape
        axes = tuple(range(1, 1 + len(shape)))
        parts = vectors.reshape(len(self._colours), *shape, -1)
        turned = self._fft.rfftn(parts, axes=axes, workers=self._threads)
        turned *= self._inverse
        found = self._fft.irfftn(turned, s=shape, axes=axes, workers=self._threads)
        flat: NDArray[np.float64] = found.reshape(vectors.shape)
        return flat


@interruptible
@on_its_threads
def faddeev_popov_eigenvalues(
    files: Configurations,
    count: int = 4,
    *,
    xi: float = 1.0,
    residual: float = 1e-8,
    max_iterations: int = 10000,
    theta: float | None = DEFAULT_THETA,
    read: Mapping[str, Any] | None = None,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    **run: Unpack[RunArguments],
) -> FaddeevPopovEigenvalues:
    """Find the lowest eigenvalues of the Faddeev-Popov operator of configurations in Landau gauge.

    Parameters
    ----------
    files : path, pattern, GaugeField, or iterable of them
        One configuration or several of one size; ``"*.landau.lime"`` stands for all that match.
    count : int
        Eigenvalues, beside the Nc^2 - 1 of constant fields, which vanish.
    xi : float
        Spacing in space over that in time, as of :func:`gluon_propagator`.
    residual : float
        Norm of M v - lambda v, for unit vectors v, to reach.
    max_iterations : int
    theta : float or None
        Largest mean violation tr(Delta Delta^dagger) / Nc of the gauge condition that is accepted; None
        accepts any field, also beyond the horizon, where eigenvalues are negative.
    read : mapping, optional
        What the files do not say: arguments of :meth:`GaugeField.from_file`.
    error_method : {"jackknife", "gamma"}
        How errors are estimated; "gamma" takes autocorrelations into account and needs pyerrors.
    bin_size : int
        Configurations that the jackknife leaves out together.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. On CPUs; a unit is a configuration.

    Returns
    -------
    FaddeevPopovEigenvalues

    Raises
    ------
    InputError
        If an argument is out of range, sizes differ, or a field is not in Landau gauge.
    FormatError, ChecksumError
        If a file cannot be read; it is left out, as what is refused for another reason, and told of when all
        others are done. ``result`` is what they give.
    NotConverged
        If the residual is not reached.
    MissingDependencyError
        If scipy is not installed: the extra "eigenvalues".
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` is what there is so far, or None.

    Notes
    -----
    An iteration applies M, and two Fourier transforms, to about 1.5 `count` fields.

    Examples
    --------
    >>> from hardscape import gauge
    >>> free = gauge.GaugeField.identity((4, 4, 4, 8))
    >>> found = gauge.faddeev_popov_eigenvalues(free, 2)
    >>> found.value.round(6), round(found.free, 6)
    (array([0.585786, 0.585786]), 0.585786)
    """
    needed("scipy.sparse.linalg", "scipy", "eigenvalues", "faddeev_popov_eigenvalues")
    plan = Plan.checked("the Faddeev-Popov operator", files, read, error_method, bin_size)
    if isinstance(residual, bool) or not 1e-12 <= residual < 1:
        raise InputError(f"residual={residual!r}; 1e-12 to 1 is accepted")
    first = plan.first()
    size = first.volume * (first.nc**2 - 1)
    most = integer(max_iterations, "max_iterations", 1, 2**31 - 1)
    wanted = integer(count, "count", 1, max(1, size // 16))
    xi = checked_xi(xi)
    like = (first.shape, first.nc)
    task = HorizonTask(wanted, float(residual), most, theta, like, xi)

    def made(found: Ensemble) -> FaddeevPopovEigenvalues:
        samples = found.values["eigenvalues"]
        seen = [average(column, error_method, bin_size) for column in samples.T]
        return FaddeevPopovEigenvalues(
            eigenvalues=samples,
            value=samples.mean(axis=0),
            error=np.array([one.error for one in seen]),
            residual=float(found.values["residual"].max()),
            free=min(
                4 * float(weight) ** 2 * math.sin(math.pi / extent) ** 2
                for weight, extent in zip(
                    units(first.shape, first.dimensions, xi), first.shape, strict=True
                )
            ),
            shape=first.shape,
            nc=first.nc,
            theta=float(found.values["theta"].max()),
            iterations=int(found.values["iterations"].max()),
            seconds=found.seconds,
        )

    return run_made(plan, task, made, **run)
