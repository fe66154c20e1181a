"""The cellular genetic algorithm as one call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import (
    Cuda,
    Outcome,
    Partial,
    RunArguments,
    RunOptions,
    solve,
    steps,
)
from hardscape.engine.cluster.parts import whole_of
from hardscape.engine.ledger import kept_shards
from hardscape.errors import InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.maxsat.formula import LARGE, Formula, checked_formula
from hardscape.maxsat.intake import MAX_WEIGHT
from hardscape.maxsat.methods.cellular.generation import CellularKernel
from hardscape.maxsat.methods.cellular.options import MOST_RUNS, OPERATORS, CellularOptions
from hardscape.maxsat.methods.cellular.result import CellularResult
from hardscape.maxsat.methods.cellular.run import Offer, best_individual, unpack_individual
from hardscape.maxsat.methods.cellular.runs import CellularRuns
from hardscape.maxsat.methods.islands.tables import fits
from hardscape.maxsat.result import MOST_COST, Improvement, told
from hardscape.maxsat.truth.evaluation import Evaluation

#: Runs that share the launches of a GPU.
_TOGETHER = 64
#: Violated clauses, 8 bytes each, that the lists of walks on a GPU may hold together.
_LISTED = 2**29
#: From this many literals in all clauses, times runs, on, "auto" takes a GPU.
_GPU_LITERALS = 2000
#: Evaluations of an individual for which time is kept back.
_RESERVED = 3.0

#: Told each new best assignment, and the seconds since the start.
Tell = Callable[[NDArray[np.bool_], float], object]


@interruptible
def cellular_search(
    formula: Formula | str | Path,
    *,
    options: CellularOptions | None = None,
    runs: int = 1,
    target: int | None = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    **run: Unpack[RunArguments],
) -> CellularResult:
    r"""Search for a good assignment with the cellular genetic algorithm and its hill climbing.

    Parameters
    ----------
    formula : Formula, or the path of a file of one
        Fewer violated hard clauses are always better; then less weight of violated soft ones.
    options : CellularOptions, optional
        By default the paper's parameters: 30 sub-populations of 10 x 10.
    runs : int
        Independent runs; the best one's assignment is returned.
    target : int, optional
        Cost, without violated hard clauses, at which the search ends. By default all runs are done,
        each up to its own end.
    on_improvement : callable, optional
        Called with each `Improvement`, one at a time, from the thread that found it: after a generation,
        on a GPU after every few. What another process finds comes at the end.
    **run
        How to search; see :class:`hardscape.engine.RunArguments`. The seed gives the same runs whatever
        the device, and is told in the result. Threads share the sub-populations of a single run, or the
        runs. A checkpoint records finished runs, and the population of a single run on a CPU.

    Returns
    -------
    CellularResult

    Raises
    ------
    InputError
        For arguments out of range, and soft weights whose sum is beyond 2**63 - 1.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    A pass of hill climbing costs :math:`O(\mathrm{nnz})` operations on vectors of up to 512 individuals
    where all clauses weigh the same; otherwise :math:`O(n)` an individual, and an update of the gains of
    all neighbours for each flip. After Munawar, Wahib, Munetomo, Akama, Genetic Programming and
    Evolvable Machines 10, 391 (2009).

    Examples
    --------
    >>> from hardscape.maxsat import Formula, cellular_search
    >>> formula = Formula.from_clauses([[1, 2], [-1, 2], [1, -2], [-1, -2]])
    >>> cellular_search(formula, seed=1).cost
    1
    """
    formula = checked_formula(formula)
    if formula.total_weight > MAX_WEIGHT:
        raise InputError(
            f"the soft weights add up to {formula.total_weight}; the cellular algorithm accepts "
            f"{MAX_WEIGHT}"
        )
    options = CellularOptions() if options is None else options
    runs = integer(runs, "runs", 1, MOST_RUNS)
    target = None if target is None else integer(target, "target", 0, MOST_COST)
    run_options = RunOptions.checked(big_enough=pays_on_gpu(formula, options, runs), **run)
    tell = None if on_improvement is None else _telling(formula, on_improvement)
    result, signum = evolve(formula, options, runs, target, run_options, tell)
    if signum:
        raise Interrupted(signum, result)
    return result


def pays_on_gpu(formula: Formula, options: CellularOptions, runs: int) -> bool:
    """Whether "auto" takes a GPU for so many runs."""
    big = len(formula.literals) * runs >= _GPU_LITERALS and not options.operators
    return big and (not options.walk_flips or _walks_fit(formula))


def evolve(
    formula: Formula,
    parameters: CellularOptions,
    runs: int,
    target: int | None,
    options: RunOptions,
    on_improvement: Tell | None,
) -> tuple[CellularResult, int]:
    """Do the runs; returns what was found, and the signal that cut them short, or 0.

    Walks on a GPU of a formula that GPUs do not walk on are an InputError.
    """
    on_gpu = isinstance(options.devices[0], Cuda)
    if parameters.operators and on_gpu:
        told_of = {name: getattr(parameters, name) for name in OPERATORS}
        raise InputError(
            f"{told_of} on a GPU; GPUs have the paper's operators; device='cpu' takes all"
        )
    if parameters.walk_flips and on_gpu and not _walks_fit(formula):
        raise InputError(
            f"walk_flips={parameters.walk_flips} on a GPU; GPUs walk where all clauses weigh the same, and "
            "have 1 to 3 literals of up to 16,383 variables; device='cpu' takes all"
        )
    deadline = options.deadline
    guess: tuple[Partial, Evaluation] | None = None
    if deadline.seconds is not None and len(formula.literals) > LARGE:
        before = time.monotonic()
        guess = _first_guess(formula, options.seed)
        deadline.reserve(_RESERVED * (time.monotonic() - before))
    offer = None if on_improvement is None else _offer(formula, on_improvement, deadline.began)
    work = CellularRuns(
        CellularKernel(formula, parameters),
        options.seed,
        runs,
        _goal(formula, target),
        target is not None,
        _shared(_together(formula, parameters), runs, options) if on_gpu else 1,
        offer,
    )
    outcome: Outcome[Partial]
    if runs == 1 and not on_gpu and not work.brief(options.devices[0]):
        outcome = steps(work.alone(), options)
    else:
        outcome = solve(work, options)
    partial, known = outcome.answer, None
    if partial is None or len(partial["costs"]) == 0:
        partial, known = guess or _first_guess(formula, options.seed)
    if offer is not None:
        best = best_individual(partial["costs"])
        offer(tuple(partial["costs"][best].tolist()), partial["bits"][best])
    result = CellularResult.of(
        formula,
        partial,
        known,
        seed=options.seed,
        stopped=outcome.cut,
        seconds=time.monotonic() - deadline.began,
        device=told(options),
    )
    return result, outcome.signum


def _shared(most: int, runs: int, options: RunOptions) -> int:
    """Runs of a shard, so that each GPU has some; a ledger goes on with the shards that it was begun with."""
    begun = None if options.checkpoint is None else kept_shards(whole_of(options.checkpoint))
    return min(most, -(-runs // (begun or options.workers_now)))


def _telling(formula: Formula, on_improvement: Callable[[Improvement], object]) -> Tell:
    def tell(assignment: NDArray[np.bool_], seconds: float) -> None:
        found = formula.evaluate(assignment)
        values = (found.cost, found.hard_violations, found.num_satisfied)
        on_improvement(Improvement(seconds, *values, assignment.view(np.uint8)))

    return tell


def _together(formula: Formula, options: CellularOptions) -> int:
    """Runs of a GPU's shard; the walks of a memetic search need lists that may hold every clause."""
    if not options.walk_flips:
        return _TOGETHER
    most = _LISTED // max(1, options.individuals * formula.num_clauses)
    return max(1, min(_TOGETHER, most))


def _walks_fit(formula: Formula) -> bool:
    """Whether the walks of a memetic search can go on a GPU."""
    return formula.uniform and fits(formula)


def _goal(formula: Formula, target: int | None) -> tuple[int, int]:
    """Cost that ends a run: the target, or what empty clauses leave in any case."""
    empty = formula.offsets[1:] == formula.offsets[:-1]
    floor = int(np.count_nonzero(empty & formula.hard)), int(formula.weights[empty].sum())
    return floor if target is None else max(floor, (0, min(int(target), MAX_WEIGHT)))


def _first_guess(formula: Formula, seed: int) -> tuple[Partial, Evaluation]:
    """A run of one random individual: what there is where the time is up before a first population."""
    shape = 1, -(-formula.num_variables // 64)
    bits = np.random.default_rng(seed).integers(0, 2**64, shape, dtype=np.uint64)
    found = formula.evaluate(unpack_individual(bits[0], formula.num_variables))
    history = np.array([[found.hard_violations, found.cost, 0]])
    partial = {
        "bits": bits,
        "costs": history[:, :2],
        "generations": np.zeros(1, dtype=np.int64),
        "history": history,
    }
    return partial, found


def _offer(formula: Formula, tell: Tell, began: float) -> Offer:
    """Tells of each new best assignment, whichever thread finds it."""
    lock = threading.Lock()
    best: tuple[int, int] | None = None

    def offer(cost: tuple[int, int], words: NDArray[np.uint64]) -> None:
        nonlocal best
        with lock:
            if best is None or cost < best:
                best = cost
                found = unpack_individual(words, formula.num_variables)
                tell(found, time.monotonic() - began)

    return offer
