"""Matrix permanents: dense, real and complex in double precision, integers and rationals exactly."""

from hardscape.permanents.exact import exact_permanent
from hardscape.permanents.permanent import PermanentResult, permanent
from hardscape.permanents.reduce import Reductions

__all__ = ["PermanentResult", "Reductions", "exact_permanent", "permanent"]
