"""Islands of walks as rows of the table of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardscape.engine import Cuda, cuda_status
from hardscape.maxsat.methods.islands.tables import fits
from hardscape.maxsat.methods.islands.weighing.tables import bytes_needed, weighs
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import surveys_say
from hardscape.maxsat.task import SMALL, Task, Walks

if TYPE_CHECKING:  # imported where there is a GPU to walk on
    from hardscape.maxsat.methods.islands.islands import WalkIslands, WeighingIslands

#: Clauses, for each variable, that a random assignment violates in formulas that may be satisfiable: random
#: 3-SAT has so many at a ratio of 4.4. Beyond it, clause weighting on a CPU finds better assignments than
#: walks on a GPU do.
_MOST_VIOLATED = 0.55
#: Variables of a formula near the threshold beyond which a CPU that surveys it is sooner.
_SURVEYED = 5000


class IslandWalks(Walks):
    """Many random walks at once on GPUs."""

    name = "walks"
    asked = ("auto", "weighting")
    devices = (Cuda,)

    def unfit(self, task: Task) -> str:
        """See `Method.unfit`."""
        if not task.formula.uniform:
            return "its clauses do not count alike"
        if not fits(task.presolved.formula):
            return "its clauses are too long or too many, or none are left"
        return ""

    def pays(self, task: Task) -> bool:
        """See `Method.pays`: where all clauses may be satisfiable, and surveys do not find it sooner."""
        formula = task.presolved.formula
        if len(task.formula.literals) <= SMALL or task.method not in self.asked or self.unfit(task):
            return False
        if formula.num_variables > _SURVEYED and surveys_say(formula):
            return False
        violated = float(np.exp2(-np.diff(formula.offsets).astype(np.float64)).sum())
        return violated <= _MOST_VIOLATED * formula.num_variables

    def work(self, task: Task, *, endless: bool) -> WalkIslands:
        """See `Walks.work`."""
        from hardscape.maxsat.methods.islands.batch import MOST_AT_ONCE
        from hardscape.maxsat.methods.islands.islands import WalkIslands

        assert isinstance(task.parameters, WeightingOptions)
        most = task.max_flips
        return WalkIslands(
            task.presolved.formula,
            task.options.seed,
            devices=len(task.options.devices),
            exchange=task.parameters.exchange,
            max_steps=None if most is None else max(1, most // MOST_AT_ONCE),
            endless=endless,
            offer=task.incumbent.offer_reduced,
            halt=task.incumbent.halt,
            incumbent=task.incumbent,
        )


class IslandWeighing(Walks):
    """Many clause-weighting walks at once on GPUs."""

    name = "weighing"
    asked = ("auto", "weighting", "exact")
    devices = (Cuda,)

    def unfit(self, task: Task) -> str:
        """See `Method.unfit`."""
        from hardscape.maxsat.methods.islands.weighing.weighing import MEMORY

        formula = task.presolved.formula
        if formula.num_clauses == 0:  # nobody needs to search
            return ""
        if not weighs(formula):
            return "the formula has too many clauses, or costs that are too large"
        needed, gpus = bytes_needed(formula), {gpu.ordinal: gpu for gpu in cuda_status().gpus}
        for device in task.options.devices if task.options.executor is None else ():
            gpu = gpus.get(device.ordinal) if isinstance(device, Cuda) else None
            if gpu is not None and needed > MEMORY * gpu.memory_total:
                total = gpu.memory_total
                return f"walks need {needed / 1e9:.3g} GB, and may have half of {total / 1e9:.3g}"
        return ""

    def work(self, task: Task, *, endless: bool) -> WeighingIslands:
        """See `Walks.work`."""
        from hardscape.maxsat.methods.islands.islands import WeighingIslands

        assert isinstance(task.parameters, WeightingOptions)
        presolved, initial = task.presolved, task.initial
        return WeighingIslands(
            presolved.formula,
            task.options.seed,
            devices=len(task.options.devices),
            target=0 if task.target is None else max(0, task.target - presolved.constant),
            exchange=task.parameters.exchange,
            max_steps=task.max_flips,
            endless=endless,
            offer=task.incumbent.offer_reduced,
            halt=task.incumbent.halt,
            incumbent=task.incumbent,
            options=task.parameters,
            initial=None if initial is None else presolved.restrict(initial),
        )
