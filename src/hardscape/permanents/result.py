"""What a permanent came out as."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hardscape.permanents.matrix import Number
from hardscape.permanents.reduce import Reductions

__all__ = ["PermanentResult"]


@dataclass(frozen=True)
class PermanentResult:
    """A permanent and how it was found.

    Attributes
    ----------
    value : int, Fraction, float or complex
        Floating parts beyond float64 are infinite, or 0.
    mantissa : int, Fraction, float or complex
    exponent : int
        The value is ``mantissa * 2**exponent`` whatever its size; for exact ones the exponent is 0.
    error_bound : float
        Bound on ``abs(value - permanent)``; 0.0 for exact results.
    rigorous : bool
        Whether the bound is proven; else a part of it is an estimate.
    condition : float
        Magnitude of the terms over that of their sum: by how much a relative error of a term may
        weigh more in the permanent. 1.0 for exact results, infinite for a sum of 0.
    method : str
        "glynn", "repeated", "sparse", "frontier" or "subset"; several joined by "+" where blocks differ, and
        "structure" where nothing was left to sum.
    precision : str
        "double", "extended" or "exact".
    terms : int
        Terms or states summed, over all blocks.
    reductions : Reductions
        What the matrix's zeros allowed before that.
    seconds : float
    device : str
    """

    value: Number
    mantissa: Number
    exponent: int
    error_bound: float
    rigorous: bool
    condition: float
    method: str
    precision: str
    terms: int
    reductions: Reductions
    seconds: float
    device: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data; exact values are strings of digits, complex ones ``{"re", "im"}``.

        Numbers beyond float64, which JSON cannot hold, are None.
        """
        plain = asdict(self)
        plain |= {"value": _plain(self.value), "mantissa": _plain(self.mantissa)}
        for name in ("error_bound", "condition"):
            plain[name] = _finite(plain[name])
        return plain

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)


def _plain(number: Number) -> Any:
    if isinstance(number, int | Fraction):
        return str(number)
    if isinstance(number, complex):
        return {"re": _finite(number.real), "im": _finite(number.imag)}
    return _finite(number)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
