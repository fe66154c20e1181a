r"""Exact complex numbers, and permanents of Gaussian integers by those of integers.

Modulo a prime :math:`p \equiv 1 \pmod 4` there is an integer x with :math:`x^2 \equiv -1`, so that
:math:`a + b i \mapsto a \pm b x` are two ring homomorphisms. With one x for the product P of such primes,

.. math::
    \mathrm{per}(A \pm x B) \equiv \mathrm{Re} \pm x\,\mathrm{Im} \pmod P

are permanents of integers, found modulo the primes by any method that can, and tell both parts of
:math:`\mathrm{per}(A + i B)` if these are less than P / 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.permanents.numbers.integers import Rows, integers_of, permanent_bound, primes_above


@dataclass(frozen=True, slots=True, eq=False)
class ExactComplex:
    """A complex number whose parts are integers or fractions.

    Attributes
    ----------
    real, imag : int or Fraction

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hardscape.permanents import ExactComplex, permanent
    >>> permanent([[ExactComplex(Fraction(1, 3), 1), 1], [2, ExactComplex(0, 3)]])
    ExactComplex(real=-1, imag=1)
    """

    real: int | Fraction
    imag: int | Fraction = 0

    @classmethod
    def of(cls, number: Any) -> ExactComplex:
        """A number of any kind, exactly; parts without a denominator become integers."""
        return cls(_plain(number.real), _plain(number.imag))

    def __complex__(self) -> complex:
        return complex(float(self.real), float(self.imag))

    def __bool__(self) -> bool:
        return bool(self.real) or bool(self.imag)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Fraction | float | complex | ExactComplex | np.number):
            return NotImplemented
        return bool(self.real == other.real and self.imag == other.imag)

    def __hash__(self) -> int:
        return hash(self.real) if not self.imag else hash((self.real, self.imag))

    def __neg__(self) -> ExactComplex:
        return ExactComplex(-self.real, -self.imag)

    def __add__(self, other: ExactComplex | int | Fraction) -> ExactComplex:
        return ExactComplex(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other: ExactComplex | int | Fraction) -> ExactComplex:
        return ExactComplex(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other: ExactComplex | int | Fraction) -> ExactComplex:
        a, b, x, y = self.real, self.imag, other.real, other.imag
        return ExactComplex(a * x - b * y, a * y + b * x)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: ExactComplex | int | Fraction) -> ExactComplex:
        norm = other.real**2 + other.imag**2
        above = self * ExactComplex(other.real, -other.imag)
        return ExactComplex(
            _plain(Fraction(above.real) / norm), _plain(Fraction(above.imag) / norm)
        )


def _plain(part: Any) -> int | Fraction:
    above, below = part.as_integer_ratio()
    return int(above) if below == 1 else Fraction(above, below)


def gaussian_integers_of(matrix: NDArray[Any]) -> tuple[NDArray[Any], Fraction]:
    """Gaussian integers, and what their permanent is to be multiplied with, of complex numbers."""
    rows = [[[x.real for x in row] + [x.imag for x in row]] for row in matrix.tolist()]
    n = matrix.shape[1]
    found = np.empty(matrix.shape, dtype=object)
    scale = Fraction(1)
    for i, row in enumerate(rows):
        (line,), share = integers_of(np.array(row, dtype=object))
        found[i] = [ExactComplex(*pair) for pair in zip(line[:n], line[n:], strict=True)]
        scale *= share
    return found, scale


@dataclass(frozen=True)
class Conjugates:
    """A matrix of Gaussian integers as two of integers, per(A + x B) and per(A - x B) modulo P."""

    primes: tuple[int, ...]
    root: int  #: x, whose square is -1 modulo each of the primes
    matrices: tuple[NDArray[Any], NDArray[Any]]

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Conjugates:
        """Of a square or rectangular matrix, for as many primes as its permanent needs."""
        sizes: Rows = tuple(
            tuple(math.isqrt(x.real**2 + x.imag**2 - 1) + 1 if x else 0 for x in row)
            for row in matrix.tolist()
        )
        m, n = matrix.shape
        bound = permanent_bound((*sizes, *((1,) * n for _ in range(n - m))))
        primes = primes_above(2 * bound + 1, residue=1)
        root, modulus = 0, 1
        for p in primes:
            root += modulus * ((root_of_minus_one(p) - root) * pow(modulus, -1, p) % p)
            modulus *= p
        signs = (root, -root)
        plus, minus = (
            np.frompyfunc(lambda x, r=r: x.real + r * x.imag, 1, 1)(matrix) for r in signs
        )
        return cls(primes, root, (plus, minus))

    def joined(self, values: Sequence[int | Fraction]) -> ExactComplex:
        """The permanent from those of the two matrices, which count modulo the primes."""
        modulus = math.prod(self.primes)
        plus, minus = (value.numerator * pow(value.denominator, -1, modulus) for value in values)
        real = (plus + minus) * pow(2, -1, modulus) % modulus
        imag = (plus - minus) * pow(2 * self.root, -1, modulus) % modulus
        return ExactComplex(*(x - modulus if 2 * x > modulus else x for x in (real, imag)))


def root_of_minus_one(p: int) -> int:
    """A square root of -1 modulo a prime that is 1 modulo 4."""
    g = 2
    while pow(g, (p - 1) // 2, p) == 1:
        g += 1
    return pow(g, (p - 1) // 4, p)
