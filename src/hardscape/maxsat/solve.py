"""MAX-SAT, anytime: presolve, local search, and where possible a proof."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import engine
from hardscape.engine import Device, Outcome, Work, resolve
from hardscape.errors import BudgetError, InputError, Interrupted
from hardscape.maxsat.arguments import (
    checked_assignment,
    checked_seed,
    choose_devices,
    counts_alike,
    provable,
    whole_number,
)
from hardscape.maxsat.cellular import CellularOptions, cellular_search
from hardscape.maxsat.exact import ExactSearch, has_rc2, require_rc2
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.local import LocalSearch, WeightingOptions
from hardscape.maxsat.presolve import Presolved, presolve
from hardscape.maxsat.result import Improvement, MaxsatResult, Status
from hardscape.maxsat.walkers import CudaWalks

__all__ = ["Method", "solve"]

Method = Literal["auto", "weighting", "cellular", "exact"]
_METHODS = ("auto", "weighting", "cellular", "exact")

#: Share of the time limit that "auto" and "exact" search before they try to prove, and most seconds.
_FIRST_SHARE, _FIRST_SECONDS = 0.2, 2.0
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Most runs of the genetic algorithm that share a call, where they go on up to a limit.
_MOST_RUNS = 256
#: Most variables: a search needs some 100 bytes for each.
_MOST_VARIABLES = 100_000_000
#: Literals from which a plain first assignment is offered: the search needs a while for its own.
_LARGE = 1_000_000


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
        "weighting" is local search: clause weighting, and where all clauses count alike also a
        focused random walk. "cellular" is :func:`cellular_search`, the genetic algorithm: one run, and
        with `time_limit` or `target` one after the other.
        "exact" is RC2 of python-sat, started from a short local search.
        "auto" searches, and tries to prove the optimum in what time is left where python-sat is
        installed.
    time_limit : float, optional
        Wall-clock seconds. Without any limit, a search ends when it stagnates, and "auto" tries to
        prove for 10 seconds more; "exact" ends with the proof.
    max_flips : int, optional
        Flips of each walker: one a thread, thousands on a GPU. The result of "weighting" then depends
        on the seed and on the number of walkers alone.
    target : int, optional
        Cost at which to stop.
    seed : int, optional
        0 to 2**64 - 1; by default a random one.
    device : str or Device
        "cpu"; "cuda" and the like run "cellular", and where all clauses count alike and none has more
        than three literals thousands of random walks. "auto" takes a GPU for such formulas of more
        than 20,000 literals.
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
    follows SATLike (Lei and Cai, IJCAI 2018) and NuWLS (Chu, Cai, Luo, AAAI 2023); RC2 is by
    Ignatiev, Morgado and Marques-Silva (JSAT 11, 53, 2019).

    Examples
    --------
    >>> from hardscape import maxsat
    >>> formula = maxsat.Formula.from_clauses([[1], [2], [-3]], [4, 3, 2], hard=[[-1, -2], [3, -1]])
    >>> maxsat.solve(formula, seed=1).cost
    4
    """
    run = _Run.of(
        formula,
        method=method,
        time_limit=time_limit,
        max_flips=max_flips,
        target=target,
        seed=seed,
        device=device,
        threads=threads,
        initial=initial,
        on_improvement=on_improvement,
        options=options,
    )
    try:
        result = run.go()
    except KeyboardInterrupt as stop:  # between two parts of the search, or for the second time
        signum = stop.signum if isinstance(stop, Interrupted) else int(signal.SIGINT)
        raise Interrupted(signum, run.result()) from None
    if run.signum:
        raise Interrupted(run.signum, result)
    return result


@dataclass
class _Run:
    """One call of `solve`: what was asked, and what is known so far."""

    formula: Formula
    method: Method
    deadline: float | None
    max_flips: int | None
    target: int | None
    seed: int
    device: str | Device
    devices: tuple[Device, ...]
    initial: NDArray[np.uint8] | None
    options: WeightingOptions | CellularOptions
    began: float
    presolved: Presolved
    incumbent: Incumbent
    flips: int = 0
    generations: int = 0
    proven: bool = False
    unsatisfiable: bool = False
    lower: int = 0
    stopped: str = ""
    signum: int = 0
    ran_on: str = "cpu"

    @classmethod
    def of(cls, formula: Formula, **asked: Any) -> _Run:
        """Check the arguments, and presolve."""
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
        method, time_limit = asked["method"], asked["time_limit"]
        if method not in _METHODS:
            raise InputError(f"method={method!r}; {', '.join(map(repr, _METHODS))} are accepted")
        if method == "exact":
            require_rc2()
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
        device, options = asked["device"], asked["options"]
        wanted = CellularOptions if method == "cellular" else WeightingOptions
        if options is not None and not isinstance(options, wanted):
            raise InputError(
                f"options is a {type(options).__name__}; method {method!r} takes {wanted.__name__}"
            )
        initial = asked["initial"]
        presolved = presolve(formula)
        devices = choose_devices(formula, presolved, method, device, asked["threads"])
        target = None if asked["target"] is None else whole_number("target", asked["target"], 0)
        goal = max(presolved.constant, -1 if target is None else target)
        return cls(
            formula=formula,
            method=method,
            deadline=None if time_limit is None else began + time_limit,
            max_flips=None
            if asked["max_flips"] is None
            else whole_number("max_flips", asked["max_flips"], 1),
            target=target,
            seed=checked_seed(asked["seed"]),
            device=device,
            devices=devices,
            initial=None if initial is None else checked_assignment(formula, initial),
            options=options or wanted(),
            began=began,
            presolved=presolved,
            incumbent=Incumbent(formula, presolved, goal, asked["on_improvement"], began),
            lower=presolved.constant,
        )

    def go(self) -> MaxsatResult:
        """Search, prove, and report."""
        if self.initial is not None:
            self.incumbent.offer(self.initial)
        if self.presolved.unsatisfiable:
            self.unsatisfiable = True
            self.incumbent.offer(self.presolved.lift(np.zeros(0, dtype=np.uint8)))
        elif self.presolved.formula.num_clauses == 0:
            left = np.zeros(self.presolved.formula.num_variables, dtype=np.uint8)
            self.incumbent.offer_reduced(left)
        if not (self.unsatisfiable or self.incumbent.reached):
            self._search()
        return self.result()

    def _search(self) -> None:
        if self.method == "cellular":
            self._evolve()
            return
        formula = self.presolved.formula
        if len(formula.literals) > _LARGE:
            self.incumbent.offer_reduced(np.zeros(formula.num_variables, dtype=np.uint8))
        proves = self.method == "exact" or (
            self.method == "auto" and has_rc2() and provable(formula)
        )
        left = self._left()
        if not proves:
            self._walk(left)
            return
        first = _FIRST_SECONDS if left is None else min(_FIRST_SECONDS, _FIRST_SHARE * left)
        self._walk(first, endless=False)
        if self.stopped == "time_limit":  # of the first part alone
            self.stopped = ""
        if self.incumbent.reached or self.stopped:
            return
        self._prove()

    def _left(self) -> float | None:
        """Seconds to the deadline."""
        if self.deadline is None:
            return None
        return max(1e-3, self.deadline - time.monotonic())

    def _local(self, *, endless: bool) -> LocalSearch:
        assert isinstance(self.options, WeightingOptions)
        presolved = self.presolved
        initial = None if self.initial is None else presolved.restrict(self.initial)
        return LocalSearch(
            formula=presolved.formula,
            walk=counts_alike(self.formula),
            seed=self.seed,
            walkers=len(self.devices),
            target=(0 if self.target is None else max(0, self.target - presolved.constant)),
            max_flips=self.max_flips,
            endless=endless,
            initial=initial,
            options=self.options,
            incumbent=self.incumbent,
        )

    def _walk(self, seconds: float | None, *, endless: bool | None = None) -> None:
        if endless is None:
            endless = self.deadline is not None or self.target is not None
        cuda = self.devices[0].kind == "cuda"
        work = self._walks(endless=endless) if cuda else self._local(endless=endless)
        outcome = self._engine(work, seconds)
        if outcome.partial is not None:
            self.flips += int(outcome.partial["flips"][0])
            self.incumbent.offer_reduced(outcome.partial["assignment"])

    def _walks(self, *, endless: bool) -> CudaWalks:
        self.ran_on = " ".join(map(str, self.devices))
        return CudaWalks(
            self.presolved.formula,
            self.seed,
            gpus=len(self.devices),
            max_flips=self.max_flips,
            endless=endless,
            offer=self.incumbent.offer_reduced,
            halt=self.incumbent.halt,
        )

    def _evolve(self) -> None:
        """Runs of the genetic algorithm, on the formula as it was given: one, or up to the limit."""
        again = self.deadline is not None or self.target is not None
        seed, runs = self.seed, 1
        while self._breed(seed, runs) and again:
            seed = (seed + 1) % 2**64
            runs = min(2 * runs, _MOST_RUNS)

    def _breed(self, seed: int, runs: int) -> bool:
        """Do some runs; False where they were cut short, or reached the target."""
        assert isinstance(self.options, CellularOptions)

        def take(assignment: NDArray[np.bool_], seconds: float) -> None:
            self.incumbent.offer(assignment.astype(np.uint8))

        try:
            found = cellular_search(
                self.formula,
                options=self.options,
                runs=runs,
                seed=seed,
                target=self.target,
                device=self.device,
                threads=len(self.devices) if self.devices[0].kind == "cpu" else None,
                time_limit=self._left(),
                on_improvement=take,
            )
        except Interrupted as stop:
            self.signum = stop.signum
            self.stopped = signal.Signals(stop.signum).name
            if stop.result is None:
                return False
            found = stop.result
        self.incumbent.offer(found.assignment.astype(np.uint8))
        self.generations += int(found.run_generations.sum())
        self.ran_on = found.device
        if not (found.complete or self.signum or self.incumbent.reached):
            self.stopped = "time_limit"
        return found.complete and not self.incumbent.reached

    def _prove(self) -> None:
        best = self.incumbent.best
        left = self._left()
        if left is None and self.method == "auto":
            left = _UNASKED_SECONDS
        presolved = self.presolved
        initial = presolved.restrict(
            np.zeros(self.formula.num_variables) if best is None else best.assignment
        )
        if self.devices[0].kind == "cuda":  # the proof is the CPU's
            self.devices = resolve("cpu")
        local = None
        if len(self.devices) > 1 and self.max_flips is None:
            local = replace(
                self._local(endless=True), walkers=len(self.devices) - 1, seed=self.seed + 1
            )
        work = ExactSearch(presolved.formula, presolved.constant, initial, self.incumbent, local)
        outcome = self._engine(work, left)
        if outcome.partial is not None:
            partial = outcome.partial
            high, low = partial["lower"].tolist()
            self.lower = max(self.lower, (high << 64) + low + presolved.constant)
            self.proven = bool(partial["proven"][0])
            self.unsatisfiable = bool(partial["unsatisfiable"][0])
            self.flips += int(partial["flips"][0])

    def _engine(self, work: Work, seconds: float | None) -> Outcome:
        outcome = engine.run(work, devices=self.devices, time_limit=seconds)
        # A walker that another one's success ended counts as cut short, too.
        if outcome.stopped and not outcome.complete and not self.incumbent.reached:
            self.stopped = outcome.stopped
        if outcome.signum:
            self.stopped, self.signum = outcome.stopped, outcome.signum
        return outcome

    def result(self) -> MaxsatResult:
        """What is known now."""
        best = self.incumbent.best
        if best is None:  # interrupted before anything was evaluated
            self.incumbent.offer(np.zeros(self.formula.num_variables, dtype=np.uint8))
            best = self.incumbent.improvements[-1]
        feasible = best.hard_violations == 0
        proven = self.proven or (feasible and best.cost <= self.lower)
        status: Status = "SATISFIABLE" if feasible else "UNKNOWN"
        if feasible and proven:
            status = "OPTIMUM FOUND"
        elif self.unsatisfiable:
            status = "UNSATISFIABLE"
        return MaxsatResult(
            status=status,
            cost=best.cost if feasible else None,
            assignment=best.assignment,
            satisfied=self.formula.evaluate(best.assignment).satisfied,
            total=self.formula.num_clauses,
            hard_satisfied=self.formula.num_hard - best.hard_violations,
            lower_bound=best.cost if status == "OPTIMUM FOUND" else self.lower,
            improvements=tuple(self.incumbent.improvements),
            method=self.method,
            flips=self.flips,
            generations=self.generations,
            seconds=time.monotonic() - self.began,
            device=self.ran_on,
            stopped=self.stopped,
        )
