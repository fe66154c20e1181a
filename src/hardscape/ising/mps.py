"""Low-energy states from a matrix product state annealed in imaginary time: a heuristic."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from time import perf_counter
from typing import Any, Literal, Unpack

import numpy as np

from hardscape import memory
from hardscape.arguments import integer
from hardscape.engine import RunArguments, RunOptions, steps
from hardscape.errors import AccuracyWarning, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.ising.methods.mps.annealing import Annealing, Line, schedule
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum
from hardscape.ising.search import search

Order = Literal["given", "spectral"]

#: Most of a count: states, prefixes, the bond dimension.
_MOST = 2**31 - 1
_MOST_STEPS, _MOST_BETA = 10**6, 1e300
#: Bond dimension from which ``device="auto"`` takes a GPU.
_WORTH_A_GPU = 256
#: Exponents of a step's gates above which they project; most of a state that a truncation may lose unwarned.
_PROJECTING, _MUCH_WEIGHT = 2.0, 0.1
#: Prefixes kept, a state wanted.
_WIDTH = 40
#: Share of the states known from elsewhere that may be missing unwarned.
_MANY_MISSED = 0.05
#: Rough rate of branch and bound, operations/s: what a time limit keeps back for it.
_RATE = 1e10


@interruptible
def mps_spectrum(
    model: Any,
    num_states: int | None = None,
    *,
    bond_dimension: int = 128,
    beta: float | None = None,
    dbeta: float | None = None,
    width: int | None = None,
    order: Order = "given",
    **run: Unpack[RunArguments],
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
    num_states : int, optional
        How many states to return, at most.
    bond_dimension : int
        Largest matrix dimension D. :math:`2^{N/2}` is enough for any state; a model with couplings
        over a distance w along the chain needs at most :math:`2^w`.
    beta : float, optional
        Final inverse temperature, in units of one over the energy of the model as given. By default
        :math:`2 / a`, where :math:`a^2` is the mean over the spins of :math:`h_i^2 + \sum_j J_{ij}^2`: 1 for
        couplings of size 1 on a square lattice, 0.28 for 50 spins with standard normal couplings among all.
    dbeta : float, optional
        Largest step, in the same units, by default :math:`1 / (2a)`; ``ceil(beta / dbeta)`` equal steps are
        made. Where `dbeta` times a coupling is well above 1, gates act as projectors: the state is trapped
        in a local minimum, and `discarded_weight` does not show it.
    width : int, optional
        Prefixes kept by branch and bound, by default ``max(40 * num_states, 1000)``: more
        find more of the states, in time that grows with it.
    order : {"given", "spectral"}
        Order of the spins along the chain: as given, or along the Fiedler vector of the graph of
        ``|J|``, which keeps coupled spins close together. On sparse graphs whose labels do not
        follow their geometry it lowers the discarded weight by orders of magnitude.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. One GPU at most; "auto" takes it from
        D = 256 on. `threads` and `seed` have no effect: BLAS has its own threads, and nothing is drawn.
        When `time_limit` is over, the annealing ends at the temperature that it has come to, and the
        states most probable there are listed; ``info["stopped"]`` tells. One worker of `executor`
        anneals.

    Returns
    -------
    Spectrum
        At most `num_states` states, with ``certified=False``. In `info`: ``method``, ``device``,
        ``seconds``, ``candidates`` (states found), ``bond_dimension``, ``beta`` and ``dbeta`` (as
        made), ``width``, ``order``, ``discarded_weight``, the largest fraction of the squared norm
        lost in one truncation, ``search_energy``, the lowest energy that a short tabu search finds (one
        run of :func:`hardscape.ising.search`, always the same; None where the call was cut short),
        ``search_states``, how many of its states belong into the list, as they lie below the last state of a
        full one, ``missed_states``, how many of these are not in it, and ``stopped``, empty if `beta` was
        reached.

    Warns
    -----
    AccuracyWarning
        If the tabu search finds a lower energy, or more than a twentieth of its states are missing, or a
        truncation lost more than a tenth.

    Raises
    ------
    InputError
        If an argument is out of range, or `width` is less than `num_states`.
    DeviceError
        If the GPU asked for cannot be used.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far, if there is one.

    Notes
    -----
    Cost: :math:`O(N^2 D^3)` a step on a fully connected model, :math:`O(N w D^3)` with couplings up
    to a distance w; then :math:`O(N D^2)` for each prefix. Memory: about
    :math:`100 N D^2 + 32 D\,` `width` bytes.

    A model without fields is solved with one spin held, and each state is returned with its flip
    partner. Steps are shortened, at the same number, where `dbeta` times the couplings of one spin
    would leave the range of float64 (beyond 300); ``info["beta"]`` tells. No random numbers are
    used: the same input gives the same states on the same machine with as many BLAS threads, cut
    and resumed or not.

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
    num_states = 100 if num_states is None else integer(num_states, "num_states", 1, _MOST)
    bond_dimension = integer(bond_dimension, "bond_dimension", 1, _MOST)
    width = max(_WIDTH * num_states, 1000) if width is None else integer(width, "width", 1, _MOST)
    if width < num_states:
        raise InputError(f"width={width}; at least num_states={num_states} is needed")
    natural = _natural_beta(model)
    beta = natural if beta is None else _positive(beta, "beta")
    dbeta = min(beta, natural / 4) if dbeta is None else _positive(dbeta, "dbeta")
    _check_steps(beta, dbeta)
    if order not in ("given", "spectral"):
        raise InputError(f"order={order!r}; 'given' and 'spectral' are accepted")
    options = RunOptions.checked(big_enough=bond_dimension >= _WORTH_A_GPU, **run)
    options = options.on(options.devices[:1])
    sweeps, step = schedule(model, beta, dbeta)
    spins = Line.of(model, spectral=order == "spectral")
    size = 100 * model.num_spins * bond_dimension**2 + 32 * bond_dimension * width
    memory.require(size, f"a matrix product state of {model.num_spins} spins, D = {bond_dimension}")
    options.deadline.reserve(4 * model.num_spins * bond_dimension**2 * width / _RATE)
    chain = Annealing(spins, bond_dimension, step, sweeps, options.devices[0])
    outcome = steps(chain, options)
    if outcome.signum and not outcome.units_done:
        raise Interrupted(outcome.signum)
    states = spins.in_model(chain.most_probable(width))
    found = Spectrum.from_states(model, states, num_states, certified=False, info={})
    known = None
    if not outcome.cut:
        known = search(model, num_states, runs=1, seed=0, device="cpu", threads=1)
    beside, missed = (0, 0) if known is None else _beside(found, known, num_states)
    reached = sweeps if outcome.complete else outcome.units_done / chain.parts
    info = {
        "method": "mps",
        "device": str(options.devices[0]),
        "seconds": perf_counter() - started,
        "candidates": len(states),
        "bond_dimension": bond_dimension,
        "beta": reached * step,
        "dbeta": step,
        "width": width,
        "order": order,
        "discarded_weight": chain.result().discarded,
        "search_energy": None if known is None else float(known.energies[0]),
        "search_states": beside,
        "missed_states": missed,
        "stopped": outcome.cut,
    }
    found = replace(found, info=info)
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    for doubt in () if outcome.cut else _doubts(model, found):
        warnings.warn(doubt, AccuracyWarning, stacklevel=3)
    return found


def _beside(found: Spectrum, known: Spectrum, num_states: int) -> tuple[int, int]:
    """Of the states that another method met: how many belong into the list, and how many are not in it."""
    full = found.num_states == num_states
    low = known.energies < found.energies[-1] if full else np.ones(known.num_states, bool)
    listed = set(found.bit_strings())
    missed = [state not in listed for state in np.array(known.bit_strings())[low].tolist()]
    return len(missed), sum(missed)


def _doubts(model: Ising, found: Spectrum) -> Iterator[str]:
    """Why these states may not be the lowest, as far as it shows."""
    lowest, known = float(found.energies[0]), found.info["search_energy"]
    if known < lowest:
        largest = max(np.abs(x).max(initial=0.0) for x in (model.h, model.couplings[2]))
        exponent = found.info["dbeta"] * float(largest)
        cure = "take another beta, or a larger bond_dimension"
        if exponent > _PROJECTING:
            cure = (
                f"dbeta times the largest coefficient is {exponent:.3g}, so that each step projects and the "
                f"state is trapped: take dbeta={found.info['dbeta'] / exponent:.2g} or less"
            )
        yield f"a short tabu search finds the energy {known!r}, and the lowest here is {lowest!r}; {cure}"
    elif found.info["missed_states"] > _MANY_MISSED * found.info["search_states"]:
        yield (
            f"of {found.info['search_states']} states that a short tabu search meets and that belong into the "
            f"list, {found.info['missed_states']} are not in it; take a larger width or bond_dimension, or "
            "another beta"
        )
    if found.info["discarded_weight"] > _MUCH_WEIGHT:
        yield (
            f"a truncation lost {found.info['discarded_weight']:.2g} of the state; take a larger "
            "bond_dimension, or order='spectral'"
        )


def _natural_beta(model: Ising) -> float:
    """2 over the root mean square field of a spin in a random state: colder than where spins freeze."""
    i, j, values = model.couplings
    largest = max(np.abs(x).max(initial=0.0) for x in (model.h, values))
    if not largest:
        return 1.0
    squares = np.square(model.h / largest)
    for ends in (i, j):
        np.add.at(squares, ends, np.square(values / largest))
    return float(min(2 / largest / np.sqrt(squares.mean()), _MOST_BETA))


def _positive(value: Any, name: str) -> float:
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not real or not isfinite(value) or value <= 0:
        raise InputError(f"{name}={value!r}; a positive finite number is accepted")
    return float(value)


def _check_steps(beta: float, dbeta: float) -> None:
    if dbeta > beta:
        raise InputError(f"dbeta={dbeta!r} is larger than beta={beta!r}; at most beta is accepted")
    if dbeta < beta / _MOST_STEPS:
        raise InputError(f"dbeta={dbeta!r} makes more than {_MOST_STEPS} steps; take a larger one")
