"""Low-energy states from a matrix product state annealed in imaginary time.

A heuristic after Rams, Mohseni, Gardas (arXiv:1811.06518) and Jałowiecki, Rams, Gardas (Comput.
Phys. Commun. 260, 107728, 2021), section 5.2. The square root of the Boltzmann distribution is
written as a product of matrices, one a spin, and reached from infinite temperature in small steps;
its most probable configurations are then listed by branch and bound.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import ceil, isfinite
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_numpy
from hardscape.engine.device import Device, resolve
from hardscape.errors import InputError, MissingDependencyError
from hardscape.ising.model import Ising
from hardscape.ising.product_state import Gates, MatrixProductState
from hardscape.ising.result import Spectrum

__all__ = ["mps_spectrum"]

Order = Literal["given", "spectral"]

#: Spins whose gates are applied between two truncations: two truncate less often and keep more
#: weight than one in the same time, three take longer.
_CARRIERS = 2
#: Largest sum of exponents of one gate. The weights of two gates, squared, are then within float64.
_LARGEST_EXPONENT = 150.0
_MOST_STEPS = 10**6
#: Bond dimension from which ``device="auto"`` takes a GPU.
_WORTH_A_GPU = 256


def _schedule(model: Ising, beta: float, dbeta: float) -> tuple[int, float]:
    """Number of steps and their size: `dbeta` made to divide `beta`, or what float64 can take."""
    steps = ceil(beta / dbeta * (1 - 1e-12))
    size = beta / steps
    couplings = np.abs(model.J)
    sums = np.abs(model.h) + couplings.sum(axis=0) + couplings.sum(axis=1)
    largest = float(sums.max(initial=0.0))
    if largest > 2 * _LARGEST_EXPONENT / size:
        size = 2 * _LARGEST_EXPONENT / largest
    return steps, size


def _anneal(
    fields: NDArray[np.float64],
    couplings: NDArray[np.float64],
    bond_dimension: int,
    steps: int,
    step: float,
    xp: Any = np,
) -> MatrixProductState:
    r"""State close to :math:`e^{-\beta H / 2}` after `steps` steps of :math:`\beta`."""
    n = len(fields)
    fields, couplings = step / 2 * fields, step / 2 * couplings
    state = MatrixProductState(couplings, bond_dimension, xp)
    for _ in range(steps):
        for first in range(0, n, _CARRIERS):
            stop = min(first + _CARRIERS, n)
            partners = np.flatnonzero(couplings[first:stop].any(axis=0))
            last = max(stop - 1, int(partners.max(initial=0)))
            state.apply(Gates(first, last, fields[first:stop], couplings[first:stop]))
    return state


def _most_probable(state: MatrixProductState, width: int) -> NDArray[np.int8]:
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


def _spectral_order(couplings: NDArray[np.float64]) -> NDArray[np.intp]:
    """Spins along the Fiedler vector of the graph of ``|J|``, one component after the other."""
    weights = np.abs(couplings + couplings.T)
    weights /= weights.max(initial=1e-300)
    waiting = np.ones(len(weights), dtype=bool)
    order: list[NDArray[np.intp]] = []
    while waiting.any():
        members = np.zeros(len(weights), dtype=bool)
        members[np.argmax(waiting)] = True
        size = 0
        while size != members.sum():
            size = int(members.sum())
            members |= (weights[members] > 0).any(axis=0)
        waiting &= ~members
        component = np.flatnonzero(members)
        inside = weights[np.ix_(component, component)]
        if size > 2:
            laplacian = np.diag(inside.sum(axis=1)) - inside
            component = component[np.argsort(np.linalg.eigh(laplacian)[1][:, 1], kind="stable")]
        order.append(component)
    return np.concatenate(order) if order else np.empty(0, dtype=np.intp)


def _mps_states(
    model: Ising,
    *,
    bond_dimension: int,
    steps: int,
    step: float,
    width: int,
    order: Order = "given",
    xp: Any = np,
) -> tuple[NDArray[np.int8], float]:
    """Most probable states, int8 (n, N), in no order of energy, and the largest discarded weight.

    Without fields the first spin is held at +1 and every state is returned with its flip partner.
    """
    fields, couplings = model.h, model.J
    symmetric = model.num_spins > 0 and not fields.any()
    chosen = _spectral_order(couplings) if order == "spectral" else np.arange(model.num_spins)
    couplings = np.triu((couplings + couplings.T)[np.ix_(chosen, chosen)])
    fields = fields[chosen]
    if symmetric:
        fields, couplings = couplings[0, 1:], couplings[1:, 1:]
    state = _anneal(fields, couplings, bond_dimension, steps, step, xp)
    found = _most_probable(state, width)
    if symmetric:
        found = np.hstack([np.ones((len(found), 1), dtype=np.int8), found])
        found = np.vstack([found, -found])
    states = np.empty_like(found)
    states[:, chosen] = found
    return states, state.discarded


def mps_spectrum(
    model: Any,
    num_states: int = 100,
    *,
    bond_dimension: int = 128,
    beta: float = 1.0,
    dbeta: float = 0.25,
    width: int | None = None,
    order: Order = "given",
    device: str | Device = "auto",
) -> Spectrum:
    r"""Low-energy states of an Ising model by a matrix product state: a heuristic, never certified.

    The state :math:`|\Psi(\beta)\rangle \propto \sum_s e^{-\beta E(s)/2} |s\rangle` is annealed
    from :math:`\beta = 0` by the gates
    :math:`U_i = e^{-d\beta\, s_i (\sum_{j>i} J_{ij} s_j + h_i)/2}`, which commute. Bonds are cut
    back to `bond_dimension` by keeping the eigenvectors of largest weight of the reduced density
    matrix. The most probable configurations of :math:`p(s) = |\langle s|\Psi\rangle|^2` are then
    listed by branch and bound over its exact marginals. The energies returned are exact.

    Parameters
    ----------
    model : Ising or anything that :meth:`Ising.from_any` accepts
        N spins, up to a few hundred.
    num_states : int
        How many states to return, at most.
    bond_dimension : int
        Largest matrix dimension D. :math:`2^{N/2}` is enough for any state; a model with couplings
        over a distance w along the chain needs at most :math:`2^w`.
    beta : float
        Final inverse temperature, in units of one over the energy of the model as given. The
        default suits couplings of order 1: for a model c times as large, divide both `beta` and
        `dbeta` by c.
    dbeta : float
        Largest step, in the same units; ``ceil(beta / dbeta)`` equal steps are made. Where `dbeta`
        times a coupling is well above 1, gates act as projectors: the state is trapped in a local
        minimum, and `discarded_weight` does not show it.
    width : int, optional
        Prefixes kept by branch and bound, by default ``max(10 * num_states, 1000)``.
    order : {"given", "spectral"}
        Order of the spins along the chain: as given, or along the Fiedler vector of the graph of
        ``|J|``, which keeps coupled spins close together. On sparse graphs whose labels do not
        follow their geometry it lowers the discarded weight by orders of magnitude.
    device : str or Device
        "cpu" (NumPy), "cuda" or "cuda:n" (CuPy, one GPU); "auto" takes a GPU from D = 256 on.

    Returns
    -------
    Spectrum
        At most `num_states` states, with ``certified=False``. In `info`: ``method``, ``device``,
        ``seconds``, ``candidates`` (states found), ``bond_dimension``, ``beta`` and ``dbeta`` (as
        made), ``width``, ``order``, and ``discarded_weight``, the largest fraction of the squared
        norm lost in one truncation.

    Raises
    ------
    InputError
        If an argument is out of range, or `width` is less than `num_states`.
    DeviceError
        If the GPU asked for cannot be used.

    Notes
    -----
    Cost: :math:`O(N^2 D^3)` a step on a fully connected model, :math:`O(N w D^3)` with couplings up
    to a distance w; then :math:`O(N D^2)` for each prefix. Memory: about
    :math:`100 N D^2 + 32 D\,` `width` bytes.

    A model without fields is solved with one spin held, and each state is returned with its flip
    partner. Steps are shortened, at the same number, where `dbeta` times the couplings of one spin
    would leave the range of float64 (beyond 300); ``info["beta"]`` tells. No random numbers are
    used: the same input gives the same states on the same machine with as many BLAS threads.

    References
    ----------
    M. M. Rams, M. Mohseni, B. Gardas, arXiv:1811.06518 (2018).
    K. Jałowiecki, M. M. Rams, B. Gardas, Comput. Phys. Commun. 260, 107728 (2021), section 5.2.

    Examples
    --------
    >>> mps_spectrum(([0.5, 0, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 2).bit_strings()
    ['010', '101']
    """
    started = perf_counter()
    model = Ising.from_any(model)
    num_states = _count(num_states, "num_states")
    bond_dimension = _count(bond_dimension, "bond_dimension")
    width = max(10 * num_states, 1000) if width is None else _count(width, "width")
    if width < num_states:
        raise InputError(f"width={width}; at least num_states={num_states} is needed")
    _check_temperatures(beta, dbeta)
    if order not in ("given", "spectral"):
        raise InputError(f"order={order!r}; 'given' and 'spectral' are accepted")
    place = resolve(device, big_enough=bond_dimension >= _WORTH_A_GPU)[0]
    steps, step = _schedule(model, float(beta), float(dbeta))
    xp, on_device = _array_package(place)
    with on_device:
        states, discarded = _mps_states(
            model,
            bond_dimension=bond_dimension,
            steps=steps,
            step=step,
            width=width,
            order=order,
            xp=xp,
        )
    info = {
        "method": "mps",
        "device": str(place),
        "seconds": perf_counter() - started,
        "candidates": len(states),
        "bond_dimension": bond_dimension,
        "beta": steps * step,
        "dbeta": step,
        "width": width,
        "order": order,
        "discarded_weight": discarded,
    }
    return Spectrum.from_states(model, states, num_states, certified=False, info=info)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name}={value!r}; an integer of at least 1 is accepted")
    return int(value)


def _check_temperatures(beta: float, dbeta: float) -> None:
    for name, value in (("beta", beta), ("dbeta", dbeta)):
        real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not real or not isfinite(value) or value <= 0:
            raise InputError(f"{name}={value!r}; a positive finite number is accepted")
    if dbeta > beta:
        raise InputError(f"dbeta={dbeta!r} is larger than beta={beta!r}; at most beta is accepted")
    if dbeta < beta / _MOST_STEPS:
        raise InputError(f"dbeta={dbeta!r} makes more than {_MOST_STEPS} steps; take a larger one")


def _array_package(device: Device) -> tuple[Any, AbstractContextManager[Any]]:
    if device.kind == "cpu":
        return np, nullcontext()
    try:
        import cupy
    except ImportError:
        raise MissingDependencyError("cupy", "cuda", "mps_spectrum on a GPU") from None
    return cupy, cupy.cuda.Device(device.ordinal)
