"""Numbers that know how wrong they may be, with their powers of two apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    #: What the error probably stays below, in units of ``2**exponent``, if that is known better.
    likely: float | None = None
    #: What is taken for the bound where answers are compared, whether one is proven or not; by default
    #: `bound`. Which answer is kept does not depend on how much of its error was proven.
    estimate: float | None = None
    #: What rounding to the mantissa took off, as far as that is known: ``mantissa + rest`` is closer,
    #: by `bound` less its size.
    rest: float | complex = 0.0

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

    @property
    def probable_error(self) -> float:
        """What the error of `value` probably stays below; no more than is proven."""
        return min(self.error_bound, _power(self.likely_error, self.exponent) + 4 * TINY)

    @property
    def compared(self) -> float:
        """The bound that answers are compared by, in units of ``2**exponent``."""
        return self.bound if self.estimate is None else self.estimate

    def is_better_than(self, other: BoundedNumber) -> bool:
        """Whether the bound, proven or estimated, is smaller; of equal ones a proven one is better."""
        mine, others = _split_bound(self), _split_bound(other)
        return mine < others or (mine == others and self.rigorous and not other.rigorous)

    def rearranged(self, other: BoundedNumber) -> BoundedNumber:
        """The same number, knowing what the same sum gave in another order."""
        unit = Fraction(2) ** (other.exponent - self.exponent)
        pairs = zip(_parts(self.mantissa), _parts(other.mantissa), strict=True)
        apart = _above(_modulus(*(x - y * unit for x, y in pairs)))
        return replace(self, likely=16 * apart + 4 * UNIT * abs(self.mantissa))

    def beside(self, other: BoundedNumber) -> BoundedNumber:
        r"""The same number with the bound that another one, of a proven bound, gives it, if that is smaller.

        With :math:`|w - p| \le b` for the other number w, :math:`|v - p| \le |v - w| + b`.
        """
        if not other.rigorous or not math.isfinite(other.bound):
            return self
        unit = Fraction(2) ** (other.exponent - self.exponent)
        here, there, rest = map(_parts, (self.mantissa, other.mantissa, other.rest))
        away = (x - (y + z) * unit for x, y, z in zip(here, there, rest, strict=True))
        room = max(Fraction(0), Fraction(other.bound) - _modulus(*rest))
        bound = _above(_modulus(*away) + room * unit)
        if self.rigorous and self.bound <= bound:
            return self
        return replace(self, bound=bound, rigorous=True, estimate=self.compared)

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
        Where the same sum is known in another order, the errors are about as large as the difference;
        again with a factor of 16 to spare.
        """
        if self.likely is not None:
            return min(self.compared, self.likely)
        if not self.terms:
            return self.compared
        independent = self.terms if self.different is None else self.different
        spread = 128 * UNIT * self.magnitude / math.sqrt(independent)
        return min(self.compared, spread + 4 * UNIT * abs(self.mantissa))


def _split_bound(number: BoundedNumber) -> tuple[float, float]:
    """The bound as a power of two and a mantissa, which compare as it does."""
    mantissa, exponent = math.frexp(number.compared)
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
    The product of the :math:`v_i` is exact, so only the last rounding adds to that; the bound is
    evaluated in rational arithmetic and rounded up.
    """
    if len(numbers) == 1 and _is_power(scale):
        shift = scale.numerator.bit_length() - scale.denominator.bit_length()
        return replace(numbers[0], exponent=numbers[0].exponent + shift)
    product = scale, Fraction(0)
    exponent = sum(number.exponent for number in numbers)
    # Bounds of the product of the moduli, with and without the errors.
    top = middle = abs(scale)
    # The modulus of a complex number is rounded up.
    room = Fraction(1, 2**60) if kind is complex else Fraction(0)
    condition, relative = 1.0, UNIT
    for number in numbers:
        (a, b), (x, y) = product, _parts(number.mantissa)
        product = a * x - b * y, a * y + b * x
        size = _modulus(x, y)
        top *= size + Fraction(number.bound)
        middle *= size * (1 - room)
        condition *= number.condition
        relative += number.likely_error / abs(number.mantissa) if number.mantissa else math.inf
    share, power = _nearest(*product, kind)
    unit = Fraction(2) ** -power
    lost = _modulus(*(x * unit - y for x, y in zip(product, _parts(share), strict=True)))
    return BoundedNumber(
        share,
        _above((top - middle) * unit + lost),
        exponent + power,
        all(number.rigorous for number in numbers),
        sum(number.terms for number in numbers),
        abs(share) * condition if share else 0.0,
        likely=abs(share) * relative if share else None,
    )


def _is_power(number: Fraction) -> bool:
    """Whether a number is a power of two."""
    above, below = number.as_integer_ratio()
    return above > 0 and not above & (above - 1) and not below & (below - 1)


def _parts(number: float | complex) -> tuple[Fraction, Fraction]:
    """Real and imaginary part."""
    return Fraction(number.real), Fraction(number.imag)


def _modulus(real: Fraction, imag: Fraction) -> Fraction:
    """The modulus, rounded up by less than 2^-60 of it if the number is complex."""
    if not real or not imag:
        return abs(real) + abs(imag)
    square = real * real + imag * imag
    shift = max(0, 65 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    return Fraction(
        math.isqrt((square.numerator << 2 * shift) // square.denominator) + 1, 1 << shift
    )


def _above(number: Fraction) -> float:
    """A float that is not below a number."""
    try:
        found = float(number)
    except OverflowError:
        return math.inf
    return math.nextafter(found, math.inf) if found < number else found


def _nearest(real: Fraction, imag: Fraction, kind: type) -> tuple[Any, int]:
    """The number of a kind whose parts are nearest, of modulus 1/2 to 3 or 0, and a power of two."""
    power = max((_mantissa(part)[1] for part in (real, imag) if part), default=0)
    unit = Fraction(2) ** -power
    parts = float(real * unit), float(imag * unit)
    return (complex(*parts) if kind is complex else parts[0]), power


def total(numbers: Sequence[BoundedNumber], kind: type) -> BoundedNumber:
    """Sum of a few numbers, with a bound of its error."""
    if len(numbers) == 1:
        return numbers[0]
    exponent = max(number.exponent + _split(kind(number.mantissa))[1] for number in numbers)
    share, bound, magnitude, likely = kind(0), 0.0, 0.0, 0.0
    for number in numbers:
        shift = number.exponent - exponent
        part = shifted(np.array(kind(number.mantissa)), np.array(shift)).item()
        share = share + part
        bound += _power(number.bound, shift) + 8 * UNIT * (abs(part) + abs(share)) + 4 * TINY
        magnitude += _power(number.magnitude, shift)
        likely += _power(number.likely_error, shift) + UNIT * abs(share)
    return BoundedNumber(
        share,
        bound * (1 + 2.0**-40),
        exponent,
        all(number.rigorous for number in numbers),
        sum(number.terms for number in numbers),
        magnitude,
        likely=likely,
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


def rounded(number: Any, kind: type = float) -> BoundedNumber:
    """The nearest number with 53 bits to a rational or an exact complex one."""
    parts = Fraction(number.real), Fraction(number.imag)
    mantissa, power = _nearest(*parts, kind)
    unit = Fraction(2) ** -power
    lost = [x * unit - y for x, y in zip(parts, _parts(mantissa), strict=True)]
    rest = complex(*map(float, lost))
    # What `rest` leaves out belongs to the bound, which `beside` takes its size from.
    off = [x - y for x, y in zip(lost, _parts(rest), strict=True)]
    bound = _above(_modulus(*_parts(rest)) + _modulus(*off))
    size = abs(mantissa)
    return BoundedNumber(
        mantissa, bound, power, magnitude=size, rest=rest if kind is complex else rest.real
    )
