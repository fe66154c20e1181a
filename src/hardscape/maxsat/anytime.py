"""One call of `solve`: first assignment, presolve, search, proof, in the time there is."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hardscape import engine, native
from hardscape.engine import Device, Outcome, Partial, Work, resolve
from hardscape.errors import Interrupted
from hardscape.maxsat.arguments import choose_devices, counts_alike, provable
from hardscape.maxsat.deadline import LARGE, Deadline
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.cellular import CellularOptions, cellular_search
from hardscape.maxsat.methods.exact.exact import ExactSearch, has_rc2
from hardscape.maxsat.methods.islands.batch import MOST_AT_ONCE
from hardscape.maxsat.methods.islands.islands import WalkIslands
from hardscape.maxsat.methods.weighting.local import LocalSearch
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.presolve import NOTHING_LEFT, Presolved, presolve
from hardscape.maxsat.result import MaxsatResult, Status

__all__ = ["AnytimeSearch", "Method"]

Method = Literal["auto", "weighting", "cellular", "exact"]

#: Share of the time limit that "auto" and "exact" search before they try to prove, and most seconds: on
#: one thread, and where other threads search on beside the proof.
_FIRST_SHARE, _FIRST_SECONDS, _FIRST_SECONDS_BESIDE = 0.2, 2.0, 0.5
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Most variables and literals of formulas of which "auto" looks at every assignment, in some 20 ms.
_TINY, _TINY_LITERALS = 12, 1000
#: Most runs of the genetic algorithm that share a call, where they go on up to a limit.
_MOST_RUNS = 256
#: Evaluations of an assignment for which time is kept back: the last one found, and memory given back.
_RESERVED = 3.0
#: Seconds that an evaluation takes for each literal, about, as long as none has been measured.
_EVALUATION = 3e-9


@dataclass
class AnytimeSearch:
    """What was asked, and what is known so far.

    Attributes
    ----------
    formula : Formula
    method : str
    deadline : Deadline
    max_flips, target : int or None
    seed : int
    device : str or Device
        As asked.
    threads : int or None
    initial : uint8 array or None
    options : WeightingOptions or CellularOptions
    incumbent : Incumbent
    began : float
        ``time.monotonic()`` when the call began.
    signum : int
        The signal that ended the search, or 0.
    """

    formula: Formula
    method: Method
    deadline: Deadline
    max_flips: int | None
    target: int | None
    seed: int
    device: str | Device
    threads: int | None
    initial: NDArray[np.uint8] | None
    options: WeightingOptions | CellularOptions
    incumbent: Incumbent
    began: float
    signum: int = 0
    _presolved: Presolved = NOTHING_LEFT
    _devices: tuple[Device, ...] = ()
    _flips: int = 0
    _generations: int = 0
    _proven: bool = False
    _unsatisfiable: bool = False
    _lower: int = 0
    _stopped: str = ""
    _ran_on: str = field(default="cpu")

    def go(self) -> MaxsatResult:
        """Search, prove, and report."""
        if self._prepare():
            if self._presolved.unsatisfiable:
                self._unsatisfiable = True
                self.incumbent.offer(self._presolved.lift(np.zeros(0, dtype=np.uint8)))
            elif self._presolved.formula.num_clauses == 0:
                left = np.zeros(self._presolved.formula.num_variables, dtype=np.uint8)
                self.incumbent.offer_reduced(left)
            if not (self._unsatisfiable or self.incumbent.reached):
                self._search()
        else:
            self._stopped = "time_limit"
        return self.result()

    def _prepare(self) -> bool:
        """First assignments, presolve, devices; False if the time is up."""
        self._offer_first()
        with self.deadline.watched():
            presolved = presolve(self.formula, stop=self.deadline.stop)
        reduced = self.formula if presolved is None else presolved.formula
        self._devices = choose_devices(
            self.formula, reduced, self.method, self.device, self.threads
        )
        if presolved is None:
            return False
        self._presolved = presolved
        self._lower = presolved.constant
        goal = max(presolved.constant, -1 if self.target is None else self.target)
        self.incumbent.aim(presolved, goal)
        return True

    def _offer_first(self) -> None:
        large = len(self.formula.literals) > LARGE
        if large:
            self.deadline.reserve(_RESERVED * _EVALUATION * len(self.formula.literals))
        began = time.monotonic()
        if self.initial is not None:
            self.incumbent.offer(self.initial)
        elif large:
            # At once: presolve and search need a while for theirs.
            f = self.formula
            with self.deadline.watched():
                found = native.core.maxsat.greedy(
                    f.num_variables,
                    f.literals,
                    f.offsets,
                    f.weights,
                    f.hard.view(np.uint8),
                    self.deadline.stop,
                )
            began = time.monotonic()
            self.incumbent.offer(found)
        if large:
            self.deadline.reserve(_RESERVED * (time.monotonic() - began))

    def _search(self) -> None:
        if self.deadline.up and self.incumbent.best is not None:
            self._stopped = "time_limit"
            return
        if self.method == "cellular":
            self._evolve()
            return
        formula = self._presolved.formula
        tiny = formula.num_variables <= _TINY and len(formula.literals) <= _TINY_LITERALS
        if tiny and self.method == "auto":
            self._enumerate()
            return
        proves = self.method == "exact" or (
            self.method == "auto" and has_rc2() and provable(formula)
        )
        left = self.deadline.left
        if not proves:
            self._walk(left)
            return
        beside = len(self._devices) > 1 and self.max_flips is None
        first = _FIRST_SECONDS_BESIDE if beside else _FIRST_SECONDS
        if left is not None:
            first = min(first, _FIRST_SHARE * left)
        self._walk(first, endless=False)
        if self._stopped == "time_limit":  # of the first part alone
            self._stopped = ""
        if self.incumbent.reached or self._stopped:
            return
        self._prove()

    def _enumerate(self) -> None:
        """Look at every assignment: sooner than a search, and a proof."""
        formula = self._presolved.formula
        count = formula.num_variables
        every = (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.uint8)
        feasible = every[formula.hard_violations(every) == 0]
        if len(feasible) == 0:
            self._unsatisfiable = True
            self.incumbent.offer_reduced(every[0])
            return
        self.incumbent.offer_reduced(feasible[int(np.argmin(formula.cost(feasible)))])
        self._proven = True

    def _local(self, *, endless: bool) -> LocalSearch:
        assert isinstance(self.options, WeightingOptions)
        presolved = self._presolved
        initial, best = self.initial, self.incumbent.best
        if initial is None and best is not None and len(self.formula.literals) > LARGE:
            initial = best.assignment
        return LocalSearch(
            formula=presolved.formula,
            walk=counts_alike(self.formula),
            seed=self.seed,
            walkers=len(self._devices),
            target=(0 if self.target is None else max(0, self.target - presolved.constant)),
            max_flips=self.max_flips,
            endless=endless,
            initial=None if initial is None else presolved.restrict(initial),
            options=self.options,
            incumbent=self.incumbent,
        )

    def _walk(self, seconds: float | None, *, endless: bool | None = None) -> None:
        if endless is None:
            endless = self.deadline.left is not None or self.target is not None
        cuda = self._devices[0].kind == "cuda"
        work = self._walks(endless=endless) if cuda else self._local(endless=endless)
        outcome = self._engine(work, seconds)
        if outcome.partial is not None:
            self._flips += int(outcome.partial["flips"][0])
            if self.max_flips is not None:
                self.incumbent.settle(outcome.partial["assignment"])

    def _walks(self, *, endless: bool) -> WalkIslands:
        assert isinstance(self.options, WeightingOptions)
        self._ran_on = " ".join(map(str, self._devices))
        return WalkIslands(
            self._presolved.formula,
            self.seed,
            devices=len(self._devices),
            exchange=self.options.exchange,
            max_steps=None if self.max_flips is None else max(1, self.max_flips // MOST_AT_ONCE),
            endless=endless,
            offer=self.incumbent.offer_reduced,
            halt=self.incumbent.halt,
        )

    def _evolve(self) -> None:
        """Runs of the genetic algorithm, on the formula as it was given: one, or up to the limit."""
        again = self.deadline.left is not None or self.target is not None
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
                threads=len(self._devices) if self._devices[0].kind == "cpu" else None,
                time_limit=self.deadline.left,
                on_improvement=take,
            )
        except Interrupted as stop:
            self.signum = stop.signum
            self._stopped = signal.Signals(stop.signum).name
            if stop.result is None:
                return False
            found = stop.result
        self._generations += int(found.run_generations.sum())
        self._ran_on = found.device
        if not (found.complete or self.signum or self.incumbent.reached):
            self._stopped = "time_limit"
        return found.complete and not self.incumbent.reached

    def _prove(self) -> None:
        best = self.incumbent.best
        left = self.deadline.left
        if left is None and self.method == "auto":
            left = _UNASKED_SECONDS
        presolved = self._presolved
        initial = presolved.restrict(
            np.zeros(self.formula.num_variables) if best is None else best.assignment
        )
        if self._devices[0].kind == "cuda":  # the proof is the CPU's
            self._devices = resolve("cpu")
        local = None
        if len(self._devices) > 1 and self.max_flips is None:
            local = replace(
                self._local(endless=True), walkers=len(self._devices) - 1, seed=self.seed + 1
            )
        work = ExactSearch(presolved.formula, presolved.constant, initial, self.incumbent, local)
        outcome = self._engine(work, left)
        if outcome.partial is not None:
            partial = outcome.partial
            high, low = partial["lower"].tolist()
            self._lower = max(self._lower, (high << 64) + low + presolved.constant)
            self._proven = bool(partial["proven"][0])
            self._unsatisfiable = bool(partial["unsatisfiable"][0])
            self._flips += int(partial["flips"][0])

    def _engine(self, work: Work[Partial], seconds: float | None) -> Outcome[Partial]:
        outcome = engine.run(work, devices=self._devices, time_limit=seconds)
        # A walker that another one's success ended counts as cut short, too.
        if outcome.stopped and not outcome.complete and not self.incumbent.reached:
            self._stopped = outcome.stopped
        if outcome.signum:
            self._stopped, self.signum = outcome.stopped, outcome.signum
        return outcome

    def result(self) -> MaxsatResult:
        """What is known now."""
        best = self.incumbent.best
        if best is None:  # interrupted before anything was evaluated
            self.incumbent.offer(np.zeros(self.formula.num_variables, dtype=np.uint8))
            best = self.incumbent.improvements[-1]
        feasible = best.hard_violations == 0
        proven = self._proven or (feasible and best.cost <= self._lower)
        status: Status = "SATISFIABLE" if feasible else "UNKNOWN"
        if feasible and proven:
            status = "OPTIMUM FOUND"
        elif self._unsatisfiable:
            status = "UNSATISFIABLE"
        return MaxsatResult(
            status=status,
            cost=best.cost if feasible else None,
            assignment=best.assignment,
            satisfied=best.satisfied,
            total=self.formula.num_clauses,
            hard_satisfied=self.formula.num_hard - best.hard_violations,
            lower_bound=best.cost if status == "OPTIMUM FOUND" else self._lower,
            improvements=tuple(self.incumbent.improvements),
            method=self.method,
            flips=self._flips,
            generations=self._generations,
            seconds=time.monotonic() - self.began,
            device=self._ran_on,
            stopped=self._stopped,
        )
