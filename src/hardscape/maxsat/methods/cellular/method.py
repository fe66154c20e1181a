"""The cellular genetic algorithm as a row of the table of methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import MAX_SEED
from hardscape.engine import Cpu, Cuda, resolve
from hardscape.interrupts import signals_wait
from hardscape.maxsat.methods.cellular.options import CellularOptions
from hardscape.maxsat.task import Method, Task

#: Most runs that share a call, where they go on up to a limit.
_MOST_TOGETHER = 256


class Cellular(Method):
    """Runs of the genetic algorithm, on the formula as it was given: those asked for, or up to the limit."""

    name = "cellular"
    asked = ("cellular",)
    devices = (Cpu, Cuda)

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        seed, runs = task.options.seed, task.runs
        while self._breed(task, seed, runs) and task.endless:
            seed = (seed + 1) % (MAX_SEED + 1)
            runs = max(task.runs, min(2 * runs, _MOST_TOGETHER))

    def _breed(self, task: Task, seed: int, runs: int) -> bool:
        """Do some runs; False where they were cut short, or reached the target."""
        with signals_wait():
            from hardscape.maxsat.methods.cellular.search import evolve, pays_on_gpu

        assert isinstance(task.parameters, CellularOptions)
        incumbent = task.incumbent

        def take(assignment: NDArray[np.bool_], seconds: float) -> None:
            incumbent.offer(assignment.astype(np.uint8))

        # A deadline of its own: what it keeps back for its end is its own affair.
        options = replace(task.options, seed=seed, checkpoint=None).within(None)
        if task.anywhere:
            big = pays_on_gpu(task.formula, task.parameters, runs)
            options = options.on(resolve("auto", threads=options.threads, big_enough=big))
        found, signum = evolve(task.formula, task.parameters, runs, task.target, options, take)
        task.note(self.name, found.device)
        task.generations += int(found.run_generations.sum())
        if signum or not incumbent.reached:
            task.signum, task.stopped = signum, found.stopped
        return not found.stopped and not incumbent.reached
