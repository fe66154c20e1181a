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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.engine import Cpu
from hardscape.permanents.methods.frontier.cuts import UNCUT, Cuts, cut_up
from hardscape.permanents.methods.frontier.order import FrontierOrder, best_order
from hardscape.permanents.methods.frontier.work import FrontierSumWork, FrontierWork
from hardscape.permanents.methods.method import Block, Choice, Method, Way, started
from hardscape.permanents.numbers.bounded import UNIT
from hardscape.permanents.numbers.integers import Rows, permanent_bound, primes_above

#: Seconds for a product in 64 bits where states are looked up, where they are numbered and fit in a
#: cache, and where they do not.
_LOOKED_UP, _NEAR, _FAR, _NEAR_STATES = 1e-8, 7e-10, 1.3e-9, 2**17
#: The same, as a factor, in double precision for each part of a value; and modulo a prime.
_FLOATING, _PRIME = 2.0, 3.0
#: Seconds from which it is worth looking for a narrow frontier, and density of the entries up to which.
_WORTH_FROM, _WORTH_DENSITY = 3e-3, 0.7
#: More lanes than machines have.
_MOST_LANES = 1024
#: Seconds of a part that is not cut further, and how many times too large what is not cut is.
_PART, _HOPELESS = 5.0, 64.0


@dataclass(frozen=True)
class _Found:
    """An order with its cuts, and what they cost."""

    order: FrontierOrder
    turned: bool  #: whether it is one of columns
    cuts: Cuts
    products: int  #: of all parts
    seconds: float
    memory: int  #: bytes of as many parts as run at a time
    most: int  #: these


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
        if found.turned:
            entries = entries.T
            error = None if error is None else np.ascontiguousarray(error.T)
        work = FrontierSumWork(np.ascontiguousarray(entries), error, found.order, found.cuts)
        promise = work.roundings * UNIT, 0.0
        return [
            Way(
                self, work, found.products, found.seconds, memory=found.memory, most=found.most,
                cancels=cancels, promise=promise,
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
        bits = 0 if block.primes else permanent_bound(integers).bit_length() + 1
        words = next((w for w in (1, 2, 4, 8) if bits <= 64 * w), 0)
        if block.primes or max(abs(x) for row in integers for x in row) >= 2**63:
            words = 0
        primes = () if words else block.primes or primes_above(2**bits)
        times = words or _PRIME * len(primes)
        found = _narrow(block.entries, 8 * max(1, words), times, choice, least)
        if isinstance(found, str):
            return found
        rows: Rows = tuple(zip(*integers, strict=True)) if found.turned else integers
        work = FrontierWork(rows, found.order, words, primes, found.cuts)
        return [
            Way(
                self, work, found.products, found.seconds, memory=found.memory, most=found.most,
                scale=scale,
            )
        ]  # fmt: skip


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
) -> _Found | str:
    """An order, cut into parts where it takes long or more memory than there is; or why there is none."""
    found = best_order(block, _NEAR * times, least, choice.thinking(least))
    if found is None:
        return "no frontier is narrow"
    order, turned = found
    one = _bytes(order, state_bytes)
    # What is small is not compared with what the machine has.
    room = one * _MOST_LANES if memory.small(one * _MOST_LANES) else _room(choice)
    seconds = _seconds(order, times)
    cuts = UNCUT
    if seconds > 2 * _PART or one > room:
        if one > room * _HOPELESS or seconds > _HOPELESS * least:
            return f"its states take {one / 1e9:.3g} GB, and {seconds:.3g} s"
        cut = cut_up(order, seconds, _PART, order.peak * room / one)
        if cut is None:
            return f"its states take {one / 1e9:.3g} GB"
        cuts = cut
    parts = cuts.orders(order)
    one = max(_bytes(part, state_bytes) for part in parts)
    lanes = min(len(parts), sum(isinstance(device, Cpu) for device in choice.devices) or 1)
    most = max(1, min(lanes, room // max(1, one)))
    products = sum(part.transitions for part in parts)
    seconds *= products / max(1, order.transitions)
    return _Found(order, turned, cuts, products, seconds, most * one, most)


def _room(choice: Choice) -> int:
    return memory.available() if choice.memory is None else choice.memory


def _bytes(order: FrontierOrder, state_bytes: int) -> int:
    """Two sets of states, with an index if they are looked up."""
    return 2 * order.peak * (state_bytes + (0 if order.numbered else 16))


def _seconds(order: FrontierOrder, times: float) -> float:
    rate = _LOOKED_UP if not order.numbered else _NEAR if order.peak <= _NEAR_STATES else _FAR
    return started(rate * times * order.transitions)
