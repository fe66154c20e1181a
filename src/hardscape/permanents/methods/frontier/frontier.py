r"""Permanents of sparse matrices row by row: the frontier dynamic program.

Rows are taken in a chosen order. What the rows behind have to say is, for each set of columns that they
may have used, the sum of their products,

.. math::
    f_k(S) = \sum_{j \in S} a_{kj} f_{k-1}(S \setminus j),

and only columns that both rows behind and rows ahead touch, the *frontier*, need a bit in S: others
are unused, or used for certain. With w columns in the frontier and u of them used there are at most
:math:`\binom{w}{u}` states; u follows from the number of rows. So the cost is exponential in the
width of the matrix, not in its side: 60 x 60 matrices of degree 3 have widths near 20, and 120 x 120
ones near 33, in an order found by annealing (:mod:`hardscape.permanents.methods.frontier.order`). Many
states are numbered rather than looked up, so that they take no more memory than their values.

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
from hardscape.memory import holds
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

#: Seconds for a product in 64 bits where states are looked up, where they are numbered and fit in a
#: cache, and where they do not.
_LOOKED_UP, _NEAR, _FAR, _NEAR_STATES = 1e-8, 7e-10, 1.3e-9, 2**17
#: The same, as a factor, in double precision for each part of a value; and modulo a prime.
_FLOATING, _PRIME = 2.0, 3.0
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

    @property
    def roundings(self) -> int:
        """Those on the way of a product: itself, and sums of as many terms as a row has entries."""
        return sum(len(slots) + 3 for slots in self.order.slots)

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
        bound = 1.02 * (self.roundings * UNIT * magnitude + excess) + lost
        mantissa = parts[0] if len(parts) == 1 else complex(*parts)
        exponent = self.scaled[2] + int(power)
        terms = self.order.transitions
        return BoundedNumber(mantissa, bound, exponent, True, terms, float(magnitude), different=1)


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
        cancels = bool(block.is_complex or (block.entries < 0).any())
        # The value, that of magnitudes if it is another, and what errors may change.
        parts = 1 + block.is_complex + (cancels or error is not None) + (error is not None)
        found = _narrow(pattern, 8 * parts, _FLOATING * parts, choice, least)
        if isinstance(found, str):
            return found
        order, turned, memory, seconds = found
        if turned:
            entries = entries.T
            error = None if error is None else np.ascontiguousarray(error.T)
        work = FrontierSumWork(np.ascontiguousarray(entries), error, order)
        promise = work.roundings * UNIT, 0.0
        return [
            Way(
                self, work, order.transitions, seconds, memory=memory, cancels=cancels,
                promise=promise,
            )
        ]  # fmt: skip


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
        if block.primes or max(abs(x) for row in integers for x in row) >= 2**63:
            words = 0
        primes = () if words else block.primes or primes_above(2**bits)
        found = _narrow(
            block.entries, 8 * max(1, words), words or _PRIME * len(primes), choice, least
        )
        if isinstance(found, str):
            return found
        order, turned, memory, seconds = found
        rows: Rows = tuple(zip(*integers, strict=True)) if turned else integers
        work = FrontierWork(rows, order, words, primes)
        return [Way(self, work, order.transitions, seconds, memory=memory, scale=scale)]


def _not_worth(block: Block, choice: Choice, least: float) -> str:
    if choice.method != "auto":
        return "" if choice.method == "frontier" else "another method is asked for"
    if least <= _WORTH_FROM:
        return f"another way takes {least:.2g} s: not worth a search for a narrow frontier"
    if block.density > _WORTH_DENSITY:
        return f"{block.density:.0%} of the entries are not 0: no frontier is narrow"
    return ""


def _narrow(
    block: NDArray[Any], state_bytes: int, times: float, choice: Choice, least: float
) -> tuple[FrontierOrder, bool, int, float] | str:
    """An order, whether it is one of columns, memory and seconds; or why there is none."""
    found = best_order(block, _NEAR * times, least, choice.thinking(least))
    if found is None:
        return "no frontier is narrow"
    order, turned = found
    # Two sets of states, with an index if they are looked up.
    memory = 2 * order.peak * (state_bytes + (0 if order.numbered else 16))
    if not holds(memory, choice.memory):
        return f"its states take {memory / 1e9:.3g} GB"
    rate = _LOOKED_UP if not order.numbered else _NEAR if order.peak <= _NEAR_STATES else _FAR
    return order, turned, memory, started(rate * times * order.transitions)
