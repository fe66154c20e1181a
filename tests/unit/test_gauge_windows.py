"""Windows of a lattice that GPUs hold together, on the host, each in a thread: the same bits."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField
from hardscape.gauge.domains.grid import Grid, Held
from hardscape.gauge.domains.sites import ROWS, TIME, Faces
from hardscape.gauge.lattice.schedule import WHOLE, Rows, Schedule, Window
from hardscape.gauge.stored.instance import THREADS, Instance
from helpers.cuda_on_host import compiled, launched

SEED, FIRST, PARTS = 5, 3, 2


def places(instance: Instance) -> Any:
    """Where sites (T, Z, Y, X) of a window lie among its stored ones."""
    extents = instance.shape[::-1]
    parity = instance.constants["kParity"]
    color = (np.indices(extents).sum(axis=0) + parity) % 2
    numbers = np.arange(color.size).reshape(extents) // 2
    return color * (color.size // 2) + numbers


def stored(instance: Instance, matrices: Any) -> Any:
    """Matrices (T, Z, Y, X, many, Nc, Nc) in the order of the kernels, in double."""
    many, chunks = matrices.shape[-3], instance.chunks
    found = np.zeros((-(-math.prod(instance.shape) // 32), many, chunks, 32, 2))
    rows = np.ascontiguousarray(matrices[..., : instance.rows, :])
    flat = rows.reshape(-1, many, chunks).view(np.float64).reshape(-1, many, chunks, 2)
    where = places(instance).ravel()
    found[where // 32, :, :, where % 32] = flat
    return found


class Part:
    """One window, with its own copy of the kernels."""

    def __init__(self, links: Any, g: Any, instance: Instance, schedule: Schedule) -> None:
        self.instance, self.schedule = instance, schedule
        self.links, self.g = stored(instance, links), stored(instance, g[..., None, :, :])
        slabs = instance.box[3] * (schedule.parts + 2 * instance.window.rows.halo)
        self.counters = np.zeros(4 * slabs + 2, dtype=np.uint32)
        self.sweeping: Any = None

    def transformation(self) -> Any:
        where = places(self.instance)
        found = self.g[where // 32, 0, :, where % 32]
        window = self.instance.window
        t, z = (
            slice(halo, size - halo)
            for halo, size in zip((window.halo, window.rows.halo), found.shape, strict=False)
        )
        return found[t, z]

    def sweep(self, beside: list[Part], active: Any, count: int) -> None:
        before, after, left, right = beside
        steps = np.array([[1.7, 0.6, 0.5, 0.4], [1.9, 0.0, 1.0, 0.0], [1.6, 0.0, 0.5, 0.0]])[:count]
        seeds, firsts = np.array([SEED], dtype=np.uint64), np.array([FIRST])
        going, sides = np.ones(1, dtype=np.int32), np.zeros(1, dtype=np.uint8)
        launched(
            self.sweeping,
            "gauge_sweep",
            1,
            self.schedule.threads,
            *(self.links, self.g, steps, seeds, firsts, active, going, self.counters, 1, count),
            *(before.g, after.g, before.counters, after.counters, self.instance.origin, sides),
            *(left.g, right.g, left.counters, right.counters),
        )


def parts_of(
    links: Any, g: Any, cut: tuple[int, int], schedule: Schedule, abelian: bool
) -> tuple[Grid, list[Part]]:
    """Windows of a field, ready to sweep."""
    grid = Grid.of(links.shape[:-3], math.prod(cut), cut)
    parts = []
    for i in range(grid.parts):
        one = cut == (1, 1)
        held, window = (Held(x, grid.held(i)) for x in (links, g)), WHOLE if one else grid.window(i)
        some = (links, g) if one else [x[:] for x in held]
        shape = some[0].shape[-4::-1]
        instance = Instance(shape, links.shape[-1], False, len(shape), abelian, window=window)
        x, y, _, _ = instance.moving
        known = schedule
        if window.uneven:
            known = replace(known, lag=0)
        if window.rows.halo:
            deep = instance.box[2] // instance.shape[-2]
            sites = [
                (many - 2) * deep * x * y // 2 // known.parts
                for many in (window.rows.left, window.rows.right)
            ]
            beside = [(known.parts, -(-one // known.threads)) for one in sites]
            known = replace(known, left=beside[0], right=beside[1])
        parts.append(Part(*some, instance, known))
    kernels = [part.instance.sweep_kernel(3, part.schedule) for part in parts]
    for kernel in set(kernels):
        alike = [part for part, own in zip(parts, kernels, strict=True) if own == kernel]
        source = kernel.source + "Chunk shared[1];\n"
        made = compiled(source, kernel.headers, len(alike), level="-O0")
        for part, library in zip(alike, made if len(alike) > 1 else [made], strict=True):
            part.sweeping = library
    return grid, parts


def swept(grid: Grid, parts: list[Part], resting: int, count: int) -> Any:
    """The whole transformation after sweeps of all windows side by side; a timeslice rests."""
    beside = [[parts[j] for j in grid.around(i)] for i in range(grid.parts)]
    active = []
    for i, part in enumerate(parts):
        slices = grid.held(i)[0] if part.instance.window.halo else range(grid.time.slices)
        active.append(np.array([t != resting for t in slices], dtype=np.uint8))
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda i: parts[i].sweep(beside[i], active[i], count), range(len(parts))))
    return whole(grid, parts)


def whole(grid: Grid, parts: list[Part]) -> Any:
    found = [part.transformation() for part in parts]
    across = grid.rows.parts
    lines = [np.concatenate(found[i : i + across], axis=1) for i in range(0, len(found), across)]
    return np.concatenate(lines)


@pytest.mark.parametrize(
    ("shape", "nc", "abelian", "schedule", "cut"),
    [
        ((4, 4, 8, 8), 2, False, Schedule(32, 1, parts=2, lag=5, tile=(4, 1)), (1, 2)),
        ((4, 4, 6, 4), 2, True, Schedule(32, 1, tile=(4, 1)), (1, 3)),
        ((2, 4, 6, 4), 2, False, Schedule(32, 1, tile=(4, 1)), (1, 4)),  # unequal
        ((2, 2, 2, 4, 4), 2, False, Schedule(32, 1, tile=(2, 2)), (2, 2)),
    ],
    ids=str,
)
def test_windows_sweep_as_the_whole_does(
    shape: tuple[int, ...], nc: int, abelian: bool, schedule: Schedule, cut: tuple[int, int]
) -> None:
    links = GaugeField.random(shape, nc, seed=3).links
    g = GaugeField.random(shape, nc, seed=4).links[..., 0, :, :]
    alone = parts_of(links, g, (1, 1), schedule, abelian)
    before = whole(*alone)
    first = swept(*alone, 1, 3)
    moved = [abs(slab).max() > 1e-3 for slab in first - before]
    assert moved == [t != 1 for t in range(shape[-1])]
    assert swept(*parts_of(links, g, cut, schedule, abelian), 1, 3).tobytes() == first.tobytes()


def test_windows_hand_over_their_sides_and_sum_as_the_whole_does() -> None:
    links = GaugeField.random((4, 4, 6, 4), 3, seed=3).links
    g = GaugeField.random((4, 4, 6, 4), 3, seed=4).links[..., 0, :, :]
    grid = Grid.of((4, 6, 4, 4), 3, (1, 3))
    parts, expected = [], []
    for i in range(3):
        held = grid.held(i)
        instance = Instance((4, 4, 4, 6), 3, False, window=grid.window(i))
        parts.append(Part(Held(links, held)[:], Held(g, held)[:], instance, Schedule(THREADS)))
        expected.append(parts[i].g.copy())
        inner = places(instance)[1:-1, 1:-1].ravel()
        own = parts[i].g[inner // 32, ..., inner % 32, :]
        parts[i].g[:] = np.nan
        parts[i].g[inner // 32, ..., inner % 32, :] = own
    told = parts[0].instance.window_kernel("gauge_hand")
    library = compiled(told.source, told.headers, level="-O0")
    numbers = np.full((2, 4, 6, 4, 4), np.nan)
    for i, part in enumerate(parts):
        beside = [parts[j].g for j in grid.around(i)]
        launched(library, "gauge_hand", 3, THREADS, part.g, *beside)
    for i, part in enumerate(parts):
        corners = places(part.instance)[::5, ::3].ravel()
        assert np.isnan(part.g[corners // 32, ..., corners % 32, :]).all()
        part.g[corners // 32, ..., corners % 32, :] = 0
        expected[i][corners // 32, ..., corners % 32, :] = 0
        assert part.g.tobytes() == expected[i].tobytes()
        rows = 6, grid.own(i)[1].start
        launched(library, "gauge_sites", 3, THREADS, part.links, part.g, numbers, *rows)
    sums = np.full((4, PARTS, 3), np.nan)
    launched(library, "gauge_sums", 4 * PARTS, THREADS, numbers, sums, 96, 4, PARTS)
    instance = Instance((4, 4, 6, 4), 3, False)
    whole_part = Part(links, g, instance, Schedule(THREADS))
    measure = instance.kernel("measure", "gauge_measure")
    first = np.full((PARTS, 3), np.nan)  # of the first timeslice
    alone = compiled(measure.source, measure.headers, level="-O0")
    launched(alone, "gauge_measure", PARTS, THREADS, whole_part.links, whole_part.g, first)
    assert sums[0].tobytes() == first.tobytes()
    assert np.isfinite(sums).all()


#: A kernel that tells the numbers that sites have in the whole lattice.
_NUMBERS = """
#include "gauge/lattice/site.cuh"
using namespace hardscape::gauge;
extern "C" __global__ void probe(long long* told, long long origin) {
  for (int i = threadIdx.x; i < kVolume; i += blockDim.x) {
    told[i] = number_in_whole(Site::numbered(i), origin);
  }
}
"""


@pytest.mark.parametrize("rows", [Rows(), Rows(1, 1, 4, 4, 6)], ids=str)
def test_sites_of_lattices_beyond_32_bits_have_numbers_of_their_own(rows: Rows) -> None:
    """Random numbers are those of a site's number: no two sites may share one."""
    window = Window(1, 2**28 - 1, 4, 4, rows=rows)
    instance = Instance((4, 4, 4, 4), 3, True, window=window)
    measure = instance.kernel("measure", "gauge_measure")
    constants = measure.source[: measure.source.index("//")]
    told = np.zeros((4, 4, 4, 4), dtype=np.int64)
    library = compiled(constants + _NUMBERS, measure.headers)
    launched(library, "probe", 1, 32, told, instance.origin)
    t, z, y, x = np.indices(told.shape)
    line = (t + 2**28 - 1) * (rows.whole or 4) + z + rows.first
    assert (told == (line * 4 + y) * 4 + x).all()
    assert told.min() > 2**33


def test_gpus_cut_rows_where_timeslices_do_not_suffice() -> None:
    assert Grid.of((64, 64, 64, 64), 8).rows.parts == 1
    assert Grid.of((16, 48, 48, 48), 8).rows.parts == 1
    few = Grid.of((8, 48, 48, 48), 8)
    assert few.time.parts * few.rows.parts == 8
    assert few.rows.parts > 1
    assert Grid.of((4, 6, 6), 3).time.parts == 3
    for shape, many in (((4, 6, 6), 6), ((2, 2, 2, 2), 5)):
        with pytest.raises(InputError):
            Grid.of(shape, many)
    with pytest.raises(InputError):
        Grid.of((4, 4, 4, 4), 4, (1, 2))


@pytest.mark.parametrize(("shape", "cut"), [((4, 4, 6, 6), (2, 3)), ((2, 2, 2, 4, 4), (2, 2))])
def test_sides_of_one_window_are_copies_of_another(
    shape: tuple[int, ...], cut: tuple[int, int]
) -> None:
    """Rows of both colours, then slices colour by colour, bring all that is beside up to date, corners too."""
    links = GaugeField.random(shape, 2, seed=3).links
    grid = Grid.of(links.shape[:-3], math.prod(cut), cut)
    arrays, expected, faces = [], [], []
    for i in range(grid.parts):
        some = Held(links, grid.held(i))[:]
        instance = Instance(some.shape[-4::-1], 2, False, len(shape), window=grid.window(i))
        expected.append(stored(instance, some))
        inner = places(instance)[1:-1, 1:-1].ravel()
        arrays.append(np.full_like(expected[i], np.nan))
        arrays[i][inner // 32, ..., inner % 32, :] = expected[i][inner // 32, ..., inner % 32, :]
        faces.append(Faces(instance))
    steps = [(ROWS, None, (0, 1)), (TIME, 0, (1, 0)), (TIME, 1, (1, 0))]
    for line, color, step in steps:
        for mu in range(len(shape)):
            for i in range(grid.parts):
                after = grid.beside(i, *step)
                last, held = len(grid.own(i)[line]), len(grid.held(i)[line])
                told = faces[i].get(arrays[i], line, last, color, mu)
                faces[after].put(arrays[after], line, 0, color, told, mu)
                told = faces[after].get(arrays[after], line, 1, color, mu)
                faces[i].put(arrays[i], line, held - 1, color, told, mu)
    for found, right in zip(arrays, expected, strict=True):
        assert np.nan_to_num(found).tobytes() == right.tobytes()
