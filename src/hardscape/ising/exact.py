"""Exact arithmetic on the coefficients of an Ising model.

Every finite float64 is an integer times a power of two, so one common power turns all coefficients
into integers, and every energy into an integer of bounded size. The compiled core works on these
integers in two's complement, `limbs` 64-bit words each, least significant word first; the only
rounding is the last step, from the integer to float64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import as_float64, as_number_array
from hardscape.errors import InputError

#: Widths, in 64-bit words, that the core is compiled for; the last holds any sum of finite float64.
LIMB_CHOICES = (1, 2, 4, 36)
#: Lowest power of two in a model: the least float64, divided by 4 on the way from a QUBO.
MIN_EXPONENT = -1076
#: Largest denominator that is taken: that of the least float64.
_MOST_PARTS = 1 << 1074


def dyadic(value: Any, name: str) -> Fraction:
    """The exact rational of a float64, or of a multiple of 2**-1074 in its range that is given as such.

    Anything else is an `InputError`.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()  # NumPy would compare its own integers to float64 with rounding
    try:
        if isinstance(value, str | bytes | np.ndarray):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {value!r}; a finite real number is accepted") from None
    if not np.isfinite(number):
        raise InputError(f"{name} is {number}; a finite real number is accepted")
    if not isinstance(value, Rational | np.longdouble):
        return Fraction(number)
    exact = Fraction(value) if isinstance(value, Rational) else Fraction(*value.as_integer_ratio())
    if _MOST_PARTS % exact.denominator:
        raise InputError(f"{name} is {value}; a multiple of a power of two, 2**-1074, is accepted")
    return exact


def coefficients(value: Any, name: str) -> NDArray[Any]:
    """Real numbers as float64, or as an object array of fractions where that does not hold them exactly."""
    try:
        return as_float64(value, name)
    except InputError:
        given = as_number_array(value, name)
        exact = np.empty(given.shape, dtype=object)
        for position, x in np.ndenumerate(given):
            exact[position] = dyadic(x, f"{name}{list(position)}")
        return exact


def to_limbs(integers: Sequence[int], limbs: int) -> NDArray[np.uint64]:
    """Two's complement words of integers, shape (len(integers), limbs)."""
    if limbs == 1:
        return np.array(integers, dtype=np.int64).astype(np.uint64, copy=False).reshape(-1, 1)
    if not integers:
        return np.empty((0, limbs), dtype=np.uint64)
    data = b"".join(x.to_bytes(8 * limbs, "little", signed=True) for x in integers)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, limbs)


def from_limbs(words: NDArray[np.uint64]) -> list[int]:
    """Integers of two's complement words of shape (n, limbs)."""
    data = np.ascontiguousarray(words, dtype="<u8")
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in data]


@dataclass(frozen=True, eq=False)
class ExactTerms:
    """Integers `fields`, `couplings`, `offset`; the coefficients are these times ``2**exponent``."""

    num_spins: int
    fields: tuple[int, ...]  #: length N
    #: Pairs with a coupling that is not zero, ``row < col``, sorted by (row, col).
    row: NDArray[np.int64]
    col: NDArray[np.int64]
    couplings: tuple[int, ...]
    offset: int
    exponent: int  #: as large as possible, so that integer models have ``exponent >= 0``

    def __post_init__(self) -> None:
        for array in (self.row, self.col):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays come back from a pickle writable; the constructor locks them again.
        coefficients = (self.fields, self.row, self.col, self.couplings, self.offset)
        return type(self), (self.num_spins, *coefficients, self.exponent)

    @classmethod
    def collect(
        cls,
        num_spins: int,
        linear: Iterable[tuple[int, Fraction]],
        pairs: Iterable[tuple[int, int, Fraction]],
        offset: Fraction,
    ) -> ExactTerms:
        """Sum repeated entries exactly in one power of two; an `InputError` if energies may overflow."""
        fields: defaultdict[int, Fraction] = defaultdict(Fraction)
        for i, x in linear:
            fields[i] += x
        sums: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for i, j, x in pairs:
            sums[(i, j) if i < j else (j, i)] += x
        keys = sorted(key for key, x in sums.items() if x)
        everything = [*fields.values(), *(sums[key] for key in keys), offset]
        scale = max((x.denominator for x in everything), default=1)
        integers = [x.numerator * (scale // x.denominator) for x in everything]
        dense = [0] * num_spins
        for i, integer in zip(fields, integers, strict=False):
            dense[i] = integer
        return cls.of_integers(
            dense,
            np.array([i for i, _ in keys], dtype=np.int64),
            np.array([j for _, j in keys], dtype=np.int64),
            integers[len(fields) : -1],
            integers[-1],
            1 - scale.bit_length(),
        )

    @classmethod
    def of_integers(
        cls,
        fields: list[int],
        row: NDArray[np.int64],
        col: NDArray[np.int64],
        couplings: list[int],
        offset: int,
        exponent: int,
    ) -> ExactTerms:
        """Divide by the largest common power of two; refuse what float64 cannot hold in sum."""
        common = offset
        for x in (*fields, *couplings):
            common |= x
        # The lowest bit of the union is that of the integer with the fewest trailing zeros.
        shift = (common & -common).bit_length() - 1 if common else 0
        exponent = exponent + shift if common else 0
        terms = cls(
            len(fields),
            tuple(x >> shift for x in fields),
            row,
            col,
            tuple(x >> shift for x in couplings),
            offset >> shift,
            exponent,
        )
        if terms.bound.bit_length() + exponent > 1023:
            raise InputError(
                "the absolute values of the coefficients add up to more than float64 can hold; "
                "rescale the model"
            )
        return terms

    def from_binary(self) -> ExactTerms:
        """Read these terms as those of a QUBO and return the Ising terms, with q = (1 + s) / 2."""
        # In quarters: 4 a q = 2 a + 2 a s, and 4 a q r = a + a s + a t + a s t.
        fields = [2 * x for x in self.fields]
        for i, j, x in zip(self.row.tolist(), self.col.tolist(), self.couplings, strict=True):
            fields[i] += x
            fields[j] += x
        offset = 4 * self.offset + 2 * sum(self.fields) + sum(self.couplings)
        couplings = list(self.couplings)
        return ExactTerms.of_integers(
            fields, self.row, self.col, couplings, offset, self.exponent - 2
        )

    def to_binary(self) -> ExactTerms:
        """The terms of the QUBO with the same energies, s = 2 q - 1; they can be 4 times larger."""
        fields = [2 * x for x in self.fields]
        for i, j, x in zip(self.row.tolist(), self.col.tolist(), self.couplings, strict=True):
            fields[i] -= 2 * x
            fields[j] -= 2 * x
        offset = self.offset - sum(self.fields) + sum(self.couplings)
        couplings = [4 * x for x in self.couplings]
        return ExactTerms.of_integers(fields, self.row, self.col, couplings, offset, self.exponent)

    @cached_property
    def symmetric(self) -> bool:
        """Whether there are spins and no fields: states then come in flip partners."""
        return self.num_spins > 0 and not any(self.fields)

    @cached_property
    def num_free(self) -> int:
        """Spins that no term holds: each doubles the number of states of every energy."""
        held = {
            *self.row.tolist(),
            *self.col.tolist(),
            *(i for i, x in enumerate(self.fields) if x),
        }
        return self.num_spins - len(held)

    @cached_property
    def bound(self) -> int:
        """Sum of the absolute values: no energy is larger."""
        return sum(abs(x) for x in (*self.fields, *self.couplings, self.offset))

    @cached_property
    def limbs(self) -> int:
        """Words that hold twice the bound with a sign and a bit to spare."""
        bits = self.bound.bit_length() + 3
        return next(limbs for limbs in LIMB_CHOICES if 64 * limbs >= bits)

    def canonical(self) -> bytes:
        """Bytes that are equal exactly for equal models."""
        pairs = list(zip(self.row.tolist(), self.col.tolist(), self.couplings, strict=True))
        return repr((self.num_spins, self.fields, pairs, self.offset, self.exponent)).encode()

    def floats(self, integers: Sequence[int]) -> NDArray[np.float64]:
        """Integers times ``2**exponent``, rounded to nearest."""
        return self.round(to_limbs(integers, self.limbs))

    def round(self, words: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Words of shape (n, limbs) times ``2**exponent``, rounded to nearest, ties to even."""
        return native.vector.ising.exact_to_double(np.ascontiguousarray(words), self.exponent)

    def words(self, spins: NDArray[np.int8]) -> NDArray[np.uint64]:
        """Exact energies of int8 states of shape (n, N), as words of shape (n, limbs)."""
        return native.vector.ising.exact_energies(
            np.ascontiguousarray(spins),
            to_limbs(self.fields, self.limbs),
            self.row,
            self.col,
            to_limbs(self.couplings, self.limbs),
            to_limbs([self.offset], self.limbs)[0],
        )

    def energies(self, spins: NDArray[np.int8]) -> NDArray[np.float64]:
        """Energies of int8 states of shape (n, N), rounded once."""
        return self.round(self.words(spins))
