"""What a permanent came out as."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hardscape.arrays import home_of
from hardscape.engine import Cpu, Cuda, Device, resolve
from hardscape.errors import InputError, OverflowWarning
from hardscape.permanents.matrix import Number
from hardscape.permanents.methods.method import Way
from hardscape.permanents.numbers.gaussian import ExactComplex
from hardscape.permanents.structure.reduce import Reductions
from hardscape.plain import Plain, brief, finite_or_none

#: Bits of integers that Python writes in digits whatever its limit.
_WRITABLE_BITS = 2000
_WORDS = {Cpu: "CPU thread(s)", Cuda: "GPU(s)"}


def devices_of(ways: Iterable[Way], devices: Sequence[Device]) -> str:
    """Those of `devices` that ways run on, in words."""
    types = {way.device for way in ways}
    found = [device for device in devices if type(device) in types]
    if Cpu in types and not any(isinstance(device, Cpu) for device in found):
        found += resolve("cpu")
    counts = ((sum(type(d) is kind for d in found or devices), kind) for kind in (Cpu, Cuda))
    return " and ".join(f"{count} {_WORDS[kind]}" for count, kind in counts if count)


@dataclass(frozen=True)
class Retry:
    """An answer that was found, for the matrix or one of its blocks, and not kept.

    Attributes
    ----------
    side : int
        Rows of the block.
    method, precision, device : str
        What made it, as in `PermanentResult`.
    error_bound : float
        Bound of its error.
    rigorous : bool
        Whether that is proven.
    seconds : float
    reason : str
        Why another answer was kept.

    Examples
    --------
    >>> import numpy as np
    >>> import hardscape
    >>> found = hardscape.permanent(np.random.default_rng(1).normal(size=(12, 12)), full_output=True)
    >>> [retry.reason for retry in found.retries]
    []
    """

    side: int
    method: str
    precision: str
    device: str
    error_bound: float
    rigorous: bool
    seconds: float
    reason: str


@dataclass(frozen=True, eq=False)
class PermanentResult(Plain):
    """A permanent and how it was found.

    Attributes
    ----------
    value : int, Fraction, ExactComplex, float or complex
        Floating parts beyond float64 are infinite, or 0.
    mantissa : int, Fraction, ExactComplex, float or complex
    exponent : int
        The value is ``mantissa * 2**exponent`` whatever its size; for exact ones the exponent is 0.
    error_bound : float
        Bound on ``abs(value - permanent)``; 0.0 for exact results.
    rigorous : bool
        Whether the bound is proven; else a part of it is an estimate.
    likely_error : float
        What the error probably stays below: at most `error_bound`, and far less where that is what the
        sum itself can prove.
    condition : float
        Magnitude of the terms over that of their sum: by how much a relative error of a term may
        weigh more in the permanent. 1.0 for exact results, infinite for a sum of 0.
    method : str
        "glynn", "repeated", "sparse", "frontier" or "subset"; several joined by "+" where blocks differ, and
        "structure" where nothing was left to sum.
    precision : str
        "double", "extended" or "exact", which a floating value is rounded from; several joined by "+"
        where blocks differ.
    terms : int
        Terms or states summed, over all blocks, those of answers that were not kept included.
    reductions : Reductions
        What the matrix's zeros allowed before that.
    seconds : float
    device : str
        What found the value.
    stopped : str
        "": of a sum that was cut short nothing is told.
    retries : tuple of Retry
        Answers that were not kept, where double precision lost more than it may.

    Examples
    --------
    >>> import numpy as np
    >>> import hardscape
    >>> found = hardscape.permanent(np.full((12, 12), 0.5), full_output=True)
    >>> found.value, found.rigorous
    (116943.75, True)
    >>> abs(found.value - 116943.75) <= found.error_bound
    True
    """

    stopped: ClassVar[str] = ""

    value: Number
    mantissa: Number
    exponent: int
    error_bound: float
    rigorous: bool
    likely_error: float
    condition: float
    method: str
    precision: str
    terms: int
    reductions: Reductions
    seconds: float
    device: str
    retries: tuple[Retry, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; exact values are strings of digits, complex ones ``{"re", "im"}``.

        Numbers beyond float64, which JSON cannot hold, are None.
        """
        plain = asdict(self)
        plain |= {
            "stopped": self.stopped,
            "value": _plain(self.value),
            "mantissa": _plain(self.mantissa),
        }
        for name in ("error_bound", "likely_error", "condition"):
            plain[name] = finite_or_none(plain[name])
        for retry in plain["retries"]:
            retry["error_bound"] = finite_or_none(retry["error_bound"])
        return plain

    def __repr__(self) -> str:
        bound = f", error {'at most' if self.rigorous else 'about'} {self.error_bound:.2g}"
        return (
            f"<PermanentResult: {_brief(self.value)}{bound if self.error_bound else ''}, by {self.method} "
            f"({self.precision}) in {self.seconds:.3g} s>"
        )


#: Types in which values may be asked for.
_TYPES = ("float32", "float64", "complex64", "complex128")


def value_type(given: Any, is_complex: bool) -> np.dtype[Any] | None:
    """The type in which floating values are asked for, that of NumPy or of another package, checked."""
    if given is None:
        return None
    try:
        found: np.dtype[Any] = np.dtype(given)
    except TypeError:
        name = str(given).rpartition(".")[2]  # torch.float32
        found = np.dtype(name if name in _TYPES else object)
    if found.name not in _TYPES or (is_complex and found.kind == "f"):
        accepted = [repr(name) for name in _TYPES if not is_complex or name.startswith("complex")]
        raise InputError(f"dtype={given!r}; None and {', '.join(accepted)} are accepted here")
    return found


def given_back(found: Any, a: Any, dtype: np.dtype[Any] | None) -> Any:
    """Values as the caller of a public function gets them, who is told if one is infinite.

    Floating ones are rounded once to `dtype`, if there is one, and arrays go where `a` lives.
    """
    exact = np.dtype(object)
    if not isinstance(found, float | complex) and getattr(found, "dtype", exact) == exact:
        return found
    if dtype is not None:
        with np.errstate(over="ignore"):
            array = found if hasattr(found, "dtype") else np.asarray(found)
            found = array.astype(dtype)[() if array.ndim == 0 else ...]
    if not np.isfinite(found).all():
        warnings.warn(
            f"a permanent is beyond {dtype or 'float64'}, and its value infinite; full_output=True gives its "
            "mantissa and exponent",
            OverflowWarning,
            stacklevel=4,
        )
    return home_of(a).bring(found) if getattr(found, "ndim", 0) else found


def written(number: int | Fraction | ExactComplex) -> str:
    """All digits of a number, however many: Python alone refuses to write more than 4300."""
    if isinstance(number, ExactComplex):
        sign = "" if number.imag < 0 else "+"
        return f"{written(number.real)}{sign}{written(number.imag)}j"
    if isinstance(number, Fraction) and number.denominator != 1:
        return f"{written(number.numerator)}/{written(number.denominator)}"
    return _decimal(int(number))


def _brief(number: Number) -> str:
    if isinstance(number, int | float | complex):
        return brief(number)
    return brief(written(number))


def _decimal(number: int) -> str:
    if number < 0:
        return f"-{_decimal(-number)}"
    if number.bit_length() <= _WRITABLE_BITS:
        return str(number)
    half = number.bit_length() * 3 // 20  # about half of the digits
    above, below = divmod(number, 10**half)
    return _decimal(above) + _decimal(below).zfill(half)


def _plain(number: Number) -> Any:
    if isinstance(number, int | Fraction):
        return written(number)
    if isinstance(number, ExactComplex):
        return {"re": written(number.real), "im": written(number.imag)}
    if isinstance(number, complex):
        return {"re": finite_or_none(number.real), "im": finite_or_none(number.imag)}
    return finite_or_none(number)
