"""Sweeps of a GPU, run on the host: who ends a round of them, and which links a block keeps."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Team, team
from hardscape.gauge import GaugeField
from hardscape.gauge.domains.grid import Grid
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.cuda import summed
from hardscape.gauge.lattice.lattices import Rounds, Rules, Sweep, Turn
from hardscape.gauge.lattice.schedule import Schedule
from hardscape.gauge.methods.descent import Descent
from hardscape.gauge.options import FixOptions
from hardscape.gauge.rounds.cuda import round_kernel, rounds_of
from hardscape.gauge.stored.instance import THREADS, Instance
from hardscape.gauge.stored.storage import Storage
from helpers.cuda_on_host import HostPlace

PLACE = HostPlace("-O0")
#: Blocks that share a timeslice.
PARTS = 2


class Decided(CpuLattice):
    """Moves on the CPU; a GPU's kernel measures, decides and counts."""

    def __init__(self, links: Any, options: FixOptions, lanes: Team) -> None:
        super().__init__(links, options, False, lanes)
        shape, nc = tuple(links.shape[-4::-1]), links.shape[-1]
        mag = options.gauge == "mag"
        self.instance = Instance(shape, nc, False, options.directions, mag)
        self.links = self._put(links, links.shape[-3])
        self.counters = np.ones((1, 2, self.slices), dtype=np.uint32)
        self.seen = 0

    def _put(self, matrices: Any, many: int) -> Any:
        """Matrices in the order of the kernels, for two copies."""
        blocks = -(-self.volume // 32)
        stored = np.zeros((2, blocks, many, self.instance.chunks, 32, 2))
        kernel = self.instance.kernel("start", "gauge_put", kMatrices=many)
        given = np.ascontiguousarray(matrices), 0, self.slices
        PLACE.launch(kernel, -(-many * self.volume // THREADS), THREADS, stored, *given, shared=0)
        return stored

    def rounds(
        self, turn: Turn, rules: Rules, standing: Any, most: int, stopped: Callable[[], bool]
    ) -> Iterator[Rounds]:
        """A second copy, which rests, lies beside this one."""
        row, moving = turn.sweeps[0].row(), turn.active[0].astype(np.uint8)
        steps, firsts = np.array([row, row]), np.array([turn.first[0]] * 2)
        active, live = np.array([moving, moving]), self.live.astype(np.uint8)
        going, arrived = np.array([1, 0], dtype=np.int32), np.zeros(2, dtype=np.uint32)
        stands = np.concatenate([standing, standing]).view(np.float64)
        told = np.full((2, 3 * self.slices + 7), np.nan)
        parts = np.full((2, self.slices, PARTS, 3), np.nan)
        for _ in range(most):
            sweep = Sweep(turn.sweeps[0].method, *steps[0, :3])
            moves = active[:1] > 0
            first = np.array([firsts[0]])
            self.sweep(Turn([sweep], turn.seeds, first, rules.count, moves, turn.stop))
            PLACE.launch(
                round_kernel(self.instance, rules, PARTS),
                2 * PARTS * self.slices,
                THREADS,
                self.links,
                self._put(self.transformation(0), 1),
                parts,
                arrived,
                self.counters,
                self.counters.size,
                steps,
                firsts,
                live,
                active,
                going,
                stands,
                rules.numbers(),
                told,
                shared=0,
            )
            assert not self.counters.any()
            assert not arrived.any()
            assert (told[1, -1], firsts[1]) == (0, turn.first[0])
            self.seen += 1
            yield rounds_of(self, told[None, :1])
            if not going[0]:
                return


def descended(make: Any, field: GaugeField, options: FixOptions) -> tuple[Descent, Any]:
    """The way of one copy, and where it ended."""
    context = Context(Cpu(0), None, np.zeros(1, dtype=np.uint8))
    descent = Descent(options, np.array([3], dtype=np.uint64), context)
    with team(1) as lanes:
        lattice = make(field.links, options, lanes)
        lattice.randomize(descent.seeds)
        lattice.hold_fixed_slices()
        descent.finish(lattice, options.theta)
        return descent, lattice


def on_host(links: Any, options: FixOptions, lanes: Team) -> CpuLattice:
    return CpuLattice(links, options, False, lanes)


@pytest.mark.parametrize(
    ("nc", "chosen"),
    [
        (2, {"gauge": "coulomb", "method": "matrix-overrelaxation", "per_slice": True}),
        (3, {"method": "stochastic", "boundary": "open", "max_sweeps": 97}),
        (2, {"method": "auto", "gauge": "mag", "reduction": "max", "theta": 1e-12}),
    ],
    ids=str,
)
def test_a_gpu_decides_as_the_host_does(nc: int, chosen: dict[str, Any]) -> None:
    options = FixOptions(**chosen)
    field = GaugeField.random((2, 2, 4, 4), nc, seed=4)
    if options.boundary == "open":
        links = field.links.copy()
        links[-1, ..., -1, :, :] = 0
        field = GaugeField(links, boundary="open", layout="t z y x mu a b")
    ours, lattice = descended(Decided, field, options)
    theirs, plain = descended(on_host, field, options)
    assert lattice.seen > 3
    assert ours.sweeps == theirs.sweeps
    np.testing.assert_allclose(ours.omegas, theirs.omegas, rtol=1e-5)
    assert len(ours.history[0]) == len(theirs.history[0])
    # Rounding in omega grows on the way.
    np.testing.assert_allclose(ours.history[0], theirs.history[0], rtol=1e-2, atol=1e-20)
    assert ours.updates == pytest.approx(theirs.updates)
    ends = [float(x.measure().violation(options).max()) for x in (lattice, plain)]
    assert (ends[0] <= options.theta) == (ends[1] <= options.theta)
    assert math.isclose(ours._gained[0], theirs._gained[0], rel_tol=1e-2)


def test_a_copy_without_progress_is_given_up() -> None:
    """Theta of 0 is out of reach: rounding ends it, after as many rounds."""
    options = FixOptions(method="matrix-overrelaxation", theta=1e-27)
    field = GaugeField.random((2, 2, 2, 4), 2, seed=4)
    ours, lattice = descended(lambda *given: Held(*given, target=0.0), field, options)
    assert lattice.seen > 6
    assert ours.sweeps[0] < options.max_sweeps
    assert lattice.waited == 6


class Held(Decided):
    """Goes for another theta."""

    def __init__(self, *given: Any, target: float) -> None:
        super().__init__(*given)
        self._target, self.waited = target, 0

    def rounds(
        self, turn: Turn, rules: Rules, standing: Any, most: int, stopped: Callable[[], bool]
    ) -> Iterator[Rounds]:
        for seen in super().rounds(
            turn, replace(rules, target=self._target), standing, most, stopped
        ):
            self.waited = int(seen.standing["waited"][0, 0])
            yield seen


def test_the_host_adds_up_in_the_order_of_the_kernel() -> None:
    drawn = np.random.default_rng(2).normal(size=(2, 5, 16, 3)) ** 2
    functional, violation, largest = summed(drawn)
    for copy, t in np.ndindex(2, 5):
        numbers = drawn[copy, t].tolist()
        assert functional[copy, t] == functools.reduce(operator.add, (x[0] for x in numbers))
        assert violation[copy, t] == functools.reduce(operator.add, (x[1] for x in numbers))
        assert largest[copy, t] == max(x[2] for x in numbers)


#: A kernel that tells the staple of each site by links that a block keeps, less that by stored ones.
_PROBE = """
unsigned long long __cvta_generic_to_shared(const void*);
void __nanosleep(unsigned);
#include "gauge/lattice/stage.cuh"
using namespace hardscape::gauge;
extern "C" __global__ void probe(const Chunk* links, const Chunk* g, double* apart) {
  __shared__ Chunk kept[kStaged * kChunks * kThreads];
  const KeptLinks near{links, kept + threadIdx.x};
  Task task{};
  near.bring(task, 1);
  for (int color = 0; color < 2; ++color) {
    fill_in(color * gridDim.x + blockIdx.x, 1, 0, task);
    LocalField by_kept, by_stored;
    gather(by_kept, near.of(task), g, task.at, color);
    gather(by_stored, StoredLinks{links}, g, task.at, color);
    by_kept.begin(Element::identity());
    by_stored.begin(Element::identity());
    double most = 0;
    each_number([&](Real a, Real b) { most = a - b == 0 ? most : 1; }, by_kept.links(), by_stored.links());
    apart[task.at.number(color)] = most;
  }
}
"""


@pytest.mark.parametrize(
    ("shape", "schedule"),
    [
        ((4, 8, 8, 4), Schedule(64, 2, parts=2, staged=8, tile=(8, 4), kept=True)),
        ((4, 8, 8, 4), Schedule(32, 2, parts=1, staged=8, tile=(4, 4), kept=True)),
        ((4, 8, 2), Schedule(16, 2, parts=1, staged=6, tile=(8, 1), kept=True)),
    ],
    ids=str,
)
def test_links_that_a_block_keeps_are_the_stored_ones(
    shape: tuple[int, ...], schedule: Schedule
) -> None:
    instance = Instance(shape, 3, True, len(shape))
    whole = instance.sweep_kernel(1, schedule)
    constants = whole.source[: whole.source.index("//")]
    kernel = replace(whole, name="probe", source=constants + _PROBE)
    blocks, chunks, size = -(-math.prod(shape) // 32), instance.chunks, len(shape)
    drawn = np.random.default_rng(1)
    links = drawn.normal(size=(blocks, size, chunks, 32, 4)).astype(np.float32)
    g = drawn.normal(size=(blocks, chunks, 32, 4)).astype(np.float32)
    apart = np.full(math.prod(shape), np.nan)
    grid = math.prod(shape) // 2 // schedule.threads
    PLACE.launch(kernel, grid, schedule.threads, links, g, apart, shared=0)
    assert not apart.any()


def test_a_plane_of_one_window_is_that_of_another() -> None:
    """What ranks with a GPU each send: sites of one colour of a slice, as they lie in memory."""
    g = GaugeField.random((4, 4, 4, 6), 3, seed=2).links[..., 0, :, :]
    planes: dict[tuple[int, int], Any] = {}
    grid = Grid.of((6, 4, 4, 4), 2)
    for part in range(2):
        held, window = grid.held(part)[0], grid.window(part)
        instance = Instance((4, 4, 4, len(held)), 3, False, window=window)
        stored = np.zeros((len(held) * 2, instance.chunks, 32, 2))
        kernel = instance.kernel("start", "gauge_put", kMatrices=1)
        blocks = -(-len(held) * 64 // THREADS)
        given = np.ascontiguousarray(g[held]), 0, len(held)
        PLACE.launch(kernel, blocks, THREADS, stored, *given, shared=0)
        for color in (0, 1):
            for place, t in enumerate(held):
                part = Storage.part(stored, color * len(held) + place, 32)
                assert (part == planes.setdefault((color, t), part)).all()
                own = g[t].reshape(-1, 3, 3)[
                    (np.indices((4, 4, 4)).sum(0).ravel() + t + color) % 2 == 0
                ]
                assert (part[0, 0, :, 0] == own[:, 0, 0].real).all()
    assert len(planes) == 12
    assert Storage.part(stored, 0, 24) is None
