"""The quasi-greedy search: many clones, local moves, until one has few enough violated clauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Unpack

from numpy.typing import ArrayLike

from hardscape.engine import RunArguments, RunOptions, solve
from hardscape.engine.device import device_names
from hardscape.errors import Interrupted
from hardscape.interrupts import interruptible
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement, Watch
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.methods.quasi_greedy.rounds import Schedule
from hardscape.xorsat.methods.quasi_greedy.work import SIDES, QuasiGreedyWork
from hardscape.xorsat.result import QuasiGreedyResult
from hardscape.xorsat.system import XorSystem, checked_system

#: From this many variables on "auto" takes a GPU: smaller systems are solved before it has started.
_GPU_VARIABLES = 160
#: Above this many clauses half of a GPU's registers lie idle.
_GPU_CLAUSES = 400


@interruptible
def quasi_greedy(
    system: XorSystem | str | Path,
    *,
    w1: ArrayLike | None = None,
    dynamics: Dynamics = "quasi-greedy",
    clones: int | None = None,
    target: int = 0,
    anytime: bool | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    **run: Unpack[RunArguments],
) -> QuasiGreedyResult:
    r"""Search for an assignment that violates at most `target` clauses by quasi-greedy dynamics.

    Many clones start from random assignments. A sweep visits every variable once; one that is in k
    violated clauses flips with probability :math:`w_k`, where :math:`w_0 = 0`, so that a clone that
    has found a solution keeps it. Rounds of `restart` sweeps follow one another until a clone
    succeeds.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
        Clauses of any length, up to 255 clauses a variable.
    w1 : float or sequence of float, optional
        w_1, or all of w_0, w_1, ..., to 2^-40; multiples of 1/256 are quickest. A number stands for the
        probabilities of Metropolis dynamics at :math:`T = -2/\ln w_1`, except w_0 = 0; for three
        clauses a variable 0, w1, 1, 1. By default 14/256, or more for 3-regular systems of fewer than
        256 variables.
    dynamics : {"quasi-greedy", "metropolis"}
        "metropolis" is the Metropolis rule itself, w_0 = w1^3 for three clauses a variable. It leaves
        solutions again, so that every sweep is looked at.
    clones : int, optional
        Clones side by side, rounded up to a multiple of 1024; by default 1024 a round on the CPU,
        and what fills the GPU on CUDA.
    target : int
        Violated clauses to be content with.
    anytime : bool, optional
        Look for the fewest violated clauses every 16 sweeps. Otherwise only a solution is looked
        for, and the fewest at the end of each round. By default where `target` is above 0 or there
        are more clauses than variables.
    restart : int, optional
        Sweeps of a round, 1 to 4194303; by default 64 N, within 1024 and 1048576.
    max_sweeps : int, optional
        Sweeps of all rounds together; by default the search ends with the target or `time_limit`.
    on_improvement : callable, optional
        Called with each `Improvement` as it is found, in the thread that found it, one at a time.
        Rounds of an `executor` tell nothing until the end.
    **run
        Device, threads, seed, limits and records: see :class:`hardscape.engine.RunArguments`. "auto"
        takes a GPU from 160 variables on and up to 400 clauses; about 500 fit into its registers, and
        up to 65,536 are held in its memory, which is slower. Each thread, GPU or worker has a round of
        its own. The same seed, `clones`, `restart` and `w1` give the same answer on every device and
        for any number of workers.

    Returns
    -------
    QuasiGreedyResult
        The first round that reaches the target gives the answer: its earliest clone, ties by
        number. If none does, the fewest violated clauses of all.

    Raises
    ------
    InputError
        For arguments out of range, or a variable in more than 255 clauses.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far, or None.

    Notes
    -----
    A sweep takes N updates a clone; 32 clones share a word and 1024 share their coins. On the
    3-regular 3-XORSAT model the time grows as exp(0.08 N), as it does for every local search: a
    satisfiable system is solved by elimination in milliseconds. After Bernaschi, Bisson, Fatica,
    Marinari, Martin-Mayor, Parisi, Ricci-Tersenghi, EPL 133 (2021) 60005.

    Examples
    --------
    >>> from hardscape.xorsat import quasi_greedy, random_regular
    >>> quasi_greedy(random_regular(24, seed=1), seed=1, device="cpu").violated
    0
    """
    system = checked_system(system)
    options = RunOptions.checked(big_enough=suits_gpu(system), **run)
    schedule = Schedule(w1, clones, restart, target, anytime, max_sweeps, dynamics)
    return search(system, schedule, options, on_improvement)


def suits_gpu(system: XorSystem) -> bool:
    """Whether "auto" takes a GPU: the search takes longer than its start, and the system fits."""
    return system.num_variables >= _GPU_VARIABLES and system.num_clauses <= _GPU_CLAUSES


def search(
    system: XorSystem,
    schedule: Schedule,
    options: RunOptions,
    on_improvement: Callable[[Improvement], object] | None = None,
) -> QuasiGreedyResult:
    """Search as :func:`quasi_greedy` does, with arguments that are checked."""
    began, device = monotonic(), options.devices[0]
    rounds = schedule.rounds(system, options.seed, SIDES[type(device)], device)
    watch = None if on_improvement is None else Watch(on_improvement, began)
    work = QuasiGreedyWork(rounds, watch)
    outcome = solve(work, options)
    found = outcome.answer or work.result(work.nothing())
    ended = outcome.stopped if not outcome.complete else "max_sweeps"
    result = replace(
        found,
        seconds=monotonic() - began,
        device=device_names(options.devices),
        stopped="" if found.reached else ended,
    )
    if watch is not None:
        for violated, sweeps in result.improvements:
            watch.offer(violated, sweeps)
    if outcome.signum:
        raise Interrupted(outcome.signum, result)
    return result
