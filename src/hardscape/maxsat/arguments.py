"""What `solve` checks and decides before it searches."""

from __future__ import annotations

import operator
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import to_numpy
from hardscape.engine import Device, resolve
from hardscape.errors import InputError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.islands.tables import fits

__all__ = [
    "checked_assignment",
    "checked_seed",
    "choose_devices",
    "counts_alike",
    "provable",
    "whole_number",
]

#: Formulas of at most this many literals are searched on one thread: starting more takes longer.
_SMALL = 20_000
#: Clauses, for each variable, that a random assignment violates in formulas that may be satisfiable: random
#: 3-SAT has so many at a ratio of 4.4. Beyond it, clause weighting on a CPU finds better assignments than
#: walks on a GPU do.
_MOST_VIOLATED = 0.55
#: Literals above which "auto" does not try to prove anything; where all clauses have the same length of
#: 3 or more, which looks like a random formula, it is _SMALL.
_PROVABLE = 2_000_000


def choose_devices(
    formula: Formula,
    reduced: Formula,
    method: str,
    asked: Any,
    threads: int | None,
) -> tuple[Device, ...]:
    """Where to search. On GPUs, but for "cellular", runs the random walk alone."""
    small = len(formula.literals) <= _SMALL
    lanes = 1 if small and threads is None else threads
    if method == "cellular":
        return resolve(asked, threads=lanes, big_enough=False)
    walks = method != "exact" and counts_alike(formula) and fits(reduced)
    devices = resolve(
        asked, threads=lanes, big_enough=walks and not small and not _crowded(reduced)
    )
    kinds = {device.kind for device in devices}
    if kinds != {"cpu"} and not (kinds == {"cuda"} and walks):
        raise InputError(
            f"device={asked!r} with method {method!r}; GPUs take 'cellular', and 'auto' and 'weighting' "
            "where all clauses count alike and have up to three literals; device='cpu' takes all"
        )
    return devices


def _crowded(formula: Formula) -> bool:
    """Whether a presolved formula has too many clauses for walks alone to be what it needs."""
    violated = float(np.exp2(-np.diff(formula.offsets).astype(np.float64)).sum())
    return violated > _MOST_VIOLATED * formula.num_variables


def counts_alike(formula: Formula) -> bool:
    """Whether a formula is about the number of clauses satisfied: all hard, or all soft of one weight."""
    if formula.num_hard:
        return formula.num_soft == 0
    return bool((formula.weights == formula.weights[:1]).all())


def provable(formula: Formula) -> bool:
    """Whether RC2 may prove the optimum of a presolved formula in less than ages."""
    sizes = np.diff(formula.offsets)
    random_like = len(sizes) > 0 and sizes[0] >= 3 and (sizes == sizes[0]).all()
    return len(formula.literals) <= (_SMALL if random_like else _PROVABLE)


def whole_number(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`; else `InputError`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name}={value!r}; an integer of at least {least} is accepted")
    return number


def checked_seed(seed: Any) -> int:
    """A seed that streams accept; a random one for None."""
    if seed is None:
        return secrets.randbits(64)
    number = whole_number("seed", seed, 0)
    if number >= 2**64:
        raise InputError(f"seed={seed!r}; 0 to 2**64 - 1 is accepted")
    return number


def checked_assignment(formula: Formula, initial: Any) -> NDArray[np.uint8]:
    """An assignment of the formula as uint8; else `InputError`."""
    array = to_numpy(initial, "initial")
    formula.evaluate(array)  # refuses other shapes and values
    return array.astype(np.uint8)
