"""The exact low-energy spectrum: the states of lowest energy, with a certificate."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arguments import integer
from hardscape.engine import Cpu, Device, RunArguments, RunOptions, resolve, solve
from hardscape.engine.device import describe
from hardscape.engine.estimates.pace import pace
from hardscape.errors import BudgetError, DeviceError, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.ising.exact import dyadic
from hardscape.ising.methods.cliques.cliques import Cliques
from hardscape.ising.methods.cuts.cuts import Cuts
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.method import Exhaustive
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.frontier.lowest import Frontier
from hardscape.ising.methods.lowest import LowestMethod, LowestWork
from hardscape.ising.methods.partition.partition import Partition
from hardscape.ising.methods.race.race import Race
from hardscape.ising.methods.reduction.reduction import Reduction, is_fine
from hardscape.ising.methods.reduction.searched import Searched, searched
from hardscape.ising.methods.semidefinite.semidefinite import Semidefinite
from hardscape.ising.methods.tree.tree import Tree
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum, unpack
from hardscape.ising.search import checked_states, units
from hardscape.plain import Plain

#: Most states that one call lists: 2**24.
MAX_STATES = 1 << 24
#: From this many spins on, "auto" takes a GPU when every state is visited: starting one costs a second.
_GPU_SPINS = 36
#: Seconds that the end takes for each state listed: what a time limit keeps back.
_SECONDS_A_STATE = 5e-7
#: Seconds that a call takes besides its search: threads and what is told of it.
_SECONDS_OF_CALL = 5e-4
#: Seconds that the lower bound of a search that is stopped takes.
_SECONDS_OF_BOUND = 0.02
#: How much longer than its processor time a sample may take.
_BUSIEST = 4.0
#: States that a rate counts.
_MOST_COUNTED = 1 << 900
#: States listed by default.
_SOME_STATES = 100

#: The methods; the first that can and pays answers.
METHODS: tuple[LowestMethod[Any], ...] = (
    Partition(),
    Race(),
    Cuts(),
    Frontier(),
    Cliques(),
    Semidefinite(),
    Tree(),
    Exhaustive(),
)

_log = logging.getLogger("hardscape.ising")


@interruptible
def spectrum(
    model: Any,
    num_states: int | None = None,
    *,
    window: float | None = None,
    cutoff: float | None = None,
    initial_states: ArrayLike | None = None,
    method: str = "auto",
    prune: bool = True,
    **run: Unpack[RunArguments],
) -> Spectrum:
    r"""Find the states of lowest energy of an Ising model, exactly and with a certificate.

    All :math:`2^N` states are accounted for: blocks of 2**14 states (2**12 on CUDA) are filtered in 16-bit
    integers with a proven rounding bound, and what passes is evaluated in exact integer arithmetic.

    Parameters
    ----------
    model : Ising or anything `Ising.from_any` takes
        Of any number of spins, where its couplings are sparse; else at most 512, and 64 without `prune`.
        :math:`E(s) = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`.
    num_states : int, optional
        How many states to list, 1 to 2**24; by default 100, or with `window` as many as it holds.
        Fewer come back only if the model (or the window) has no more.
    window : float, optional
        List only states with energy at most this much above the ground state.
    cutoff : float, optional
        List only states of at most this energy.
    initial_states : array-like, shape (N,) or (k, N), optional
        States that are known, spins -1 and +1: they may save time, never change a certified answer.
    method : str
        "frontier" (dynamic programming along an order of elimination: sparse models, of hundreds of spins and
        more), "cuts" (linear programs over edges under odd-cycle inequalities: lattices of hundreds and
        thousands of spins, planar ones above all; needs highspy, the extra ``cuts``), "tree" (bounds from the
        least pair energies), "semidefinite" (branch and bound under semidefinite bounds with triangle
        inequalities: dense models of more than some 56 spins), "cliques" (branch and bound under clique covers
        of conflicts: QUBOs with penalties), "partition" (number partitioning and other squares of one sum of
        spins, by meeting in the middle), "race" (cuts beside semidefinite bounds: the first that is done
        answers, and `Spectrum.method` names it), "exhaustive" (every state), or "auto", which takes out spins
        that need no search, and for each part of what is left that is not coupled to others takes what should
        be the quickest.
    prune : bool
        Skip blocks whose energy a lower bound (fields on the block's spins, and the least pair energy
        inside it) puts above the threshold. False visits every state, as plain exhaustive search does.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. "auto" takes GPUs where N is 36 or more
        and `prune` is False, and one for semidefinite bounds of 100 to 220 spins, unless `threads`, a
        checkpoint or an executor is given; "frontier" and "semidefinite" run on those that are named, too.
        `seed` is that of the tabu search that finds first low states: it may change the time, never the
        answer. After `time_limit` the best states met come back, with ``certified=False``, the
        `lower_bound` that is proven, and in `info`, as ``seconds_needed``, about how long the rest of the
        search would take, by what is done of it, or planned: tables once, which ties may want filled several
        times (None where nothing tells).

    Returns
    -------
    Spectrum
        States in order of exact energy, ties by the integer ``sum((s_i + 1)/2 * 2**i)``; the same, bit for
        bit, on every device and for any number of workers.

    Raises
    ------
    InputError
        For a model that is not understood, that no method takes, or arguments out of range.
    BudgetError
        If more than 2**24 states lie within `window`, or memory cannot hold a frontier's tables.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    The frontier takes some ns for each entry of its tables, of which there are 2**width for each spin, and
    20 ns for each state and spin. Of other methods, time is proportional to 2**N; without fields to
    2**(N-1), by flip symmetry. Memory is about
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
    options = _options(ising, prune, run)
    given = checked_states(initial_states, ising.num_spins)
    wanted = _asked(ising, num_states, window, cutoff)
    options = _placed(wanted, method, prune, options, run)
    # Those of a window are not known before.
    listed = 0 if num_states is None else wanted.count
    options.deadline.reserve(_SECONDS_OF_BOUND + _SECONDS_A_STATE * listed)
    came = _searched(wanted, method, prune, options, given, num_states is not None)
    unlimited = num_states is None and window is not None
    limit = MAX_STATES if unlimited else wanted.count - 1
    info = {
        "method": came.method,
        "device": describe(options.devices),
        "workers": len(options.devices),
        "seconds": time.perf_counter() - began,
        "total_states": 1 << ising.num_spins,
        "states_searched": came.states,
        "states_per_second": _rate(came.states - came.resumed, came.seconds),
        **came.facts,
        "resumed_shards": came.resumed_shards,
        "seed": options.seed,
        "stopped": came.stopped,
        "seconds_needed": came.needed,
        "bounds": [(when - began, *both) for when, *both in came.bounds],
    }
    result = Spectrum.from_sorted(
        ising,
        unpack(came.found.states, ising.num_spins),
        came.found.energies,
        limit,
        certified=came.complete,
        info=info,
        lower_bound=came.bound,
    )
    if came.signum:
        raise Interrupted(came.signum, result if came.answered else None)
    if unlimited and result.num_states >= MAX_STATES:
        raise _too_many(window)
    return result


def _too_many(window: float | None) -> BudgetError:
    return BudgetError(
        f"more than {MAX_STATES} states lie within window={window} of the ground state; "
        "take a smaller window, or give num_states to list only the lowest of them"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Plain):
    """What an exhaustive search would cost here.

    Attributes
    ----------
    total_states : int
        States to account for, 2**N.
    seconds : float
        Wall-clock time, from a sample of the search itself.
    memory_bytes : int
        Peak memory for the lists of states, all workers together.
    states_per_second : float
    device : str

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.ising import estimate
    >>> cost = estimate((np.ones(30), np.triu(np.ones((30, 30)), 1)))
    >>> cost.total_states, cost.seconds < 60
    (1073741824, True)
    """

    total_states: int
    seconds: float
    memory_bytes: int
    states_per_second: float
    device: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.listed("total_states seconds memory_bytes states_per_second device")


@interruptible
def estimate(
    model: Any,
    num_states: int | None = None,
    *,
    window: float | None = None,
    method: str = "auto",
    prune: bool = True,
    sample_seconds: float = 0.3,
    **run: Unpack[RunArguments],
) -> Estimate:
    """Estimate time and memory of :func:`spectrum` on this machine, by searching a sample of its parts.

    Parameters
    ----------
    model, num_states, window, method, prune, **run
        As for :func:`spectrum`. A cutoff or states that are known make it quicker than is estimated.
    sample_seconds : float
        About how long the sample may take (more on a GPU that has to compile).

    Returns
    -------
    Estimate
        Seconds of the whole call, and bytes of its lists of states.

    Raises
    ------
    InputError
        As :func:`spectrum` does, also where no method takes the model.
    DeviceError
        If a device that is named cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.ising import estimate
    >>> cost = estimate((np.zeros(30), np.triu(np.ones((30, 30)), 1)), 10)
    >>> cost.total_states, cost.seconds < 60
    (1073741824, True)
    """
    began, clock = time.process_time(), time.perf_counter()
    ising = Ising.from_any(model)
    options = _options(ising, prune, run)
    wanted = _asked(ising, num_states, window)
    options = _placed(wanted, method, prune, options, run)
    lanes, size, sampled, sampling = len(options.devices), 0, 0.0, 0.0
    for row, part in _pieces(wanted, method, prune, options):
        work = row.work(part, options)
        size = max(size, work.memory_bytes(lanes))
        prepared = time.process_time()
        # On a busy machine as much processor time takes longer.
        busy = (time.perf_counter() - clock) / max(prepared - began, 1e-6)
        tried = _tried(work, options, sample_seconds * min(max(1.0, busy), _BUSIEST))
        sampled += row.sample(work, options.devices[0], sample_seconds) if tried is None else tried
        sampling += time.process_time() - prepared
    others = _SECONDS_OF_CALL + time.process_time() - began - sampling
    seconds = others + sampled / lanes * _slowdown(options.devices)
    states = 1 << ising.num_spins
    return Estimate(states, seconds, size, _rate(states, seconds), describe(options.devices))


def _tried(work: LowestWork, options: RunOptions, seconds: float) -> float | None:
    """Processor time of a search on one lane of a CPU; None where it is not over in so many seconds."""
    if not isinstance(options.devices[0], Cpu):
        return None
    began = time.process_time()
    alone = RunOptions.checked(device="cpu", threads=1, seed=options.seed, time_limit=seconds)
    complete = solve(work, alone).complete
    return time.process_time() - began if complete else None


def _rate(states: int, seconds: float) -> float:
    """States a second; of more than float64 holds, what it holds."""
    return min(states, _MOST_COUNTED) / max(seconds, 1e-9)


def _slowdown(devices: tuple[Device, ...]) -> float:
    """How much longer lanes of a CPU take where all of them are at it than one alone."""
    if len(devices) == 1 or not isinstance(devices[0], Cpu):
        return 1.0
    together, alone = (pace(BlockWork.name, _probe, lanes) for lanes in (len(devices), 1))
    return max(1.0, together / alone)


def _probe() -> tuple[LowestWork, float]:
    """A whole search of some milliseconds, and what it is said to take."""
    couplings = np.triu(np.random.default_rng(1).normal(size=(28, 28)), 1)
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    wanted = _asked(Ising(np.zeros(28), couplings), 10, None)
    return _row(wanted, "exhaustive", False, options).work(wanted, options), 5e-3


def _options(ising: Ising, prune: bool, run: RunArguments) -> RunOptions:
    # The tree of bounds, which only the CPU walks, leaves too little for a GPU.
    big = not prune and ising.num_spins >= _GPU_SPINS
    return RunOptions.checked(big_enough=big, **run)


def _placed(
    wanted: Wanted, method: str, prune: bool, options: RunOptions, run: RunArguments
) -> RunOptions:
    """The same options on a GPU, where it is left open and whoever answers is quicker there."""
    kept = options.checkpoint is not None or options.executor is not None
    if kept or not prune or run.get("device", "auto") != "auto" or "threads" in run:
        return options
    if not any(row.gpu_pays(wanted) for row in METHODS if method in ("auto", row.name)):
        return options
    there = resolve("auto", big_enough=True)
    if isinstance(there[0], Cpu):
        return options
    pieces = _pieces(wanted, method, prune, options)
    return options.on(there[:1]) if all(row.gpu_pays(part) for row, part in pieces) else options


def _asked(
    ising: Ising,
    num_states: int | None,
    window: float | None,
    cutoff: float | None = None,
) -> Wanted:
    """Check what is wanted."""
    n, exact = ising.num_spins, ising.exact
    width: int | None = None
    if window is not None:
        above = dyadic(window, "window")
        if above < 0:
            raise InputError(f"window={window}; an energy of 0 or more is accepted")
        width = min(int(above / Fraction(2) ** exact.exponent), 2 * exact.bound + 1)
    if num_states is not None:
        count = integer(num_states, "num_states", 1, MAX_STATES)
    else:
        count = _SOME_STATES if window is None else MAX_STATES
    if num_states is None and window is not None and 1 << exact.num_free >= MAX_STATES:
        raise _too_many(window)
    # One more than listed tells whether the last level is cut.
    top = None if cutoff is None else min(units(ising, cutoff, "cutoff"), exact.bound)
    return Wanted(
        exact, min(count, 1 << n) + 1, width, None if top is None else max(top, -exact.bound - 1)
    )


def _searched(
    wanted: Wanted,
    method: str,
    prune: bool,
    options: RunOptions,
    given: NDArray[np.int8],
    listed: bool,
) -> Searched:
    """Search what is left of a model once spins are taken out, or all of it."""
    choose = partial(_row, method=method, prune=prune, options=options)
    for reduction in _reductions(wanted, method, prune, options):
        came, settled = reduction.search(choose, options, given)
        if settled or not came.complete:
            return came
        _log.debug("spectrum of %d spins: too many states tie", wanted.terms.num_spins)
        given = unpack(came.found.states, wanted.terms.num_spins)
        options = options.with_checkpoint(None)
    return searched(choose(wanted), wanted, options, given, listed)


def _pieces(
    wanted: Wanted, method: str, prune: bool, options: RunOptions
) -> list[tuple[LowestMethod[Any], Wanted]]:
    """What is searched, by which methods."""
    choose = partial(_row, method=method, prune=prune, options=options)
    for reduction in _reductions(wanted, method, prune, options):
        return reduction.pieces(choose)
    return [(choose(wanted), wanted)]


def _reductions(
    wanted: Wanted, method: str, prune: bool, options: RunOptions
) -> Iterator[Reduction]:
    """Ways to search less than all of a model; the second one where the first leaves open which states tie."""
    if method != "auto" or not prune:
        return
    if any(row.outright(wanted) and _able(row, wanted, options) for row in METHODS):
        return
    for ordered in (False, True) if is_fine(wanted.terms) else (True,):
        reduction = Reduction.of(wanted, ordered)
        if reduction is None:
            return
        if not reduction.doubtful:
            yield reduction


def _able(row: LowestMethod[Any], wanted: Wanted, options: RunOptions) -> bool:
    """Whether "auto" may take it."""
    return all(row.runs_on(x, wanted) for x in options.devices) and not row.refusal(wanted, True)


def _row(wanted: Wanted, method: str, prune: bool, options: RunOptions) -> LowestMethod[Any]:
    """Who finds what is wanted."""
    accepted = ("auto", *(row.name for row in METHODS))
    if method not in accepted:
        raise InputError(f"method={method!r}; {', '.join(map(repr, accepted))} are accepted")
    rows = [row for row in METHODS if method in ("auto", row.name)]
    able = [row for row in rows if all(row.runs_on(x, wanted) for x in options.devices)]
    if not able:
        raise DeviceError(
            f"method={method!r} does not run on {options.devices[0]} for this model; use device='cpu'"
        )
    n = wanted.terms.num_spins
    # Whether it pays is asked first: a plan of tables, by which they may be refused, can take longer.
    paying = (row for row in able if method == row.name or not prune or row.pays(wanted))
    for row in itertools.chain(paying, able):
        if not (refusal := row.refusal(wanted, prune)):
            return row
        _log.debug("spectrum of %d spins: not by %s: %s", n, row.name, refusal)
    told = "; ".join(dict.fromkeys(row.refusal(wanted, prune) for row in able))
    raise InputError(
        f"no method takes a model of {n} spins with method={method!r}: {told} "
        "(hardscape.ising.search and mps_spectrum take any model, and prove nothing)"
    )
