"""What permanents cost: seconds of each method on each kind of device. The only place with rates.

Rates are measured, in seconds for the unit that a method repeats, on one core of an AVX-512 server
(for Glynn's sum at each level of the instruction set) and on an NVIDIA H200.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hardscape import native
from hardscape.engine import Device

__all__ = [
    "GPU_START",
    "LONG_RUN",
    "SPARSE_START",
    "START",
    "describe",
    "extended_gpu_seconds",
    "extended_seconds",
    "frontier_seconds",
    "glynn_seconds",
    "gpu_seconds",
    "minor_residue_seconds",
    "minor_seconds",
    "rectangle_seconds",
    "repeated_residue_seconds",
    "repeated_seconds",
    "sparse_gpu_seconds",
    "subset_seconds",
]

#: Seconds from which a run must be asked for: a day.
LONG_RUN = 86400.0
#: Seconds for each n 2^(n-1), real; a GPU's is an H200's.
_GLYNN = {"v4": 5.2e-11, "v3": 5.5e-11, "v2": 1.1e-10, "generic": 1.1e-10}
_GLYNN_H200 = 1.14e-13
#: How much more complex entries and a proven bound of their rounding cost.
_COMPLEX, _GUARD = 3.0, 2.7
#: How much more double-double numbers cost, real and complex, on CPUs and on an H200.
_EXTENDED, _EXTENDED_H200 = (10.0, 36.0), (10.0, 59.0)
#: Operations a second of an H200 in a kernel that is generated for a sparse matrix.
_SPARSE_H200 = 1e13
#: Seconds to start CUDA, and to choose and compile a kernel for a sparse matrix.
GPU_START, SPARSE_START = 1.0, 2.0
#: Seconds for each term and distinct column, in double precision and modulo one prime.
_REPEATED, _REPEATED_PRIME = 1.2e-10, 5e-9
#: Seconds for each n 2^(n-1) of the subset sum, and for each element of a rectangle's in NumPy.
_SUBSET, _RECTANGLE = 4.5e-10, 2e-9
#: Seconds for a product of the frontier program where its states fit in a cache, and where they do not.
_FRONTIER_NEAR, _FRONTIER_FAR, _NEAR_STATES = 1e-8, 4e-8, 2**17
#: Seconds for each n 2^(n-1) of all minors, real, and of them modulo one prime.
_MINORS, _MINORS_PRIME = 4e-10, 1e-8
#: Seconds to set up a sum.
START = 3e-4


def glynn_seconds(n: int, *, complex_: bool, guard: bool) -> float:
    """Seconds of Glynn's sum of n rows on one core, in double precision."""
    rate = _GLYNN[native.level()] * (_COMPLEX if complex_ else 1) * (_GUARD if guard else 1)
    return START + rate * n * 2.0 ** (n - 1)


def gpu_seconds(n: int, *, complex_: bool) -> float:
    """Seconds of the same on one NVIDIA H200."""
    return _GLYNN_H200 * (_COMPLEX if complex_ else 1.0) * n * 2.0 ** (n - 1)


def extended_seconds(n: int, *, complex_: bool) -> float:
    """Seconds of Glynn's sum of n rows on one core, in double-double numbers."""
    return START + _GLYNN[native.level()] * _EXTENDED[complex_] * n * 2.0 ** (n - 1)


def extended_gpu_seconds(n: int, *, complex_: bool) -> float:
    """Seconds of the same on one NVIDIA H200."""
    return _GLYNN_H200 * _EXTENDED_H200[complex_] * n * 2.0 ** (n - 1)


def sparse_gpu_seconds(operations: float) -> float:
    """Seconds of so many operations of a generated kernel on one NVIDIA H200."""
    return operations / _SPARSE_H200


def repeated_seconds(terms: int, columns: int, *, complex_: bool, guard: bool) -> float:
    """Seconds of the sum over multiplicities on one core, in double precision."""
    rate = _REPEATED * (_COMPLEX if complex_ else 1) * (_GUARD if guard else 1)
    return 2 * START + rate * float(terms) * columns


def repeated_residue_seconds(terms: int, columns: int, primes: int) -> float:
    """Seconds of the same modulo primes."""
    return START + _REPEATED_PRIME * float(terms) * columns * 4 * math.ceil(primes / 4)


def subset_seconds(n: int) -> float:
    """Seconds of the sum over subsets of columns on one core."""
    return START + _SUBSET * n * 2.0 ** (n - 1)


def rectangle_seconds(m: int, n: int, *, complex_: bool) -> float:
    """Seconds of the sum over subsets of the rows of a rectangle on one core."""
    return 1e-5 * n * m + _RECTANGLE * (2 if complex_ else 1) * n * m * 2.0 ** (m - 1)


def frontier_seconds(transitions: int, peak: int) -> float:
    """Seconds of the frontier program on one core, integers of one word or floats."""
    rate = _FRONTIER_NEAR if peak <= _NEAR_STATES else _FRONTIER_FAR
    return START + rate * float(transitions)


def minor_seconds(n: int, *, complex_: bool) -> float:
    """Seconds of all minors in double precision on one core."""
    return START + _MINORS * (_COMPLEX if complex_ else 1) * n * 2.0 ** (n - 1)


def minor_residue_seconds(n: int, primes: int) -> float:
    """Seconds of all minors modulo primes on one core."""
    return START + _MINORS_PRIME * primes * n * 2.0 ** (n - 1)


def describe(devices: Sequence[Device]) -> str:
    """The devices in words, as results name them."""
    kinds = sorted({device.kind for device in devices})
    words = {"cpu": "CPU thread(s)", "cuda": "GPU(s)"}
    return " and ".join(
        f"{sum(device.kind == kind for device in devices)} {words[kind]}" for kind in kinds
    )
