"""A matrix product state of spins, and Boltzmann gates that act on it.

The gates are diagonal in the spins, so they commute and only bring the state closer to few
configurations. What limits accuracy is the truncation of bonds after each of them; here a bond is
cut by the reduced density matrix of the multiplied state, the best choice for that bond alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_numpy

#: An array of NumPy or CuPy; `xp` is the package it belongs to.
Array = Any

#: Weights below this fraction of a reduced density matrix are its rounding errors.
_ROUNDING = 1e-15
_NEGLIGIBLE = 1e-30
#: Where the bond dimension has cost a weight w already, dropping another 1e-3 w changes nothing
#: that can be measured, and bonds become small again once the state has cooled.
_HARMLESS = 1e-3


@dataclass(frozen=True)
class Gates:
    r"""Gates :math:`e^{-s_i (\sum_{j>i} x_{ij} s_j + x_i)}` of neighbouring spins i, the carriers.

    As one operator on the sites `first` to `last`. Right of its own site a carrier is a channel: a
    copy of its value that travels along the bonds, for later sites to be weighted by. Each carrier
    doubles the bonds that it crosses.
    """

    first: int
    last: int
    fields: NDArray[np.float64]  #: shape (carriers,)
    couplings: NDArray[np.float64]  #: rows of the upper triangle, shape (carriers, N)

    @property
    def carriers(self) -> int:
        """How many gates."""
        return len(self.fields)

    def opens(self, site: int) -> bool:
        """Whether the value of `site` becomes a channel."""
        return site - self.first < self.carriers

    def weights(self, site: int, values: tuple[int, ...] = (-1, 1)) -> NDArray[np.float64]:
        """Weights of s = -1 and +1 at a site, shape (channels, 2), for channels of these values.

        With values -2, 0 and 2 these are the weights of products of two channels, by their sum.
        """
        reach = min(site - self.first, self.carriers)
        channels = np.array(list(product(values, repeat=reach)), dtype=np.float64)
        channels = channels.reshape(len(values) ** reach, reach)
        exponents = channels @ self.couplings[:reach, site]
        if self.opens(site):
            exponents = exponents + values[-1] * self.fields[reach]
        return np.exp(np.stack([exponents, -exponents], axis=1))


@dataclass(frozen=True)
class _Factor:
    """What lies right of a bond, one column a configuration: exact, and small near the end."""

    blocks: Array  # shape (channels, bond, columns)

    def extended(self, tensor: Array, gates: Gates, site: int, xp: Any) -> _Factor | _Gram:
        """Take in one more site, of tensor (left, 2, bond)."""
        channels, bond, columns = self.blocks.shape
        if 2 * columns > channels * len(tensor):
            return self._gram(xp).extended(tensor, gates, site, xp)
        weights = xp.asarray(gates.weights(site))
        right = self.blocks.reshape(len(weights), -1, bond, columns)
        return _Factor(_weighted(tensor, right, weights).reshape(len(weights), -1, 2 * columns))

    def _gram(self, xp: Any) -> _Gram:
        products = {
            _total(i, j): self.blocks[i] @ self.blocks[j].T for i, j in _pairs(len(self.blocks))
        }
        return _Gram(xp.stack([products[total] for total in sorted(products)]))

    def basis(self, rows: Array, rank: int, xp: Any) -> Array | None:
        """Orthonormal columns that hold all of the cut, where `rank` is enough for that."""
        if self.blocks.shape[2] > rank:
            return None
        return xp.linalg.qr((rows @ self.blocks).sum(axis=0))[0]

    def density(self, rows: Array, xp: Any) -> Array:
        """Reduced density matrix, shape (n, n), of rows (channels, n, bond)."""
        amplitudes = (rows @ self.blocks).sum(axis=0)
        return amplitudes @ amplitudes.T


@dataclass(frozen=True)
class _Gram:
    """What lies right of a bond, as scalar products between two channels.

    A site weights two channels c and c' by ``exp(-s x (c + c'))``, so that the products depend on
    the sums alone: 3 blocks a carrier instead of 4.
    """

    blocks: Array  # shape (3**carriers, bond, bond)

    def extended(self, tensor: Array, gates: Gates, site: int, xp: Any) -> _Gram:
        """Take in one more site, of tensor (left, 2, bond)."""
        weights = xp.asarray(gates.weights(site, (-2, 0, 2)))
        bond = self.blocks.shape[1]
        right = self.blocks.reshape(len(weights), -1, bond, bond)
        if gates.opens(site):  # both channels equal the spin, so that their sum is -2 or +2
            right = right[:, ::2]
        left = len(tensor)
        half = _weighted(tensor, right, weights).reshape(-1, 2 * bond)
        return _Gram((half @ tensor.reshape(left, 2 * bond).T).reshape(-1, left, left))

    def basis(self, rows: Array, rank: int, xp: Any) -> Array | None:
        """None: products do not tell a basis without the rounding error of a square."""
        return None

    def density(self, rows: Array, xp: Any) -> Array:
        """Reduced density matrix, shape (n, n), of rows (channels, n, bond)."""
        channels, n, bond = rows.shape
        flat = rows.transpose(1, 0, 2).reshape(n, channels * bond)
        half = xp.empty_like(flat)  # from the blocks above the diagonal, and half of those on it
        for j in range(channels):
            column = [self.blocks[_total(i, j)] for i in range(j)] + [self.blocks[_total(j, j)] / 2]
            part = slice(j * bond, (j + 1) * bond)
            half[:, part] = flat[:, : part.stop] @ xp.concatenate(column)
        density = half @ flat.T
        return density + density.T


def _weighted(tensor: Array, right: Array, weights: Array) -> Array:
    """Weighted products, shape (channels, left, 2, n), of a site and what lies right of it.

    `right` has shape (channels, 1, bond, n), or (channels, 2, bond, n) where the spin is a channel.
    """
    left, _, bond = tensor.shape
    if right.shape[1] == 1:  # one large product is twice as fast as many small ones
        products = tensor.reshape(2 * left, bond) @ right[:, 0]
    else:
        products = (tensor.transpose(1, 0, 2) @ right).transpose(0, 2, 1, 3)
    return products.reshape(len(right), left, 2, -1) * weights[:, None, :, None]


def _pairs(channels: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for j in range(channels) for i in range(j + 1))


def _total(left: int, right: int) -> int:
    """Block of two channels: their binary digits, each for a carrier, added and read in base 3."""
    return int(f"{left:b}", 3) + int(f"{right:b}", 3)


class MatrixProductState:
    """A state of norm 1, at first all configurations alike, orthonormal around `centre`.

    The entries of `couplings`, an upper triangle, that are not zero bound the ranks that gates produce.
    """

    def __init__(self, couplings: NDArray[np.float64], bond_dimension: int, xp: Any = np) -> None:
        self.xp = xp  # NumPy or CuPy
        # Matrices of s = -1 and +1, shape (left, 2, right). Left of `centre` their columns are
        # orthonormal, right of it their rows.
        self.tensors = [xp.full((1, 2, 1), 0.5**0.5) for _ in couplings]
        self.centre = 0
        self.discarded = 0.0  # largest fraction of the squared norm lost in one truncation
        self._ranks = _rank_bounds(couplings, bond_dimension)

    def move_centre(self, first: int, last: int) -> None:
        """Bring the centre between two sites."""
        xp, tensors = self.xp, self.tensors
        while self.centre < first:
            left, _, right = tensors[self.centre].shape
            q, r = xp.linalg.qr(tensors[self.centre].reshape(2 * left, right))
            tensors[self.centre] = q.reshape(left, 2, -1)
            self.centre += 1
            tensors[self.centre] = xp.tensordot(r, tensors[self.centre], 1)
        while self.centre > last:
            left, _, right = tensors[self.centre].shape
            q, r = xp.linalg.qr(tensors[self.centre].reshape(left, 2 * right).T)
            tensors[self.centre] = xp.ascontiguousarray(q.T).reshape(-1, 2, right)
            self.centre -= 1
            tensors[self.centre] = tensors[self.centre] @ r.T

    def apply(self, gates: Gates) -> None:
        """Multiply by gates, cut the bonds back from left to right, and normalise."""
        xp, tensors = self.xp, self.tensors
        self.move_centre(gates.first, gates.last)
        environments = self._environments(gates)
        rows = xp.eye(tensors[gates.first].shape[0])[None]
        for site in range(gates.first, gates.last):
            left = rows.shape[1]
            rows = self._take_in(rows, gates, site)
            if site in environments:
                basis = self._basis(rows, environments[site], self._ranks[site])
                rows = basis.T @ rows
            else:
                basis = xp.eye(2 * left)
            tensors[site] = basis.reshape(left, 2, -1)
        left = rows.shape[1]
        final = self._take_in(rows, gates, gates.last).sum(axis=0).reshape(left, 2, -1)
        tensors[gates.last] = final / xp.linalg.norm(final)
        self.centre = gates.last

    def _environments(self, gates: Gates) -> dict[int, _Factor | _Gram]:
        """What lies right of each site whose bond exceeds its rank and is to be truncated."""
        start, bond = gates.first, self.tensors[gates.first].shape[0]
        while start < gates.last and 2 * bond <= self._ranks[start]:
            start, bond = start + 1, 2 * bond
        end = self.xp.eye(self.tensors[gates.last].shape[2])
        environment: _Factor | _Gram = _Factor(self.xp.stack([end] * 2**gates.carriers))
        found = {}
        for site in range(gates.last, start, -1):
            environment = environment.extended(self.tensors[site], gates, site, self.xp)
            found[site - 1] = environment
        return found

    def _take_in(self, rows: Array, gates: Gates, site: int) -> Array:
        """Extend rows (channels, left, bond) by a site to (channels, 2 left, next bond)."""
        weights = self.xp.asarray(gates.weights(site))
        tensor = self.tensors[site]
        channels, left, bond = rows.shape
        taller = (rows @ tensor.reshape(bond, -1)).reshape(channels, left, 2, -1)
        taller = taller * weights[:, None, :, None]
        if gates.opens(site):
            copied = self.xp.zeros((channels, 2, *taller.shape[1:]))
            for spin in range(2):
                copied[:, spin, :, spin] = taller[:, :, spin]
            taller = copied
        return taller.reshape(-1, 2 * left, tensor.shape[2])

    def _basis(self, rows: Array, right: _Factor | _Gram, rank: int) -> Array:
        """Orthonormal columns, at most `rank`, that hold most of the weight of a cut."""
        xp = self.xp
        exact = right.basis(rows, rank, xp)
        if exact is not None:
            return exact
        density = right.density(rows, xp)
        density = density / xp.trace(density)
        # LAPACK's eigh does not always converge when entries range over hundreds of orders.
        density = xp.where(xp.abs(density) < _NEGLIGIBLE, 0.0, density)
        weights, vectors = xp.linalg.eigh(density)
        below = np.cumsum(np.maximum(to_numpy(weights), 0.0))
        below /= below[-1]
        tail = int(np.searchsorted(below, max(_ROUNDING, _HARMLESS * self.discarded), side="right"))
        tail = max(tail, len(below) - rank)
        if tail:
            self.discarded = max(self.discarded, float(below[tail - 1]))
        return xp.ascontiguousarray(vectors[:, tail:])


def _rank_bounds(couplings: NDArray[np.float64], bond_dimension: int) -> list[int]:
    """Ranks that suffice: 2 to the number of spins coupled across a cut, on its smaller side."""
    coupled = (couplings + couplings.T) != 0
    bounds = []
    for cut in range(1, len(couplings)):
        across = coupled[:cut, cut:]
        spins = min(int(across.any(axis=1).sum()), int(across.any(axis=0).sum()))
        bounds.append(min(bond_dimension, 2**spins))
    return bounds
