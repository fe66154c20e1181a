"""Results as plain data, and as JSON: one way for all families and commands."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np


class Plain(ABC):
    """A result that can be written down: plain data, and one JSON object of them."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, Any]:
        """Plain data: what ``to_json`` writes."""

    def listed(self, names: str, **others: Any) -> dict[str, Any]:
        """Attributes in this order, arrays and tuples as lists; or what `others` has under their names."""
        return {x: others[x] if x in others else _lists(getattr(self, x)) for x in names.split()}

    def to_json(self) -> str:
        """One JSON object; floats read back to the same float64, integers have any length."""
        return json.dumps(self.to_dict())


def _lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_lists(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def finite_or_none(number: float) -> float | None:
    """The number as JSON has it: None for infinities and NaN, which it cannot hold."""
    return number if math.isfinite(number) else None
