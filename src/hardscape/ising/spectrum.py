"""The exact low-energy spectrum by exhaustive search."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hardscape.engine import Device, Outcome, Progress, ProgressEvent, resolve, run
from hardscape.errors import BudgetError, InputError, Interrupted
from hardscape.ising.exact import dyadic
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum, spectral_order
from hardscape.ising.search import CHUNK_BITS, COUNTERS, SpectrumWork, first_state, unpack

__all__ = ["MAX_SPINS", "MAX_STATES", "Estimate", "estimate", "spectrum"]

#: States are 64-bit integers.
MAX_SPINS = 64
#: Most states that one call lists: 2**24.
MAX_STATES = 1 << 24
#: From this many spins on, "auto" takes a GPU when every state is visited: starting one costs a second.
_GPU_SPINS = 36


def spectrum(
    model: Any,
    num_states: int | None = None,
    *,
    window: float | None = None,
    device: str | Device = "auto",
    threads: int | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    prune: bool = True,
) -> Spectrum:
    r"""Find the states of lowest energy of an Ising model, exactly and with a certificate.

    All :math:`2^N` states are accounted for: blocks of 2**14 states (2**12 on CUDA) are filtered in 16-bit
    integers with a proven rounding bound, and what passes is evaluated in exact integer arithmetic.

    Parameters
    ----------
    model : Ising or anything `Ising.from_any` takes
        At most 64 spins. :math:`E(s) = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`.
    num_states : int, optional
        How many states to list, 1 to 2**24; by default 100, or with `window` as many as it holds.
        Fewer come back only if the model (or the window) has no more.
    window : float, optional
        List only states with energy at most this much above the ground state.
    device : str
        "cpu", "cuda" (all GPUs), "cuda:0", "cuda:0,1", or "auto": the CPU, but a GPU if there is one,
        N is 36 or more and `prune` is False.
    threads : int, optional
        CPU threads, by default all.
    seed : int, optional
        Seed of the annealing that finds a first low state. It may change the time, never the answer.
    time_limit : float, optional
        Wall-clock seconds after which the best so far is returned with ``certified=False``.
    checkpoint : path, optional
        File that records finished parts; the same call with the same file resumes.
    executor : concurrent.futures.Executor, optional
        Runs the parts elsewhere; see :func:`hardscape.engine.run`.
    progress : bool, callable or Progress, optional
        True draws a progress bar with an ETA on a terminal.
    prune : bool
        Skip blocks whose energy a lower bound (fields on the block's spins, and the least pair energy
        inside it) puts above the threshold. False visits every state, as plain exhaustive search does.

    Returns
    -------
    Spectrum
        States in order of exact energy, ties by the integer ``sum((s_i + 1)/2 * 2**i)``; the same, bit for
        bit, on every device and for any number of workers.

    Raises
    ------
    InputError
        For a model that is not understood, more than 64 spins, or arguments out of range.
    BudgetError
        If more than 2**24 states lie within `window`.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    Time is proportional to 2**N; without fields to 2**(N-1), by flip symmetry. Memory is about
    ``3 * (8 + 8 * limbs) * num_states`` bytes a thread, where `limbs` (1 for integers, 2 for most reals) is the
    width of the exact energies. After Jałowiecki, Rams, Gardas, Comput. Phys. Commun. 260 (2021) 107728.

    Examples
    --------
    >>> import hardscape
    >>> chain = hardscape.spectrum(([0, 0, 0.5], {(0, 1): -1.0, (1, 2): -1.0}), 3)
    >>> chain.energies.tolist()
    [-2.5, -1.5, -0.5]
    """
    began = time.perf_counter()
    ising = Ising.from_any(model)
    devices = _devices(device, threads, ising, prune)
    work = _prepare(ising, num_states, window, seed, prune, devices)
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
    work = _prepared(work, time_limit)
    spent = time.perf_counter() - began
    outcome = run(
        work,
        devices=devices,
        executor=executor,
        checkpoint=checkpoint,
        time_limit=None if time_limit is None else max(time_limit - spent, 1e-3),
        progress=progress,
    )
    limit = MAX_STATES if num_states is None and window is not None else work.wanted - 1
    result = _result(ising, work, outcome, limit, devices, began)
    if outcome.stopped in ("SIGINT", "SIGTERM"):
        raise Interrupted(outcome.signum, result)
    if num_states is None and window is not None and result.num_states >= MAX_STATES:
        raise BudgetError(
            f"more than {MAX_STATES} states lie within window={window} of the ground state; "
            "take a smaller window, or give num_states to list only the lowest of them"
        )
    return result


@dataclass(frozen=True)
class Estimate:
    """What an exhaustive search would cost here.

    Attributes
    ----------
    states : int
        States to account for, 2**N.
    seconds : float
        Wall-clock time, from a sample of the search itself.
    memory_bytes : int
        Peak memory for the lists of states, all workers together.
    states_per_second : float
    device : str
    """

    states: int
    seconds: float
    memory_bytes: int
    states_per_second: float
    device: str


def estimate(
    model: Any,
    num_states: int | None = None,
    *,
    window: float | None = None,
    device: str | Device = "auto",
    threads: int | None = None,
    seed: int | None = None,
    prune: bool = True,
    sample_seconds: float = 0.3,
) -> Estimate:
    """Estimate time and memory of :func:`spectrum` on this machine, by searching a sample of its parts.

    Takes the arguments of :func:`spectrum`, and about `sample_seconds` (more on a GPU that has to compile).
    """
    ising = Ising.from_any(model)
    devices = _devices(device, threads, ising, prune)
    work = _prepare(ising, num_states, window, seed, prune, devices)
    work = _prepared(work, None)
    lane = work.estimate_seconds(devices[0], sample_seconds)
    seconds = lane / len(devices)
    states = 1 << ising.num_spins
    return Estimate(states, seconds, _memory(work, devices), states / seconds, _describe(devices))


def _memory(work: SpectrumWork, devices: tuple[Device, ...]) -> int:
    """Bytes of lists: a pool and its sorted copy a lane, the merged ones, and the result's states."""
    entry = 8 * (1 + work.terms.limbs)
    lists = (3 * len(devices) + 4) * entry
    return work.wanted * (lists + 2 * (work.terms.num_spins + 8) * (1 + work.geometry.symmetric))


def _devices(
    device: str | Device, threads: int | None, ising: Ising, prune: bool
) -> tuple[Device, ...]:
    # The tree of bounds, which only the CPU walks, leaves too little for a GPU.
    big = not prune and ising.num_spins >= _GPU_SPINS
    return resolve(device, threads=threads, big_enough=big)


def _prepare(
    ising: Ising,
    num_states: int | None,
    window: float | None,
    seed: int | None,
    prune: bool,
    devices: tuple[Device, ...],
) -> SpectrumWork:
    """Check the arguments and describe the work, the threshold aside."""
    n = ising.num_spins
    if n > MAX_SPINS:
        raise InputError(
            f"the model has {n} spins; exhaustive search takes at most {MAX_SPINS} "
            "(hardscape.ising.mps_spectrum has no such limit, and no certificate)"
        )
    if num_states is not None and (
        isinstance(num_states, bool)
        or not isinstance(num_states, int | np.integer)
        or not 1 <= num_states <= MAX_STATES
    ):
        raise InputError(
            f"num_states={num_states!r}; an integer from 1 to {MAX_STATES} is accepted"
        )
    if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
        raise InputError(f"seed={seed!r}; an integer of 0 or more is accepted")
    exact = ising.exact
    width: int | None = None
    if window is not None:
        above = dyadic(window, "window")
        if above < 0:
            raise InputError(f"window={window}; an energy of 0 or more is accepted")
        width = min(int(above / Fraction(2) ** exact.exponent), 2 * exact.bound + 1)
    if num_states is None:
        num_states = 100 if window is None else MAX_STATES
    # One more than listed tells whether the last level is cut.
    wanted = min(int(num_states), 1 << n) + 1
    gauge = first_state(exact, (seed or 0) & (2**64 - 1)) if n else 0
    return SpectrumWork(exact, gauge, wanted, width, prune, CHUNK_BITS[devices[0].kind])


def _prepared(work: SpectrumWork, time_limit: float | None) -> SpectrumWork:
    """Prepare in a thread, so that Ctrl-C is heard meanwhile."""
    stop = np.zeros(1, dtype=np.uint8)
    seconds = math.inf if time_limit is None else 0.2 * time_limit
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(work.prepared, seconds, stop).result()
        except KeyboardInterrupt:
            stop.fill(1)
            raise Interrupted(signal.SIGINT) from None


def _result(
    ising: Ising,
    work: SpectrumWork,
    outcome: Outcome[Any],
    limit: int,
    devices: tuple[Device, ...],
    began: float,
) -> Spectrum:
    partial = outcome.partial or work.partial(
        np.empty(0, np.uint64), np.empty((0, ising.exact.limbs), np.uint64), [0] * len(COUNTERS)
    )
    codes, energies = partial["states"], partial["energies"]
    if work.geometry.symmetric:
        codes = np.concatenate([codes, codes ^ np.uint64((1 << ising.num_spins) - 1)])
        energies = np.concatenate([energies, energies])
        order = spectral_order(energies, (codes,))[: work.wanted]
        codes, energies = codes[order], energies[order]
    searched = outcome.units_done << work.geometry.symmetric
    info = {
        "method": "exhaustive",
        "device": _describe(devices),
        "workers": len(devices),
        "seconds": time.perf_counter() - began,
        "states": 1 << ising.num_spins,
        "states_searched": searched,
        "states_per_second": searched / max(outcome.seconds, 1e-9),
        **dict(zip(COUNTERS, partial["counters"].tolist(), strict=True)),
        "resumed_shards": outcome.resumed_shards,
        "stopped": outcome.stopped,
    }
    return Spectrum.from_sorted(
        ising,
        unpack(codes, ising.num_spins),
        energies,
        limit,
        certified=outcome.complete,
        exhausted=outcome.complete,
        info=info,
    )


def _describe(devices: tuple[Device, ...]) -> str:
    kinds = {d.kind for d in devices}
    return " and ".join(
        f"{sum(d.kind == kind for d in devices)} {'CPU thread' if kind == 'cpu' else 'GPU'}(s)"
        for kind in sorted(kinds)
    )
