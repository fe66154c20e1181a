"""Integers of any size: from matrices, modulo primes, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = tuple[tuple[int, ...], ...]

#: Miller and Rabin's test with these bases is exact below 3e24 (J. Sorenson and J. Webster, 2017).
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def integers_of(matrix: NDArray[Any]) -> tuple[Rows, Fraction]:
    """Integers, and what their permanent is to be multiplied with, of ints, Fractions or floats.

    Rows and, of square matrices, columns come out without common factors. The shape is (m, n), m <= n.
    """
    m, n = matrix.shape
    scale = Fraction(1)
    lines: list[list[int]] = []
    shared = [0] * n  # divisors of columns
    rows: list[list[tuple[int, int, int]]] = [[] for _ in range(m)]
    places = np.nonzero(matrix.astype(bool))
    for i, j, x in zip(*(k.tolist() for k in (*places, matrix[places])), strict=True):
        rows[i].append((j, *x.as_integer_ratio()))
    for ratios in rows:
        denominator = math.lcm(*(below for *_, below in ratios))
        whole = [(j, above * (denominator // below)) for j, above, below in ratios]
        common = math.gcd(*(x for _, x in whole)) or 1
        scale *= Fraction(common, denominator)
        line = [0] * n
        for j, x in whole:
            line[j] = x // common
            shared[j] = math.gcd(shared[j], line[j])
        lines.append(line)
    if m == n:
        for j, common in enumerate(shared):
            if common > 1:
                scale *= common
                for line in lines:
                    line[j] //= common
    return tuple(map(tuple, lines)), scale


def bytes_of(number: int) -> NDArray[np.uint8]:
    """An integer as an array, which `integer_of` reads."""
    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return np.frombuffer(data, dtype=np.uint8)


def integer_of(data: NDArray[np.uint8]) -> int:
    """The integer that `bytes_of` wrote."""
    return int.from_bytes(data.tobytes(), "little", signed=True)


def bits(mask: int) -> list[int]:
    """Positions of the bits of `mask`, in increasing order."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def column_sums(matrix: Rows) -> list[int]:
    """Sum of the absolute values of each column."""
    return [sum(map(abs, column)) for column in zip(*matrix, strict=True)]


def permanent_bound(matrix: Rows) -> int:
    """Upper bound of the absolute permanent of a square matrix of integers.

    The least of the products of the row sums and of the column sums of absolute values; the
    bound of E. Carlen, E. Lieb and M. Loss, Methods Appl. Anal. 13, 1 (2006): n! / n^(n/2) times the
    product of the Euclidean lengths of the rows, or of the columns; and Bregman's of the pattern of
    nonzero entries, the product of r!^(1/r) over rows of r entries (L. Bregman, Soviet Math. Dokl. 14,
    945 (1973)), times the largest entry of each row, or the same with columns.
    """
    n = len(matrix)
    bounds: list[int] = []
    for lines in (matrix, tuple(zip(*matrix, strict=True))):
        sizes = [[abs(x) for x in line if x] for line in lines]
        bounds.append(math.prod(map(sum, sizes)))
        squares = math.prod(sum(x * x for x in line) for line in sizes)
        bounds.append(math.isqrt(math.factorial(n) ** 2 * squares // n**n) + 1)
        pattern = sum(math.lgamma(len(line) + 1) / len(line) for line in sizes if line)
        largest = math.prod(max(line, default=0) for line in sizes)
        bounds.append(largest << (math.ceil(pattern / math.log(2) + 1e-6)))
    return min(bounds)


def primes_above(bound: int, residue: int | None = None) -> tuple[int, ...]:
    """Primes below 2^62, the largest first, whose product is above `bound`; of a residue modulo 4."""
    primes: list[int] = []
    modulus, prime = 1, 2**62
    while modulus <= bound:
        prime = _prime_below(prime, residue)
        primes.append(prime)
        modulus *= prime
    return tuple(primes)


@cache
def _prime_below(number: int, residue: int | None) -> int:
    """The largest prime below a number near 2^62; of a residue modulo 4."""
    number -= 1
    while residue not in (None, number % 4) or not _is_prime(number):
        number -= 1
    return number


def _is_prime(number: int) -> bool:
    """Tell whether an integer above 41 and below 3e24 is prime."""
    if any(number % p == 0 for p in _WITNESSES):
        return False
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    for base in _WITNESSES:
        x = pow(base, (number - 1) >> twos, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True


def residues_of(numbers: Sequence[int], primes: Sequence[int]) -> NDArray[np.uint64]:
    """Residues of numbers times 2^64, as kernels multiply them (Montgomery), a row for each prime."""
    return np.array([[(x << 64) % p for x in numbers] for p in primes], dtype=np.uint64)


def rings_of(primes: Sequence[int]) -> NDArray[np.uint64]:
    """What kernels on GPUs know of each prime: `Residues` of residues.hpp, shape (primes, 2)."""
    pairs = [(p, pow(-p, -1, 2**64)) for p in primes]
    return np.array(pairs, dtype=np.uint64).reshape(-1, 2)


def joined(residues: Sequence[int], primes: Sequence[int], power: int = 0) -> int:
    """The integer of least magnitude with these residues times 2**power, in Garner's way."""
    value, modulus = 0, 1
    for p, residue in zip(primes, residues, strict=True):
        digit = (residue * pow(2, power, p) - value) * pow(modulus, -1, p) % p
        value += digit * modulus
        modulus *= p
    return value - modulus if 2 * value > modulus else value
