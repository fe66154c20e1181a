"""The tables of the frontier on a GPU: what `native`'s ``FrontierTables`` does on a CPU thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import kernel
from hardscape.errors import BudgetError
from hardscape.ising.exact import from_limbs, to_limbs
from hardscape.ising.methods.walkers.place import Place, take

#: Threads of a block, blocks of a launch at most, and width of tables that one block fills one after another.
_THREADS, _BLOCKS, _SMALL = 256, 1 << 16, 11
#: Share of a GPU's free memory that tables may take.
_MEMORY = 0.9


@dataclass
class _Bucket:
    """A bit that is minimised over: bits that its table depends on, in order, and tables that go into it."""

    fields: dict[int, int] = field(default_factory=dict)
    rest: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)


def _buckets(bits: int, pairs: Iterator[tuple[int, int, int]]) -> list[_Bucket]:
    buckets = [_Bucket() for _ in range(bits)]
    for one, two, value in pairs:
        first, second = sorted((one, two))
        fields = buckets[first].fields
        fields[second] = fields.get(second, 0) + value
    open_bits: list[set[int]] = [set(bucket.fields) for bucket in buckets]
    for t, bucket in enumerate(buckets):
        bucket.rest = sorted(open_bits[t])
        if bucket.rest:
            parent = bucket.rest[0]
            buckets[parent].children.append(t)
            open_bits[parent].update(bucket.rest[1:])
    return buckets


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs ``(from, to, mask)`` that bring the bits at these places to 0, 1, 2, ..."""
    start = 0
    for k in range(1, len(places) + 1):
        if k == len(places) or places[k] != places[k - 1] + 1:
            yield places[start], start, (1 << k - start) - 1
            start = k


class DeviceTables:
    """Tables of a quadratic form of bits that are numbered in the order of elimination, at one place.

    Entries are integers of 32 bits if `half`, else of as many 64-bit words as `quadratic` has, one or two.
    """

    #: Bits of an entry at most.
    MOST_BITS: ClassVar[int] = 128

    def __init__(
        self,
        place: Place,
        bits: int,
        row: NDArray[np.int64],
        col: NDArray[np.int64],
        quadratic: NDArray[np.uint64],
        half: bool,
    ) -> None:
        limbs = quadratic.shape[1]
        self._place, self._limbs, self._bytes = place, limbs, 4 if half else 8 * limbs
        pairs = zip(row.tolist(), col.tolist(), from_limbs(quadratic), strict=True)
        self._buckets = _buckets(bits, pairs)
        self.kernel = kernel(
            "ising/methods/frontier/tables.cu",
            "tables_fill",
            constants={"kBytes": self._bytes},
            options=("--device-int128",) if limbs == 2 else (),
        )
        self._gaps: list[Any] = []
        self._roots = place.empty((max(1, bits), *self._entry), self._kind)
        self._root_count = 0
        self._plan = self._laid_out()
        self._least = 0

    @property
    def _kind(self) -> str:
        return "<i4" if self._bytes == 4 else "<u8"

    @property
    def _entry(self) -> tuple[int, ...]:
        return () if self._bytes == 4 else (self._limbs,)

    def _packed(self, values: Sequence[int]) -> NDArray[Any]:
        if self._bytes == 4:
            return np.array(values, dtype=np.int64).astype("<i4")
        return to_limbs(values, self._limbs).reshape(-1, self._limbs)

    def _integers(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Entries as int64 or, where they are longer, as Python's integers."""
        if self._bytes == 4:
            return entries.astype(np.int64)
        if self._limbs == 1:
            return entries.view(np.int64).reshape(-1)
        found = np.empty(len(entries), dtype=object)
        found[:] = from_limbs(entries)
        return found

    # -- layout ---------------------------------------------------------------------------------

    def _laid_out(self) -> Any:
        """Memory of all tables, messages where others are done, and what the kernel is told of them."""
        messages = self._allotted()
        rows: list[tuple[int, ...]] = []
        children: list[tuple[int, int, int]] = []
        runs: list[tuple[int, int, int]] = []
        field_bits: list[int] = []
        fields: list[int] = []
        for t, bucket in enumerate(self._buckets):
            position = {bit: k for k, bit in enumerate(bucket.rest)}
            first_field, first_child = len(fields), len(children)
            for bit, value in sorted(bucket.fields.items()):
                field_bits.append(position[bit])
                fields.append(value)
            for c in bucket.children:
                first = len(runs)
                runs += _runs([position[bit] for bit in self._buckets[c].rest[1:]])
                children.append((messages[c], first, len(runs)))
            gap = self._place.address(self._gaps[t])
            width = len(bucket.rest)
            ends = (first_field, len(fields), first_child, len(children))
            rows.append((messages[t], gap, width, *ends))
        run = np.dtype([("from", "<i4"), ("to", "<i4"), ("mask", "<u8")])
        tables: list[NDArray[Any]] = [
            np.array(rows or [(0,) * 7], dtype=np.uint64),
            np.array(children or [(0,) * 3], dtype=np.uint64),
            np.array(runs or [(0, 0, 0)], dtype=run).view(np.uint64),
            np.array([*field_bits, 0], dtype=np.int32),
            self._packed([*fields, 0]),
        ]
        self._keep = [self._place.array(table) for table in tables]
        addresses = [self._place.address(table) for table in self._keep]
        return self._place.array(np.array(addresses, dtype=np.uint64))

    def _allotted(self) -> list[int]:
        """Addresses of the messages, which lie behind the gaps, where others are done."""
        widths = [len(bucket.rest) for bucket in self._buckets]
        begins = np.cumsum([0, *(1 << w for w in widths)]).tolist()
        entries, roots, found = begins[-1], 0, []
        spare: dict[int, list[int]] = {}
        for t, w in enumerate(widths):
            if w == 0:
                found.append(self._place.address(self._roots) + self._bytes * roots)
                roots += 1
            elif spare.get(w):
                found.append(spare[w].pop())
            else:
                found.append(entries)
                entries += 1 << w
            for c in self._buckets[t].children:
                spare.setdefault(widths[c], []).append(found[c])
        free = self._place.free()
        if self._bytes * entries > _MEMORY * free:
            raise BudgetError(
                f"tables of {self._bytes * entries / 1e9:.3g} GB; the GPU has {free / 1e9:.3g} GB free"
            )
        self._root_count = roots
        self._memory = self._place.empty((entries, *self._entry), self._kind)
        self._gaps = [self._memory[begins[t] : begins[t + 1]] for t in range(len(widths))]
        base = self._place.address(self._memory)
        return [
            at if w == 0 else base + self._bytes * at for at, w in zip(found, widths, strict=True)
        ]

    # -- tables ---------------------------------------------------------------------------------

    def fill(self, linear: NDArray[np.uint64], stop: NDArray[np.uint8]) -> bool:
        """Fill all tables; False if it was stopped."""
        own = self._place.array(self._packed(from_limbs(linear)))
        for first, last, width in self._turns():
            if stop[0] == 1:
                self._place.wait()
                return False
            blocks = min(_BLOCKS, -(-(1 << width) // _THREADS)) if last == first + 1 else 1
            args = self._plan, own, np.int32(first), np.int32(last)
            self._place.launch(self.kernel, blocks, _THREADS, *args, shared=0)
        roots = self._integers(self._place.host(self._roots)[: self._root_count])
        self._least = sum(map(int, roots.tolist()))
        return True

    def _turns(self) -> Iterator[tuple[int, int, int]]:
        """Buckets ``first`` to before ``last`` of a launch, and the width of a single one."""
        widths = [len(bucket.rest) for bucket in self._buckets]
        first = 0
        while first < len(widths):
            last = first + 1
            if widths[first] <= _SMALL:
                while last < len(widths) and widths[last] <= _SMALL:
                    last += 1
            yield first, last, widths[first]
            first = last

    def least(self) -> NDArray[np.uint64]:
        """The least value, shape (1, limbs)."""
        return to_limbs([self._least], self._limbs).reshape(1, -1)

    def lowest(
        self,
        count: int,
        limit: NDArray[np.uint64] | None,
        place: NDArray[np.int64],
        fixed: NDArray[np.uint64],
        stop: NDArray[np.uint8],
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64] | None, bool]:
        """The lowest states at or below a limit; bit t is bit place[t] of a state.

        As in tables.hpp: states, values, the least value of those left out, and whether it was not stopped.
        """
        most = None if limit is None else from_limbs(limit.reshape(1, -1))[0]
        states = fixed.reshape(1, -1).copy()
        if most is not None and most < self._least:
            return states[:0], to_limbs([], self._limbs).reshape(0, self._limbs), None, True
        values = np.array([self._least], dtype=object if self._limbs == 2 else np.int64)
        dropped: int | None = None
        for t in reversed(range(len(self._buckets))):
            if stop[0] == 1:
                return states[:0], to_limbs([], self._limbs).reshape(0, self._limbs), None, False
            gap = self._gap(t, states, place)
            parent = np.repeat(np.arange(len(values)), 2)
            up = np.stack([gap < 0, gap >= 0], axis=1).ravel().astype(bool)
            more = np.stack([0 * gap, np.abs(gap)], axis=1).ravel()
            values = values[parent] + more
            kept = np.ones(len(values), dtype=bool)
            if most is not None:
                kept[1::2] = values[1::2] <= most
            chosen = np.flatnonzero(kept)
            if len(chosen) > count:
                chosen = chosen[np.argsort(values[chosen], kind="stable")]
                least = int(values[chosen[count]])
                dropped = least if dropped is None else min(dropped, least)
                chosen = chosen[:count]
            values, states = values[chosen], states[parent[chosen]]
            word, bit = divmod(int(place[t]), 64)
            states[:, word] |= up[chosen].astype(np.uint64) << np.uint64(bit)
        words = to_limbs([int(x) for x in values.tolist()], self._limbs)
        left = None if dropped is None else to_limbs([dropped], self._limbs).reshape(1, -1)
        return states, words.reshape(-1, self._limbs), left, True

    def _gap(self, t: int, states: NDArray[np.uint64], place: NDArray[np.int64]) -> NDArray[Any]:
        """Gaps of a bucket for prefixes."""
        rows = np.zeros(len(states), dtype=np.intp)
        for k, bit in enumerate(self._buckets[t].rest):
            word, at = divmod(int(place[bit]), 64)
            rows |= (states[:, word] >> np.uint64(at) & np.uint64(1)).astype(np.intp) << k
        return self._integers(take(self._place, self._gaps[t], rows))
