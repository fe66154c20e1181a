"""Momenta of a lattice: which are near enough to the diagonal, and which are averaged together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError


@dataclass(frozen=True)
class Cut:
    """Which momenta are kept: near the diagonal (1, ..., 1) the effects of the lattice are smallest.

    Attributes
    ----------
    cylinder : float or None
        Largest distance from the diagonal, in units of 2 pi / L, L the shortest spatial extent.
    cone : float or None
        Largest angle to the diagonal, in degrees.
    """

    cylinder: float | None = None
    cone: float | None = None

    def __post_init__(self) -> None:
        if self.cylinder is not None and not 0 < self.cylinder < math.inf:
            raise InputError(f"cylinder={self.cylinder!r}; a number above 0 is accepted")
        if self.cone is not None and not 0 < self.cone <= 90:
            raise InputError(f"cone={self.cone!r}; degrees above 0, up to 90, are accepted")

    def kept(
        self, k: NDArray[np.int64], shape: Sequence[int], xi: float = 1.0
    ) -> NDArray[np.bool_]:
        """Of momenta k, shape (directions, n), from -L/2 to L/2, along x, y, z (and t)."""
        directions = len(k)
        q = np.abs(2 * np.pi * k / np.array(shape[:directions])[:, None])
        q *= units(shape, directions, xi)[:, None]
        along = q.sum(axis=0) / math.sqrt(directions)
        across = np.sqrt(np.maximum(np.sum(q**2, axis=0) - along**2, 0))
        kept = np.ones(q.shape[1], dtype=bool)
        if self.cylinder is not None:
            kept &= across <= self.cylinder * 2 * np.pi / min(shape[:-1]) + 1e-9
        if self.cone is not None:
            kept &= np.degrees(np.arctan2(across, along)) <= self.cone + 1e-9
        return kept

    def __str__(self) -> str:
        """What is cut, in words."""
        cylinder = "" if self.cylinder is None else f"cylinder of {self.cylinder:g} x 2 pi / L"
        cone = "" if self.cone is None else f"cone of {self.cone:g} degrees"
        return ", ".join(filter(None, (cylinder, cone))) or "none"


def units(shape: Sequence[int], directions: int, xi: float) -> NDArray[np.float64]:
    """By what 2 sin(pi k / L) is multiplied in each direction: momenta are in units of the spacing in space."""
    found = np.ones(directions)
    if directions == len(shape):
        found[-1] = xi
    return found


class Bins:
    """Which momenta are averaged; one of p and -p stands for both, as A(-p) = A(p)^dagger."""

    def __init__(
        self,
        shape: Sequence[int],
        directions: int,
        cut: Cut,
        bin_width: float | None,
        xi: float = 1.0,
    ) -> None:
        extents = list(shape[:directions])
        k = np.indices(extents[::-1])[::-1].reshape(directions, -1)
        lengths = np.array(extents)[:, None]
        signed = (k + lengths // 2) % lengths - lengths // 2
        squares = (units(shape, directions, xi)[:, None] * 2 * np.sin(np.pi * k / lengths)) ** 2
        p = np.sqrt(np.sum(squares, axis=0))
        kept = self._halves(k, extents) & cut.kept(signed, shape, xi)
        self._kept = np.flatnonzero(kept)
        key = p[self._kept] / bin_width if bin_width is not None else p[self._kept] * 1e8
        floor = np.floor(key) if bin_width is not None else np.rint(key)
        # The zero momentum has another normalisation, and a bin of its own.
        floor[p[self._kept] < 1e-12] = -1
        _, self._bin, self.count = np.unique(floor, return_inverse=True, return_counts=True)
        self.momentum = self._average(p[self._kept])
        # What is transverse in each direction, 1 - p_mu^2 / p^2: shape (directions, bins).
        part = 1 - squares / np.where(p > 0, p, 1.0) ** 2
        self.transverse = np.array([self.mean(row) for row in part])

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
