r"""Permanents with repeated rows and columns, by Glynn's formula over multiplicities.

A row of multiplicity r enters with the sum of r signs, :math:`r - 2v`, in :math:`\binom{r}{v}` ways:

.. math::
    \mathrm{per}(A) = 2^{-n} \sum_{v} \prod_i (-1)^{v_i} \binom{r_i}{v_i} \prod_j s_j^{c_j}, \qquad
    s_j = \sum_i (r_i - 2 v_i) a_{ij},

with :math:`0 \le v_i \le r_i` and n the sum of the multiplicities. One copy of one row may keep its
sign, which halves the sum: :math:`\prod (r_i + 1)` terms times :math:`r / (r + 1)`. A mixed-radix Gray
code changes one :math:`v_i` by one at a time, so a step costs the distinct columns, not n. Rows and
columns exchange their parts where that is cheaper.

Scaling and errors are those of :mod:`hardscape.permanents.methods.glynn.glynn`: the sums :math:`s_j`
are exact, and a term is a product of n of them (a power by squaring has the error of the plain
product) and of g binomials, each divided by its row's :math:`2^r` and rounded once. A binomial
never leaves float64, and the weights of all terms add up to 1.

After the formula for plain rows of D. Glynn, Eur. J. Comb. 31, 1887 (2010); multiplicities as in
S. Chin and J. Huh, Sci. Rep. 8, 6101 (2018).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Context, Device, Partial, Shard, ShardResult, split
from hardscape.permanents.methods.method import (
    MAX_TERMS,
    Block,
    Choice,
    Method,
    Way,
    started,
)
from hardscape.permanents.methods.sums import Modular, SignSum
from hardscape.permanents.numbers.bounded import TINY, UNIT, BoundedNumber
from hardscape.permanents.numbers.integers import (
    Rows,
    integers_of,
    joined,
    permanent_bound,
    primes_above,
    residues_of,
)
from hardscape.permanents.structure.multiplicity import Repeated
from hardscape.permanents.structure.scaling import ScaledMatrix, typical_excess

#: Lanes of inner rows, at least, where there are as many, and what they are padded to.
_LANES = 32
#: Shards, at most, and steps of a shard, at least.
_SHARDS, _FEWEST_STEPS = 256, 2**10
#: Factors of all terms of a sum that takes milliseconds.
_BRIEF = 2**22
#: Seconds for each term and distinct column, real and complex, and for each multiplication of a power.
_TERM, _MULTIPLICATION = {False: 0.3e-10, True: 0.36e-10}, {False: 0.2e-10, True: 0.75e-10}
#: Seconds for each term and distinct column modulo one prime.
_TERM_PRIME = 5e-9


class _Order(NamedTuple):
    """Rows by place: `inner` ones are lanes, the others walk; the first inner one has a fixed copy."""

    inner: list[int]
    outer: list[int]


def _order(rows: Sequence[int]) -> _Order:
    ascending = sorted(range(len(rows)), key=lambda i: rows[i])
    lanes, count = rows[ascending[0]], 1
    while lanes < _LANES and count < len(rows):
        lanes *= rows[ascending[count]] + 1
        count += 1
    return _Order(ascending[:count], ascending[count:])


@dataclass(frozen=True, eq=False)
class RepeatedWork(SignSum):
    """Sum Glynn's formula over multiplicities of rows, in double precision.

    A unit is a step of the outer rows, all combinations of the inner ones.
    """

    matrix: NDArray[Any]  #: float64 or complex128, shape (m, n)
    #: Multiplicities, 1 or more, of equal sums.
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    guard: bool = True  #: whether all that rounds is bounded rather than estimated

    name: ClassVar[str] = "permanents.repeated"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "steps"

    @cached_property
    def tables(self) -> tuple[ScaledMatrix, tuple[Any, ...]]:
        """The whole matrix, scaled, and what the kernel reads.

        That is sums of inner rows, their weights over powers of two, the sum of the outer rows, each
        of these, its values of v, their weights, multiplicities of columns, and their slack or None.
        """
        whole = np.repeat(np.repeat(self.matrix, self.rows, 0), self.cols, 1)
        scaled = ScaledMatrix.of(whole, least=1)
        first = np.cumsum([0, *self.rows[:-1]]), np.cumsum([0, *self.cols[:-1]])
        entries = scaled.entries[:, first[0]][:, :, first[1]]
        order = _order(self.rows)
        inner = np.zeros((len(entries), 1, len(self.cols)))
        weight = np.ones(1)
        for place, i in enumerate(order.inner):
            copies = self.rows[i] - (place == 0)
            signs = self.rows[i] - 2.0 * np.arange(copies + 1)
            lines = entries[:, i, None, :] * signs[:, None]
            inner = (inner[:, :, None] + lines[:, None]).reshape(len(entries), -1, len(self.cols))
            weight = np.outer(weight, _weights(copies)).ravel()
        padding = -len(weight) % _LANES
        inner = np.pad(inner, ((0, 0), (0, padding), (0, 0)))
        return scaled, (
            np.ascontiguousarray(inner.transpose(0, 2, 1)),
            np.pad(weight, (0, padding)),
            np.einsum("i,pij->pj", np.array(self.rows)[order.outer], entries[:, order.outer]),
            np.ascontiguousarray(entries[:, order.outer]),
            np.array([self.rows[i] + 1 for i in order.outer], dtype=np.int64),
            np.concatenate([np.empty(0), *(_weights(self.rows[i]) for i in order.outer)]),
            np.array(self.cols, dtype=np.int64),
            np.ascontiguousarray(scaled.slack[first[1]])
            if self.guard and not scaled.exact
            else None,
        )

    @property
    def steps(self) -> int:
        """Steps of the outer rows."""
        return math.prod(self.rows[i] + 1 for i in _order(self.rows).outer)

    @property
    def seconds(self) -> float:
        """Expected time on one core: lanes are padded, and powers are found by squaring."""
        some = np.iscomplexobj(self.matrix)
        factors = sum(
            _TERM[some] + _MULTIPLICATION[some] * (c.bit_count() + c.bit_length() - 1)
            for c in self.cols
        )
        lanes = self.terms // self.steps
        return self.steps * float(lanes + -lanes % _LANES) * factors

    @property
    def terms(self) -> int:
        """Terms of the sum."""
        inner = _order(self.rows).inner
        return self.steps * self.rows[inner[0]] * math.prod(self.rows[i] + 1 for i in inner[1:])

    def shards(self) -> Sequence[Shard]:
        """Ranges of steps."""
        return split(self.steps, max(1, min(_SHARDS, self.steps // _FEWEST_STEPS)))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.terms * len(self.cols) <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of steps."""
        read: tuple[Any, ...] = (*self.tables[1], shard.start, shard.stop, context.stop)
        return self.summed(*native.vector.permanents.repeated_sum(*read))

    def result(self, partial: Partial) -> BoundedNumber:
        """The permanent and its error bound from the merge of all shards."""
        scaled, (inner, lanes, *_) = self.tables
        n, parts = sum(self.rows), len(inner)
        sums, mantissa, magnitude = self.read(partial)
        chain = self.shards()
        steps = float(len(chain[0])) ** 2 + (4.0 * len(chain)) ** 2
        # Factors, weights of two roundings each, and the sum over lanes.
        roundings = n * (1 if parts == 1 else 3) + 2 * len(self.rows) + len(lanes)
        relative = (roundings + 10) * UNIT + 2 * steps * UNIT**2
        typical = 1.01 * typical_excess(scaled) * magnitude
        proven = 1.01 * float(partial["excess"][0])
        underflow = n * 2.0 ** min(n, 900) * 8 * TINY
        rounding = 1.01 * (relative * magnitude + UNIT * sum(map(abs, sums))) + underflow
        return BoundedNumber(
            mantissa,
            rounding + (proven if self.guard else typical),
            scaled.exponent,
            self.guard or scaled.exact,
            self.terms,
            magnitude,
            estimate=rounding + typical,
        )


def _weights(copies: int) -> NDArray[np.float64]:
    """Signed binomials over ``2**copies``."""
    return np.array(
        [(-1) ** v * (math.comb(copies, v) / 2**copies) for v in range(copies + 1)],
        dtype=np.float64,
    )


@dataclass(frozen=True)
class RepeatedResidueWork(Modular[int]):
    """The same sum of integers modulo primes near 2^62; a partial holds residues."""

    matrix: Rows
    #: Multiplicities; the first row has the fewest copies.
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    primes: tuple[int, ...]

    name: ClassVar[str] = "permanents.repeated.residues"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "steps"

    @classmethod
    def of(
        cls, matrix: Rows, rows: Sequence[int], cols: Sequence[int], primes: tuple[int, ...]
    ) -> RepeatedResidueWork:
        """Work in the order in which the kernel takes rows."""
        order = sorted(range(len(rows)), key=lambda i: rows[i])
        return cls(
            tuple(matrix[i] for i in order),
            tuple(rows[i] for i in order),
            tuple(cols),
            primes,
        )

    @property
    def radix(self) -> tuple[int, ...]:
        """Values of v of each row; one copy of the first keeps its sign."""
        return (self.rows[0], *(r + 1 for r in self.rows[1:]))

    @property
    def terms(self) -> int:
        """Terms of the sum."""
        return math.prod(self.radix)

    def shards(self) -> Sequence[Shard]:
        """Ranges of terms."""
        return split(self.terms, max(1, min(_SHARDS, self.terms // (16 * _FEWEST_STEPS))))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return 40 * self.terms * len(self.cols) * len(self.primes) <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Sum a range of terms, modulo four primes at a time."""
        counts = [x - 1 for x in self.radix]
        weights = [(-1) ** v * math.comb(r, v) for r in counts for v in range(r + 1)]
        entries = [x for row in self.matrix for x in row]
        residues, complete = native.vector.permanents.repeated_residues(
            residues_of(entries, self.primes),
            residues_of(weights, self.primes),
            np.array(self.primes, dtype=np.uint64),
            np.array(self.radix, dtype=np.int64),
            np.array(self.cols, dtype=np.int64),
            shard.start,
            shard.stop,
            context.stop,
        )
        return ShardResult({"residues": residues}, complete)

    def result(self, partial: Partial) -> int:
        """Undo the kernel's powers of two and put the residues together."""
        # The sum is 2^(n-1) per(a), and the kernel has all numbers times 2^64.
        power = 64 + sum(self.rows) - 1
        return joined(partial["residues"].tolist(), self.primes, -power)


class _Lines(Method):
    """Multiplicities of repeated rows or of columns."""

    name = "repeated"
    look = 5e-4

    def least(self, block: Block, choice: Choice) -> float:
        """To set it up."""
        return choice.shared(started(0.0, sums=2))

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """Over rows and over columns; blocks without repeated lines are refused."""
        if block.lines is None:
            return "no lines are equal up to a factor"
        both = (block.lines, block.lines.transposed())
        fitting = [lines for lines in both if lines.steps[0] <= MAX_TERMS]
        return [self.way(block, lines, choice) for lines in fitting]

    @abstractmethod
    def way(self, block: Block, lines: Repeated, choice: Choice) -> Way:
        """Over the rows of `lines`."""


class Repeats(_Lines):
    """The sum in double precision."""

    arithmetic = "double"

    def way(self, block: Block, lines: Repeated, choice: Choice) -> Way:
        """Over the rows of `lines`."""
        work = RepeatedWork(lines.entries, lines.rows, lines.cols, guard=False)
        seconds = started(work.seconds, sums=2)
        guarded = replace(work, guard=True)
        promise = UNIT, UNIT * sum(lines.rows)
        return Way(
            self, work, lines.steps[0], seconds, scale=lines.scale, guarded=guarded, promise=promise
        )


class RepeatsExactly(_Lines):
    """The same in integers, modulo primes."""

    arithmetic = "exact"

    def way(self, block: Block, lines: Repeated, choice: Choice) -> Way:
        """Over the rows of `lines`."""
        whole, scale = integers_of(lines.square())
        first = np.cumsum([0, *lines.rows[:-1]]), np.cumsum([0, *lines.cols[:-1]])
        distinct = tuple(tuple(whole[i][j] for j in first[1]) for i in first[0])
        primes = block.primes or primes_above(2 * permanent_bound(whole) + 1)
        work = RepeatedResidueWork.of(distinct, lines.rows, lines.cols, primes)
        products = float(work.terms) * len(lines.cols) * 4 * math.ceil(len(work.primes) / 4)
        seconds = started(_TERM_PRIME * products)
        return Way(self, work, work.terms, seconds, scale=scale * lines.scale)
