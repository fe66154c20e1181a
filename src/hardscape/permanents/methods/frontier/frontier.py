r"""Permanents of sparse matrices row by row: the frontier dynamic program.

Rows are taken in a chosen order. What the rows behind have to say is, for each set of columns that they
may have used, the sum of their products,

.. math::
    f_k(S) = \sum_{j \in S} a_{kj} f_{k-1}(S \setminus j),

and only columns that both rows behind and rows ahead touch, the *frontier*, need a bit in S: others
are unused, or used for certain. With w columns in the frontier and u of them used there are at most
:math:`\binom{w}{u}` states; u follows from the number of rows. So the cost is exponential in the
width of the matrix, not in its side: 60 x 60 matrices of degree 3 have widths near 20.

Nothing is subtracted but what the entries' signs say. In double precision the error of the
permanent is therefore at most :math:`\gamma_k \mathrm{per}(|A|)` for k rounded operations along a
product, and per(\|A\|) is found on the way. Errors of the entries are carried along by the recursion of
:mod:`hardscape.permanents.methods.glynn.glynn`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult
from hardscape.permanents.methods.frontier.order import FrontierOrder, best_order
from hardscape.permanents.methods.method import Block, Choice, Method, Way, started
from hardscape.permanents.methods.sums import OneShard, Value
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber, shifted
from hardscape.permanents.numbers.integers import (
    Rows,
    joined,
    permanent_bound,
    primes_above,
    residues_of,
)

#: Bytes of the states of a frontier, at most.
_MAX_BYTES = 2**32
#: Seconds for a product where the states fit in a cache, and where they do not.
_NEAR, _FAR, _NEAR_STATES = 1e-8, 4e-8, 2**17
#: Seconds from which it is worth looking for a narrow frontier, and density of the entries up to which.
_WORTH_FROM, _WORTH_DENSITY = 3e-3, 0.7
#: Products that take milliseconds.
_BRIEF = 2**18


class _RowByRow(OneShard[Value]):
    """The program for a matrix whose rows are those of the order, in one shard."""

    matrix: Any
    order: FrontierOrder

    unit: ClassVar[str] = "rows"

    @property
    def steps(self) -> int:
        """Rows."""
        return len(self.matrix)

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.order.transitions <= _BRIEF


@dataclass(frozen=True)
class FrontierWork(_RowByRow[int]):
    """The program for integers, modulo ``2**(64 * words)`` or modulo primes, in one shard."""

    matrix: Rows  #: its rows are those of the order
    order: FrontierOrder
    words: int  #: 1, 2, 4 or 8; 0 for primes. Entries then fit 63 bits
    primes: tuple[int, ...] = ()

    name: ClassVar[str] = "permanents.frontier"
    revision: ClassVar[int] = 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows."""
        entries = [self.matrix[i][j] for i, j in self.order.entries()]
        if self.words:
            values, complete = native.vector.permanents.frontier_words(
                *self.order.program(), np.array(entries, dtype=np.int64), self.words, context.stop
            )
        else:
            values, complete = native.vector.permanents.frontier_residues(
                *self.order.program(),
                residues_of(entries, self.primes),
                np.array(self.primes, dtype=np.uint64),
                context.stop,
            )
        return ShardResult({"values": values}, complete)

    def result(self, partial: Partial) -> int:
        """The permanent."""
        values = partial["values"].tolist()
        if not self.words:
            return joined(values, self.primes)
        total = int.from_bytes(np.array(values, dtype="<u8").tobytes(), "little")
        return total - (1 << 64 * self.words) if total >> (64 * self.words - 1) else total


@dataclass(frozen=True, eq=False)
class FrontierSumWork(_RowByRow[BoundedNumber]):
    r"""The program in double precision, in one shard.

    A partial holds ``sums``: the parts of the value, per(\|A\|), the effect of the entries' errors,
    what underflow may have taken, and an exponent.
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); its rows are those of the order
    #: float64, shape (n, n), or None; bounds of the errors of the entries' parts.
    error: NDArray[np.float64] | None
    order: FrontierOrder

    name: ClassVar[str] = "permanents.frontier.double"
    revision: ClassVar[int] = 1

    @cached_property
    def scaled(self) -> tuple[NDArray[Any], NDArray[np.float64], int]:
        """Entries and errors times powers of two such that no row adds up to more than 1."""
        error = np.zeros(self.matrix.shape) if self.error is None else self.error
        total = np.zeros(self.matrix.shape, dtype=np.int32)
        for axis in (0, 1, 0, 1):
            entries = shifted(self.matrix, -total)
            size = np.abs(entries.real) + np.abs(entries.imag) + shifted(error, -total)
            power = np.frexp(np.max(size, axis=axis, keepdims=True))[1]
            if axis == 1:
                power += np.frexp(np.sum(shifted(size, -power), axis=1, keepdims=True))[1]
            total += power
        entries = shifted(self.matrix, -total)
        off = np.where(shifted(entries, total) != self.matrix, TINY, 0.0)
        return entries, shifted(error, -total) + off, int(np.trace(total))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows."""
        entries, error, _ = self.scaled
        rows, columns = map(list, zip(*self.order.entries(), strict=True))
        chosen = entries[rows, columns]
        parts = [chosen.real, chosen.imag] if np.iscomplexobj(chosen) else [chosen]
        sums, complete = native.vector.permanents.frontier_sums(
            *self.order.program(),
            np.ascontiguousarray(np.stack(parts)),
            np.ascontiguousarray(error[rows, columns]),
            context.stop,
        )
        return ShardResult({"sums": sums}, complete)

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        *parts, magnitude, excess, lost, power = partial["sums"].tolist()
        # A product, and as many sums as a row has entries; magnitudes of complex numbers, too.
        steps = sum(len(slots) + 3 for slots in self.order.slots)
        bound = 1.02 * (steps * UNIT * magnitude + excess) + lost
        mantissa = parts[0] if len(parts) == 1 else complex(*parts)
        exponent = self.scaled[2] + int(power)
        return BoundedNumber(
            mantissa, bound, exponent, True, self.order.transitions, float(magnitude)
        )


class Frontier(Method):
    """The program in double precision, for sparse blocks."""

    name = "frontier"
    arithmetic = "double"

    def ways(self, block: Block, choice: Choice, least: float) -> list[Way] | str:
        """One, if there is a narrow frontier; what is dense or summed in no time is refused."""
        if why := _not_worth(block, choice, least):
            return why
        entries, error = block.entries, block.error
        pattern = entries if error is None else (entries != 0) | (error > 0)
        ordered = _narrow(pattern, 24 + 8 * (2 if block.is_complex else 1))
        if ordered is None:
            return []
        order, turned, memory = ordered
        if turned:
            entries = entries.T
            error = None if error is None else np.ascontiguousarray(error.T)
        work = FrontierSumWork(np.ascontiguousarray(entries), error, order)
        cancels = bool(block.is_complex or (block.entries < 0).any())
        seconds = _seconds(order)
        return [Way(self, work, order.transitions, seconds, memory=memory, cancels=cancels)]


class FrontierExactly(Method):
    """The program in integers of up to eight words, or modulo primes."""

    name = "frontier"
    arithmetic = "exact"

    def ways(self, block: Block, choice: Choice, least: float) -> list[Way] | str:
        """One, if there is a narrow frontier; what is dense or summed in no time is refused."""
        if why := _not_worth(block, choice, least):
            return why
        integers, scale = block.integers
        bits = permanent_bound(integers).bit_length() + 1
        words = next((w for w in (1, 2, 4, 8) if bits <= 64 * w), 0)
        if max(abs(x) for row in integers for x in row) >= 2**63:
            words = 0
        ordered = _narrow(block.entries, 16 + 8 * max(1, words))
        if ordered is None:
            return []
        order, turned, memory = ordered
        rows: Rows = tuple(zip(*integers, strict=True)) if turned else integers
        primes = () if words else primes_above(2**bits)
        work = FrontierWork(rows, order, words, primes)
        seconds = _seconds(order) * max(1, words / 2, 2 * len(primes))
        return [Way(self, work, order.transitions, seconds, memory=memory, scale=scale)]


def _not_worth(block: Block, choice: Choice, least: float) -> str:
    if choice.method != "auto":
        return "" if choice.method == "frontier" else "another method is asked for"
    if least <= _WORTH_FROM:
        return f"another way takes {least:.2g} s: not worth a search for a narrow frontier"
    if block.density > _WORTH_DENSITY:
        return f"{block.density:.0%} of the entries are not 0: no frontier is narrow"
    return ""


def _narrow(block: NDArray[Any], state_bytes: int) -> tuple[FrontierOrder, bool, int] | None:
    """An order with few enough states for the memory, whether it is of columns, and the memory."""
    found = best_order(block)
    if found is None:
        return None
    # Two sets of states, each with an index of up to four places a state.
    memory = 2 * found[0].peak * (state_bytes + 16)
    return (*found, memory) if memory <= _MAX_BYTES else None


def _seconds(order: FrontierOrder) -> float:
    """Seconds on one core, for integers of one word or floats."""
    return started((_NEAR if order.peak <= _NEAR_STATES else _FAR) * float(order.transitions))
