"""Photons on their way into an interferometer, as the kernel of the sampler takes them."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import as_number_array
from hardscape.errors import InputError
from hardscape.permanents.matrix import intake
from hardscape.permanents.structure.multiplicity import multiplicities

#: How far an interferometer and overlaps may be from what physics allows, as in single precision.
_TOLERANCE = 1e-6
#: Photons, at most, as results hold them, and of those that interfere: signs are counted in 64 bits.
_MOST, MOST_TOGETHER = 2**15 - 1, 62


@dataclass(frozen=True, eq=False)
class Photons:
    """Amplitudes of photons, and which of them may interfere."""

    entries: NDArray[np.float64]  #: shape (2, photons, rows): real and imaginary parts
    groups: NDArray[np.int32]  #: shape (photons,); those of different groups never interfere
    kept: NDArray[np.float64]  #: shape (photons,): probability to get to the interferometer
    overlap: float  #: probability of a photon to interfere with others at all
    modes: NDArray[np.int32]  #: shape (rows,): the output that a row belongs to; -1 is lost
    outputs: int

    @property
    def together(self) -> int:
        """Most photons that may interfere."""
        return int(np.bincount(self.groups).max()) if self.overlap > 0 and self.groups.size else 1


def photons_of(a: Any, photons: Any, overlap: Any, transmission: Any) -> Photons:
    """Check what :func:`hardscape.permanents.sample` is given."""
    matrix = intake(a)
    if matrix.is_batch:
        raise InputError("a is a batch; one matrix of shape (outputs, inputs) is accepted")
    amplitudes: NDArray[Any] = matrix.entries.astype(np.complex128)
    if matrix.transposed:
        amplitudes = amplitudes.T
    counts = multiplicities(photons, "photons", amplitudes.shape[1])
    inputs = np.repeat(np.arange(len(counts)), counts)
    if len(inputs) > _MOST:
        raise InputError(f"photons add up to {len(inputs)}; up to {_MOST} are accepted")
    kept = _probabilities(transmission, amplitudes.shape[1])[inputs]
    whole = _completed(amplitudes, np.array(counts) > 0)
    modes = np.full(len(whole), -1, dtype=np.int32)
    modes[: len(amplitudes)] = np.arange(len(amplitudes))
    columns = whole.T[inputs]
    groups = np.zeros(len(inputs), dtype=np.int32)
    share = 1.0
    if isinstance(overlap, numbers.Real):
        share = _share(overlap, "overlap")
    else:
        states = _internal_states(overlap, inputs)
        groups = _connected(states @ states.conj().T)
        # An output and a state inside a photon, one after the other.
        columns = (columns[:, :, None] * states[:, None, :]).reshape(len(inputs), -1)
        modes = np.repeat(modes, states.shape[1])
    entries = np.ascontiguousarray(np.stack([columns.real, columns.imag]))
    return Photons(entries, groups, kept, share, modes, len(amplitudes))


def _share(value: Any, name: str) -> float:
    if not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name} is {value!r}; a number from 0 to 1 is accepted")
    return float(value)


def _probabilities(given: Any, inputs: int) -> NDArray[np.float64]:
    if isinstance(given, numbers.Real):
        return np.full(inputs, _share(given, "transmission"))
    values = as_number_array(given, "transmission").tolist()
    if not isinstance(values, list) or len(values) != inputs:
        raise InputError(f"transmission is {given!r:.60}; one number or {inputs} are accepted")
    return np.array([_share(x, f"transmission[{i}]") for i, x in enumerate(values)])


def _completed(amplitudes: NDArray[Any], used: NDArray[np.bool_]) -> NDArray[Any]:
    r"""The matrix with further rows, for what is lost, so that its used columns are orthonormal.

    With :math:`1 - A^\dagger A = V \Lambda V^\dagger` they are :math:`\sqrt\Lambda V^\dagger`.
    """
    columns = amplitudes[:, used]
    lost, vectors = np.linalg.eigh(np.eye(columns.shape[1]) - columns.conj().T @ columns)
    if lost.min(initial=0.0) < -_TOLERANCE:
        raise InputError(
            f"the matrix amplifies: its largest singular value is {np.sqrt(1 - lost.min()):.6g} in the inputs "
            "with photons; 1 or less is accepted (a unitary matrix, some of its columns, or less)"
        )
    absorbed = lost > _TOLERANCE
    rows = np.zeros((int(absorbed.sum()), amplitudes.shape[1]), dtype=np.complex128)
    rows[:, used] = np.sqrt(lost[absorbed])[:, None] * vectors[:, absorbed].conj().T
    return np.vstack([amplitudes, rows])


def _internal_states(overlap: Any, inputs: NDArray[np.int64]) -> NDArray[Any]:
    """States inside the photons, one a row, whose overlaps are given: as many dimensions as its rank."""
    gram = np.array(as_number_array(overlap, "overlap"), dtype=np.complex128)
    n = len(inputs)
    if gram.shape != (n, n) or not np.isfinite(gram).all():
        raise InputError(
            f"overlap has shape {gram.shape}; a number from 0 to 1, or the finite overlaps of all "
            f"photons with one another, shape ({n}, {n}), are accepted"
        )
    values, vectors = np.linalg.eigh(gram)
    if (
        np.abs(gram - gram.conj().T).max(initial=0) > _TOLERANCE
        or np.abs(np.diag(gram) - 1).max(initial=0) > _TOLERANCE
        or values.min(initial=0) < -_TOLERANCE
    ):
        raise InputError("overlap is not hermitian and positive with a diagonal of 1")
    shared = (inputs[:, None] == inputs) & (np.abs(np.abs(gram) - 1) > _TOLERANCE)
    if (np.abs(gram[shared]) > _TOLERANCE).any():
        raise InputError(
            "overlap has photons of one input that are neither equal nor orthogonal; one photon an "
            "input is accepted then"
        )
    real = values > _TOLERANCE
    states: NDArray[Any] = (vectors[:, real] * np.sqrt(values[real])).conj()
    return states


def _connected(gram: NDArray[Any]) -> NDArray[np.int32]:
    """The parts of the graph of overlaps that are not 0."""
    reach = np.abs(gram) > _TOLERANCE
    for _ in range(len(reach).bit_length()):
        reach = reach @ reach
    _, groups = np.unique(reach.argmax(axis=1), return_inverse=True)
    return groups.astype(np.int32)
