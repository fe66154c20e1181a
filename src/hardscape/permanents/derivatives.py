r"""All first minors of a permanent, which are its derivatives.

.. math::
    \frac{\partial\,\mathrm{per}(A)}{\partial a_{ij}} = \mathrm{per}(A_{\hat\imath \hat\jmath}) =
    2^{1-n} \sum_{\delta_1 = 1} \delta_i \prod_k \delta_k \prod_{l \ne j} s_l

with the sums :math:`s_l` of Glynn's formula. Prefix and suffix products give all j of a term at
once, and the sum with :math:`\delta_i` is taken over the runs of a Gray code in which it does not
change: about :math:`13 n 2^{n-1}` operations for all :math:`n^2` minors.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import home_of
from hardscape.engine import (
    Context,
    Cpu,
    Device,
    Partial,
    RunArguments,
    RunOptions,
    Shard,
    ShardResult,
    solve,
    split,
)
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, DeviceError, InputError
from hardscape.interrupts import interruptible
from hardscape.permanents.matrix import Matrix, intake
from hardscape.permanents.methods.method import COMPLEX, started
from hardscape.permanents.methods.sums import Modular, Stated, added, digest
from hardscape.permanents.numbers.bounded import shifted
from hardscape.permanents.numbers.integers import (
    Rows,
    integers_of,
    joined,
    permanent_bound,
    primes_above,
    residues_of,
)
from hardscape.permanents.permanent import permanent
from hardscape.permanents.plan import LONG_RUN
from hardscape.permanents.result import warn_of_overflow
from hardscape.permanents.structure.scaling import (
    GRID_BITS,
    column_exponents,
    padded,
    row_exponents,
)

#: Largest matrix: positions are counted in 64 bits.
_MAX_SIDE = 63
#: Shards, at most, and positions of a shard, at least.
_SHARDS, _FEWEST = 256, 2**12
#: Seconds for each n 2^(n-1) of all minors, real, and of them modulo one prime; those of brief ones.
_MINORS, _MINORS_PRIME, _BRIEF = 4e-10, 1e-8, 5e-3


@interruptible
def minors(a: Any, **run: Unpack[RunArguments]) -> Any:
    r"""All first minors of the permanent of a square matrix.

    Entry (i, j) is the permanent without row i and column j, the derivative of per(a) by
    :math:`a_{ij}` (for complex entries the holomorphic one).

    Parameters
    ----------
    a : array-like, shape (n, n)
        As for :func:`hardscape.permanent`; n up to 63.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. It runs on CPU threads alone, and
        `seed` has no effect: nothing is drawn.

    Returns
    -------
    numpy.ndarray, cupy.ndarray or torch.Tensor, shape (n, n)
        Of the package, and on the device, of `a`.
        float64 or complex128; for integers and fractions a NumPy array of exact ints or Fractions.
        The same bytes for any number of threads.

    Raises
    ------
    InputError
        If `a` is not a square matrix of numbers.
    DeviceError
        If `device` is a GPU.
    BudgetError
        If the estimate is a day or more and none of `time_limit`, `checkpoint` and `executor` says to
        run it anyway, or if the limit comes first.
    Interrupted
        On Ctrl-C or SIGTERM.

    Notes
    -----
    Some eight times the time of one permanent. In double precision the errors are those of
    Glynn's formula with entries rounded to 52 bits of their column's sum: relative to the
    magnitudes of the terms, about :math:`(n + 256)\, 2^{-53}` at most.

    Examples
    --------
    >>> from hardscape.permanents import minors
    >>> minors([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).tolist()
    [[93, 78, 67], [42, 30, 22], [27, 18, 13]]
    """
    matrix = _square(a)
    options = RunOptions.checked(**run)
    if not all(isinstance(device, Cpu) for device in options.devices):
        raise DeviceError(f"minors do not run on {options.devices[0]}; use device='cpu'")
    n = matrix.shape[0]
    if n <= 1:
        dtype = {"real": np.float64, "complex": np.complex128}.get(matrix.kind, object)
        return home_of(a).bring(np.ones((n, n), dtype=dtype))
    exact = matrix.kind in ("integer", "rational")
    work: _Minors = MinorResidueWork.of(matrix) if exact else MinorWork(matrix.entries)
    seconds = work.core_seconds / options.threads
    if seconds > LONG_RUN and not options.asked_for:
        raise BudgetError(
            f"the minors of a matrix of side {n} take about {duration(seconds)} on "
            f"{options.threads} CPU threads; pass time_limit= to run them anyway"
        )
    found = solve(work, options).whole()
    if not exact and not np.isfinite(found).all():
        warn_of_overflow()
    return home_of(a).bring(found)


@interruptible
def value_and_grad(a: Any, **run: Unpack[RunArguments]) -> tuple[Any, Any]:
    """Permanent of a square matrix and its gradient, without any package for differentiation.

    Takes the arguments of :func:`hardscape.permanents.minors`, whose checkpoint gets the further
    suffix ``.minors``, and raises what it and :func:`hardscape.permanent` do.

    Returns
    -------
    value : int, Fraction, float or complex
        As :func:`hardscape.permanent` gives it.
    gradient : array, shape (n, n)
        As :func:`hardscape.permanents.minors` gives it.

    Examples
    --------
    >>> from hardscape.permanents import value_and_grad
    >>> value, gradient = value_and_grad([[1.0, 2.0], [3.0, 4.0]])
    >>> value, gradient.tolist()
    (10.0, [[4.0, 3.0], [2.0, 1.0]])
    """
    matrix = _square(a)
    apart = run.copy()
    if (path := run.get("checkpoint")) is not None:
        apart["checkpoint"] = f"{os.fspath(path)}.minors"
    gradient = minors(a, **apart)
    return permanent(matrix.entries, **run), gradient


def _square(a: Any) -> Matrix:
    matrix = intake(a)
    m, n = matrix.shape
    if matrix.is_batch or m != n or n > _MAX_SIDE:
        raise InputError(
            f"a has shape {matrix.entries.shape}; one square matrix of side up to {_MAX_SIDE} is accepted"
        )
    return matrix


class _Minors(Stated[NDArray[Any]]):
    """What the minors of floats and of integers have in common."""

    @property
    @abstractmethod
    def units(self) -> int:
        """Positions or terms."""

    @property
    @abstractmethod
    def core_seconds(self) -> float:
        """Estimated time on one core."""

    def shards(self) -> Sequence[Shard]:
        """Ranges of units."""
        return split(self.units, max(1, min(_SHARDS, self.units // _FEWEST)))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.core_seconds <= _BRIEF


@dataclass(frozen=True, eq=False)
class MinorWork(_Minors):
    """All first minors in double precision.

    A unit is a position of the Gray code of the outer rows. A partial holds ``high`` and ``low``, float64
    of shape (parts, m, m).
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); finite, n from 1 to 63

    name: ClassVar[str] = "permanents.minors"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "positions"

    @cached_property
    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
        """Parts on a grid, completed by an identity, and exponents of rows and of columns."""
        parts = padded(self.matrix, native.vector.permanents.minor_rows())
        off_rows = row_exponents(parts)
        columns = column_exponents(parts, off_rows)[None].astype(np.int32)
        rows = off_rows[:, None].astype(np.int32)
        longest = np.abs(shifted(parts, -rows - columns)).sum(axis=1).max(axis=0)
        columns = columns + np.frexp(longest)[1]
        entries = np.rint(shifted(parts, GRID_BITS - rows - columns))
        return np.ldexp(entries, -GRID_BITS), rows, columns

    @property
    def units(self) -> int:
        """Positions of the Gray code."""
        return int(2 ** (self.scaled[0].shape[1] - native.vector.permanents.minor_rows()))

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        n = self.scaled[0].shape[1]
        times = COMPLEX if np.iscomplexobj(self.matrix) else 1
        return started(_MINORS * times * n * 2.0 ** (n - 1))

    def digest(self) -> str:
        """Digest of the matrix."""
        return digest(self.name, self.matrix, native.vector.permanents.minor_rows())

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of positions."""
        (high, low), complete = native.vector.permanents.glynn_minors(
            self.scaled[0], shard.start, shard.stop, context.stop
        )
        return ShardResult({"high": high, "low": low}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add; what a high loses goes to the low."""
        return added(left, right)

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors."""
        _, rows, columns = self.scaled
        n, m = len(self.matrix), len(rows)
        sums = partial["high"] + partial["low"]
        found = sums[0] if len(sums) == 1 else sums[0] + 1j * sums[1]
        # A minor has the powers of two of all rows and columns but its own.
        whole = int(rows.sum() + columns.sum()) + 1 - m
        return shifted(found, whole - rows - columns)[:n, :n]


@dataclass(frozen=True)
class MinorResidueWork(_Minors, Modular[NDArray[Any]]):
    """All first minors of integers modulo primes; a unit is a term."""

    matrix: Rows
    scale: tuple[Fraction, ...]  #: what the minors of each row are to be multiplied with
    primes: tuple[int, ...]
    integral: bool  #: whether the minors are integers by type

    name: ClassVar[str] = "permanents.minors.residues"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "terms"

    @classmethod
    def of(cls, matrix: Matrix) -> MinorResidueWork:
        """Work of as many primes as the minors need."""
        rows = [integers_of(row) for row in matrix.entries[:, None]]
        integers: Rows = tuple(row[0][0] for row in rows)
        factors = [row[1] for row in rows]
        # A minor is at most the permanent of the magnitudes, with a 1 added to each.
        larger = tuple(tuple(abs(x) + 1 for x in row) for row in integers)
        primes = primes_above(2 * permanent_bound(larger) + 1)
        scale = tuple(
            math.prod(factors[:i] + factors[i + 1 :], start=Fraction(1)) for i in range(len(rows))
        )
        return cls(integers, scale, primes, matrix.kind == "integer")

    @property
    def core_seconds(self) -> float:
        """Estimated time on one core."""
        n = len(self.matrix)
        return started(_MINORS_PRIME * len(self.primes) * n * 2.0 ** (n - 1))

    @property
    def units(self) -> int:
        """Terms."""
        return int(2 ** (len(self.matrix) - 1))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of terms, one prime after the other."""
        entries = residues_of([x for row in self.matrix for x in row], self.primes)
        residues, complete = native.vector.permanents.exact_minors(
            entries.reshape(-1, len(self.matrix)),
            np.array(self.primes, dtype=np.uint64),
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"residues": residues}, complete)

    def result(self, partial: Partial) -> NDArray[Any]:
        """The minors."""
        n = len(self.matrix)
        found = np.empty((n, n), dtype=object)
        for i, j in np.ndindex(n, n):
            residues = partial["residues"][:, i, j].tolist()
            minor = joined(residues, self.primes, -(64 + n - 1)) * self.scale[i]
            found[i, j] = int(minor) if self.integral else minor
        return found
