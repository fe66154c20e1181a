"""One call of `solve` while it is under way, and what a method of the table is to it."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, Identity, Outcome, Partial, RunOptions, Work, solve
from hardscape.engine.work import Answer
from hardscape.interrupts import heard
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.presolve import NOTHING_LEFT, Presolved
from hardscape.maxsat.result import told

#: Formulas of at most this many literals are searched on one thread: starting more takes longer.
SMALL = 20_000


@dataclass
class Task:
    """What was asked, and what is known so far."""

    formula: Formula
    method: str
    options: RunOptions
    anywhere: bool  # whether "auto" may choose a GPU
    max_flips: int | None
    target: int | None
    initial: NDArray[np.uint8] | None
    parameters: WeightingOptions | CellularOptions
    incumbent: Incumbent
    runs: int = 1  # of the genetic algorithm, at first
    check: bool = False  # whether proofs are confirmed by a second solver
    narrowed: bool = False  # whether it has one thread only because the formula is small
    presolved: Presolved = NOTHING_LEFT
    flips: int = 0
    generations: int = 0
    stopped: str = ""  # what ended the search early
    signum: int = 0  # the signal that did
    device: str = ""  # where the first part of the search ran
    ran: list[str] = field(default_factory=list)  # what searched, and where

    def identity(self) -> Identity:
        """What a ledger knows it by: the formula alone, so that any search of it goes on from the best."""
        return Identity.of("maxsat.solve", 1, self.formula.digest, 0)

    @property
    def endless(self) -> bool:
        """Whether a search goes on when nothing improves: up to a limit."""
        return self.options.deadline.seconds is not None or self.target is not None

    @property
    def over(self) -> bool:
        """Whether nothing is left to search for, or something said stop."""
        return self._settled or bool(self.stopped)

    @property
    def _settled(self) -> bool:
        return self.incumbent.reached or self.incumbent.refuted

    def do(self, what: str, work: Work[Answer], options: RunOptions) -> Outcome[Answer]:
        """Run a part of the search; notes what it is, where it runs, and what ended it."""
        self.note(what, told(options))
        outcome = solve(work, options.with_checkpoint(None))
        # A walker that another one's success ended counts as cut short, too.
        if outcome.stopped and not outcome.complete and not self._settled:
            self.stopped = outcome.stopped
        if (number := heard()) and not self._settled:  # also as a part of the search ended
            self.stopped, self.signum = signal.Signals(number).name, number
        return outcome

    def note(self, what: str, where: str) -> None:
        """Note what searches, and where."""
        self.device = self.device or where
        if f"{what} on {where}" not in self.ran:
            self.ran.append(f"{what} on {where}")


class Method(ABC):
    """A row of the table of methods: for which tasks it is, and what it does."""

    name: ClassVar[str]
    asked: ClassVar[Collection[str]]  # values of ``method=`` under which it may be taken
    devices: ClassVar[tuple[type[Device], ...]]

    def refusal(self, task: Task) -> str:
        """Why it does not take this task; empty where it does."""
        if task.method not in self.asked:
            return f"it is not for method={task.method!r}"
        if not all(isinstance(device, self.devices) for device in task.options.devices):
            return f"it does not run on {told(task.options)}"
        return self.unfit(task)

    def unfit(self, task: Task) -> str:
        """Why the formula is not for it; empty where it is."""
        return ""

    def pays(self, task: Task) -> bool:
        """Whether "auto" takes GPUs for its sake."""
        return False

    @abstractmethod
    def search(self, task: Task) -> None:
        """Search, and tell the task what came out."""


class Walks(Method):
    """A row that walks, for as long as it is let."""

    @abstractmethod
    def work(self, task: Task, *, endless: bool) -> Work[Partial]:
        """The walks; a partial holds ``flips``, and the best ``assignment`` of the presolved formula."""

    def told(self, task: Task) -> str:
        """The walks in words."""
        return self.name

    def search(self, task: Task) -> None:
        """Walk up to the limits."""
        self.walk(task, task.options, self.work(task, endless=task.endless))

    def walk(self, task: Task, options: RunOptions, work: Work[Partial]) -> None:
        """Walk within these options."""
        outcome = task.do(self.told(task), work, options)
        found = outcome.answer
        if found is None:
            return
        task.flips += int(found["flips"][0])
        if len(found["assignment"]) != task.presolved.formula.num_variables:
            return  # stopped before anything was evaluated
        if options.executor is not None:  # what happens elsewhere is known at the end
            task.incumbent.offer_reduced(found["assignment"])
        if task.max_flips is not None:
            task.incumbent.settle(found["assignment"])
