"""One call for a system: elimination where that answers, quasi-greedy search where it does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.engine import Device, Progress, ProgressEvent
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.methods.elimination.elimination import Elimination, eliminate
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement
from hardscape.xorsat.methods.quasi_greedy.search import QuasiGreedyResult, quasi_greedy
from hardscape.xorsat.system import XorSystem

__all__ = ["METHODS", "Method", "XorsatResult", "solve"]

Method = Literal["auto", "elimination", "quasi-greedy"]
METHODS: tuple[Method, ...] = ("auto", "elimination", "quasi-greedy")
#: Seconds that "auto" searches for few violated clauses where no limit is given.
_SEARCH_SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class XorsatResult:
    """An assignment and how it was found.

    Attributes
    ----------
    num_variables, num_clauses : int
    assignment : uint8, shape (N,)
    violated : int
        Clauses that it violates, counted from the system itself.
    method : {"elimination", "quasi-greedy"}
        What found it.
    optimal : bool
        Whether no assignment is proven to violate fewer clauses.
    contradiction : tuple of int
        Clauses that sum to 0 = 1, where elimination proved the system inconsistent; else empty.
    clones, sweeps, spin_updates : int
        Of the search: clones side by side, sweeps of each until the assignment was found, updates
        made in all; 0 for elimination.
    improvements : tuple of (int, int)
        Violated clauses and sweeps of each best that was better than all of earlier sweeps.
    seed : int or None
        Of the search.
    seconds : float
        Wall-clock time.
    device : str
    stopped : str
        What ended a search before its target: "time_limit", "max_sweeps", "SIGINT" or "SIGTERM",
        else "".
    """

    num_variables: int
    num_clauses: int
    assignment: NDArray[np.uint8]
    violated: int
    method: str
    optimal: bool
    contradiction: tuple[int, ...]
    clones: int
    sweeps: int
    spin_updates: int
    improvements: tuple[tuple[int, int], ...]
    seed: int | None
    seconds: float
    device: str
    stopped: str

    @property
    def satisfied(self) -> bool:
        """Whether no clause is violated."""
        return self.violated == 0

    @property
    def energy(self) -> int:
        """H = 2 V - M of the p-spin model."""
        return 2 * self.violated - self.num_clauses

    def bit_string(self) -> str:
        """The assignment as a string of 0 and 1: character i is variable i."""
        return "".join(map(str, self.assignment.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what :meth:`to_json` writes."""
        rate = self.spin_updates / self.seconds if self.spin_updates else None
        return {
            "n": self.num_variables,
            "clauses": self.num_clauses,
            "satisfied": self.satisfied,
            "violated": self.violated,
            "energy": self.energy,
            "assignment": self.bit_string(),
            "method": self.method,
            "optimal": self.optimal,
            "contradiction": list(self.contradiction),
            "clones": self.clones,
            "sweeps": self.sweeps,
            "spin_updates": self.spin_updates,
            "spin_updates_per_second": rate,
            "improvements": [list(step) for step in self.improvements],
            "seed": self.seed,
            "seconds": self.seconds,
            "device": self.device,
            "stopped": self.stopped,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        best = ", proven optimal" if self.optimal and self.violated else ""
        return (
            f"XorsatResult({self.violated} of {self.num_clauses} clauses violated{best}, by "
            f"{self.method} in {self.seconds:.3g} s)"
        )


def solve(
    system: XorSystem,
    *,
    method: Method = "auto",
    w: ArrayLike | None = None,
    clones: int | None = None,
    device: str | Device | Sequence[str | Device] = "auto",
    threads: int | None = None,
    restart: int | None = None,
    anytime: bool | None = None,
    max_sweeps: int | None = None,
    time_limit: float | None = None,
    target: int = 0,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    executor: Any = None,
    progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    on_improvement: Callable[[Improvement], object] | None = None,
) -> XorsatResult:
    """Find an assignment that violates no clause, or as few as can be found.

    Parameters
    ----------
    system : XorSystem
    method : {"auto", "elimination", "quasi-greedy"}
        "elimination" solves the linear system: milliseconds for thousands of variables, and a proof
        where there is no solution. "quasi-greedy" searches by local moves of many clones, without
        algebra: hardness is the point there (p-spin dynamics, comparisons of hardware, MAX-XORSAT).
        "auto" eliminates, and searches where the system turns out inconsistent or `target` is
        above 0.
    w, clones, device, threads, restart, anytime, max_sweeps : optional
    checkpoint, executor, progress, on_improvement : optional
        Of the search; see :func:`hardscape.xorsat.quasi_greedy`.
    time_limit : float, optional
        Seconds that the search may take. "auto" takes 10 where neither this nor `max_sweeps` is
        given, because few violated clauses cannot be told from fewest.
    target : int
        The search ends when so few clauses are violated. Of an inconsistent system "auto" knows
        that one is always violated, and ends there.
    seed : int, optional

    Returns
    -------
    XorsatResult
        Also where nothing satisfies: then the fewest violated clauses found, and with "auto" or
        "elimination" the contradiction that elimination gives.

    Raises
    ------
    InputError
    DeviceError
    Interrupted
        On Ctrl-C or SIGTERM, with the best so far.

    Notes
    -----
    Elimination costs what :func:`hardscape.xorsat.eliminate` says. Its assignment violates at most
    M - rank clauses of an inconsistent system.

    Examples
    --------
    >>> solve(XorSystem.from_arrays([[0, 1, 2], [1, 2], [0, 2]], [1, 0, 1])).bit_string()
    '100'
    """
    if not isinstance(system, XorSystem):
        raise InputError(
            f"system is a {type(system).__name__}; XorSystem.from_arrays and from_file make one"
        )
    if method not in METHODS:
        raise InputError(f"method={method!r}; {', '.join(METHODS)} are accepted")
    if isinstance(target, bool) or not isinstance(target, int | np.integer) or target < 0:
        raise InputError(f"target={target!r}; an integer, 0 or more, is accepted")
    began = perf_counter()
    found = None if method == "quasi-greedy" else eliminate(system)
    if found is not None and (method == "elimination" or (found.consistent and target == 0)):
        return _eliminated(system, found, began)
    if method == "auto" and time_limit is None and max_sweeps is None:
        time_limit = _SEARCH_SECONDS
    least = 0 if found is None or found.consistent else 1
    search: dict[str, Any] = {
        "w": w,
        "clones": clones,
        "device": device,
        "threads": threads,
        "restart": restart,
        "anytime": anytime,
        "max_sweeps": max_sweeps,
        "time_limit": time_limit,
        "target": max(int(target), least),
        "seed": seed,
        "checkpoint": checkpoint,
        "executor": executor,
        "progress": progress,
        "on_improvement": on_improvement,
    }
    return _searched(system, found, least, search, began)


def _eliminated(system: XorSystem, found: Elimination, began: float) -> XorsatResult:
    violated = int(system.violated(found.assignment))
    return XorsatResult(
        num_variables=system.num_variables,
        num_clauses=system.num_clauses,
        assignment=found.assignment,
        violated=violated,
        method="elimination",
        optimal=violated == (0 if found.consistent else 1),
        contradiction=found.contradiction() or (),
        clones=0,
        sweeps=0,
        spin_updates=0,
        improvements=(),
        seed=None,
        seconds=perf_counter() - began,
        device="cpu",
        stopped="",
    )


def _searched(
    system: XorSystem,
    found: Elimination | None,
    least: int,
    search: dict[str, Any],
    began: float,
) -> XorsatResult:
    """Search, knowing what elimination found and that `least` clauses are violated at any rate."""
    contradiction = (found.contradiction() or ()) if found is not None else ()

    def result(best: QuasiGreedyResult) -> XorsatResult:
        stopped = "" if best.reached else best.stopped
        return XorsatResult(
            num_variables=system.num_variables,
            num_clauses=system.num_clauses,
            assignment=best.assignment,
            violated=best.violated,
            method="quasi-greedy",
            optimal=best.violated == least,
            contradiction=contradiction,
            clones=best.clones,
            sweeps=best.sweeps,
            spin_updates=best.spin_updates,
            improvements=best.improvements,
            seed=best.seed,
            seconds=perf_counter() - began,
            device=best.device,
            stopped=stopped if best.reached or stopped else "max_sweeps",
        )

    try:
        best = result(quasi_greedy(system, **search))
    except Interrupted as stop:
        raise Interrupted(stop.signum, stop.result and result(stop.result)) from None
    return best
