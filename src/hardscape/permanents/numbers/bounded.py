"""Numbers that know how wrong they may be, with their powers of two apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Half the distance from 1 to the next float64, and the least positive float64.
UNIT, TINY = 2.0**-53, 2.0**-1074


@dataclass(frozen=True)
class BoundedNumber:
    """A number, ``mantissa * 2**exponent``, in error by at most ``bound * 2**exponent``."""

    mantissa: float | complex
    bound: float
    exponent: int = 0
    rigorous: bool = True  #: whether `bound` is proven; else a part of it is an estimate
    terms: int = 0  #: terms that were added up to find it
    magnitude: float = 0.0  #: sum of the terms' magnitudes, in units of ``2**exponent``
    #: How many of the terms may differ from one another, where rows repeat; by default all.
    different: int | None = None
    #: What rounding entries before the sum probably changes, in units of ``2**exponent``.
    offset: float = 0.0

    @property
    def value(self) -> float | complex:
        """The number; parts beyond float64 are infinite, with the right sign."""
        if isinstance(self.mantissa, complex):
            real, imag = self.mantissa.real, self.mantissa.imag
            return complex(_power(real, self.exponent), _power(imag, self.exponent))
        return _power(self.mantissa, self.exponent)

    @property
    def error_bound(self) -> float:
        """Bound of the error of `value`; infinite where `value` is."""
        if not np.isfinite(self.value):
            return math.inf
        bound = _power(self.bound, self.exponent)
        # Shifting into the subnormal range rounds the value's parts, and this bound.
        normal = abs(bound) >= 2.0**-960 or self.bound == 0
        return bound if normal else bound + 4 * TINY

    def is_better_than(self, other: BoundedNumber) -> bool:
        """Whether the bound, proven or estimated, is smaller; of equal ones a proven one is better."""
        mine, others = _split_bound(self), _split_bound(other)
        return mine < others or (mine == others and self.rigorous and not other.rigorous)

    @property
    def condition(self) -> float:
        """How much larger the terms are than their sum, 1 at least; infinite for a sum of 0."""
        size = abs(self.mantissa)
        return max(1.0, self.magnitude / size) if size else math.inf

    @property
    def likely_error(self) -> float:
        r"""What the error probably stays below, in units of ``2**exponent``.

        Different terms round independently, so the errors of N such terms of n < 64 factors add up to
        about :math:`\sqrt{n / N}` of the bound; with a factor of 16 to spare. Equal terms round equally.
        """
        if not self.terms:
            return self.bound
        independent = self.terms if self.different is None else self.different
        spread = 128 * UNIT * self.magnitude / math.sqrt(independent)
        return min(self.bound, spread + self.offset + 4 * UNIT * abs(self.mantissa))


def _split_bound(number: BoundedNumber) -> tuple[float, float]:
    """The bound as a power of two and a mantissa, which compare as it does."""
    mantissa, exponent = math.frexp(number.bound)
    if not mantissa or math.isinf(mantissa):
        return math.copysign(math.inf, mantissa - 0.5), 0.0
    return float(exponent + number.exponent), mantissa


def _power(mantissa: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(mantissa, exponent))


def shifted(values: NDArray[Any], exponents: NDArray[Any]) -> NDArray[Any]:
    """Real or complex values times powers of two; what leaves float64 becomes 0 or infinite."""
    with np.errstate(over="ignore", under="ignore"):
        if np.iscomplexobj(values):
            result = np.empty(np.broadcast_shapes(values.shape, exponents.shape), values.dtype)
            result.real = np.ldexp(values.real, exponents)
            result.imag = np.ldexp(values.imag, exponents)
            return result
        plain: NDArray[Any] = np.ldexp(values, exponents)
        return plain


def product(numbers: Sequence[BoundedNumber], scale: Fraction, kind: type) -> BoundedNumber:
    r"""Product of numbers and a rational, with a bound of its error.

    With :math:`|x_i - v_i| \le e_i`, :math:`|\prod x_i - \prod v_i| \le \prod(|v_i| + e_i) - \prod|v_i|`.
    The k numbers are multiplied with their powers of two apart, so nothing overflows on the way;
    rounding adds :math:`\gamma_{4k+8}\prod|v_i|`, which covers complex products and the rational. The
    bound is evaluated in rational arithmetic and rounded up.
    """
    if len(numbers) == 1 and scale == 1:
        return numbers[0]
    first, exponent = _mantissa(scale)
    share = kind(first)
    # In units of 2**exponent: bounds of the product of the moduli, with and without the errors.
    top = middle = Fraction(first)
    # The modulus of a complex number is rounded, hence a little room on both sides.
    room = Fraction(4, 2**53) if kind is complex else Fraction(0)
    condition = 1.0
    for number in numbers:
        mantissa, power = _split(kind(number.mantissa))
        share, carry = _split(share * mantissa)
        exponent += power + carry + number.exponent
        size, unit = Fraction(abs(number.mantissa)), Fraction(2) ** -(power + carry)
        top *= (size * (1 + room) + Fraction(number.bound)) * unit
        middle *= size * (1 - room) * unit
        condition *= number.condition
    top, middle = abs(top), abs(middle)
    rounding = Fraction(4 * len(numbers) + 8, 2**53)
    error = top - middle + rounding / (1 - rounding) * top
    return BoundedNumber(
        share,
        math.nextafter(float(error), math.inf) if error else 0.0,
        exponent,
        all(number.rigorous for number in numbers),
        sum(number.terms for number in numbers),
        abs(share) * condition if share else 0.0,
    )


def total(numbers: Sequence[BoundedNumber], kind: type) -> BoundedNumber:
    """Sum of a few numbers, with a bound of its error."""
    exponent = max(number.exponent + _split(kind(number.mantissa))[1] for number in numbers)
    share, bound, magnitude = kind(0), 0.0, 0.0
    for number in numbers:
        shift = number.exponent - exponent
        part = shifted(np.array(kind(number.mantissa)), np.array(shift)).item()
        share = share + part
        bound += _power(number.bound, shift) + 8 * UNIT * (abs(part) + abs(share)) + 4 * TINY
        magnitude += _power(number.magnitude, shift)
    return BoundedNumber(
        share,
        bound * (1 + 2.0**-40),
        exponent,
        all(number.rigorous for number in numbers),
        sum(number.terms for number in numbers),
        magnitude,
    )


def _mantissa(number: Fraction) -> tuple[float, int]:
    """A rational as a float of size 1/2 to 2, rounded to nearest, and a power of two."""
    if not number:
        return 0.0, 0
    power = number.numerator.bit_length() - number.denominator.bit_length()
    return float(number / Fraction(2) ** power), power


def _split(number: Any) -> tuple[Any, int]:
    """A number as one of modulus 1/2 to 2, or 0, and a power of two."""
    exponent = math.frexp(max(abs(number.real), abs(number.imag)))[1]
    if isinstance(number, complex):
        return complex(_power(number.real, -exponent), _power(number.imag, -exponent)), exponent
    return _power(number, -exponent), exponent


def rounded(number: Fraction) -> BoundedNumber:
    """The nearest number with 53 bits to a rational."""
    mantissa, power = _mantissa(number)
    bound = UNIT * abs(mantissa) if Fraction(mantissa) * Fraction(2) ** power != number else 0.0
    return BoundedNumber(mantissa, bound, power, magnitude=abs(mantissa))
