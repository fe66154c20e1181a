"""Labels of spins as JSON values: integers, floats and strings as they are, tuples as lists."""

from __future__ import annotations

import math
from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any, cast

from hardscape.errors import InputError


def to_json(label: Hashable) -> Any:
    """Turn a label into a JSON value; others are refused with an InputError."""
    if isinstance(label, str):
        return str(label)
    if isinstance(label, Integral):
        return int(label)
    if isinstance(label, Real) and math.isfinite(label):
        return float(label)
    if isinstance(label, tuple):
        return [to_json(member) for member in label]
    raise InputError(
        f"label {label!r} cannot be written; integers, floats, strings and tuples of them can"
    )


def from_json(value: Any) -> Hashable:
    """Turn a JSON value back into a label, or raise a ValueError."""
    if isinstance(value, list):
        return tuple(from_json(member) for member in value)
    accepted = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not accepted or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"label {value!r:.40} is neither a number, a string nor a list of them")
    return cast(Hashable, value)
