r"""The gluon field of links, by both definitions that are in use.

Linear, the one that the gauge functional is stationary in, and logarithmic, :math:`U_\mu = e^{i A_\mu}`:

.. math::
    A_\mu = \frac{U_\mu - U_\mu^\dagger}{2 i} - \text{trace}, \qquad A_\mu = -i \ln U_\mu,

g0 and the lattice spacing included. They differ in the third order of A. Of the logarithms that a matrix has
the shortest one in the algebra is taken: eigenvalues within (-pi, pi], and where these add up to
:math:`2 \pi k`, the k that lie the farthest out less :math:`2 \pi`.

E.-M. Ilgenfritz, C. Menz, M. Müller-Preussker, A. Schiller and A. Sternbeck, Phys. Rev. D 83, 054506 (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from hardscape.arrays import array_namespace
from hardscape.gauge.groups import dagger

Definition = Literal["linear", "logarithmic"]


def linear(links: Any) -> Any:
    """[U - U^dagger] / 2i without its trace, shape (..., Nc, Nc)."""
    xp = array_namespace(links)
    nc = links.shape[-1]
    a = (links - dagger(links)) / 2j
    return a - xp.trace(a, axis1=-2, axis2=-1)[..., None, None] * xp.eye(nc) / nc


def logarithmic(links: Any) -> Any:
    """-i ln U: hermitian, traceless, and exp(i A) = U; shape (..., Nc, Nc).

    The phase of each matrix is turned so that no eigenvalue is near -1; the Cayley transform
    :math:`i (1 - U) (1 + U)^{-1}` is then a hermitian matrix of moderate norm, whose eigenvectors are
    orthogonal to rounding however close the eigenvalues are.
    """
    xp = array_namespace(links)
    nc = links.shape[-1]
    one = xp.eye(nc)
    turn = _turn(links)
    turned = links * xp.exp(-1j * turn)[..., None, None]
    cayley = 1j * xp.linalg.solve(one + turned, one - turned)
    tangents, vectors = xp.linalg.eigh((cayley + dagger(cayley)) / 2)
    angles = _shortest(turn[..., None] + 2 * xp.arctan(tangents))
    return (vectors * angles[..., None, :]) @ dagger(vectors)


def _turn(links: Any) -> Any:
    """Of 2 Nc phases the one that brings all eigenvalues the farthest from -1, shape (...)."""
    xp = array_namespace(links)
    nc = links.shape[-1]
    phases = np.pi * np.arange(2 * nc) / nc
    best, found = xp.full(links.shape[:-2], -1.0), xp.zeros(links.shape[:-2])
    for phase in phases.tolist():
        away = xp.abs(xp.linalg.det(xp.eye(nc) + links * np.exp(-1j * phase)))
        found = xp.where(away > best, phase, found)
        best = xp.maximum(away, best)
    return found


def _shortest(angles: Any) -> Any:
    """The angles up to 2 pi whose sum is 0 and that are the smallest; shape (..., Nc)."""
    xp = array_namespace(angles)
    wrapped = angles - 2 * np.pi * xp.ceil((angles - np.pi) / (2 * np.pi))
    excess = xp.rint(wrapped.sum(axis=-1) / (2 * np.pi))[..., None]
    sign = xp.sign(excess)
    rank = xp.argsort(xp.argsort(-sign * wrapped, axis=-1), axis=-1)
    return wrapped - 2 * np.pi * sign * (rank < xp.abs(excess))


FIELDS: dict[Definition, Callable[[Any], Any]] = {"linear": linear, "logarithmic": logarithmic}
