"""Local search as a row of the table of methods."""

from __future__ import annotations

from hardscape.engine import Cpu
from hardscape.maxsat.formula import LARGE
from hardscape.maxsat.methods.weighting.local import LocalSearch
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.task import Task, Walks


class LocalWalks(Walks):
    """Walkers on CPU threads: clause weighting, the random walk, and the walk over sets of soft clauses."""

    name = "weighting"
    asked = ("auto", "weighting", "exact")
    devices = (Cpu,)

    def told(self, task: Task) -> str:
        """See `Walks.told`."""
        return f"{self.name} with {len(task.options.devices)} walkers"

    def work(self, task: Task, *, endless: bool) -> LocalSearch:
        """See `Walks.work`."""
        assert isinstance(task.parameters, WeightingOptions)
        presolved, best = task.presolved, task.incumbent.best
        initial = task.initial
        if initial is None and best is not None and len(task.formula.literals) > LARGE:
            initial = best.assignment
        return LocalSearch(
            formula=presolved.formula,
            walk=task.formula.uniform,
            seed=task.options.seed,
            walkers=len(task.options.devices),
            target=0 if task.target is None else max(0, task.target - presolved.constant),
            max_flips=task.max_flips,
            endless=endless,
            initial=None if initial is None else presolved.restrict(initial),
            options=task.parameters,
            incumbent=task.incumbent,
        )
