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

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardscape import memory
from hardscape.engine import Cpu, Cuda, Device, Work
from hardscape.engine.machine import cuda_status
from hardscape.permanents.methods.frontier.cuda import (
    PRIMES_AT_ONCE,
    CudaFrontierSumWork,
    CudaFrontierWork,
)
from hardscape.permanents.methods.frontier.cuts import UNCUT, Cuts, cut_up
from hardscape.permanents.methods.frontier.order import FrontierOrder
from hardscape.permanents.methods.frontier.work import FrontierSumWork, FrontierWork
from hardscape.permanents.methods.method import Block, Choice, Method, Way, started
from hardscape.permanents.numbers.bounded import UNIT
from hardscape.permanents.numbers.integers import Rows, permanent_bound, primes_above

#: Seconds for a product in 64 bits where states are looked up, where they are numbered and fit in a
#: cache, and where they do not.
_LOOKED_UP, _NEAR, _FAR, _NEAR_STATES = 1e-8, 7e-10, 1.3e-9, 2**17
#: The same, as a factor, in double precision for each part of a value; and modulo a prime.
_FLOATING, _PRIME = 2.0, 3.0
#: Density of the entries up to which it is worth looking for a narrow frontier.
_WORTH_DENSITY = 0.7
#: Seconds of cores from which a GPU is worth it, how much faster it is, to start a row, and its memory.
_GPU_FROM, _GPU, _LAUNCH, _H200_BYTES = 5.0, 0.015, 1e-3, 1.4e11
#: More lanes than machines have.
_MOST_LANES = 1024
#: Seconds of a part that is not cut further, and how many times too many states for cuts to help.
_PART, _HOPELESS = 5.0, 64.0


@dataclass(frozen=True)
class _Found:
    """An order with its cuts for a kind of device, and what they cost."""

    device: type[Device]
    order: FrontierOrder
    turned: bool  #: whether it is one of columns
    cuts: Cuts
    seconds: float  #: on one core
    memory: int  #: bytes of main memory, of as many parts as run at a time
    most: int | None  #: these

    def way(self, by: Method, work: Work[Any], **what: Any) -> Way:
        """The way by a work."""
        products = sum(part.transitions for part in self.cuts.orders(self.order))
        seconds, gpu = self.seconds, math.inf
        if self.device is Cuda:
            gpu = len(self.order.rows) * _LAUNCH * self.cuts.parts + seconds * _GPU
        return Way(
            by, work, products, seconds, gpu, self.device, memory=self.memory, most=self.most,
            **what,
        )  # fmt: skip


class _RowByRow(Method):
    """The program, for sparse blocks."""

    name = "frontier"
    look = 3e-3

    def least(self, block: Block, choice: Choice) -> float:
        """What annealing may leave of a greedy order's time; infinite for dense blocks."""
        if choice.method == "auto" and block.density > _WORTH_DENSITY:
            return math.inf
        seconds = _NEAR * block.greedy.least
        return choice.shared(seconds, _GPU * seconds)


class Frontier(_RowByRow):
    """The program in double precision."""

    arithmetic = "double"

    def cancels(self, block: Block) -> bool:
        """Where there are signs."""
        return bool(block.is_complex or (block.entries < 0).any())

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One for each kind of device, if there is a narrow frontier."""
        entries, error, cancels = block.entries, block.error, self.cancels(block)
        # The value, that of magnitudes if it is another, and what errors may change.
        parts = 1 + block.is_complex + (cancels or error is not None) + (error is not None)
        found = _narrow(block, 8 * parts, _FLOATING * parts, choice, limit)
        if isinstance(found, str):
            return found
        ways = []
        for one in found:
            if one.turned:
                used = np.ascontiguousarray(entries.T), None if error is None else error.T.copy()
            else:
                used = entries, error
            kind = CudaFrontierSumWork if one.device is Cuda else FrontierSumWork
            work = kind(*used, one.order, one.cuts)
            ways.append(one.way(self, work, cancels=cancels, promise=(work.roundings * UNIT, 0.0)))
        return ways


class FrontierExactly(_RowByRow):
    """The program in integers of up to eight words, or modulo primes."""

    arithmetic = "exact"

    def ways(self, block: Block, choice: Choice, limit: float) -> list[Way] | str:
        """One for each kind of device, if there is a narrow frontier."""
        integers, scale = block.integers
        bits = 0 if block.primes else permanent_bound(integers).bit_length() + 1
        words = next((w for w in (1, 2, 4, 8) if bits <= 64 * w), 0)
        if block.primes or max(max(map(max, integers)), -min(map(min, integers))) >= 2**63:
            words = 0
        primes = () if words else block.primes or primes_above(2**bits)
        times = words or _PRIME * len(primes)
        together = max(1, min(len(primes), PRIMES_AT_ONCE))
        found = _narrow(block, 8 * max(1, words), times, choice, limit, together)
        if isinstance(found, str):
            return found
        ways = []
        for one in found:
            rows: Rows = tuple(zip(*integers, strict=True)) if one.turned else integers
            kind = CudaFrontierWork if one.device is Cuda else FrontierWork
            ways.append(one.way(self, kind(rows, one.order, words, primes, one.cuts), scale=scale))
        return ways


def _narrow(
    block: Block, state_bytes: int, times: float, choice: Choice, limit: float, together: int = 1
) -> list[_Found] | str:
    """An order, cut into parts where it takes long or more memory than there is; or why there is none.

    A GPU holds the states of `together` programs at a time.
    """
    best = block.greedy.annealed(_NEAR * times, limit, choice.deadline.left)
    if best is None:
        return "no frontier is narrow"
    order, turned = best
    one, seconds = _bytes(order, state_bytes), _seconds(order, times)
    # What is small is not compared with what the machine has.
    small = memory.small(one * _MOST_LANES)
    rooms: dict[type[Device], int] = {Cpu: one * _MOST_LANES if small else _room(choice)}
    if choice.count(Cuda) and order.numbered and seconds > _GPU_FROM:
        rooms[Cuda] = _gpu_room() // together
    slow = choice.method == "auto" and choice.shared(seconds, _GPU * seconds) > limit
    if slow or one > _HOPELESS * max(rooms.values()):
        return f"its states take {one / 1e9:.3g} GB, and {seconds:.3g} s"
    found = []
    for device, room in rooms.items():
        cuts: Cuts | None = UNCUT
        part = _PART if device is Cpu else _PART / _GPU
        if (seconds > 2 * part or one > room) and not choice.deadline.up:
            cuts = cut_up(order, seconds, part, order.peak * room / one)
        if cuts is None:
            continue
        parts = cuts.orders(order)
        largest = max(_bytes(x, state_bytes) for x in parts)
        lanes = sum(isinstance(x, device) for x in choice.devices) or 1
        most = max(1, min(lanes, len(parts), room // max(1, largest)))
        all_seconds = seconds * sum(x.transitions for x in parts) / max(1, order.transitions)
        held = (most * largest, most) if device is Cpu else (0, None)
        found.append(_Found(device, order, turned, cuts, all_seconds, *held))
    return found or f"its states take {one / 1e9:.3g} GB"


def _gpu_room() -> int:
    """Bytes of the smallest GPU here, or of an H200."""
    return int(0.9 * min((gpu.memory_total for gpu in cuda_status().gpus), default=_H200_BYTES))


def _room(choice: Choice) -> int:
    return memory.available() if choice.memory is None else choice.memory


def _bytes(order: FrontierOrder, state_bytes: int) -> int:
    """Two sets of states, with an index if they are looked up."""
    return 2 * order.peak * (state_bytes + (0 if order.numbered else 16))


def _seconds(order: FrontierOrder, times: float) -> float:
    rate = _LOOKED_UP if not order.numbered else _NEAR if order.peak <= _NEAR_STATES else _FAR
    return started(rate * times * order.transitions)
