"""The works of the frontier program: in integers, modulo primes, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.frontier.cuts import UNCUT, Cuts
from hardscape.permanents.methods.frontier.order import FrontierOrder
from hardscape.permanents.methods.sums import Rearranged, Stated, Value
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber, shifted
from hardscape.permanents.numbers.integers import Rows, joined, residues_of
from hardscape.permanents.structure.scaling import parts_of

#: Products that take milliseconds.
_BRIEF = 2**18


class _RowByRow(Stated[Value]):
    """The program for a matrix whose rows are those of the order; a shard is a part of it."""

    matrix: Any
    order: FrontierOrder
    cuts: Cuts

    unit: ClassVar[str] = "parts"

    def shards(self) -> Sequence[Shard]:
        """A shard for each part."""
        return split(self.cuts.parts, self.cuts.parts)

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.order.transitions <= _BRIEF


@dataclass(frozen=True)
class FrontierWork(_RowByRow[int]):
    """The program for integers, modulo ``2**(64 * words)`` or modulo primes."""

    matrix: Rows  #: its rows are those of the order
    order: FrontierOrder
    words: int  #: 1, 2, 4 or 8; 0 for primes. Entries then fit 63 bits
    primes: tuple[int, ...] = ()
    cuts: Cuts = UNCUT

    name: ClassVar[str] = "permanents.frontier"
    revision: ClassVar[int] = 2

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows of a part."""
        order = self.cuts.order(self.order, shard.start)
        entries = [self.matrix[i][j] for i, j in order.entries()]
        if self.words:
            values, complete = native.vector.permanents.frontier_words(
                *order.program(), np.array(entries, dtype=np.int64), self.words, context.stop
            )
        else:
            values, complete = native.vector.permanents.frontier_residues(
                *order.program(),
                residues_of(entries, self.primes),
                np.array(self.primes, dtype=np.uint64),
                context.stop,
            )
        return ShardResult({"values": values}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add values, modulo what they are taken modulo."""
        if not self.words:
            moduli = np.array(self.primes, dtype=np.uint64)
            return {"values": (left["values"] + right["values"]) % moduli}
        total = (_whole(left) + _whole(right)) % (1 << 64 * self.words)
        data = total.to_bytes(8 * self.words, "little")
        return {"values": np.frombuffer(data, dtype="<u8").astype(np.uint64)}

    def result(self, partial: Partial) -> int:
        """The permanent."""
        if not self.words:
            return joined(partial["values"].tolist(), self.primes)
        total = _whole(partial)
        return total - (1 << 64 * self.words) if total >> (64 * self.words - 1) else total


def _whole(partial: Partial) -> int:
    return int.from_bytes(partial["values"].astype("<u8").tobytes(), "little")


@dataclass(frozen=True, eq=False)
class FrontierSumWork(_RowByRow[BoundedNumber], Rearranged):
    r"""The program in double precision.

    A partial holds ``sums``: the parts of the value, per(\|A\|), the effect of the entries' errors,
    what underflow may have taken, and an exponent.
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (n, n); its rows are those of the order
    #: float64, shape (n, n), or None; bounds of the errors of the entries' parts.
    error: NDArray[np.float64] | None
    order: FrontierOrder
    cuts: Cuts = UNCUT

    name: ClassVar[str] = "permanents.frontier.double"
    revision: ClassVar[int] = 2

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

    def again(self) -> FrontierSumWork | None:
        """From the last row to the first, where the program is not cut."""
        return None if self.cuts.parts > 1 else replace(self, order=self.order.turned_around())

    @property
    def roundings(self) -> int:
        """Those on the way of a product: itself, sums of as many terms as a row has entries, and of parts."""
        return sum(len(slots) + 3 for slots in self.order.slots) + self.cuts.parts - 1

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Take all rows of a part."""
        order = self.cuts.order(self.order, shard.start)
        entries, error, _ = self.scaled
        rows, columns = map(list, zip(*order.entries(), strict=True))
        chosen = entries[rows, columns]
        sums, complete = native.vector.permanents.frontier_sums(
            *order.program(),
            parts_of(chosen),
            np.ascontiguousarray(error[rows, columns]),
            context.stop,
        )
        return ShardResult({"sums": sums}, complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Add sums, in units of the larger one's power of two."""
        both = [left["sums"], right["sums"]]
        power = max((sums[-1] for sums in both if sums[-4] > 0), default=0.0)
        shared = [np.ldexp(sums[:-1], int(sums[-1] - power)) for sums in both]
        total = shared[0] + shared[1]
        total[-1] += 8 * TINY  # what underflows
        return {"sums": np.append(total, power)}

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound."""
        *parts, magnitude, excess, lost, power = partial["sums"].tolist()
        bound = 1.02 * (self.roundings * UNIT * magnitude + excess) + lost
        mantissa = parts[0] if len(parts) == 1 else complex(*parts)
        exponent = self.scaled[2] + int(power)
        terms = self.order.transitions
        return BoundedNumber(mantissa, bound, exponent, True, terms, float(magnitude), different=1)
