"""The lowest states of sparse models by dynamic programming along an order of elimination.

Each spin in turn is minimised over, for all values of the spins that it is then coupled to: a table of
2**width entries (U. Bertelè, F. Brioschi, Nonserial Dynamic Programming, 1972; R. Dechter, Artif. Intell. 113
(1999) 41). Back along the order, the tables tell for each prefix the least energy that it can be completed to,
so that the S lowest states descend from the S lowest prefixes. Ties are told apart by bits of the states'
codes below the energy (docs/theory/spectrum.md).
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from functools import partial as partial_of
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import memory, native
from hardscape.engine import Context, Cpu, Cuda, Device, RunOptions, Shard, ShardResult, split
from hardscape.engine.cuda import cuda_device
from hardscape.engine.estimates.pace import giving, pace
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.methods.cliques.cliques import Cliques
from hardscape.ising.methods.exhaustive.blocks import Wanted, partial
from hardscape.ising.methods.frontier.device_tables import DeviceTables
from hardscape.ising.methods.frontier.elimination import (
    GPU_BYTES,
    MAX_SPINS,
    MAX_WIDTH,
    Elimination,
    elimination,
    hopeless,
    quickest,
    sizes,
)
from hardscape.ising.methods.frontier.form import BitForm
from hardscape.ising.methods.lowest import MOST_SEARCHED, LowestMethod, LowestWork
from hardscape.ising.methods.walkers.place import GpuPlace
from hardscape.ising.model import Ising
from hardscape.ising.result import code_words, spectral_order, to_codes, unpack

#: Seconds from which on low states are sought before, and of work that is over at once.
_LONG, _BRIEF = 0.2, 2e-3
#: Seconds from which on spins are taken out where fields may fix many, as one state is wanted.
_LONG_FOR_ONE = 0.025
#: Spins up to which low states are sought for a time limit that is shorter.
_FEW_SPINS = 256
#: Bytes of tables from which on they are refused.
_MOST_BYTES = 2**40
#: Others are asked where they may be quicker: below so many spins, or where they take fewer seconds, of which
#: each two spins double those, or these: with many couplings for each spin, and with few.
_SMALL, _SEARCH_SECONDS, _MOST_SECONDS, _MOST_SPARSE_SECONDS = 24, 1e-9, 1.0, 20.0
_COUPLINGS = 4
#: The same for one state alone, with so many couplings, by which other bounds profit.
_MOST_FOR_ONE, _COUPLINGS_FOR_ONE = 0.5, 3
#: Seconds of a GPU for a launch, and for what takes a core a second: sizes, not measurements.
_LAUNCH_SECONDS, _GPU_SHARE = 2e-5, 0.01
#: Share of a GPU's free memory that is planned for: messages and lists take more.
_GPU_MEMORY = 0.75
#: The same of what this process can have.
_MEMORY = 0.5
#: Seconds that a state takes for each spin.
_STATE_SECONDS = 3e-8


#: What makes tables: those of a CPU thread, or of a GPU.
TablesMaker = Callable[..., Any]


class _Layers:
    """Tables of energies over leading bits of codes, for forms that differ in what is linear alone."""

    def __init__(
        self,
        form: BitForm,
        order: Sequence[int],
        energy_bits: int,
        step: int,
        make: TablesMaker,
    ) -> None:
        self.spins = [i for i in order if i in form.linear]
        size, self.bits = sizes(energy_bits, len(self.spins))
        self.limbs = max(1, size // 64)
        self.step, self.energy_bits = step, energy_bits
        #: Those whose bits are told apart.
        self.leading = sorted(self.spins, reverse=True)[: self.bits]
        position = {spin: t for t, spin in enumerate(self.spins)}
        row = np.array([position[i] for i, _, _ in form.pairs], dtype=np.int64)
        col = np.array([position[j] for _, j, _ in form.pairs], dtype=np.int64)
        values = to_limbs([b // step << self.bits for _, _, b in form.pairs], self.limbs)
        self.tables = make(len(self.spins), row, col, values.reshape(-1, self.limbs), size < 64)

    def fill(self, form: BitForm, stop: NDArray[np.uint8]) -> bool:
        """Fill the tables; False if stopped."""
        linear = {i: form.linear[i] // self.step << self.bits for i in self.spins}
        for k, spin in enumerate(reversed(self.leading)):
            linear[spin] += 1 << k
        words = to_limbs(list(linear.values()), self.limbs).reshape(-1, self.limbs)
        return bool(self.tables.fill(words, stop))

    def limit(self, form: BitForm, limit: int | None, window: int | None) -> int | None:
        """Neither above `limit` nor `window` above the least energy."""
        if window is None:
            return limit
        least = from_limbs(self.tables.least())[0] >> self.bits
        top = form.base + self.step * least + window
        return top if limit is None else min(limit, top)

    def lowest(
        self,
        form: BitForm,
        count: int,
        limit: int | None,
        code: NDArray[np.uint64],
        stop: NDArray[np.uint8],
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], bool] | None:
        """Codes and values in order, and whether others have the last value; None if stopped."""
        most = None
        if limit is not None:
            top = (((limit - form.base) // self.step + 1) << self.bits) - 1
            # All values are between these.
            room = 1 << self.energy_bits + self.bits + 1
            most = to_limbs([max(-room, min(top, room))], self.limbs)[0]
        place = np.array(self.spins, dtype=np.int64)
        states, values, dropped, complete = self.tables.lowest(count, most, place, code, stop)
        if not complete:
            return None
        ranks = spectral_order(values, states)
        states, values = states[ranks], values[ranks]
        return states, values, dropped is not None and (dropped[0] == values[-1]).all()


class Listing:
    """The lowest states of forms that differ in what is linear alone.

    Tables hold energies and, below them, as many leading bits of the code as there is room for; where a list
    ends among states that are equal in both, those are listed by the bits that follow.
    """

    def __init__(
        self,
        form: BitForm,
        order: Sequence[int],
        energy_bits: int,
        step: int,
        make: TablesMaker = native.vector.ising.frontier_tables,
        scarce: bool = False,
    ) -> None:
        self.order, self.energy_bits, self.step, self.make = order, energy_bits, step, make
        #: Whether there is no room for tables that are not in use.
        self.scarce = scarce
        self.first: _Layers | None = self._layers(form)

    def _layers(self, form: BitForm) -> _Layers:
        return _Layers(form, self.order, self.energy_bits, self.step, self.make)

    def lowest(
        self,
        form: BitForm,
        count: int,
        limit: int | None,
        window: int | None,
        code: NDArray[np.uint64],
        stop: NDArray[np.uint8],
    ) -> NDArray[np.uint64] | None:
        """Codes of the `count` lowest, none above `limit` or `window` above the first; None if stopped.

        `code` has the bits of spins that are fixed.
        """
        found: list[NDArray[np.uint64]] = []
        skipped, layers = 0, self.first or self._layers(form)
        if self.scarce:
            self.first = None
        while True:
            if not layers.fill(form, stop):
                return None
            limit, window = layers.limit(form, limit, window), None
            listed = layers.lowest(form, count, limit, code, stop)
            if listed is None:
                return None
            states, values, cut = listed
            if not cut:
                if self.scarce and not found:
                    self.first = layers
                return np.concatenate([*found, states[skipped:]])
            # All states below the last value are listed. Of those that have it, the lowest codes are.
            tied = (values == values[-1]).all(axis=1)
            below = states[~tied]
            found.append(below[skipped:])
            level, first = divmod(from_limbs(values[-1:])[0], 1 << layers.bits)
            ups = {i: first >> k & 1 for k, i in enumerate(reversed(layers.leading))}
            mask = to_codes([sum(1 << i for i in ups)], len(code))[0]
            code = code | to_codes([sum(up << i for i, up in ups.items())], len(code))[0]
            skipped = int(((below & mask) == (code & mask)).all(axis=1).sum())
            count, limit = skipped + int(tied.sum()), form.base + self.step * level
            form = form.fixed(ups)
            del layers  # its memory may be needed
            layers = self._layers(form)


@lru_cache(maxsize=8)
def form_of(terms: ExactTerms) -> BitForm:
    """The model's form of bits, the last spin down where flips change nothing."""
    held = {terms.num_spins - 1: 0} if terms.symmetric else {}
    return BitForm.of(terms).fixed(held)


def _size(wanted: Wanted) -> int:
    """Bits of a table's entries."""
    form = form_of(wanted.terms)
    return sizes(form.bits, len(form.linear))[0]


@dataclass(frozen=True)
class FrontierStatesWork(LowestWork):
    """The lowest states, slice by slice: a unit is one assignment of the spins that are fixed."""

    name: ClassVar[str] = "ising.spectrum.frontier"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "slices"
    counters: ClassVar[tuple[str, ...]] = ("entries",)
    here: ClassVar[tuple[str, ...]] = ("form",)

    asked: Wanted
    plan: Elimination

    @property
    def wanted(self) -> Wanted:
        """What is asked for."""
        return self.asked

    @cached_property
    def form(self) -> BitForm:
        """The model's, the last spin down where flips change nothing."""
        return form_of(self.asked.terms)

    @property
    def size(self) -> int:
        """Bits of a table's entries."""
        return sizes(self.form.bits, len(self.form.linear))[0]

    def digest(self) -> str:
        """Hash of the model, of what is wanted and of the slices."""
        wanted = self.asked
        parts = (wanted.count, wanted.window, wanted.cutoff, self.plan.sliced)
        return hashlib.sha256(wanted.terms.canonical() + repr(parts).encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One a slice."""
        return split(self.plan.slices, self.plan.slices)

    def states_searched(self, units: int) -> int:
        """Each slice has all states of the spins that are not fixed."""
        return units << self.asked.terms.num_spins - len(self.plan.sliced)

    def least_bound(self, ranges: Sequence[tuple[int, int]]) -> int | None:
        """Nothing is known of slices before they are done."""
        return None

    @property
    def seconds(self) -> float:
        """Of all slices on one core, roughly."""
        states = self.asked.count if self.asked.window is None else 0
        prefixes = states * self.asked.terms.num_spins * _STATE_SECONDS
        return self.plan.seconds(self.size) + self.plan.slices * prefixes

    @property
    def fillings(self) -> int:
        """How often the tables of a slice are filled at most, where energies are short and tie."""
        size, bits = sizes(self.form.bits, len(self.form.linear))
        return -(-len(self.form.linear) // max(1, bits)) if size < 64 else 1

    def brief(self, device: Device) -> bool:
        """Tables ask whether to stop; below some milliseconds nobody does."""
        return self.seconds < _BRIEF

    @property
    def table_bytes(self) -> int:
        """Tables of a lane."""
        return self.plan.memory_bytes(self.size)

    def memory_bytes(self, lanes: int) -> int:
        """The tables and prefixes of each lane, and the list."""
        words = code_words(self.asked.terms.num_spins)
        prefixes = self.asked.count * (16 * words + 4 * (self.size // 8 + 16))
        return super().memory_bytes(lanes) + lanes * (self.table_bytes + prefixes)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "known": None}

    def joined(self) -> int:
        """All: tables are filled again where they are."""
        return self.plan.slices

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """The lowest states of some slices."""
        if not isinstance(context.device, Cuda):
            return self.with_tables(native.vector.ising.frontier_tables, shard, context)
        with cuda_device(context.device.ordinal) as device:
            make = partial_of(DeviceTables, GpuPlace(device))
            return self.with_tables(make, shard, context, scarce=True)

    def with_tables(
        self, make: TablesMaker, shard: Shard, context: Context, scarce: bool = False
    ) -> ShardResult:
        """The same with tables of this make, of which there is room for one set if it is `scarce`."""
        scarce = scarce or self.plan.sets == 1
        found, wanted, n = self.nothing(), self.asked, self.asked.terms.num_spins
        free = self.form.fixed(dict.fromkeys(self.plan.sliced, 0))
        listing = Listing(free, self.plan.order, self.form.bits, self.form.step, make, scarce)
        until = time.monotonic() + context.seconds
        for number in range(shard.start, shard.stop):
            if number > shard.start and (context.stop[0] == 2 or time.monotonic() > until):
                return ShardResult(found, left=number)
            fixed = {spin: number >> k & 1 for k, spin in enumerate(self.plan.sliced)}
            limit = wanted.limit(found, self.limit(context.incumbent))
            code = to_codes([sum(bit << i for i, bit in fixed.items())], code_words(n))[0]
            codes = listing.lowest(
                self.form.fixed(fixed), wanted.count, limit, wanted.window, code, context.stop
            )
            if codes is None:
                return ShardResult(found, complete=False)
            energies = wanted.terms.words(unpack(codes, n))
            found = self.merge(found, partial(codes, energies, [self.plan.entries]))
        return ShardResult(found)


class Frontier(LowestMethod[FrontierStatesWork]):
    """For models of small width, whatever their number of spins."""

    name: ClassVar[str] = "frontier"
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu, Cuda)

    def runs_on(self, device: Device, wanted: Wanted) -> bool:
        """See `LowestMethod.runs_on`: a GPU's integers have 128 bits at most."""
        return isinstance(device, Cpu) or _size(wanted) <= DeviceTables.MOST_BITS

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where tables would be too wide."""
        if not prune:
            return "prune=False visits every state"
        if wanted.terms.num_spins > MAX_SPINS:
            return f"the frontier takes at most {MAX_SPINS} spins"
        plan = elimination(wanted.terms)
        if plan is None:
            return f"the frontier would keep more than {MAX_WIDTH} spins open"
        size = FrontierStatesWork(wanted, plan).table_bytes
        if size > _MOST_BYTES:
            return f"the frontier's tables would take {size / 1e9:.3g} GB"
        return ""

    def pays(self, wanted: Wanted) -> bool:
        """Whether it is quicker than a search."""
        n, couplings = wanted.terms.num_spins, len(wanted.terms.row)
        one = wanted.count <= 2 and couplings >= _COUPLINGS_FOR_ONE * n
        sparse = couplings < _COUPLINGS * n and not one
        if sparse and n > MOST_SEARCHED:
            return elimination(wanted.terms) is not None
        most = _MOST_SPARSE_SECONDS if sparse else _MOST_FOR_ONE if one else _MOST_SECONDS
        most = min(_SEARCH_SECONDS * 2.0 ** min(n / 2, 64), most)
        if n < _SMALL or hopeless(wanted.terms, most):
            return False
        plan = elimination(wanted.terms)
        seconds = math.inf if plan is None else FrontierStatesWork(wanted, plan).seconds
        if seconds >= most:
            return False
        rivals = Cliques()  # of penalties, which keep its tree small where tables would be wide
        return seconds < _LONG or bool(rivals.refusal(wanted, True)) or not rivals.pays(wanted)

    def outright(self, wanted: Wanted) -> bool:
        """Whether tables are small: spins of few neighbours are the first that it takes out.

        Where one state is wanted, what fields take out may leave far smaller ones.
        """
        one = wanted.count <= 2 and wanted.window is None and any(wanted.terms.fields)
        long = _LONG_FOR_ONE if one else _LONG
        if hopeless(wanted.terms, long):
            return False
        plan = elimination(wanted.terms)
        return plan is not None and FrontierStatesWork(wanted, plan).seconds < long

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> FrontierStatesWork:
        """The work that answers; where it takes long, with a threshold from a short search."""
        on_gpus = all(isinstance(device, Cuda) for device in options.devices)
        if on_gpus:
            plan = elimination(wanted.terms, 8 * _gpu_bytes(options) / _size(wanted))
        elif options.checkpoint is not None or options.executor is not None:
            plan = elimination(wanted.terms)
        else:
            room = _MEMORY * memory.available()
            plan = quickest(wanted.terms, _size(wanted), len(options.devices), room)
        assert plan is not None
        work = FrontierStatesWork(wanted, plan)
        lanes = 1 if options.executor is not None else min(len(options.devices), plan.slices)
        if not on_gpus:
            memory.require(lanes * work.table_bytes, f"a frontier of {plan.width} spins")
        limited = options.deadline.seconds is not None and wanted.terms.num_spins <= _FEW_SPINS
        if work.seconds > _LONG or limited:
            low = work.low_states(options.seed)
            work = replace(work, threshold=wanted.limit(low), known=work.both(None, low))
        return work.knowing(given)

    def foreseen(self, work: FrontierStatesWork, options: RunOptions) -> float:
        """See `LowestMethod.foreseen`: tables are planned; states that tie may want them filled again."""
        lanes = 1 if options.executor is not None else min(len(options.devices), work.plan.slices)
        return self.sample(work, options.devices[0], 0.0) / lanes

    def sample(self, work: FrontierStatesWork, device: Device, allowed: float) -> float:
        """Seconds on one lane, by the number of entries, their pace here and what memory they take."""
        if isinstance(device, Cuda):
            launches = _LAUNCH_SECONDS * work.plan.slices * len(work.plan.order)
            return launches + _GPU_SHARE * work.plan.seconds(work.size)
        size = min(work.size, 128)
        here = pace(f"{work.name}.{size}", lambda: _probe(size))
        return work.seconds * here + giving(work.table_bytes)


def _gpu_bytes(options: RunOptions) -> float:
    """Bytes of tables on each GPU: what is free now, or the same everywhere for a ledger or other processes."""
    if options.checkpoint is not None or options.executor is not None:
        return GPU_BYTES
    free = []
    for device in options.devices:
        assert isinstance(device, Cuda)
        with cuda_device(device.ordinal) as opened:
            free.append(GpuPlace(opened).free())
    return _GPU_MEMORY * min(free)


def _probe(size: int) -> tuple[FrontierStatesWork, float]:
    """Tables of values of so many bits for a torus, of a millisecond, and what they are said to take."""
    side = 8 if size == 128 else 9
    place = np.arange(side * side).reshape(side, side)
    couplings = np.zeros((side * side, side * side))
    values = np.random.default_rng(side).normal(size=(2, side, side))
    short = np.sign(values) if size == 32 else np.round(np.ldexp(values, 20))
    for axis, value in enumerate(values if size == 128 else short):
        couplings[place, np.roll(place, -1, axis)] = value
    wanted = Wanted(Ising(np.zeros(side * side), np.triu(couplings + couplings.T)).exact, 2, None)
    plan = elimination(wanted.terms)
    assert plan is not None
    work = FrontierStatesWork(wanted, plan)
    return work, work.seconds
