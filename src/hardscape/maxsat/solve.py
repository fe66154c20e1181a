"""MAX-SAT, anytime: presolve, local search, and where possible a proof."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack, get_args

import numpy as np

from hardscape import memory
from hardscape.arguments import integer
from hardscape.engine import Ledger, RunArguments, RunOptions
from hardscape.engine.fold import Block
from hardscape.engine.ledger import NoLedger, open_ledger
from hardscape.errors import BudgetError, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.maxsat.anytime import conclude, search
from hardscape.maxsat.formula import Formula, checked_formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.intake import truth_values
from hardscape.maxsat.methods import MethodName
from hardscape.maxsat.methods.cellular.options import MOST_RUNS, CellularOptions
from hardscape.maxsat.methods.exact.exact import require_prover
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.result import MOST_COST, Improvement, MaxsatResult
from hardscape.maxsat.task import SMALL, Task

_METHODS = get_args(MethodName)

#: Most flips of a walker that may be asked for.
_MOST_FLIPS = 2**62

#: Bytes of a search for each variable, about.
_BYTES = 100
#: Most variables.
_MOST_VARIABLES = 100_000_000


@interruptible
def solve(
    formula: Formula | str | Path,
    *,
    method: MethodName = "auto",
    max_flips: int | None = None,
    target: int | None = None,
    initial: Any = None,
    lower_bound: int | None = None,
    on_improvement: Callable[[Improvement], object] | None = None,
    on_bound: Callable[[int], object] | None = None,
    options: WeightingOptions | CellularOptions | None = None,
    runs: int = 1,
    check: bool = False,
    **run: Unpack[RunArguments],
) -> MaxsatResult:
    r"""Find an assignment that satisfies all hard clauses and costs little, as early as possible.

    The cost is the weight of the soft clauses violated. The best assignment is always at hand: whatever
    ends the search, the result holds it.

    Parameters
    ----------
    formula : Formula, or the path of a file of one
    method : {"auto", "weighting", "cellular", "exact"}
        "weighting" is local search: clause weighting, where some clauses are hard and python-sat is
        installed also a walk over sets of soft clauses that hold together, and where all clauses count
        alike, and look random, a focused random walk.
        "cellular" is :func:`cellular_search`, the genetic algorithm: `runs`, and with `time_limit` or
        `target` others after them.
        "exact" is a SAT solver's work in a process of its own: cores of soft clauses raise the lower
        bound, and between them it looks for better assignments; local search goes on beside it, or in
        turns with it on one thread.
        "auto" is "exact" where python-sat and rustsat are installed and the formula does not look random,
        else local search; up to 12 variables it looks at every assignment.
    max_flips : int, optional
        Flips of each walker: one a thread, many on a GPU, whose steps of up to eight flips count
        as eight. The result of "weighting" then depends on the seed and on the number of walkers alone.
    target : int, optional
        Cost at which to stop.
    initial : array-like of 0 and 1, shape (n,), optional
        Assignment to start from; the result is never worse. "cellular" and random walks on a GPU
        start from random ones all the same.
    lower_bound : int, optional
        What is known to be no more than the least cost; nobody checks it, and an assignment that costs as
        much counts as proven.
    on_improvement : callable, optional
        Called with an `Improvement` for each better assignment, one at a time, from the thread that
        found it. What it raises ends the search.
    on_bound : callable, optional
        The same, with each higher lower bound on the cost.
    options : WeightingOptions or CellularOptions, optional
        Parameters of the local search, or of the genetic algorithm.
    runs : int
        Independent runs of the genetic algorithm; with a limit, so many at first.
    check : bool
        Whether a second SAT solver, CaDiCaL, must refute whatever the first one refutes, before a lower bound
        rises or the search ends: about twice the work. Where the two disagree the call fails with a
        `HardscapeError`. What raises a bound without such a refutation is left out (tables, branches, cores
        of local search, simpler clauses, the first bound), and the bound of a checkpoint is proven anew.
        Symmetries are compared clause by clause; what is refuted then is so under clauses that break them.
        Nobody checks those clauses, presolve, the encodings of counts, and the costs of all assignments of
        up to 12 variables.
        Methods "auto" and "exact" take it.
    **run
        How to search; see :class:`hardscape.engine.RunArguments`. GPUs run "cellular", and else many
        walks at once, beside a proof by the CPU where there is one: random walks where all clauses count
        alike and none has more than three literals, clause weighting on others that fit half of
        their memory (12 bytes a literal, and 12 a clause and 8 a variable for each walk); what does not is left
        to the CPU, with a warning. Device "auto" takes one for formulas of the first kind with more than 20,000
        literals that a random assignment violates at most 0.55 clauses a variable of; on others a GPU that is
        named helps some kinds (frequency assignments, integer programs, seatings, termination proofs with many
        wishes) and makes a call 0.2 to 1.1 s longer. `threads` are independent
        walkers; small formulas take one. Without any limit, a search ends when it stagnates, and "auto"
        tries to prove for 10 seconds more; "exact" ends with the proof. A checkpoint keeps the best
        assignment and the lower bound: a call with the same file and formula, whatever its other arguments,
        begins with them. An `executor` runs all but presolve and proofs; up to a limit, its workers search
        in turns of five seconds,
        after which the best assignment is known, and every second search goes on from it.

    Returns
    -------
    MaxsatResult

    Raises
    ------
    InputError
        For arguments out of range.
    BudgetError
        For more than 100 million variables.
    CheckpointError
        If the checkpoint cannot be used, belongs to another formula, or is in use.
    MissingDependencyError
        For "exact" without python-sat or rustsat.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the best so far.

    Notes
    -----
    Every cost is evaluated on the clauses as they were given. A flip costs as many operations as the
    variable has occurrences. The random walk is probSAT (Balint and Schoening, SAT 2012); the weighting
    follows SATLike (Lei and Cai, IJCAI 2018) and NuWLS (Chu, Cai, Luo, AAAI 2023); for the walk over sets
    of soft clauses see the theory page. Proofs are by core-guided search (RC2: Ignatiev, Morgado and
    Marques-Silva, JSAT 11, 53, 2019) and core-boosted linear search (Berg, Demirovic and Stuckey, CPAIOR 2019).

    Examples
    --------
    >>> from hardscape import maxsat
    >>> formula = maxsat.Formula.from_clauses([[1], [2], [-3]], [4, 3, 2], hard=[[-1, -2], [3, -1]])
    >>> maxsat.solve(formula, seed=1).cost
    4
    """
    runs, max_flips, target = checked_search(
        method, max_flips=max_flips, target=target, options=options, runs=runs, check=check
    )
    formula = checked_formula(formula)
    narrowed = run.get("threads") is None and len(formula.literals) <= SMALL
    if narrowed:
        run["threads"] = 1
    run_options = RunOptions.checked(**run).undivided("an anytime search")
    if formula.num_variables > _MOST_VARIABLES:
        raise BudgetError(
            f"the formula has {formula.num_variables} variables; up to {_MOST_VARIABLES} are "
            "searched: number those that occur from 1 on without gaps"
        )
    memory.require(_BYTES * formula.num_variables, f"a search of {formula.num_variables} variables")
    for name, call in (("on_improvement", on_improvement), ("on_bound", on_bound)):
        if call is not None and not callable(call):
            raise InputError(f"{name}={call!r}; a function is accepted")
    if initial is not None:
        initial = truth_values(initial, formula.num_variables, "initial")
        formula.evaluate(initial)  # refuses more than one
    task = Task(
        formula=formula,
        method=method,
        options=run_options,
        anywhere=run.get("device", "auto") == "auto",
        max_flips=max_flips,
        target=target,
        initial=None if initial is None else initial.astype(np.uint8),
        parameters=options or _parameters(method)(),
        runs=runs,
        check=check,
        narrowed=narrowed,
        incumbent=Incumbent(formula, on_improvement, run_options.deadline.began, on_bound),
    )
    if known := integer(lower_bound or 0, "lower_bound", 0, MOST_COST):
        task.incumbent.lower = task.incumbent.earned = known
        task.incumbent.bounds.append((0.0, known))
    with open_ledger(run_options.checkpoint, task) as ledger:
        return _run(task, ledger)


def checked_search(
    method: MethodName,
    *,
    max_flips: int | None,
    target: int | None,
    options: WeightingOptions | CellularOptions | None,
    runs: int,
    check: bool,
) -> tuple[int, int | None, int | None]:
    """`runs`, `max_flips` and `target`; an error for what `solve` does not take, whatever the formula."""
    if method not in _METHODS:
        raise InputError(f"method={method!r}; {', '.join(map(repr, _METHODS))} are accepted")
    if check and method not in ("auto", "exact"):
        raise InputError(f"check=True with method={method!r}; 'auto' and 'exact' prove something")
    if method == "exact" or check:
        require_prover("check=True" if check else "method='exact'")
    wanted = _parameters(method)
    if options is not None and not isinstance(options, wanted):
        raise InputError(
            f"options is a {type(options).__name__}; method {method!r} takes {wanted.__name__}"
        )
    runs = integer(runs, "runs", 1, MOST_RUNS)
    if runs > 1 and method != "cellular":
        raise InputError(f"runs={runs} with method={method!r}; only 'cellular' has runs")
    return (
        runs,
        None if max_flips is None else integer(max_flips, "max_flips", 1, _MOST_FLIPS),
        None if target is None else integer(target, "target", 0, MOST_COST),
    )


def _parameters(method: MethodName) -> type[WeightingOptions | CellularOptions]:
    """What the options of a method are."""
    return CellularOptions if method == "cellular" else WeightingOptions


def _run(task: Task, ledger: Ledger | NoLedger) -> MaxsatResult:
    incumbent = task.incumbent
    for _, state in ledger.load():
        incumbent.restore(state, relies=not task.check)
        if task.initial is None:
            task.initial = state["assignment"]
    if isinstance(ledger, Ledger):
        incumbent.record = lambda state: ledger.replace([(Block(0, 1), state)])
    try:
        search(task)
    except KeyboardInterrupt as stop:  # between two parts of the search, or for the second time
        task.signum = stop.signum if isinstance(stop, Interrupted) else int(signal.SIGINT)
        task.stopped = signal.Signals(task.signum).name
    incumbent.record = None
    result = conclude(task)
    ledger.replace([(Block(0, 1), incumbent.state())])
    if task.signum:
        raise Interrupted(task.signum, result)
    return result
