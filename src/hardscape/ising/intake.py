"""What a model is made of, as its constructors are given it: signs, names, matrices and lists of entries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape.arrays import is_sparse, sparse_entries, to_numpy
from hardscape.errors import InputError
from hardscape.ising.exact import ExactTerms, coefficients, dyadic

Convention = Literal["dimod", "ising"]
_SIGN: dict[str, int] = {"dimod": 1, "ising": -1}


def sign_of(convention: str) -> int:
    """Of `h` and `J` in a convention: +1 or -1."""
    try:
        return _SIGN[convention]
    except (KeyError, TypeError):
        raise InputError(
            f"convention={convention!r}; 'dimod' (E = +J s s + h s) and 'ising' "
            "(E = -J s s - h s) exist"
        ) from None


def named_terms(
    labels: Sequence[Hashable],
    linear: Iterable[tuple[Hashable, Any, str]],
    pairs: Iterable[tuple[Hashable, Hashable, Any, str]],
    offset: Any,
    sign: int = 1,
) -> ExactTerms:
    """Terms of coefficients of labels, each with its name in errors; equal pairs are fields."""
    index = {label: i for i, label in enumerate(labels)}
    fields = [(index[i], sign * dyadic(x, name)) for i, x, name in linear]
    couplings = []
    for i, j, x, name in pairs:
        value = sign * dyadic(x, name)
        if i == j:
            fields.append((index[i], value))
        else:
            couplings.append((index[i], index[j], value))
    return ExactTerms.collect(len(labels), fields, couplings, dyadic(offset, "offset"))


def mapping_terms(
    couplings: Mapping[tuple[Hashable, Hashable], Any],
    fields: Mapping[Hashable, Any],
    offset: Any,
    sign: int,
) -> tuple[list[Hashable], ExactTerms]:
    """The labels and the terms of ``{(i, j): J_ij}`` and ``{i: h_i}``."""
    for mapping, what in ((couplings, "couplings"), (fields, "fields")):
        if not isinstance(mapping, Mapping):
            pair = " (of a QUBO and its offset, Ising.from_qubo(Q, offset) makes a model)"
            raise InputError(
                f"{what} are a {type(mapping).__name__}; a mapping is accepted"
                + pair * isinstance(mapping, Real)
            )
    labels: dict[Hashable, int] = {}
    for key in couplings:
        if not isinstance(key, tuple) or len(key) != 2:
            raise InputError(f"key {key!r} of the couplings is not a pair (i, j)")
        for name in key:
            labels.setdefault(name, len(labels))
    for name in fields:
        labels.setdefault(name, len(labels))
    names = list(labels)
    if all(isinstance(name, int | np.integer) for name in names):
        names.sort(key=int)  # type: ignore[arg-type]
    linear = ((i, x, f"h[{i!r}]") for i, x in fields.items())
    pairs = (
        (i, j, x, f"h[{i!r}]" if i == j else f"J[{i!r}, {j!r}]") for (i, j), x in couplings.items()
    )
    return names, named_terms(names, linear, pairs, offset, sign)


def collected(
    num_spins: int,
    linear: list[tuple[int, Fraction]],
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    value: NDArray[Any],
    sign: int,
    offset: Any,
) -> ExactTerms:
    """Terms of fields, and of entries of which those on the diagonal are fields too."""
    diagonal = row == col

    def entries(where: NDArray[np.bool_]) -> Iterator[tuple[int, int, Fraction]]:
        exact = (sign * Fraction(x) for x in value[where].tolist())
        return zip(row[where].tolist(), col[where].tolist(), exact, strict=True)

    linear += [(i, x) for i, _, x in entries(diagonal)]
    pairs = entries(~diagonal)
    return ExactTerms.collect(num_spins, linear, pairs, dyadic(offset, "offset"))


def spin_names(labels: Iterable[Hashable] | None, num_spins: int) -> tuple[Hashable, ...]:
    """Names of the spins, as many as there are and each another."""
    if labels is None:
        return tuple(range(num_spins))
    try:
        names = tuple(labels)
        distinct = len(set(names))
    except TypeError:
        raise InputError(
            f"labels are {labels!r:.80}; hashable names in a list are accepted"
        ) from None
    if len(names) != num_spins:
        raise InputError(f"{len(names)} labels for {num_spins} spins")
    if distinct != num_spins:
        raise InputError("labels are repeated; each spin needs its own")
    return names


def side_of(matrix: Any, name: str) -> int:
    """Rows of a matrix that must be square."""
    shape = tuple(matrix.shape) if hasattr(matrix, "shape") else coefficients(matrix, name).shape
    if shape == (0,):
        return 0
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{name} has shape {shape}; a square (N, N) matrix is accepted")
    return int(shape[0])


def matrix_entries(
    J: Any, n: int, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Entries that are not zero of a matrix or mapping with indices in 0..n-1."""
    if isinstance(J, Mapping) and not is_sparse(J):  # SciPy's dictionaries of keys are both
        for key in J:
            if not isinstance(key, tuple) or len(key) != 2:
                raise InputError(f"key {key!r} of {name} is not a pair (i, j)")
        rows, cols = [i for i, _ in J], [j for _, j in J]
        exact = [dyadic(x, f"{name}[{i!r}, {j!r}]") for (i, j), x in J.items()]
        values = np.array([float(x) for x in exact])
        if values.tolist() != exact:
            values = np.array(exact, dtype=object)
        return checked_entries(rows, cols, values, n, name)
    matrix = J if is_sparse(J) else coefficients(J, name)
    if n == 0 and matrix.shape == (0,):
        matrix = np.empty((0, 0))  # an empty list, which cannot show its second axis
    if tuple(matrix.shape) != (n, n):
        raise InputError(f"{name} has shape {matrix.shape}; ({n}, {n}) is needed for {n} spins")
    if is_sparse(matrix):
        row, col, value, _ = sparse_entries(matrix, name, coefficients)
    else:
        row, col = np.nonzero(matrix)
        value = matrix[row, col]
    return checked_entries(row, col, value, n, name)


def checked_entries(
    row: ArrayLike, col: ArrayLike, value: ArrayLike, n: int, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """A coordinate list whose indices are 0 to n - 1, and its coefficients."""
    values = coefficients(value, name)
    if values.ndim != 1:
        raise InputError(f"{name} has shape {values.shape}; one value for each pair is accepted")
    indices = []
    for given, axis in ((row, "row"), (col, "col")):
        index = to_numpy(given, f"{name}: {axis}")
        if index.size == 0:
            index = np.empty(0, dtype=np.int64)  # an empty list would be float64
        if index.dtype.kind not in "iu" or index.shape != values.shape:
            raise InputError(
                f"{name}: {axis} has dtype {index.dtype} and shape {index.shape}; integers of "
                f"shape {values.shape}, one for each value, are accepted"
            )
        outside = (index < 0) | (index >= n)
        if outside.any():
            bad = int(index[outside][0])
            raise InputError(f"{name}: index {bad} is out of range for {n} spins (0 to {n - 1})")
        indices.append(index.astype(np.int64))
    return indices[0], indices[1], values
