"""Sides of a GPU: which multiprocessor is of which, and what each of them moves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hardscape.gauge.lattice.schedule import WHOLE, Schedule, Window
from hardscape.gauge.sides.cuda import sides_of
from hardscape.gauge.stored.instance import Instance
from helpers.cuda_on_host import HostPlace


@pytest.mark.parametrize("near", [66, 60, 72])
def test_multiprocessors_are_parted_by_what_they_are_near_to(near: int) -> None:
    """As many to each side, few of them wrongly where the sides have not as many."""
    drawn = np.random.default_rng(near)
    true = drawn.permutation(np.arange(132) >= near).astype(int)
    home = drawn.integers(0, 2, 64)
    far = true[:, None] != home[None, :]
    latency = (
        2000 + 300 * far + drawn.integers(0, 200, 132)[:, None] + drawn.integers(0, 60, (132, 64))
    )
    found = sides_of(latency)
    assert found is not None
    assert found.sum() == 66
    wrong = int((found != true).sum())
    assert min(wrong, 132 - wrong) == abs(near - 66)


def test_a_gpu_without_sides_has_none() -> None:
    drawn = np.random.default_rng(1)
    latency = 2000 + drawn.integers(0, 200, 132)[:, None] + drawn.integers(0, 100, (132, 64))
    assert sides_of(latency) is None
    assert sides_of(latency[:131]) is None
    latency[3] = 0  # where nothing ran
    assert sides_of(latency) is None


#: A kernel that tells of each task of a side what it is.
_PROBE = """
unsigned long long __cvta_generic_to_shared(const void*);
void __nanosleep(unsigned);
#include "gauge/lattice/stage.cuh"
using namespace hardscape::gauge;
extern "C" __global__ void probe(int* told, int count, int* tasks) {
  *tasks = tasks_of(count);
  for (int side = 0; side < kSides; ++side) {
    for (int number = 0; number < *tasks; ++number) {
      Task task{};
      fill_in(number, count, side, task);
      int* here = told + 4 * ((side * *tasks + number) * kThreads + threadIdx.x);
      here[0] = task.sweep;
      here[1] = task.color;
      here[2] = task.slab;
      here[3] = task.inside ? task.at.number(task.color) : -1;
    }
  }
}
"""


@pytest.mark.parametrize(
    ("shape", "schedule", "window"),
    [
        ((4, 8, 8, 8), Schedule(16, 4, parts=4, lag=5, staged=8, tile=(4, 2), sides=2), WHOLE),
        ((4, 8, 8, 8), Schedule(32, 4, parts=4, lag=9, staged=8, tile=(8, 2)), WHOLE),
        (
            (4, 4, 4, 8),
            Schedule(16, 4, parts=2, lag=3, staged=8, tile=(4, 2), sides=2),
            Window(halo=1, first=-1, before=8, after=8),
        ),
    ],
    ids=str,
)
def test_tasks_of_sides_move_each_site_once_a_sweep_after_its_neighbours(
    shape: tuple[int, int, int, int], schedule: Schedule, window: Window
) -> None:
    instance, count, threads = Instance(shape, 3, True, window=window), 3, schedule.threads
    whole = instance.sweep_kernel(1, schedule)
    constants = whole.source[: whole.source.index("//")]
    kernel = replace(whole, name="probe", source=constants + _PROBE)
    x, y, z, t = shape
    halo, sides, parts = window.halo, schedule.sides, schedule.parts
    own = math.prod(shape) * (t - 2 * halo) // t
    expected = count * own // threads // sides
    told = np.full((sides, expected, threads, 4), -2, dtype=np.int32)
    tasks = np.zeros(1, dtype=np.int32)
    HostPlace("-O0").launch(kernel, 1, threads, told, count, tasks, shared=0)
    assert tasks[0] == expected == schedule.tasks((x, y, z, t - 2 * halo), count) // sides
    # Each site of those that move, once a sweep.
    moved = told[..., [0, 3]].reshape(-1, 2)
    assert len(np.unique(moved, axis=0)) == len(moved) == count * own
    assert (moved >= 0).all()
    # All that a task waits for has a smaller number on its side.
    last: dict[tuple[int, int, int], int] = {}
    for side, number in np.ndindex(sides, expected):
        sweep, color, slab = told[side, number, 0, :3].tolist()
        assert (told[side, number, :, :3] == told[side, number, 0, :3]).all()
        assert slab % parts * sides // parts == side
        key = sweep, color, slab
        last[key] = max(last.get(key, -1), number)
    slices = t - 2 * halo
    for side, number in np.ndindex(sides, expected):
        sweep, color, slab = told[side, number, 0, :3].tolist()
        slice_, part = slab // parts - halo, slab % parts
        near = {(slice_, (part + step) % parts) for step in (-1, 0, 1)}
        near |= {((slice_ + step) % slices, part) for step in (-1, 1)}
        if sweep + color > 0:
            assert all(
                last[sweep + color - 1, 1 - color, (s + halo) * parts + p] < number for s, p in near
            )
