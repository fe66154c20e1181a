"""Low states of a model of any size, by a search that proves nothing."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape import memory
from hardscape.arguments import integer
from hardscape.arrays import as_spins
from hardscape.engine import Cuda, Outcome, RunArguments, RunOptions, solve
from hardscape.engine.device import describe
from hardscape.errors import DeviceError, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.ising.exact import dyadic
from hardscape.ising.methods.annealing.annealing import AnnealingWork
from hardscape.ising.methods.matching.matching import MatchingWork
from hardscape.ising.methods.runs import RunsWork
from hardscape.ising.methods.tabu.tabu import TabuWork
from hardscape.ising.methods.windows.windows import WindowsWork
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum, code_words, unpack

#: Runs on CPUs without a limit of time or number, and on any device with a limit of time alone.
_RUNS, _ENDLESS = 16, 1 << 20
#: Looks at a spin that a CPU thread makes in a second, more or less, and seconds of a CPU thread, or of a time
#: limit, that pay for starting a GPU.
_LOOKS, _WORTH, _WORTH_LIMIT = 1e9, 20.0, 2.0
#: Least moves of the shortest run.
_LEAST_MOVES = 20_000
#: Most states listed, and most moves of a run.
_MOST_STATES, _MOST_MOVES = 1 << 20, 1 << 50

#: Who searches.
METHODS: dict[str, type[RunsWork]] = {
    "tabu": TabuWork,
    "annealing": AnnealingWork,
    "windows": WindowsWork,
    "matching": MatchingWork,
}


@interruptible
def search(
    model: Any,
    num_states: int | None = None,
    *,
    target: float | None = None,
    initial_states: ArrayLike | None = None,
    runs: int | None = None,
    moves: int | None = None,
    equal_runs: int | None = None,
    method: str = "auto",
    **run: Unpack[RunArguments],
) -> Spectrum:
    r"""Find low states of an Ising model of any size, without a certificate.

    Tabu search or simulated annealing from random states, and from what lies between the best states of a run;
    or, of planar models, perfect matching, which finds a ground state.

    Parameters
    ----------
    model : Ising or anything `Ising.from_any` takes
        :math:`E(s) = \sum_{i<j} J_{ij} s_i s_j + \sum_i h_i s_i + c`.
    num_states : int, optional
        How many distinct states to list, the lowest of all that were met; 1 by default.
    target : float, optional
        Stop as soon as a state of this energy or a lower one is met (where energies are no short integers, of
        one that is lower by more than rounding can hide, else after the run).
    initial_states : array-like, shape (N,) or (k, N), optional
        Spins -1 and +1 from which the first run starts.
    runs : int, optional
        How many runs, which know nothing of one another; by default 16, on a GPU 2,048 to 8,192 (fewer of more
        spins), or with `time_limit` as many as it holds.
    moves : int, optional
        Length of the shortest runs, at least 20,000 by default: flips, 500 a spin; in annealing, where a look
        at 16 spins (8 of models that are not of short integers) is one, too, 10,000 a spin. Run 0, 1, 2, ...
        makes 1, 1, 2, 1, 1, 2, 4, ... times as many: M. Luby, A. Sinclair, D. Zuckerman, Inf. Process. Lett.
        47 (1993) 173.
    equal_runs : int, optional
        How many runs of each of these lengths follow one another; by default 1, and where a GPU is left to
        choose `runs` as many as it makes at once.
    method : str
        "tabu" (each move is the best flip: dense models), "annealing" (sweeps of slowly falling
        temperature: sparse ones), "windows" (annealing, after which some 200 spins around one after another
        are brought to their least energy by tables: lattices of two dimensions; on CPUs), "matching" (one
        ground state of a planar model without fields, or with fields around one face, such as those of a
        border; needs PyMatching, the extra ``matching``), or "auto": annealing from 65 spins on, of which each
        has N/8 neighbours or fewer in the mean, else tabu.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. "auto" takes GPUs where `time_limit`, or
        else the runs asked for, give them work for seconds.

    Returns
    -------
    Spectrum
        States in order of exact energy, ``certified=False``; its `lower_bound` is minus the sum of all
        coefficients' absolute values. One seed gives the same states on any number of workers and any device,
        as run k makes the same moves everywhere, unless `time_limit` cuts it, or `target`, with which a CPU
        ends the run that met it, and a GPU all runs soon after. In `info`: ``runs`` and ``moves`` made, and
        who made them, ``search``. Of a matching, `lower_bound` is the energy of its state, less what rounding
        can hide where coefficients have more than 24 bits. It rests on PyMatching's algorithm, whose
        multipliers are not seen here, and other states that tie are not listed: hence no certificate.

    Raises
    ------
    InputError
        For a model that is not understood, states of another shape, arguments out of range, or a matching of a
        graph that is not planar.
    MissingDependencyError
        For a matching where PyMatching is not installed.
    DeviceError
        If `device` is a GPU and the model has too many spins for it.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    A move of tabu search costs O(N), some 10 to 100 ns for 100 to 1,000 spins; a flip of annealing costs as
    much as the spin has neighbours. On a GPU a warp, or some, make a run. Energies are sums of 32-bit integers
    where the coefficients allow it, else of float64, and those listed are evaluated exactly. Memory: 4 (8) N**2
    bytes a worker for dense models.
    After F. Glover, Z. Lü, J.-K. Hao, 4OR 8 (2010) 239, Y. Wang, Z. Lü, F. Glover, J.-K. Hao, Eur. J. Oper.
    Res. 223 (2012) 595, S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Science 220 (1983) 671, and, for the
    components in which two states differ, D. Whitley, D. Hains, A. Howe, GECCO 2009, 915. A matching is not cut
    by `time_limit` or a signal; it takes some two seconds for 300 x 300 spins and a minute for 1000 x 1000.

    Examples
    --------
    >>> from hardscape.ising import search
    >>> ring = search({(i, (i + 1) % 80): -1.0 for i in range(80)}, seed=1)
    >>> ring.energies.tolist(), ring.certified
    ([-80.0], False)
    """
    began = time.perf_counter()
    ising = Ising.from_any(model)
    n = ising.num_spins
    kind = _kind(ising, method)
    row = METHODS[kind]
    if row.one_state:
        told = {
            "runs": runs,
            "moves": moves,
            "equal_runs": equal_runs,
            "initial_states": initial_states,
        }
        _refuse(kind, {**told, "num_states": None if num_states == 1 else num_states})
        runs = moves = 1
    runs = None if runs is None else integer(runs, "runs", 1, _ENDLESS)
    moves = _moves(ising, row, moves)
    options = RunOptions.checked(big_enough=_pays(ising, row, runs, moves, run), **run)
    gpu = any(isinstance(device, Cuda) for device in options.devices)
    if gpu and (refusal := row.unfit(ising.exact)):
        raise DeviceError(f"method={kind!r} does not run on a GPU: {refusal}; use device='cpu'")
    many = row.that_fill_a_gpu(n) if gpu else 1
    if equal_runs is None:
        equal_runs = many if runs is None else 1
    work = row(
        ising.exact,
        1 if num_states is None else integer(num_states, "num_states", 1, _MOST_STATES),
        runs or _number(options, many),
        moves,
        options.seed,
        tuple(row.tobytes() for row in checked_states(initial_states, n)),
        None if target is None else units(ising, target, "target"),
        integer(equal_runs, "equal_runs", 1, _ENDLESS),
        -(-(runs or many) // len(options.devices)) if gpu else 1,
    )
    memory.require(work.memory_bytes(len(options.devices)), f"a search of {n} spins")
    work.check()
    outcome = solve(work, options)
    info = {
        "method": "search",
        "search": kind,
        "device": describe(options.devices),
        "workers": len(options.devices),
        "seed": options.seed,
    }
    result = _listed(ising, work, outcome, info, began)
    if outcome.signum:
        raise Interrupted(outcome.signum, result)
    return result


def _listed(
    ising: Ising, work: RunsWork, outcome: Outcome[Any], info: dict[str, Any], began: float
) -> Spectrum:
    """The states of a search that is over, `info` about it and what it tells itself."""
    n = ising.num_spins
    found = outcome.partial or work.partial(np.zeros((1, code_words(n)), dtype=np.uint64), [0, 0])
    made, moved = found["counters"].tolist()
    told = {
        "seconds": time.perf_counter() - began,
        "runs": made,
        "moves": moved,
        "resumed_shards": outcome.resumed_shards,
        "stopped": outcome.cut,
    }
    return Spectrum.from_sorted(
        ising,
        unpack(found["states"], n),
        found["energies"],
        work.count,
        certified=False,
        info=info | told,
        lower_bound=work.lower_bound(found),
    )


def _kind(ising: Ising, method: str) -> str:
    """Who searches this model."""
    accepted = ("auto", *METHODS)
    if method not in accepted:
        raise InputError(f"method={method!r}; {', '.join(map(repr, accepted))} are accepted")
    if method != "auto":
        return method
    return "annealing" if AnnealingWork.pays(ising.exact) else "tabu"


def _refuse(method: str, told: dict[str, Any]) -> None:
    """Refuse arguments that would be ignored."""
    for name, value in told.items():
        if value is not None:
            raise InputError(
                f"{name}={value!r} with method={method!r}, which finds one state, in one run, from nothing; "
                f"leave {name} out, or take another method"
            )


def _moves(ising: Ising, row: type[RunsWork], moves: int | None) -> int:
    """Of the shortest runs."""
    if moves is None:
        return max(_LEAST_MOVES, row.moves_a_spin * ising.num_spins)
    return integer(moves, "moves", 1, _MOST_MOVES)


def _pays(
    ising: Ising, row: type[RunsWork], runs: int | None, moves: int, run: RunArguments
) -> bool:
    """Whether there is work for a GPU: asked for by a time limit, or by the number of runs."""
    if ising.num_spins == 0 or row.unfit(ising.exact):
        return False
    if runs is None:
        limit = run.get("time_limit")
        return isinstance(limit, int | float) and limit >= _WORTH_LIMIT
    looks = float(runs) * moves * ising.num_spins * (runs.bit_length() / 2 + 1)
    return looks >= _WORTH * _LOOKS and runs >= 4 * _RUNS


def _number(options: RunOptions, many: int) -> int:
    """How many runs where nobody says."""
    return max(_RUNS, many) if options.deadline.seconds is None else _ENDLESS


def checked_states(states: ArrayLike | None, num_spins: int) -> NDArray[np.int8]:
    """States given by a user, int8 of shape (k, N)."""
    if states is None:
        return np.empty((0, num_spins), dtype=np.int8)
    spins = as_spins(states, num_spins)
    if spins.ndim > 2:
        raise InputError(
            f"initial_states have shape {spins.shape}; (N,) or (k, N) is accepted, N = {num_spins}"
        )
    return np.atleast_2d(spins)


def units(ising: Ising, energy: float, name: str) -> int:
    """The largest exact energy of a model, as an integer, that is not above this one."""
    return int(dyadic(energy, name) / Fraction(2) ** ising.exact.exponent // 1)
