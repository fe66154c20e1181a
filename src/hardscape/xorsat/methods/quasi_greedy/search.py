"""The quasi-greedy search: many clones, local moves, until one has few enough violated clauses."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.engine import Device, Outcome, Progress, ProgressEvent, Stopped, resolve, run
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement, Watch
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import (
    GROUP,
    MAX_CLONES,
    MAX_SWEEPS,
    MAX_TARGET,
    Best,
)
from hardscape.xorsat.methods.quasi_greedy.work import QuasiGreedyWork, default_groups
from hardscape.xorsat.system import XorSystem

__all__ = ["QuasiGreedyResult", "quasi_greedy", "schedule", "suits_gpu"]

#: Sweeps of all rounds where no limit is given: more than anyone waits for.
_FOREVER = 1 << 62
#: A round is long against the few hundred sweeps in which clones settle at the threshold energy.
_RESTART_BY_VARIABLE, _LEAST_RESTART, _MOST_RESTART = 64, 1024, 1 << 20
#: From this many variables on "auto" takes a GPU: smaller systems are solved before it has started.
_GPU_VARIABLES = 160
#: Above this many clauses half of a GPU's registers lie idle.
_GPU_CLAUSES = 400


@dataclass(frozen=True, eq=False)
class QuasiGreedyResult:
    """The best assignment that a quasi-greedy search came upon.

    Attributes
    ----------
    assignment : uint8, shape (N,)
        Values 0 and 1.
    violated : int
        Clauses that it violates.
    reached : bool
        Whether `violated` is at or below the target.
    sweeps : int
        Sweeps of each clone until then, those of earlier rounds included. Exact for a solution;
        otherwise to the look at which the assignment was found, 16 sweeps apart.
    clones : int
        Clones side by side in a round, a multiple of 1024.
    restart : int
        Sweeps of a round, after which all clones begin anew.
    spin_updates : int
        Updates made, those of all clones and rounds.
    seconds : float
        Wall-clock time.
    improvements : tuple of (int, int)
        Violated clauses and sweeps of each best that was better than all of earlier sweeps.
    seed : int
    device : str
    stopped : str
        "" or "finished" when the search came to its end, else "time_limit", "SIGINT" or "SIGTERM".
    """

    assignment: NDArray[np.uint8]
    violated: int
    reached: bool
    sweeps: int
    clones: int
    restart: int
    spin_updates: int
    seconds: float
    improvements: tuple[tuple[int, int], ...]
    seed: int
    device: str
    stopped: Stopped

    @property
    def spin_updates_per_second(self) -> float:
        """Rate over the whole search."""
        return self.spin_updates / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the assignment is a string of 0 and 1."""
        return {
            "assignment": "".join(map(str, self.assignment.tolist())),
            "violated": self.violated,
            "reached": self.reached,
            "sweeps": self.sweeps,
            "clones": self.clones,
            "restart": self.restart,
            "spin_updates": self.spin_updates,
            "spin_updates_per_second": self.spin_updates_per_second,
            "seconds": self.seconds,
            "improvements": [list(step) for step in self.improvements],
            "seed": self.seed,
            "device": self.device,
            "stopped": self.stopped,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())


def quasi_greedy(
    system: XorSystem,
    *,
    w: ArrayLike | None = None,
    clones: int | None = None,
    target: int = 0,
    anytime: bool | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
    seed: int | None = None,
    device: str | Device | Sequence[str | Device] = "auto",
    threads: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    on_improvement: Callable[[Improvement], object] | None = None,
) -> QuasiGreedyResult:
    r"""Search for an assignment that violates at most `target` clauses by quasi-greedy dynamics.

    Many clones start from random assignments. A sweep visits every variable once; one that is in k
    violated clauses flips with probability :math:`w_k`, where :math:`w_0 = 0`, so that a clone that
    has found a solution keeps it. Rounds of `restart` sweeps follow one another until a clone
    succeeds.

    Parameters
    ----------
    system : XorSystem
        Clauses of any length, up to 255 clauses a variable.
    w : float or sequence of float, optional
        w1, or w_0, w_1, ...; rounded to 256ths. A number stands for the probabilities of Metropolis
        dynamics at :math:`T = -2/\ln w_1`, except w_0 = 0; for three clauses a variable 0, w1, 1, 1.
        By default 0.055, or more for 3-regular systems of fewer than 256 variables.
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
    seed : int, optional
        0 or more; by default one is drawn. The same seed, `clones`, `restart` and `w` give the same
        answer on every device and for any number of workers.
    device : str, Device, or a sequence of them
        See :func:`hardscape.engine.resolve`; "auto" takes a GPU from 160 variables on
        and up to 400 clauses; about 500 fit.
    threads : int, optional
        CPU threads, each with a round of its own; by default all.
    time_limit : float, optional
        Wall-clock seconds.
    checkpoint : path, optional
        Ledger of finished rounds; the same call goes on from there.
    executor : concurrent.futures.Executor, optional
        Runs the rounds elsewhere; see :func:`hardscape.engine.run`.
    progress : bool, callable or Progress, optional
        See :func:`hardscape.engine.resolve_progress`.
    on_improvement : callable, optional
        Called with each `Improvement` as it is found, in the thread that found it, one at a time.
        Rounds of an `executor` tell nothing until the end.

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
    began = time.perf_counter()
    devices = resolve(device, threads=threads, big_enough=suits_gpu(system))
    work = schedule(
        system,
        devices,
        w=w,
        seed=seed,
        clones=clones,
        target=target,
        anytime=anytime,
        restart=restart,
        max_sweeps=max_sweeps,
    )
    watch = None if on_improvement is None else Watch(on_improvement, began)
    outcome = run(
        replace(work, watch=watch),
        devices=devices,
        executor=executor,
        checkpoint=checkpoint,
        time_limit=time_limit,
        progress=progress,
    )
    result = _result(work, outcome, devices, time.perf_counter() - began)
    if watch is not None:
        for violated, sweeps in result.improvements:
            watch.offer(violated, sweeps)
    if outcome.signum:
        raise Interrupted(outcome.signum, result)
    return result


def _checked(value: int, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"{name}={value!r}; an integer from {least} to {most} is accepted")
    return int(value)


def suits_gpu(system: XorSystem) -> bool:
    """Whether "auto" takes a GPU: the search takes longer than its start, and the system fits."""
    return system.num_variables >= _GPU_VARIABLES and system.num_clauses <= _GPU_CLAUSES


def schedule(
    system: XorSystem,
    devices: Sequence[Device],
    *,
    w: ArrayLike | None = None,
    seed: int | None = None,
    clones: int | None = None,
    target: int = 0,
    anytime: bool | None = None,
    restart: int | None = None,
    max_sweeps: int | None = None,
) -> QuasiGreedyWork:
    """Check the options of :func:`quasi_greedy` and lay out its rounds."""
    plan = Plan.build(system, w)
    count = int(system.num_variables)
    if anytime is None:
        anytime = target > 0 or len(system.parity) > count
    if clones is None:
        groups = default_groups(plan, devices[0])
    else:
        groups = -(-_checked(clones, "clones", 1, MAX_CLONES) // GROUP)
    if restart is None:
        restart = min(max(_RESTART_BY_VARIABLE * count, _LEAST_RESTART), _MOST_RESTART)
    return QuasiGreedyWork(
        plan,
        secrets.randbits(63) if seed is None else _checked(seed, "seed", 0, (1 << 64) - 1),
        groups,
        _checked(restart, "restart", 1, MAX_SWEEPS),
        _checked(target, "target", 0, MAX_TARGET),
        _FOREVER if max_sweeps is None else _checked(max_sweeps, "max_sweeps", 1, _FOREVER),
        anytime,
    )


def _result(
    work: QuasiGreedyWork, outcome: Outcome[Any], devices: Sequence[Device], seconds: float
) -> QuasiGreedyResult:
    partial = outcome.partial
    steps = [Best(*row) for row in partial["improvements"].tolist()] if partial else []
    # Where the time did not suffice for one look, the first clone's initial spins are the best known.
    best = steps[-1] if steps else Best(-1, 0, 0, 0)
    updates = int(partial["group_sweeps"][0]) * GROUP * work.plan.updates if partial else 0
    assignment = work.assignment(best)
    violated = int(work.plan.system.violated(assignment))
    earlier = [(step.violated, work.sweeps_until(step)) for step in steps[:-1]]
    return QuasiGreedyResult(
        assignment=assignment,
        violated=violated,
        reached=violated <= work.target,
        sweeps=work.sweeps_until(best),
        clones=work.groups * GROUP,
        restart=work.restart,
        spin_updates=updates,
        seconds=seconds,
        # The last may be better than the target that it is counted as.
        improvements=(*earlier, (violated, work.sweeps_until(best))) if steps else (),
        seed=work.seed,
        device=", ".join(map(str, devices)),
        stopped=outcome.stopped,
    )
