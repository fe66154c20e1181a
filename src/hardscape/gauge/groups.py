"""Arrays of SU(2) and SU(3) matrices: random ones, how far from the group, and back to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import array_namespace
from hardscape.errors import InputError

__all__ = [
    "check_group",
    "check_seed",
    "dagger",
    "group_distance",
    "project_to_group",
    "random_group_elements",
    "third_row",
]

#: Squared length below which a row cannot be told from noise, whatever it was meant to be.
_VANISHING = 1e-12


def check_group(nc: int) -> int:
    """Check the number of colours.

    Raises
    ------
    InputError
        If it is neither 2 nor 3.
    """
    if isinstance(nc, bool) or nc not in (2, 3):
        raise InputError(f"nc={nc!r}; 2 and 3 are accepted, for SU(2) and SU(3)")
    return int(nc)


def check_seed(seed: int) -> int:
    """Check a seed of random numbers.

    Raises
    ------
    InputError
        If it is no integer from 0 to 2**64 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed={seed!r}; an integer from 0 to 2**64 - 1 is accepted")
    return int(seed)


def dagger(matrices: Any) -> Any:
    """Hermitian conjugates of matrices in the last two axes."""
    return matrices.conj().swapaxes(-1, -2)


def third_row(rows: Any) -> Any:
    """Third rows of SU(3) matrices, shape (..., 3), from the first two, shape (..., 2, 3)."""
    xp = array_namespace(rows)
    return xp.cross(rows[..., 0, :], rows[..., 1, :]).conj()


def random_group_elements(count: int, nc: int, seed: int) -> NDArray[np.complex128]:
    """Matrices from the Haar measure, shape (count, nc, nc); matrix n is a function of seed and n.

    Rows of complex Gaussian numbers are orthonormalised in turn; the last row follows from the others
    and det = 1. Such rows are distributed invariantly, so the matrices are too.

    Parameters
    ----------
    count : int
    nc : {2, 3}
    seed : int
        From 0 to 2**64 - 1.
    """
    elements: NDArray[np.complex128] = native.vector.gauge.random_elements(
        count, check_group(nc), check_seed(seed)
    )
    return elements


def _complete_rows(rows: Any, nc: int) -> Any:
    """Orthonormalise the first Nc - 1 rows in turn and add the last one."""
    xp = array_namespace(rows)
    result = xp.empty((*rows.shape[:-2], nc, nc), dtype=rows.dtype)
    first = _normalised(rows[..., 0, :])
    result[..., 0, :] = first
    if nc == 2:
        result[..., 1, 0] = -first[..., 1].conj()
        result[..., 1, 1] = first[..., 0].conj()
        return result
    second = rows[..., 1, :]
    overlap = xp.sum(first.conj() * second, axis=-1, keepdims=True)
    result[..., 1, :] = _normalised(second - overlap * first)
    result[..., 2, :] = third_row(result[..., :2, :])
    return result


def _normalised(vectors: Any) -> Any:
    xp = array_namespace(vectors)
    square = xp.sum(vectors.real**2 + vectors.imag**2, axis=-1, keepdims=True)
    if not bool((square > _VANISHING).all()):
        position = [int(i) for i in xp.argwhere(~(square[..., 0] > _VANISHING))[0]]
        raise InputError(
            f"the matrix at {position} has rows that vanish or are parallel; "
            "only matrices near the group can be brought back to it"
        )
    return vectors / xp.sqrt(square)


def project_to_group(matrices: Any) -> Any:
    """Bring matrices near the group, shape (..., Nc, Nc), back to it.

    Raises
    ------
    InputError
        If a matrix is singular, so that it does not tell which element it meant.
    """
    nc = matrices.shape[-1]
    if nc == 3:
        return _complete_rows(matrices[..., :2, :], 3)
    # The part of a 2x2 matrix that is a real multiple of an SU(2) element; it is the nearest one.
    first = (matrices[..., 0, :] + _quaternion_row(matrices[..., 1, :])) / 2
    return _complete_rows(first[..., None, :], 2)


def _quaternion_row(second: Any) -> Any:
    """First row (d*, -c*) that goes with the second row (c, d) of an SU(2) matrix."""
    xp = array_namespace(second)
    return xp.stack([second[..., 1].conj(), -second[..., 0].conj()], axis=-1)


def group_distance(matrices: Any) -> Any:
    """Largest entry of abs(U U^dagger - 1) and abs(det U - 1) of each matrix, shape (...).

    Row by row: products of many small matrices are slow in CuPy.
    """
    xp = array_namespace(matrices)
    nc = matrices.shape[-1]
    rows = [matrices[..., i, :] for i in range(nc)]
    distance = xp.zeros(matrices.shape[:-2], dtype=rows[0].real.dtype)
    for i in range(nc):
        for j in range(i, nc):
            product = xp.sum(rows[i] * rows[j].conj(), axis=-1) - (i == j)
            distance = xp.maximum(distance, xp.abs(product))
    if nc == 2:
        determinant = rows[0][..., 0] * rows[1][..., 1] - rows[0][..., 1] * rows[1][..., 0]
    else:
        determinant = xp.sum(third_row(matrices[..., :2, :]).conj() * rows[2], axis=-1)
    return xp.maximum(distance, xp.abs(determinant - 1))
