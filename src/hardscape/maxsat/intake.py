"""What formulas accept: variables, literals, weights and assignments, checked."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arrays import as_number_array, to_numpy
from hardscape.errors import InputError

#: Largest variable: literals are 32-bit.
MAX_VARIABLES = 2**31 - 1
#: Largest weight of one clause; sums may be larger.
MAX_WEIGHT = 2**63 - 1


def frozen_array(value: Any, name: str, dtype: type) -> NDArray[Any]:
    """A read-only array of one dimension that holds `value` exactly."""
    given = to_numpy(value, name) if len(value) else np.empty(0, dtype=dtype)
    if given.ndim != 1:
        raise InputError(f"{name} has shape {given.shape}; one dimension is accepted")
    if given.dtype.kind not in "biu" or (dtype is np.bool_) != (given.dtype.kind == "b"):
        raise InputError(f"{name} has dtype {given.dtype}; {np.dtype(dtype)} is accepted")
    same = given.dtype == dtype
    if dtype is not np.bool_ and not same and len(given):
        limits = np.iinfo(dtype)
        low, high = int(given.min()), int(given.max())
        if low < limits.min or high > limits.max:
            bad = low if low < limits.min else high
            raise InputError(f"{name} holds {bad}; {limits.min} to {limits.max} is accepted")
    if same and not given.flags.writeable and given.flags.c_contiguous:
        return given
    array: NDArray[Any] = np.array(given, dtype=dtype, order="C")
    array.flags.writeable = False
    return array


def check_offsets(offsets: NDArray[Any], end: int, **others: NDArray[Any]) -> None:
    """Refuse offsets that do not run from 0 to `end`, and others that have no entry for each clause."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        raise InputError(f"offsets has {len(offsets)} entries; they must run from 0 to {end}")
    if (np.diff(offsets) < 0).any():
        raise InputError("offsets decrease; each clause starts where the last one ended")
    for name, array in others.items():
        if len(array) != len(offsets) - 1:
            raise InputError(f"{name} has {len(array)} entries for {len(offsets) - 1} clauses")


def check_literals(literals: NDArray[Any], offsets: NDArray[Any], num_variables: int) -> None:
    """Refuse literals that are 0, or beyond the variables."""
    if not len(literals):
        return
    low, high = int(literals.min()), int(literals.max())
    if max(-low, high) > num_variables:
        bad = high if high > num_variables else low
        raise InputError(
            f"literal {bad} is beyond the {num_variables} variables that were announced"
        )
    if not literals.all():
        clause = int(np.searchsorted(offsets, np.flatnonzero(literals == 0)[0], "right"))
        raise InputError(
            f"clause {clause - 1} holds literal 0; literals are +v and -v, v from 1 on"
        )


def check_weights(weights: NDArray[Any], hard: NDArray[Any]) -> None:
    """Refuse weights of hard clauses, and soft clauses without one."""
    wrong = np.flatnonzero(np.where(hard, weights != 0, weights < 1))
    if len(wrong):
        clause = int(wrong[0])
        accepted = "0 for hard clauses" if hard[clause] else f"1 to {MAX_WEIGHT}"
        raise InputError(f"weights[{clause}] is {int(weights[clause])}; {accepted} is accepted")


def truth_values(
    assignment: ArrayLike, num_variables: int, name: str = "assignment"
) -> NDArray[np.bool_]:
    """Assignments as bool, shape (..., num_variables); else `InputError`, with the argument's name."""
    array = to_numpy(assignment, name)
    if array.ndim == 0 or array.shape[-1] != num_variables:
        raise InputError(
            f"{name} has shape {array.shape}; the last axis must hold the {num_variables} variables"
        )
    if array.dtype == np.bool_:
        return array
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        raise InputError(f"{name} holds {array[wrong].flat[0]}; 0 and 1 are accepted")
    return array.astype(np.bool_)


def checked_clause(clause: Iterable[int], name: str, position: int | None = None) -> list[int]:
    """Literals as ints; else `InputError` that names the clause, one of several where it has a position."""
    try:
        literals = [operator.index(literal) for literal in clause]
    except TypeError:
        raise InputError(
            f"{_place(name, position)} is {clause!r}; a list of integers is accepted"
        ) from None
    for literal in literals:
        if literal == 0 or abs(literal) > MAX_VARIABLES:
            raise InputError(
                f"{_place(name, position)} holds literal {literal}; +v and -v with v from 1 to "
                f"{MAX_VARIABLES} are accepted"
            )
    return literals


def _place(name: str, position: int | None) -> str:
    return name if position is None else f"{name}[{position}]"


def largest_variable(clauses: Iterable[Iterable[int]]) -> int:
    """The largest variable that occurs, or 0."""
    return max((abs(literal) for clause in clauses for literal in clause), default=0)


def soft_weights(weights: Any, count: int) -> NDArray[np.int64]:
    """Weights of so many soft clauses, by default 1; else `InputError`."""
    if weights is None:
        return np.ones(count, dtype=np.int64)
    given = as_number_array(weights, "weights")
    if given.shape != (count,):
        raise InputError(f"weights have shape {given.shape} for {count} soft clauses")
    numbers = []
    for position, weight in enumerate(given.tolist()):
        try:
            number = operator.index(weight)
        except TypeError:
            number = int(weight) if isinstance(weight, float) and weight.is_integer() else 0
        if not 1 <= number <= MAX_WEIGHT:
            raise InputError(
                f"weights[{position}] is {weight!r}; integers from 1 to {MAX_WEIGHT} are accepted"
            )
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)
