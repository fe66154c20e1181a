"""A matrix product state annealed in imaginary time, as a chain for the engine.

After Rams, Mohseni, Gardas (arXiv:1811.06518) and Jałowiecki, Rams, Gardas (Comput. Phys. Commun. 260,
107728, 2021), section 5.2. The square root of the Boltzmann distribution is written as a product of
matrices, one a spin, and reached from infinite temperature in small steps; its most probable
configurations are then listed by branch and bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_numpy
from hardscape.engine import Chain, Cuda, Device, Partial, Team, cuda_device
from hardscape.ising.methods.counting import components
from hardscape.ising.methods.mps.product_state import Gates, MatrixProductState
from hardscape.ising.model import Ising

#: Spins whose gates are applied between two truncations: two truncate less often and keep more
#: weight than one in the same time, three take longer.
_CARRIERS = 2
#: Largest sum of exponents of one gate. The weights of two gates, squared, are then within float64.
_LARGEST_EXPONENT = 150.0


def schedule(model: Ising, beta: float, dbeta: float) -> tuple[int, float]:
    """Number of steps and their size: `dbeta` made to divide `beta`, or what float64 can take."""
    steps = ceil(beta / dbeta * (1 - 1e-12))
    size = beta / steps
    couplings = np.abs(model.J)
    sums = np.abs(model.h) + couplings.sum(axis=0) + couplings.sum(axis=1)
    largest = float(sums.max(initial=0.0))
    if largest > 2 * _LARGEST_EXPONENT / size:
        size = 2 * _LARGEST_EXPONENT / largest
    return steps, size


@dataclass(frozen=True, eq=False)
class Line:
    """The spins of a model along a chain. Without fields the first one is held at +1."""

    order: NDArray[np.intp]  #: the model's spin at each of N places
    symmetric: bool
    fields: NDArray[np.float64]  #: of the n places that are free
    couplings: NDArray[np.float64]  #: upper triangle, shape (n, n)

    @classmethod
    def of(cls, model: Ising, *, spectral: bool) -> Line:
        """Take the spins as given, or in `spectral_order`."""
        fields, couplings = model.h, model.J
        symmetric = model.num_spins > 0 and not fields.any()
        order = spectral_order(couplings) if spectral else np.arange(model.num_spins)
        couplings = np.triu((couplings + couplings.T)[np.ix_(order, order)])
        fields = fields[order]
        if symmetric:
            fields, couplings = couplings[0, 1:], couplings[1:, 1:]
        return cls(order, symmetric, fields, couplings)

    def in_model(self, found: NDArray[np.int8]) -> NDArray[np.int8]:
        """States of the free places as states of the model, with their flip partners if `symmetric`."""
        if self.symmetric:
            found = np.hstack([np.ones((len(found), 1), dtype=np.int8), found])
            found = np.vstack([found, -found])
        states = np.empty_like(found)
        states[:, self.order] = found
        return states


@contextmanager
def _arrays(device: Device) -> Iterator[Any]:
    """A context in which arrays are made on a device; it yields their package."""
    if isinstance(device, Cuda):
        with cuda_device(device.ordinal):
            import cupy

            yield cupy
    else:
        yield np


class Annealing(Chain[MatrixProductState]):
    r"""The way of a matrix product state to :math:`e^{-\beta H / 2}`; a step applies some gates."""

    name: ClassVar[str] = "ising.mps"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "pairs of gates"

    def __init__(
        self, spins: Line, bond_dimension: int, step: float, sweeps: int, device: Device
    ) -> None:
        self._given = (spins, bond_dimension, step, sweeps, device)
        self._fields, self._couplings = step / 2 * spins.fields, step / 2 * spins.couplings
        self._bond_dimension = bond_dimension
        self._device = device
        # Steps of the chain for each of the `sweeps` steps of beta, whose size is `step`.
        self.parts = -(-len(self._fields) // _CARRIERS)
        self.total = sweeps * self.parts
        self._done = 0
        with _arrays(device) as xp:
            self._state = MatrixProductState(self._couplings, bond_dimension, xp)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._given, self.state())

    def digest(self) -> str:
        """Hash of the scaled model, the bond dimension and the type of device."""
        kind = type(self._device).__name__
        text = repr((self._fields.tolist(), self._couplings.tolist(), self._bond_dimension, kind))
        return hashlib.sha256(text.encode()).hexdigest()

    def lanes(self, most: int) -> int:
        """One: the threads are those of BLAS."""
        return 1

    def advance(self, count: int, team: Team) -> int:
        """Apply the gates of some pairs of spins, each after the last."""
        with _arrays(self._device):
            for i in range(count):
                if team.stop[0]:
                    return i
                self._state.apply(self._gates(self._done % self.parts * _CARRIERS))
                self._done += 1
        return count

    def _gates(self, first: int) -> Gates:
        stop = min(first + _CARRIERS, len(self._fields))
        partners = np.flatnonzero(self._couplings[first:stop].any(axis=0))
        last = max(stop - 1, int(partners.max(initial=0)))
        return Gates(first, last, self._fields[first:stop], self._couplings[first:stop])

    def state(self) -> Partial:
        """The matrices, and what they lost."""
        tensors = [to_numpy(tensor) for tensor in self._state.tensors]
        return {
            "entries": np.concatenate([np.empty(0), *(tensor.ravel() for tensor in tensors)]),
            "bonds": np.array([tensor.shape[2] for tensor in tensors], dtype=np.int64),
            "centre": np.array(self._state.centre),
            "discarded": np.array(self._state.discarded),
            "done": np.array(self._done),
        }

    def restore(self, state: Partial) -> None:
        """Go on from there."""
        bonds = [1, *state["bonds"].tolist()]
        shapes = [(left, 2, right) for left, right in pairwise(bonds)]
        ends = np.cumsum([0, *(left * 2 * right for left, _, right in shapes)])
        with _arrays(self._device) as xp:
            self._state.tensors = [
                xp.array(state["entries"][ends[i] : ends[i + 1]].reshape(shape))
                for i, shape in enumerate(shapes)
            ]
        self._state.centre = int(state["centre"])
        self._state.discarded = float(state["discarded"])
        self._done = int(state["done"])

    def result(self) -> MatrixProductState:
        """The state as it is now."""
        return self._state

    def most_probable(self, width: int) -> NDArray[np.int8]:
        """Its most probable configurations, int8 (n, N), in no order of energy."""
        with _arrays(self._device):
            return most_probable(self._state, width)


def _restored(given: tuple[Any, ...], state: Partial) -> Annealing:
    chain = Annealing(*given)
    chain.restore(state)
    return chain


def most_probable(state: MatrixProductState, width: int) -> NDArray[np.int8]:
    """Branch and bound from left to right, keeping the `width` most probable prefixes at each spin.

    Marginals of prefixes are exact for the state: right of the centre all matrices are orthonormal.
    """
    state.move_centre(0, 0)
    xp = state.xp
    vectors = xp.ones((1, 1))
    logs = np.zeros(1)
    states = np.empty((1, len(state.tensors)), dtype=np.int8)
    for site, tensor in enumerate(state.tensors):
        left, _, right = tensor.shape
        branches = (vectors @ tensor.reshape(left, 2 * right)).reshape(-1, right)
        norms = to_numpy(xp.sqrt((branches * branches).sum(axis=1)))
        with np.errstate(divide="ignore"):
            probability = np.repeat(logs, 2) + 2 * np.log(norms)
        best = np.argsort(-probability, kind="stable")[:width]
        best = best[probability[best] > -np.inf]
        logs = probability[best]
        vectors = branches[xp.asarray(best)] / xp.asarray(norms[best])[:, None]
        states = states[best // 2]
        states[:, site] = 2 * (best % 2) - 1
    return states


def spectral_order(couplings: NDArray[np.float64]) -> NDArray[np.intp]:
    """Spins along the Fiedler vector of the graph of ``|J|``, one component after the other."""
    weights = np.abs(couplings + couplings.T)
    weights /= weights.max(initial=1e-300)
    near = [np.flatnonzero(row).tolist() for row in weights]
    order: list[NDArray[np.intp]] = []
    for component in map(np.array, sorted(map(sorted, components(near)))):
        inside = weights[np.ix_(component, component)]
        if len(component) > 2:
            laplacian = np.diag(inside.sum(axis=1)) - inside
            component = component[np.argsort(np.linalg.eigh(laplacian)[1][:, 1], kind="stable")]
        order.append(component)
    return np.concatenate(order) if order else np.empty(0, dtype=np.intp)
