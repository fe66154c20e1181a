"""Matrices on their way in: one of five kinds of numbers, nothing rounded without saying so."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import (
    array_namespace,
    as_number_array,
    biadjacency,
    gpu_array,
    is_graph,
    is_sparse,
    to_device,
)
from hardscape.errors import InputError
from hardscape.formats import Formats
from hardscape.permanents.numbers.gaussian import ExactComplex

Kind = Literal["integer", "rational", "gaussian", "real", "complex"]
Number = int | Fraction | float | complex | ExactComplex

#: Most rows or columns of a sparse matrix or file, which are held densely.
MAX_SIDE = 4096
#: Matrices of a batch that are looked at for zeros.
_SAMPLE = 128

#: Known by name: the formats stand on this module.
_FORMATS: Formats[NDArray[Any]] = Formats("hardscape.permanents.formats")
_KINDS: tuple[Kind, ...] = ("integer", "rational", "gaussian", "real", "complex")
#: Place of the first kind whose numbers are rounded.
_FLOATING = _KINDS.index("real")
_DTYPES = {"real": np.dtype(np.float64), "complex": np.dtype(np.complex128)}
#: The number 0 as permanents of each kind of matrix have it.
ZEROS: dict[Kind, Number] = {
    "integer": 0, "rational": Fraction(0), "gaussian": ExactComplex(0), "real": 0.0, "complex": 0j
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix, or a batch of square ones, whose permanent can be asked for."""

    kind: Kind
    #: Shape (m, n) with m <= n, or (batch, n, n); read-only and C-contiguous. Objects of type int,
    #: `fractions.Fraction` or `ExactComplex`, float64 or complex128; the last two are finite, those of a
    #: batch once `check_finite` was called. A batch that was given on a GPU is a CuPy array, and still there.
    entries: NDArray[Any]
    #: Whether the matrix was given with more rows than columns, and `entries` is its transpose.
    transposed: bool = False

    @property
    def is_batch(self) -> bool:
        """Whether there is a leading axis of independent matrices."""
        return self.entries.ndim == 3

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (of each matrix of a batch), rows <= columns."""
        return int(self.entries.shape[-2]), int(self.entries.shape[-1])

    @property
    def given_shape(self) -> tuple[int, int]:
        """Rows and columns as they were given."""
        return self.shape[::-1] if self.transposed else self.shape

    @property
    def gpu(self) -> int | None:
        """Number of the GPU that holds the entries."""
        entries: Any = self.entries
        return None if array_namespace(entries) is np else int(entries.device.id)

    def check_finite(self, name: str = "a") -> None:
        """Refuse a batch with entries that are not finite, with the place of the first one."""
        if self.kind in ("real", "complex"):
            _check_finite(self.entries, name)

    def density(self) -> float:
        """How much of a batch is not zero, by a sample of its matrices."""
        entries: Any = self.entries[:: max(1, len(self.entries) // _SAMPLE)]
        with nullcontext() if self.gpu is None else entries.device:
            return float((entries != 0).mean())

    def on_host(self) -> Matrix:
        """The same with entries in main memory."""
        return Matrix(self.kind, to_device(self.entries, "cpu"), self.transposed)


def intake(a: Any, name: str = "a", *, exactly: bool = False) -> Matrix:
    """Check a matrix at the door: of the smallest kind that holds all entries, narrow dtypes widened.

    Taken are paths of files, dense NumPy, CuPy or torch arrays of any bool, integer, floating or complex
    dtype, nested sequences and object arrays of Python or NumPy numbers, fractions, `ExactComplex`, decimals
    and numbers of mpmath, and scipy.sparse matrices, whose repeated entries are added. What is wider
    than float64 and does not fit it is rational. A matrix with m > n is transposed: the permanent of a
    rectangle sums over the injective maps from its smaller side to its larger. An empty sequence is the 0x0
    matrix. A single matrix is copied, a batch only where its type has to change. With `exactly`,
    floats beside integers and fractions count as the rationals that they are.

    An `InputError` is raised for all else: NaN and infinities (in a batch that is left to
    `Matrix.check_finite`), and what a float64 that entries beside it ask for cannot hold.
    """
    if isinstance(a, (str, Path)):
        a = _FORMATS.read(a)
    elif is_graph(a):
        a = biadjacency(a, name)
    batch = _batch_on_gpu(a, name)
    if batch is not None:
        return batch
    given = _densified(a, name) if is_sparse(a) else as_number_array(a, name)
    if given.shape == (0,):
        given = given.reshape(0, 0)
    _check_shape(given.shape, name)
    kind, entries = _numbers(given, name, exactly)
    transposed = entries.ndim == 2 and entries.shape[0] > entries.shape[1]
    entries = entries.T if transposed else entries
    if entries.ndim == 3:
        entries = np.ascontiguousarray(entries).view()  # what the caller holds stays writable
    else:
        entries = np.array(entries, order="C")
    entries.setflags(write=False)
    return Matrix(kind, entries, transposed)


def _batch_on_gpu(a: Any, name: str) -> Matrix | None:
    """A batch of floating or complex matrices that is on a GPU; None for others."""
    if is_sparse(a) or getattr(a, "ndim", 0) != 3:
        return None
    given = gpu_array(a)
    if given is None or given.dtype.kind not in "fc":
        return None
    _check_shape(given.shape, name)
    import cupy

    kind: Kind = "real" if given.dtype.kind == "f" else "complex"
    with given.device:
        entries = cupy.ascontiguousarray(given, dtype=_DTYPES[kind])
        # Sums run on a stream of their own: what this one still does to the entries is waited for.
        cupy.cuda.get_current_stream().synchronize()
    return Matrix(kind, entries)


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) not in (2, 3):
        raise InputError(f"{name} has shape {shape}; (m, n) and (batch, n, n) are accepted")
    if len(shape) == 3 and shape[1] != shape[2]:
        raise InputError(
            f"{name} has shape {shape}; a batch holds square matrices, shape (batch, n, n)"
        )


def _densified(a: Any, name: str) -> NDArray[Any]:
    """A sparse matrix as a dense array: repeated entries added, integers without overflow."""
    shape = tuple(int(side) for side in a.shape)
    if len(shape) != 2 or max(shape) > MAX_SIDE:
        raise InputError(
            f"{name} is sparse and has shape {shape}; (m, n) with sides up to {MAX_SIDE} is accepted"
        )
    coo = a.tocoo()
    row, col = (as_number_array(index, name).astype(np.int64) for index in (coo.row, coo.col))
    data = as_number_array(coo.data, name)
    if data.dtype.kind == "b":
        held = np.zeros(shape, dtype=bool)
        np.logical_or.at(held, (row, col), data)
        return held
    held = np.zeros(shape, dtype=object if data.dtype.kind in "iuO" else data.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked, as every entry is
        np.add.at(held, (row, col), data.astype(held.dtype))
    return held


def _numbers(given: NDArray[Any], name: str, exactly: bool) -> tuple[Kind, NDArray[Any]]:
    """Kind and entries of an array of any accepted dtype."""
    letter = given.dtype.kind
    if letter == "O":
        return _from_objects(given, name, exactly)
    if letter in "biu":
        whole = given.astype(np.uint8) if letter == "b" else given
        return "integer", whole.astype(object)
    kind: Kind = "real" if letter == "f" else "complex"
    if not np.can_cast(given.dtype, _DTYPES[kind]) and not _fits(given, _DTYPES[kind]):
        return _from_objects(given.astype(object), name, True)
    return kind, _floating(given, kind, name)


def _fits(given: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether wide floating numbers are of a narrower type; those that are not finite are."""
    with np.errstate(over="ignore"):
        return not (np.isfinite(given) & (given.astype(dtype) != given)).any()


def _from_objects(given: NDArray[Any], name: str, exactly: bool) -> tuple[Kind, NDArray[Any]]:
    ranks = {0}
    numbers = np.empty(given.shape, dtype=object)
    for position, value in np.ndenumerate(given):
        own, number = _classified(value, position, name)
        if exactly and own >= _FLOATING and np.isfinite(value):
            own, number = own - _FLOATING + 1, _exact(value)
        numbers[position] = number
        ranks.add(own)
    # Exact complex numbers beside floating real ones are floating complex ones.
    rank = max(ranks) + (ranks >= {_FLOATING - 1, _FLOATING} and max(ranks) == _FLOATING)
    kind = _KINDS[rank]
    if rank >= _FLOATING:
        return kind, _floating(numbers, kind, name)
    if kind != "integer":
        made = Fraction if kind == "rational" else ExactComplex.of
        for position, value in np.ndenumerate(numbers):
            numbers[position] = made(value)
    return kind, numbers


def _exact(value: Any) -> Fraction | ExactComplex:
    """A finite floating number as what it is."""
    if isinstance(value, complex | np.complexfloating):
        return ExactComplex.of(value)
    return Fraction(*value.as_integer_ratio())


def _classified(value: Any, position: tuple[int, ...], name: str) -> tuple[int, Any]:
    """The place in `_KINDS` of a number, and the number as Python has it."""
    if isinstance(value, Integral | np.bool_):
        return 0, int(value)
    if isinstance(value, Rational):
        return 1, Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, ExactComplex):
        return 2, value
    if isinstance(value, float | np.floating):
        return 3, value
    if isinstance(value, complex | np.complexfloating):
        return 4, value
    if isinstance(value, Decimal) and value.is_finite():
        return 1, Fraction(value)
    if (exact := _of_mpmath(value)) is not None:
        return (1 if isinstance(exact, Fraction) else 2), exact
    raise InputError(
        f"{_entry(name, position)} is {value!r:.60} of type {type(value).__name__}; integers, fractions, "
        "decimals, floating and complex numbers are accepted"
    )


def _of_mpmath(value: Any) -> Fraction | ExactComplex | None:
    """A finite number of mpmath, exactly; None for others."""
    parts = getattr(value, "_mpc_", None) or (getattr(value, "_mpf_", None),)
    found = []
    for part in parts:
        if part is None or (not part[1] and part[2]):
            return None  # infinities and NaN have exponents without a mantissa
        sign, mantissa, exponent, _ = part
        found.append((-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    return found[0] if len(found) == 1 else ExactComplex.of(ExactComplex(*found))


def _floating(given: NDArray[Any], kind: Kind, name: str) -> NDArray[Any]:
    """Bring numbers to float64 or complex128 that equal them, finite ones but in a batch."""
    dtype = _DTYPES[kind]
    if given.dtype == object:
        result = np.empty(given.shape, dtype=dtype)
        for position, value in np.ndenumerate(given):
            try:
                result[position] = float(value) if kind == "real" else complex(value)
            except OverflowError:
                raise _inexact(value, position, name) from None
    else:
        with np.errstate(over="ignore"):
            result = given.astype(dtype, copy=False)
    kept = np.can_cast(given.dtype, dtype)
    if kept and given.ndim == 3:
        return result  # `Matrix.check_finite` looks at batches, where no GPU does
    _check_finite(result, name, given)
    if kept:
        return result
    # One by one for objects: a fraction and a float64 compare exactly only as Python's own.
    exact = result.tolist() if given.dtype == object else result
    different = np.asarray(given != np.array(exact, dtype=given.dtype), dtype=bool)
    for index in np.argwhere(different):
        where = tuple(int(i) for i in index)
        raise _inexact(given[where], where, name)
    return result


def _check_finite(held: Any, name: str, given: NDArray[Any] | None = None) -> None:
    """Refuse what is not finite in `held`, the float64 or complex128 form of `given`."""
    xp = array_namespace(held)
    with nullcontext() if xp is np else held.device:
        finite = xp.isfinite(held)
        if bool(finite.all()):
            return
        where = tuple(int(i) for i in xp.argwhere(~finite)[0])
        shown = held[where] if given is None else given[where]
    raise InputError(f"{_entry(name, where)} is {shown}; finite values (in float64) are accepted")


def _inexact(value: Any, position: tuple[int, ...], name: str) -> InputError:
    try:
        shown = f"{value!s:.60}"
    except ValueError:  # Python refuses to write integers of thousands of digits
        shown = "a number of thousands of digits"
    return InputError(
        f"{_entry(name, position)} is {shown}, which float64, the type that the floating "
        "entries ask for, cannot hold exactly; give all entries as integers or fractions"
    )


def _entry(name: str, position: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, position))}]"
