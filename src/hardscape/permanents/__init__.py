"""Matrix permanents: real and complex in double precision, integers and rationals exactly."""

from hardscape.permanents.derivatives import minors, value_and_grad
from hardscape.permanents.permanent import permanent
from hardscape.permanents.planning import Plan, PlannedBlock, plan
from hardscape.permanents.reduce import Reductions
from hardscape.permanents.result import PermanentResult

__all__ = [
    "PermanentResult",
    "Plan",
    "PlannedBlock",
    "Reductions",
    "minors",
    "permanent",
    "plan",
    "value_and_grad",
]
