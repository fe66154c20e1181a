"""MAX-SAT, anytime: presolve, local search, and where possible a proof."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from hardscape.engine import Device
from hardscape.errors import BudgetError, InputError, Interrupted
from hardscape.maxsat.anytime import AnytimeSearch, Method
from hardscape.maxsat.arguments import checked_assignment, checked_seed, whole_number
from hardscape.maxsat.deadline import Deadline
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.cellular import CellularOptions
from hardscape.maxsat.methods.exact.exact import require_rc2
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.result import Improvement, MaxsatResult

__all__ = ["Method", "solve"]

_METHODS = ("auto", "weighting", "cellular", "exact")

#: Most variables: a search needs some 100 bytes for each.
_MOST_VARIABLES = 100_000_000


def solve(
    formula: Formula,
    *,
    method: Method = "auto",
    time_limit: float | None = None,
    max_flips: int | None = None,
    target: int | None = None,
    seed: int | None = None,
    device: str | Device = "auto",
    threads: int | None = None,
    initial: Any = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    options: WeightingOptions | CellularOptions | None = None,
) -> MaxsatResult:
    r"""Find an assignment that satisfies all hard clauses and costs little, as early as possible.

    The cost is the weight of the soft clauses violated. The best assignment is always at hand: whatever
    ends the search, the result holds it.

    Parameters
    ----------
    formula : Formula
    method : {"auto", "weighting", "cellular", "exact"}
        "weighting" is local search: clause weighting, where some clauses are hard and python-sat is
        installed also a walk over sets of soft clauses that hold together, and where all clauses count
        alike a focused random walk.
        "cellular" is :func:`cellular_search`, the genetic algorithm: one run, and with `time_limit` or
        `target` one after the other.
        "exact" is RC2 of python-sat, started from a short local search.
        "auto" searches, and tries to prove the optimum in what time is left where python-sat is
        installed; up to 12 variables it looks at every assignment.
    time_limit : float, optional
        Wall-clock seconds; setting up counts. Without any limit, a search ends when it stagnates, and
        "auto" tries to prove for 10 seconds more; "exact" ends with the proof.
    max_flips : int, optional
        Flips of each walker: one a thread, many on a GPU, whose steps of up to four flips count
        as four. The result of "weighting" then depends on the seed and on the number of walkers alone.
    target : int, optional
        Cost at which to stop.
    seed : int, optional
        0 to 2**64 - 1; by default a random one.
    device : str or Device
        "cpu"; "cuda" and the like run "cellular", and where all clauses count alike and none has more
        than three literals many random walks at once. "auto" takes a GPU for such formulas of more
        than 20,000 literals that a random assignment violates at most 0.55 clauses a variable of.
    threads : int, optional
        Independent walkers, by default one for each CPU; small formulas take one.
    initial : array-like of 0 and 1, shape (n,), optional
        Assignment to start from; the result is never worse. "cellular" and walks on a GPU start from
        random ones all the same.
    on_improvement : callable, optional
        Called with an `Improvement` for each better assignment, one at a time, from the thread that
        found it. What it raises ends the search.
    options : WeightingOptions or CellularOptions, optional
        Parameters of the local search, or of the genetic algorithm.

    Returns
    -------
    MaxsatResult

    Raises
    ------
    InputError
        For arguments out of range.
    BudgetError
        For more than 100 million variables.
    MissingDependencyError
        For "exact" without python-sat.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    Every cost is evaluated on the clauses as they were given. A flip costs as many operations as the
    variable has occurrences. The random walk is probSAT (Balint and Schoening, SAT 2012); the weighting
    follows SATLike (Lei and Cai, IJCAI 2018) and NuWLS (Chu, Cai, Luo, AAAI 2023); for the walk over sets
    of soft clauses see the theory page; RC2 is by Ignatiev, Morgado and Marques-Silva (JSAT 11, 53, 2019).

    Examples
    --------
    >>> from hardscape import maxsat
    >>> formula = maxsat.Formula.from_clauses([[1], [2], [-3]], [4, 3, 2], hard=[[-1, -2], [3, -1]])
    >>> maxsat.solve(formula, seed=1).cost
    4
    """
    began = time.monotonic()
    if not isinstance(formula, Formula):
        raise InputError(
            f"formula is a {type(formula).__name__}; Formula.from_clauses and from_file make one"
        )
    if formula.num_variables > _MOST_VARIABLES:
        raise BudgetError(
            f"the formula has {formula.num_variables} variables; up to {_MOST_VARIABLES} are "
            "searched: number those that occur from 1 on without gaps"
        )
    if method not in _METHODS:
        raise InputError(f"method={method!r}; {', '.join(map(repr, _METHODS))} are accepted")
    if method == "exact":
        require_rc2()
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
    wanted = CellularOptions if method == "cellular" else WeightingOptions
    if options is not None and not isinstance(options, wanted):
        raise InputError(
            f"options is a {type(options).__name__}; method {method!r} takes {wanted.__name__}"
        )
    search = AnytimeSearch(
        formula=formula,
        method=method,
        deadline=Deadline(began, time_limit),
        max_flips=None if max_flips is None else whole_number("max_flips", max_flips, 1),
        target=None if target is None else whole_number("target", target, 0),
        seed=checked_seed(seed),
        device=device,
        threads=threads,
        initial=None if initial is None else checked_assignment(formula, initial),
        options=options or wanted(),
        incumbent=Incumbent(formula, on_improvement, began),
        began=began,
    )
    return _run(search)


def _run(search: AnytimeSearch) -> MaxsatResult:
    try:
        result = search.go()
    except KeyboardInterrupt as stop:  # between two parts of the search, or for the second time
        signum = stop.signum if isinstance(stop, Interrupted) else int(signal.SIGINT)
        raise Interrupted(signum, search.result()) from None
    if search.signum:
        raise Interrupted(search.signum, result)
    return result
