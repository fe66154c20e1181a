"""One call for a system: elimination where that answers, quasi-greedy search where it does not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Unpack

from numpy.typing import ArrayLike

from hardscape.engine import RunArguments, RunOptions
from hardscape.errors import InputError
from hardscape.interrupts import interruptible
from hardscape.xorsat.methods.elimination.row import EliminationMethod
from hardscape.xorsat.methods.method import Method as Row
from hardscape.xorsat.methods.method import Question
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.methods.quasi_greedy.rounds import Schedule
from hardscape.xorsat.methods.quasi_greedy.row import QuasiGreedyMethod
from hardscape.xorsat.result import XorsatResult
from hardscape.xorsat.system import XorSystem, checked_system

Method = Literal["auto", "elimination", "quasi-greedy"]
METHODS: tuple[Method, ...] = ("auto", "elimination", "quasi-greedy")
#: The methods, those that cost least first; "auto" takes the first that does not pass.
TABLE: tuple[Row, ...] = (EliminationMethod(), QuasiGreedyMethod())

_log = logging.getLogger("hardscape.xorsat")


@interruptible
def solve(
    system: XorSystem | str | Path,
    *,
    method: Method = "auto",
    w1: ArrayLike | None = None,
    dynamics: Dynamics = "quasi-greedy",
    clones: int | None = None,
    restart: int | None = None,
    anytime: bool | None = None,
    max_sweeps: int | None = None,
    target: int = 0,
    on_improvement: Callable[[Improvement], object] | None = None,
    **run: Unpack[RunArguments],
) -> XorsatResult:
    """Find an assignment that violates no clause, or as few as can be found.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
    method : {"auto", "elimination", "quasi-greedy"}
        "elimination" solves the linear system: milliseconds for thousands of variables, and a proof
        where there is no solution. "quasi-greedy" searches by local moves of many clones, without
        algebra: hardness is the point there (p-spin dynamics, comparisons of hardware, MAX-XORSAT).
        "auto" eliminates, and searches where the system turns out inconsistent or `target` is
        above 0.
    w1, dynamics, clones, restart, anytime, max_sweeps, on_improvement : optional
        Of the search; see :func:`hardscape.xorsat.quasi_greedy`.
    target : int
        The search ends when so few clauses are violated. Of an inconsistent system "auto" knows
        that one is always violated, and ends there.
    **run
        Device, threads, seed, limits and records of the search: see
        :class:`hardscape.engine.RunArguments`. They are checked whatever method answers. "auto" takes
        10 seconds where neither `time_limit` nor `max_sweeps` is given, because few violated clauses
        cannot be told from fewest.

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
    >>> solve(XorSystem.from_clauses([[0, 1, 2], [1, 2], [0, 2]], [1, 0, 1])).bit_string()
    '100'
    """
    if method not in METHODS:
        raise InputError(f"method={method!r}; {', '.join(METHODS)} are accepted")
    options = RunOptions.checked(**run)  # most systems are answered before a GPU is found
    schedule = Schedule(w1, clones, restart, target, anytime, max_sweeps, dynamics)
    anywhere = run.get("device", "auto") == "auto"
    question = Question(checked_system(system), schedule, options, anywhere, method, on_improvement)
    for row in TABLE:
        if method not in ("auto", row.name):
            continue
        reason = row.passed_over(question)
        if not reason:
            _log.debug("%s answers: %s", row.name, row.cost)
            return row.answer(question)
        _log.debug("%s passed over: %s", row.name, reason)
    raise AssertionError("the last row takes every system")
