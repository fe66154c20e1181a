"""The sweep of one instance written out as CUDA source: each clause word a variable of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardscape.engine import Kernel, kernel
from hardscape.xorsat.methods.quasi_greedy.cuda.layout import (
    GROUP,
    SHARED,
    Layout,
    layout_of,
    spans_of,
)
from hardscape.xorsat.methods.quasi_greedy.plan import CERTAIN, COARSE, Plan

#: More clauses do not fit, whatever their spans.
_MOST_CLAUSES = 700
#: Instructions of a sweep that a multiprocessor keeps at hand, measured; those of an update by its coin; and
#: those of a group's path without coins, with its branches.
_CODE, _UPDATE, _SKIP = 2150, 5.25, 28


@dataclass(frozen=True)
class Unrolled:
    """Source of the kernel for one plan."""

    plan: Plan
    count: bool = False  # violated clauses at every look; else only whether there are any

    #: Spin updates of a launch, so that a stop is noticed within a fraction of a second.
    launch_updates = 4e12
    #: Blocks of a multiprocessor, whose registers or shared memory one fills.
    resident = 1
    most_words = 1 << 26

    @property
    def state_rows(self) -> int:
        """Clause words of 32 clones, those of empty clauses unset."""
        return self.plan.system.num_clauses

    @property
    def scratch_rows(self) -> int:
        """Spin words of 32 clones in device memory."""
        return 0 if self.spins_shared else self.plan.system.num_variables

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel as data."""
        path = "xorsat/methods/quasi_greedy/cuda/sweeps.cu"
        return kernel(path, "xorsat_sweeps", constants=self.constants(), generated=self.headers())

    def arguments(self) -> tuple[Any, ...]:
        """The threshold, where it is no constant: its first byte four times, and its last 32 bits."""
        thresholds = self.plan.thresholds
        split = _split(thresholds[0]) if self.plan.majority and thresholds else (0, 0)
        return tuple(map(np.uint32, split))

    @cached_property
    def _constant(self) -> int:
        """Violated clauses without variables; they have no word."""
        system = self.plan.system
        return int(system.parity[np.diff(system.offsets) == 0].sum())

    @cached_property
    def spans(self) -> dict[int, tuple[int, int]]:
        """First and last group of updates in a sweep that touch each clause."""
        return spans_of(self.plan)

    @cached_property
    def layout(self) -> Layout:
        """Where clause words lie."""
        return layout_of(self.spans, self.mask_words)

    @property
    def kept(self) -> tuple[int, ...]:
        """Clauses in shared memory outside their short span; the others stay in registers."""
        return self.layout.kept

    @property
    def threads(self) -> int:
        """Threads of a block, of which a multiprocessor holds one."""
        return 32 * self.layout.warps

    @property
    def _shared(self) -> int:
        """Words of shared memory of a block besides spins."""
        return self.layout.shared(self.mask_words)

    @property
    def mask_words(self) -> int:
        """Words of shared memory of a warp that hold its coins of a sweep, one an update."""
        some = self.plan.majority and self.plan.thresholds
        return 256 * -(-self.plan.updates // 256) if some else 0

    @cached_property
    def skipping(self) -> int:
        """Groups that have a path without coins of their own, too, as far as the code stays short."""
        left = _CODE - _UPDATE * self.plan.updates - 2 * len(self.kept)
        return max(0, min(-(-self.plan.updates // GROUP), int(left / _SKIP)))

    @property
    def fits(self) -> bool:
        """Whether registers and shared memory hold all clause words."""
        return self.plan.system.num_clauses <= _MOST_CLAUSES and self._shared <= SHARED

    @cached_property
    def spins_shared(self) -> bool:
        """Whether the spins of the initial state fit into shared memory."""
        return self.plan.system.num_variables * self.threads + self._shared <= SHARED

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        spins = self.plan.system.num_variables if self.spins_shared else 0
        return 4 * (self.threads * spins + self._shared)

    def constants(self) -> dict[str, int | bool]:
        """What the kernel is compiled for, by name."""
        spins = self.plan.system.num_variables if self.spins_shared else 0
        return {
            "kVariables": self.plan.system.num_variables,
            "kThreads": self.threads,
            "kUpdates": self.plan.updates,
            "kCoinWords": -(-self.plan.updates // GROUP),
            "kFineCoins": self.plan.fine,
            "kKeptFrom": spins * self.threads,
            "kMasksFrom": (spins + len(self.kept)) * self.threads,
            "kMaskWords": self.mask_words,
            "kSpinsShared": self.spins_shared,
            "kCount": self.count,
        }

    def headers(self) -> dict[str, str]:
        """The generated files by name."""
        return {
            "declare.cuh": _text(f"uint32_t c{a};" for a in self.spans if a not in self.kept),
            "begin.cuh": _text(self._begin()),
            "load.cuh": _text(f"{self._word(a)} = {_stored(a)};" for a in self.spans),
            "store.cuh": _text(f"{_stored(a)} = {self._word(a)};" for a in self.spans),
            "sweep.cuh": _text(self._sweep()),
            "either.cuh": _text(self._either()),
            "count.cuh": _text(self._count()),
        }

    def _slot(self, clause: int) -> str:
        return f"kept[{self.kept.index(clause)} * kThreads]"

    def _word(self, clause: int) -> str:
        return self._slot(clause) if clause in self.kept else f"c{clause}"

    def _begin(self) -> Iterator[str]:
        system = self.plan.system
        for a in self.spans:
            members = system.variables[system.offsets[a] : system.offsets[a + 1]]
            sides = "~0u" if system.parity[a] else "0u"
            value = " ^ ".join([sides, *(f"spin[{v} * stride]" for v in members)])
            yield f"{self._word(a)} = {value};"

    def _sweep(self) -> Iterator[str]:
        total = self.plan.updates
        groups = [range(start, min(start + GROUP, total)) for start in range(0, total, GROUP)]
        fence = ["__syncwarp();"] if self.mask_words else []
        yield from fence  # the lanes are done with the coins of the sweep before
        for wave in range(-(-len(groups) // 32)):
            yield from self._coins(wave)
        yield from fence
        for number, updates in enumerate(groups):
            for a in sorted(self.kept, key=lambda a: self.spans[a][0]):  # a group ahead of its use
                if self.spans[a][0] == number + 1 or self.spans[a][0] == number == 0:
                    yield f"uint32_t c{a} = {self._slot(a)};"
            yield from self._group(number, updates)
            for a in self.kept:
                if self.spans[a][1] == number:
                    yield f"{self._slot(a)} = c{a};"

    def _coins(self, wave: int) -> Iterator[str]:
        """Draw the coins of up to 256 updates: lane l holds those of updates 8 l to 8 l + 7.

        Byte j of low and high tells whether coin 8 l + j lies below a threshold; `any` words tell of
        which lanes some do. The fast path goes by words of all ones or none, one an update, which the
        lanes leave in shared memory, four by four; its only threshold is an argument of the kernel, so
        that no w1 needs a kernel of its own. Elsewhere the lanes are asked.
        """
        thresholds = self.plan.thresholds
        if not thresholds:
            return
        yield f"const uint64_t random{wave} = coins.at(at + {32 * wave});"
        for level, threshold in enumerate(thresholds):
            four, rest = ("w1", "w1_rest") if self.plan.majority else _literals(threshold)
            for half, shift in (("low", 0), ("high", 32)):
                bits = f"static_cast<uint32_t>(random{wave} >> {shift})"
                first = f"at_update + {256 * wave + shift // 8}"
                compared = f"below<kFineCoins>({bits}, {four}, {rest}, fine, {first})"
                yield f"const uint32_t {half}{wave}_{level} = {compared};"
        top = len(thresholds) - 1
        some = f"(low{wave}_{top} | high{wave}_{top}) != 0"
        yield f"const uint32_t any{wave} = __ballot_sync(~0u, {some});"
        if self.plan.majority:
            for half, place in (("low", 0), ("high", 32)):
                yield f"store_coins(masks + {64 * wave + place} + lane, {half}{wave}_0);"

    def _group(self, number: int, updates: range) -> Iterator[str]:
        """Eight updates, which skip the coins together where none is up."""
        wave, lane = divmod(number, 32)
        if not self.plan.thresholds:
            yield from (self._update(update, {}) for update in updates)
            return
        if self.plan.majority:
            groups = -(-self.plan.updates // GROUP)
            yield from self._ask_ahead(number)
            skipping = (number + 1) * self.skipping // groups > number * self.skipping // groups
            coined: Iterator[str] = map(self._flip, updates)
        else:
            skipping, coined = True, self._asked(wave, lane, updates)
        if skipping:
            yield f"if (!(any{wave} & {1 << lane}u)) {{"
            yield from (self._update(update, {}) for update in updates)
            yield "} else {"
        yield from coined
        if skipping:
            yield "}"

    def _ask_ahead(self, number: int) -> Iterator[str]:
        """Read the coins of the next group, so that nothing waits for them, and of the first with it."""
        first = 0 if number == 0 else 2 * number + 2
        for quad in range(first, min(2 * number + 4, -(-self.plan.updates // 4))):
            place = quad // 64 * 64 + quad % 2 * 32 + quad % 64 // 2
            yield f"const uint4 coin{quad} = masks[{place}];"

    def _flip(self, update: int) -> str:
        """One update by its coin."""
        words = ", ".join(f"c{a}" for a in self.plan.clauses(update))
        return f"flip_by_coin({words}, coin{update // 4}.{'xyzw'[update % 4]});"

    def _asked(self, wave: int, lane: int, updates: range) -> Iterator[str]:
        """Updates whose coins come from their lane."""
        thresholds = self.plan.thresholds
        for level in range(len(thresholds)):
            for half in ("low", "high"):
                own = f"{half}{wave}_{level}"
                yield f"const uint32_t {half}{level} = __shfl_sync(~0u, {own}, {lane});"
        for j, update in enumerate(updates):
            half = "low" if j < 4 else "high"
            coins = {
                threshold: f"coin_word({half}{level}, {j % 4})"
                for level, threshold in enumerate(thresholds)
            }
            yield self._update(update, coins)

    def _update(self, update: int, coins: dict[int, str]) -> str:
        if self.plan.majority:
            words = ", ".join(f"c{a}" for a in self.plan.clauses(update))
            return f"flip_most({words});"
        return self._counted(update, coins)

    def _counted(self, update: int, coins: dict[int, str]) -> str:
        """One update that counts violated clauses; `coins` are words by their threshold."""
        plan = self.plan
        words = [f"c{a}" for a in plan.clauses(update)]
        table = [int(x) for x in plan.table(update)]
        lines, planes = _planes(words)
        terms = [member({k for k, x in enumerate(table) if x == CERTAIN}, len(words), planes)]
        for threshold, coin in coins.items():
            chosen = {k for k, x in enumerate(table) if x == threshold}
            if chosen:
                terms.append(f"({coin} & {member(chosen, len(words), planes)})")
        flips = " ".join(f"{word} ^= flip;" for word in words)
        return f"{{ {lines} const uint32_t flip = {' | '.join(terms)}; {flips} }}"

    def _either(self) -> Iterator[str]:
        yield f"uint32_t either = {'~0u' if self._constant else '0u'};"
        for a in self.spans:
            yield f"either |= {self._word(a)};"
        yield "holders = ~either;"

    def _count(self) -> Iterator[str]:
        """Add up the clause words bit by bit, then find the least sum among the 32 clones."""
        levels: list[list[str]] = [[]]
        names = 0
        for a in self.spans:
            yield f"uint32_t s{names} = {self._word(a)};"
            levels[0].append(f"s{names}")
            names += 1
            level = 0
            while len(levels[level]) == 3:
                x, y, z = levels[level]
                yield f"uint32_t s{names}; add3({x}, {y}, {z}, s{names});"
                levels[level] = [x]
                if level + 1 == len(levels):
                    levels.append([])
                levels[level + 1].append(f"s{names}")
                names += 1
                level += 1
        level = 0
        while level < len(levels):
            if len(levels[level]) > 1:
                operands = ", ".join(levels[level])
                yield f"uint32_t s{names}; add{len(levels[level])}({operands}, s{names});"
                if level + 1 == len(levels):
                    levels.append([])
                levels[level + 1].append(f"s{names}")
                del levels[level][1:]
                names += 1
            level += 1
        yield f"holders = ~0u; least = {self._constant};"
        for level in reversed(range(len(levels))):
            if levels[level]:
                yield f"least_bit({levels[level][0]}, {1 << level}, holders, least);"


def _split(threshold: int) -> tuple[int, int]:
    return threshold // COARSE * 0x01010101, threshold % COARSE


def _literals(threshold: int) -> tuple[str, str]:
    four, rest = _split(threshold)
    return f"{four}u", f"{rest}u"


def _stored(clause: int) -> str:
    return f"state[{clause}ull * words + thread]"


def _planes(words: list[str]) -> tuple[str, list[str]]:
    """Statements that count set bits of `words` bit by bit, and the names of the count's digits."""
    lines: list[str] = []
    digits: list[list[str]] = [list(words)]
    planes = []
    names = 0
    level = 0
    while level < len(digits):
        queue = digits[level]
        while len(queue) > 1:
            x, y, *rest = queue
            if rest:
                z = rest.pop(0)
                total, carry = f"{x} ^ {y} ^ {z}", f"majority({x}, {y}, {z})"
            else:
                total, carry = f"{x} ^ {y}", f"{x} & {y}"
            lines.append(f"const uint32_t t{names} = {total}, t{names + 1} = {carry};")
            if level + 1 == len(digits):
                digits.append([])
            digits[level + 1].append(f"t{names + 1}")
            queue = [*rest, f"t{names}"]
            names += 2
        planes.append(queue[0])
        level += 1
    return " ".join(lines), planes


def member(chosen: set[int], most: int, planes: list[str]) -> str:
    """Expression that is 1 where the number with binary digits `planes`, at most `most`, is chosen."""

    def decide(level: int, low: int) -> str:
        reachable = [k for k in range(low, low + (1 << level)) if k <= most]
        inside = [k in chosen for k in reachable]
        if not any(inside):
            return "0u"
        if all(inside):
            return "~0u"
        half = 1 << (level - 1)
        if low + half > most:
            return decide(level - 1, low)
        bit, zero, one = planes[level - 1], decide(level - 1, low), decide(level - 1, low + half)
        if one == zero:
            return one
        return f"(({bit} & {one}) | (~{bit} & {zero}))"

    return decide(len(planes), 0)


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"
