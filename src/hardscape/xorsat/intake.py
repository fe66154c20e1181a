"""Arrays of clauses on their way into a system: checked once, and in one form afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arrays import is_array, to_numpy
from hardscape.errors import InputError

_Scalar = TypeVar("_Scalar", bound=np.generic)
#: Most variables of a system, and most entries in all its clauses.
MAX_VARIABLES = 2**31 - 1


def integers(value: Any, name: str) -> NDArray[np.int64]:
    """Bring a one-dimensional array of integers to int64."""
    array = to_numpy(value, name)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; one axis is accepted")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; integers are accepted")
    if array.dtype.kind == "u" and array.size and array.max() > MAX_VARIABLES:
        raise InputError(f"{name} holds {array.max()}; at most {MAX_VARIABLES} is accepted")
    return array.astype(np.int64)


def check_range(starts: NDArray[np.int64], members: NDArray[np.int64], count: int) -> None:
    """Refuse variables that are not 0 to count - 1."""
    outside = np.flatnonzero((members < 0) | (members >= count))
    if len(outside):
        clause = int(np.searchsorted(starts, outside[0], side="right")) - 1
        raise InputError(
            f"clause {clause} holds variable {members[outside[0]]}; of {count} variables 0 to "
            f"{count - 1} are accepted"
        )


def parities(value: ArrayLike, num_clauses: int) -> NDArray[np.uint8]:
    """Bring right-hand sides, numbers 0 and 1 or bools, to uint8."""
    array = to_numpy(value, "parity")
    if array.shape != (num_clauses,):
        raise InputError(f"parity has shape {array.shape}; ({num_clauses},) is accepted")
    wrong = np.flatnonzero((array != 0) & (array != 1))
    if len(wrong):
        raise InputError(f"parity[{int(wrong[0])}] is {array[wrong[0]]}; 0 and 1 are accepted")
    return array.astype(np.uint8)


def normal_form(
    starts: NDArray[np.int64], members: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Sort the variables of each clause; of a repeated one keep the parity of its number."""
    clause = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((members, clause))
    members = members[order]  # the clauses stay where they are
    same = np.zeros(len(members), dtype=bool)
    same[1:] = (members[1:] == members[:-1]) & (clause[1:] == clause[:-1])
    if not same.any():
        return starts, members, 0
    first = np.flatnonzero(~same)
    times = np.diff(np.append(first, len(members)))
    kept = first[times % 2 == 1]
    lengths = np.bincount(clause[kept], minlength=len(starts) - 1)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return starts, members[kept], int((times // 2).sum())


def clause_lists(clauses: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and variables of clauses given as a matrix or one by one."""
    if is_array(clauses):
        matrix = to_numpy(clauses, "clauses")
        if matrix.ndim != 2:
            raise InputError(f"clauses have shape {matrix.shape}; one row a clause is accepted")
        starts = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        return starts, integers(matrix.ravel(), "clauses")
    if not isinstance(clauses, Iterable) or isinstance(clauses, str | bytes | Mapping):
        raise InputError(
            f"clauses are a {type(clauses).__name__}; a sequence of sequences is accepted"
        )
    rows: list[Sequence[int]] = []
    for number, clause in enumerate(clauses):
        if not isinstance(clause, Iterable) or isinstance(clause, str | bytes):
            raise InputError(
                f"clause {number} is {clause!r:.60}; a sequence of variables is accepted"
            )
        row = list(clause)
        for variable in row:
            if isinstance(variable, bool) or not isinstance(variable, int | np.integer):
                raise InputError(
                    f"clause {number} holds {variable!r:.60}; variables are integers from 0 on"
                )
            if not 0 <= variable <= MAX_VARIABLES:
                raise InputError(
                    f"clause {number} holds variable {variable}; 0 to {MAX_VARIABLES} is accepted"
                )
        rows.append(row)
    lengths = [len(row) for row in rows]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return starts, np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(starts[-1]))


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Copy an array so that nobody can write into the copy."""
    array = np.array(array, order="C")
    array.setflags(write=False)
    return array
