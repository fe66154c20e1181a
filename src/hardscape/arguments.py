"""Arguments that are single numbers: one way to check them, for every function that takes some."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

import numpy as np

from hardscape.errors import InputError

#: Largest seed.
MAX_SEED = 2**64 - 1


def integer(value: Any, name: str, least: int, most: int) -> int:
    """An integer from `least` to `most`, of whatever integer type; truth values are none."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not whole or not least <= value <= most:
        accepted = f"an integer from {_power(least)} to {_power(most)} is accepted"
        raise InputError(f"{name}={value!r}; {accepted}")
    return int(value)


def checked_seed(value: Any) -> int:
    """A seed; where there is none, one is drawn."""
    return (
        int.from_bytes(os.urandom(8), "little")
        if value is None
        else integer(value, "seed", 0, MAX_SEED)
    )


def seconds(value: Any, name: str) -> float:
    """A time above 0 in seconds; infinity is one."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or math.isnan(value) or not value > 0:
        raise InputError(f"{name}={value!r}; seconds above 0 are accepted")
    return float(value)


def _power(number: int) -> str:
    """Write 2**64 - 1, and powers of two, so that people see what they are."""
    for off, rest in ((1, " - 1"), (0, "")):
        bits = (abs(number) + off).bit_length() - 1
        if bits >= 31 and abs(number) + off == 1 << bits:
            power = f"2**{bits}{rest}"
            return power if number > 0 else f"-({power})"
    return str(number)
