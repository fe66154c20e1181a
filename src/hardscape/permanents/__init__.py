"""Matrix permanents: real and complex in double precision, integers, rationals and complex ones exactly."""

from hardscape.permanents.approximation.approximate import Approximation, approximate
from hardscape.permanents.approximation.bounds import Bounds, bounds
from hardscape.permanents.derivatives.gradient import minors, plan_gradient, value_and_grad
from hardscape.permanents.factors import permanent_of_product
from hardscape.permanents.numbers.gaussian import ExactComplex
from hardscape.permanents.permanent import permanent
from hardscape.permanents.plan import Plan, PlannedBlock, plan
from hardscape.permanents.result import PermanentResult, Retry
from hardscape.permanents.sampling.sample import Samples, sample
from hardscape.permanents.structure.reduce import Reductions

__all__ = [
    "Approximation",
    "Bounds",
    "ExactComplex",
    "PermanentResult",
    "Plan",
    "PlannedBlock",
    "Reductions",
    "Retry",
    "Samples",
    "approximate",
    "bounds",
    "minors",
    "permanent",
    "permanent_of_product",
    "plan",
    "plan_gradient",
    "sample",
    "value_and_grad",
]
