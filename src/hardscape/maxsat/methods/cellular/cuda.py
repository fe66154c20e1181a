"""Runs of the cellular genetic algorithm on a GPU: a thread an individual, a launch a generation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Kernel, Partial, ShardResult, kernel
from hardscape.engine.cuda import CudaDevice, cuda_device
from hardscape.errors import InputError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.cellular.generation import CellularKernel
from hardscape.maxsat.methods.cellular.run import Offer, best_individual, no_runs
from hardscape.maxsat.methods.islands.cuda import WalkArrays
from hardscape.maxsat.methods.islands.tables import WalkTables
from hardscape.maxsat.methods.weighting.walk import break_weights

#: Generations between two looks at what the runs came to.
_SLOTS = 8
#: Flips of all walks between two looks, some 20 ms, unless a single generation takes more.
_FLIPS = 10**8
#: Bytes of shared memory of a block: for the planes alone, and with the table of occurrences.
_PLANES_BYTES, _TABLE_BYTES = 224 * 1024, 100 * 1024
#: Warps of a block: one where that fills the GPU, else more, which share a table.
_WARPS = (1, 4)


@dataclass(frozen=True, eq=False)
class FormulaTables:
    """Clauses and occurrences as the kernel reads them; literal 2 v is variable v, 2 v + 1 its negation."""

    variables: int
    literal: NDArray[np.uint32]  # of all clauses
    start: NDArray[np.uint32]  # where each clause begins, shape (m + 1,)
    weight: NDArray[np.int64]  # shape (m, 2)
    first: NDArray[np.uint32]  # where each literal's occurrences begin, shape (2 n + 1,)
    #: Other literals of each occurrence, packed in pairs where no clause has more than 3 literals.
    others: NDArray[np.uint32]
    others_from: NDArray[np.uint32]  # where each occurrence's begin, if they are not packed
    gain: NDArray[np.int64]  # weight of each occurrence's clause
    base: tuple[int, int]  # cost of empty clauses
    three: bool  # whether pairs are packed
    weighted: bool  # whether weights differ

    @classmethod
    def of(cls, search: Any, variables: int) -> FormulaTables:
        """Tables of the compiled search's clauses."""
        literal, start, weight, occurs, first, base, uniform = search.tables()
        if len(literal) >= 2**32:
            raise InputError(
                f"the formula has {len(literal)} literals; the GPU takes fewer than 2**32"
            )
        clause = occurs.astype(np.int64)
        sizes = np.diff(start.astype(np.int64))
        own = np.repeat(np.arange(2 * variables), np.diff(first.astype(np.int64)))
        # All literals of each occurrence's clause, then without its own.
        lengths = sizes[clause]
        ends = np.cumsum(lengths)
        inside = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
        every = literal[np.repeat(start[clause].astype(np.int64), lengths) + inside]
        others = every[every != np.repeat(own, lengths)]
        begins = np.concatenate([[0], np.cumsum(lengths - 1)])
        three = bool(sizes.max(initial=0) <= 3) and 2 * variables < 2**16
        if three:
            pairs = np.full((len(clause), 2), 2 * variables, dtype=np.uint32)
            for i in range(2):
                has = lengths > i + 1
                pairs[has, i] = others[begins[:-1][has] + i]
            others = pairs[:, 0] | pairs[:, 1] << 16
        return cls(
            variables,
            literal,
            start.astype(np.uint32),
            weight,
            first.astype(np.uint32),
            others.astype(np.uint32),
            begins.astype(np.uint32),
            weight[clause],
            (int(base[0]), int(base[1])),
            three,
            not uniform,
        )

    @property
    def clauses(self) -> Formula:
        """The clauses, all of the same weight."""
        signs = 1 - 2 * (self.literal & 1).astype(np.int32)
        literals = signs * ((self.literal >> 1).astype(np.int32) + 1)
        m = len(self.weight)
        ones = np.ones(m, dtype=np.int64)
        return Formula(self.variables, literals, self.start.astype(np.int64), ones, ones < 1)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What ``struct Clauses`` of the kernel points to, in its order."""
        occurrences = self.first, self.others, self.others_from, self.gain
        return *occurrences, self.literal, self.start, self.weight

    def planes_bytes(self, warps: int) -> int:
        """Bytes that the literals of a block's individuals take."""
        return 4 * (2 * self.variables + 1) * warps

    @property
    def table_bytes(self) -> int:
        """Bytes of the table of occurrences."""
        return 4 * (len(self.first) + len(self.others))


def cellular_kernels(
    *, warps: int, three: bool, weighted: bool, planes_shared: bool, table_shared: bool
) -> dict[str, Kernel]:
    """The kernels that breed a generation, by climbing or around walks, and move the runs on, as data."""
    constants = {
        "kWarps": warps,
        "kThree": three,
        "kWeighted": weighted,
        "kPlanesShared": planes_shared,
        "kTableShared": table_shared,
    }
    return {
        name: kernel("maxsat/methods/cellular/cellular.cu", f"cellular_{name}", constants=constants)
        for name in ("generation", "children", "replace", "advance")
    }


@dataclass(frozen=True, eq=False)
class CudaRuns:
    """Runs on GPUs: what all of them share."""

    kernel: CellularKernel
    target: tuple[int, int]
    offer: Offer | None

    @cached_property
    def tables(self) -> FormulaTables:
        """The formula's tables, on the host."""
        return FormulaTables.of(self.kernel.native(), self.kernel.formula.num_variables)

    @cached_property
    def walk_tables(self) -> WalkTables:
        """The same clauses as walks read them."""
        return WalkTables.of(self.tables.clauses, break_weights(self.kernel.typical_length))

    @property
    def evolution(self) -> NDArray[np.uint8]:
        """``struct Evolution`` of the kernel."""
        options = self.kernel.options
        parts = (options.torus, options.chances, options.rules(self.target))
        return np.concatenate([part.view(np.uint8) for part in parts])

    def run(self, seeds: list[int], context: Context) -> ShardResult:
        """Do the runs of these seeds, all of them in the same launches."""
        if self.kernel.native(context.stop) is None:
            return ShardResult(no_runs(self.kernel), complete=False)
        with cuda_device(context.device.ordinal) as device:
            batch = _Batch(self, seeds, device)
            while not batch.done:
                if context.stop[0]:
                    return ShardResult(batch.partial(), complete=False)
                batch.breed()
            return ShardResult(batch.partial())


class _Batch:
    """Runs on one GPU: their arrays there, and what is known of them here."""

    def __init__(self, runs: CudaRuns, seeds: list[int], device: CudaDevice) -> None:
        import cupy

        tables, options = runs.tables, runs.kernel.options
        self._device = device
        self._runs = len(seeds)
        individuals = options.individuals
        busy = self._runs * -(-individuals // 32)
        warps = _WARPS[busy > 4 * device.multiprocessors]
        if tables.planes_bytes(warps) > _PLANES_BYTES:
            warps = 1
        planes_shared = tables.planes_bytes(warps) <= _PLANES_BYTES
        total = tables.planes_bytes(warps) + tables.table_bytes
        table_shared = planes_shared and total <= _TABLE_BYTES
        self._shared = (
            tables.planes_bytes(warps) * planes_shared + tables.table_bytes * table_shared
        )
        kernels = cellular_kernels(
            warps=warps,
            three=tables.three,
            weighted=tables.weighted,
            planes_shared=planes_shared,
            table_shared=table_shared,
        )
        self._kernels = {name: device.load(data) for name, data in kernels.items()}
        self._blocks, self._warps = -(-individuals // (32 * warps)), warps
        words = -(-tables.variables // 64)
        self._keep = [cupy.asarray(array) for array in tables.arrays]
        pointers = [array.data.ptr for array in self._keep]
        sizes = tables.variables | len(tables.weight) << 32
        formula = cupy.asarray(np.array([*pointers, *tables.base, sizes], dtype=np.uint64))
        evolution = cupy.asarray(runs.evolution)
        self._problem = formula, evolution
        self._seeds = cupy.asarray(np.array(seeds, dtype=np.uint64))
        self._controls = cupy.zeros((self._runs, 6), dtype=np.int64)
        self._bits = cupy.empty((self._runs, 2, individuals, max(1, words)), dtype=np.uint64)
        self._costs = cupy.empty((self._runs, 2, individuals, 2), dtype=np.int64)
        kept = self._seeds, self._controls, self._bits, self._costs
        self._population = *self._problem, *kept
        slots = self._runs * self._blocks * warps
        self._reports = cupy.empty((slots, 4), dtype=np.int64)
        scratch = 1 if planes_shared else slots * (2 * tables.variables + 1)
        self._scratch = cupy.empty(scratch, dtype=np.uint32)
        self._best = cupy.zeros((self._runs, max(1, words)), dtype=np.uint64)
        self._words = words
        self._slots = _SLOTS + 1
        self._entries = cupy.zeros((self._runs, self._slots, 3), dtype=np.int64)
        self._offer = runs.offer
        self._told: tuple[int, int] | None = None
        self._histories: list[list[list[int]]] = [[] for _ in seeds]
        self._walks: WalkArrays | None = None
        if options.walk_flips:
            walks = self._runs * individuals
            self._walks = WalkArrays(runs.walk_tables, walks, device, synchronous=False)
            self._sources = cupy.empty(self._runs * individuals, dtype=np.int32)
            self._flips = options.walk_flips
        self._climb(initial=True)
        self._move_on(initial=True)
        self._look()

    @property
    def done(self) -> bool:
        """Whether every run has ended."""
        return bool(self._known[:, 3].all())

    def breed(self) -> None:
        """Breed some generations of every run that is not done, and look what came out."""
        generations = _SLOTS
        if self._walks is not None:
            generations = min(_SLOTS, max(1, _FLIPS // (self._walks.walks * self._flips)))
        for _ in range(generations):
            if self._walks is None:
                self._climb(initial=False)
            else:
                self._walk(self._walks)
            self._move_on(initial=False)
        self._look()

    def _climb(self, *, initial: bool) -> None:
        """A generation by hill climbing, or the first one."""
        self._kernels["generation"](
            (self._blocks, self._runs),
            32 * self._warps,
            *self._population,
            self._reports,
            self._scratch,
            np.int32(initial),
            shared=self._shared,
        )

    def _walk(self, walks: WalkArrays) -> None:
        """A generation whose children walk."""
        grid = (self._blocks, self._runs), 32 * self._warps
        words = np.int32(walks.truths.shape[1])
        self._kernels["children"](
            *grid,
            *self._population,
            words,
            walks.best_truths,
            walks.statuses,
            self._sources,
        )
        walks.adopt(self._sources)
        walks.run(self._flips, 0, afresh=True)
        self._kernels["replace"](
            *grid,
            *self._problem,
            self._controls,
            words,
            walks.best_truths,
            walks.statuses,
            self._bits,
            self._costs,
            self._reports,
        )

    def _move_on(self, *, initial: bool) -> None:
        """Count the generation, and keep the best individual."""
        self._kernels["advance"](
            self._runs,
            32,
            *self._problem,
            self._reports,
            np.int32(self._blocks * self._warps),
            self._bits,
            self._controls,
            self._best,
            self._entries,
            np.int32(self._slots),
            np.int32(initial),
        )

    def _look(self) -> None:
        """Fetch the controls, and the history since the last look."""
        self._device.synchronize()  # lets other threads run meanwhile, as a copy would not
        self._known = self._controls.get()
        entries = self._entries.get()
        for run, history in enumerate(self._histories):
            for generation in range(len(history), int(self._known[run, 1]) + 1):
                history.append(entries[run, generation % self._slots].tolist())
        if self._offer is not None:
            best = best_individual(self._known[:, 4:6])
            hard, soft = self._known[best, 4:6].tolist()
            if self._told is None or (hard, soft) < self._told:
                self._told = (hard, soft)
                self._offer(self._told, self._best[best].get())

    def partial(self) -> Partial:
        """Best individuals, costs and histories, run by run."""
        return {
            "bits": self._best.get()[:, : self._words],
            "costs": self._known[:, 4:6].copy(),
            "generations": self._known[:, 1].copy(),
            "history": np.array([entry for history in self._histories for entry in history]),
        }
