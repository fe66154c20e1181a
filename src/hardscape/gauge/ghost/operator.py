r"""The Faddeev-Popov operator of Landau gauge, and its inverse on several fields.

It is minus the second variation of the gauge functional. On a field :math:`\omega = \sum_b \omega^b T^b` of
traceless matrices, up to the trace that is taken away,

.. math::
    (M \omega)(x) = \tfrac12 \sum_\mu \big[ \{H_\mu(x), \omega(x)\}
    - U_\mu(x)\, \omega(x + \hat\mu) - \omega(x + \hat\mu)\, U_\mu(x)^\dagger
    - U_\mu(x - \hat\mu)^\dagger\, \omega(x - \hat\mu) - \omega(x - \hat\mu)\, U_\mu(x - \hat\mu) \big],

where :math:`H_\mu(x)` is the sum of the hermitian parts of both links. For links that are the identity it is
minus the lattice's Laplacian. On a lattice whose spacing in time is xi times smaller the term of time counts
xi^2 times, as in the functional. M is symmetric, and positive but for constant fields, on which it vanishes,
where the functional has a strict maximum: within the Gribov region (D. Zwanziger, Nucl. Phys. B 412, 657
(1994)).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import array_namespace
from hardscape.engine import Context, Team, split
from hardscape.errors import NotConverged
from hardscape.gauge.field import GaugeField

#: Parts that sums are made of, whatever threads there are: the result has the same bytes.
_PARTS = 64


class FaddeevPopov(ABC):
    """The operator of a field in Landau gauge, periodic, where it is computed.

    Attributes
    ----------
    shape : 2 to 5 int
        Extents t, z, y, x.
    xi : float
    nc, volume : int
    """

    def __init__(self, field: GaugeField, xi: float = 1.0) -> None:
        self.shape = field.shape[::-1]
        self.xi = xi
        self.nc = field.nc
        self.volume = field.volume

    @abstractmethod
    def apply(self, fields: Any) -> Any:
        """M on fields of shape (T, Z, Y, X, Nc, Nc, fields), complex128, in the order of C."""

    @abstractmethod
    def products(self, a: Any, b: Any) -> NDArray[np.float64]:
        """Re sum tr a^dagger b of each field."""

    @abstractmethod
    def combine(self, y: Any, a: NDArray[np.float64], x: Any, b: NDArray[np.float64]) -> None:
        """Put a x + b y of each field into y."""

    def projected(self, fields: Any) -> Any:
        """M without the constant part that it has as far as the field misses the gauge."""
        found = self.apply(fields)
        found -= found.mean(axis=tuple(range(len(self.shape))))
        return found

    def solve(
        self,
        sources: Any,
        tolerance: float,
        max_iterations: int,
        context: Context | None = None,
    ) -> tuple[Any, int] | None:
        """The inverse on fields without a constant part, by the conjugate gradient on all of them at once.

        Returns
        -------
        found, iterations
            Residuals are at most `tolerance` times the sources, computed again from what is returned. None
            if it was stopped.

        Raises
        ------
        NotConverged
            If they are not after `max_iterations`, or M is not positive: beyond the Gribov horizon.
        """
        found = array_namespace(sources).zeros_like(sources)
        residual, direction = sources.copy(), sources.copy()
        norm = start = self.products(residual, residual)
        ones = np.ones(len(norm))
        for done in range(max_iterations):
            if context is not None and context.stopped():
                return None
            if (norm <= tolerance**2 * start).all():
                true = self.projected(found)
                self.combine(true, ones, sources, -ones)
                norm = self.products(true, true)
                if (norm <= 1.1 * tolerance**2 * start).all():
                    return found, done
                residual, direction = (
                    true,
                    true.copy(),
                )  # rounding has drifted: begin anew from here
            image = self.projected(direction)
            curvature = self.products(direction, image)
            live = norm > tolerance**2 * start  # rounding is all that is left of the others
            if (curvature[live] <= 0).any():
                raise NotConverged(
                    "the Faddeev-Popov operator is not positive: the field is at no maximum of the "
                    "gauge functional; fix it to Landau gauge by hardscape.gauge.fix"
                )
            step = np.where(live, norm / np.where(live, curvature, 1.0), 0.0)
            self.combine(found, step, direction, ones)
            self.combine(residual, -step, image, ones)
            after = self.products(residual, residual)
            self.combine(direction, ones, residual, after / np.where(norm > 0, norm, 1.0))
            norm = after
        worst = math.sqrt(float((norm / start).max()))
        raise NotConverged(
            f"the conjugate gradient came to {worst:.3g} in {max_iterations} iterations, "
            f"{tolerance:g} was asked for; raise max_iterations"
        )


class CpuFaddeevPopov(FaddeevPopov):
    """The same on the threads of a team."""

    def __init__(self, field: GaugeField, team: Team, xi: float = 1.0) -> None:
        super().__init__(field, xi)
        self._weights = np.ones(field.dimensions)
        self._weights[-1] = xi**2
        self._links = np.ascontiguousarray(field.to("cpu").links, dtype=np.complex128)
        self._team = team

    def apply(self, fields: Any) -> Any:
        """See `FaddeevPopov.apply`."""
        found = np.empty(fields.shape, np.complex128)
        kernel = native.vector.gauge.faddeev_popov
        self._team.map(
            lambda part: kernel(self._links, self._weights, fields, found, part.start, part.stop),
            split(self.volume, _PARTS),
        )
        return found

    def products(self, a: Any, b: Any) -> NDArray[np.float64]:
        """See `FaddeevPopov.products`."""
        kernel = native.vector.gauge.field_products
        parts = self._team.map(lambda part: kernel(a, b, part.start, part.stop), self._rows())
        total: NDArray[np.float64] = np.sum(parts, axis=0)
        return total

    def combine(self, y: Any, a: NDArray[np.float64], x: Any, b: NDArray[np.float64]) -> None:
        """See `FaddeevPopov.combine`."""
        kernel = native.vector.gauge.combine_fields
        self._team.map(lambda part: kernel(y, a, x, b, part.start, part.stop), self._rows())

    def _rows(self) -> Any:
        return split(self.volume * self.nc**2, _PARTS)


def generators(nc: int) -> NDArray[np.complex128]:
    """T^a with tr T^a T^b = 1/2 for a = b, else 0: shape (Nc^2 - 1, Nc, Nc)."""
    found = []
    for i in range(nc):
        for j in range(i + 1, nc):
            one, other = np.zeros((2, nc, nc), dtype=complex)
            one[i, j] = one[j, i] = 0.5
            other[i, j], other[j, i] = -0.5j, 0.5j
            found += [one, other]
    for i in range(1, nc):
        diagonal = np.array([1.0] * i + [-i] + [0.0] * (nc - 1 - i))
        found.append(np.diag(diagonal / math.sqrt(2 * i * (i + 1))).astype(complex))
    return np.array(found)
