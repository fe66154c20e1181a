"""Arrays of SU(N) matrices: random ones, how far from the group, and back to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arguments import MAX_SEED, integer
from hardscape.arrays import array_namespace
from hardscape.errors import InputError

#: Squared length below which a row cannot be told from noise, whatever it was meant to be.
_VANISHING = 1e-12


class Group:
    """SU(nc): what depends on the number of colours."""

    def __init__(self, nc: int) -> None:
        self.nc = nc

    @property
    def above(self) -> int:
        """Entries of a matrix above its diagonal."""
        return self.nc * (self.nc - 1) // 2

    @property
    def components(self) -> int:
        """Complex numbers of a packed matrix of the algebra (`Algebra` of algebra.hpp)."""
        return self.above + self.nc // 2

    def last_row(self, rows: Any) -> Any:
        """Last rows, shape (..., Nc), of matrices given by the others, shape (..., Nc - 1, Nc)."""
        # Their cofactors' conjugates. Minors of the first rows grow by a row at a time, expanded in it.
        minors: dict[tuple[int, ...], Any] = {(): 1.0}
        for row in range(self.nc - 1):
            minors = {
                columns: sum(
                    (-1) ** (row + i) * rows[..., row, j] * minors[columns[:i] + columns[i + 1 :]]
                    for i, j in enumerate(columns)
                )
                for columns in combinations(range(self.nc), row + 1)
            }
        cofactors = [(-1) ** (j + self.nc - 1) * x for j, x in enumerate(reversed(minors.values()))]
        return array_namespace(rows).stack(cofactors, axis=-1).conj()

    def project(self, matrices: Any) -> Any:
        """Bring matrices near the group back to it, shape (..., Nc, Nc)."""
        return self.completed(matrices[..., : self.nc - 1, :])

    def completed(self, rows: Any) -> Any:
        """Orthonormalise the first Nc - 1 rows in turn and add the last one."""
        xp = array_namespace(rows)
        result = xp.empty((*rows.shape[:-2], self.nc, self.nc), dtype=rows.dtype)
        for i in range(self.nc - 1):
            row = rows[..., i, :]
            for j in range(i):
                other = result[..., j, :]
                row = row - xp.sum(other.conj() * row, axis=-1, keepdims=True) * other
            result[..., i, :] = _normalised(row)
        result[..., self.nc - 1, :] = self.last_row(result[..., : self.nc - 1, :])
        return result


class _SU2(Group):
    def last_row(self, rows: Any) -> Any:
        xp = array_namespace(rows)
        return xp.stack([-rows[..., 0, 1].conj(), rows[..., 0, 0].conj()], axis=-1)

    def project(self, matrices: Any) -> Any:
        # The part of a 2x2 matrix that is a real multiple of an SU(2) element; it is the nearest one.
        first = (matrices[..., :1, :] - self.last_row(matrices[..., 1:, :])[..., None, :]) / 2
        return self.completed(first)


class _SU3(Group):
    def last_row(self, rows: Any) -> Any:
        return array_namespace(rows).cross(rows[..., 0, :], rows[..., 1, :]).conj()


#: Numbers of colours that there are groups of.
COLOURS = (2, 3, 4, 5, 6, 7, 8)
_GROUPS: dict[int, Group] = {2: _SU2(2), 3: _SU3(3)} | {nc: Group(nc) for nc in COLOURS[2:]}


def group(nc: int) -> Group:
    """The group of `nc` colours."""
    if isinstance(nc, bool) or nc not in _GROUPS:
        raise InputError(
            f"nc={nc!r}; 2 to {COLOURS[-1]} are accepted, for SU(2) to SU({COLOURS[-1]})"
        )
    return _GROUPS[nc]


def dagger(matrices: Any) -> Any:
    """Hermitian conjugates of matrices in the last two axes."""
    return matrices.conj().swapaxes(-1, -2)


def random_group_elements(count: int, nc: int, seed: int) -> NDArray[np.complex128]:
    """Matrices from the Haar measure, shape (count, nc, nc); matrix n is a function of seed and n.

    Rows of complex Gaussian numbers are orthonormalised in turn; the last row follows from the others
    and det = 1. Such rows are distributed invariantly, so the matrices are too.
    """
    return native.vector.gauge.random_elements(
        count, group(nc).nc, integer(seed, "seed", 0, MAX_SEED)
    )


def unclear(position: Sequence[int]) -> InputError:
    """The refusal of a matrix that does not tell which element of the group it meant."""
    return InputError(
        f"the matrix at {list(position)} has rows that vanish or are parallel; "
        "only matrices near the group can be brought back to it"
    )


def _normalised(vectors: Any) -> Any:
    xp = array_namespace(vectors)
    square = xp.sum(vectors.real**2 + vectors.imag**2, axis=-1, keepdims=True)
    if not bool((square > _VANISHING).all()):
        position = [int(i) for i in xp.argwhere(~(square[..., 0] > _VANISHING))[0]]
        raise unclear(position)
    return vectors / xp.sqrt(square)


def project_to_group(matrices: Any) -> Any:
    """Bring matrices near the group, shape (..., Nc, Nc), back to it."""
    return group(matrices.shape[-1]).project(matrices)
