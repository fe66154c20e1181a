"""How the CUDA sweeps cut a lattice: no task waits for one that comes after it."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.gauge.lattice.schedule import Schedule

extents = st.tuples(*[st.integers(2, 16).map(lambda half: 2 * half)] * 4)


def tasks_in_order(schedule: Schedule, slabs: int, count: int) -> list[tuple[int, int, int]]:
    """(sweep, colour, slab) in the order of sweep.cu, of one tile and one group."""
    order = []
    for slot in range(count * slabs + schedule.lag):
        for color in (0, 1):
            sweep, place = divmod(slot - color * schedule.lag, slabs)
            if 0 <= sweep < count:
                order.append((sweep, color, ((2 * sweep + color) * schedule.parts + place) % slabs))
    return order


@settings(max_examples=60, deadline=None)
@given(extents, st.booleans(), st.integers(1, 16), st.sampled_from([2**22, 2**26]))
def test_a_schedule_fits_the_lattice(
    shape: tuple[int, int, int, int], single: bool, copies: int, cache: int
) -> None:
    schedule = Schedule.of(shape, 48 if single else 96, single, 4, copies, 132, cache)
    _, y, z, _ = shape
    assert z % schedule.parts == 0
    assert y % schedule.tile[0] == 0
    assert (z // schedule.parts) % schedule.tile[1] == 0
    assert 1 <= schedule.groups <= copies
    half = prod(shape) // 2
    assert schedule.tasks(shape, 1) * schedule.threads >= 2 * half * schedule.groups
    assert schedule.lag == 0 or schedule.groups == 1


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(
    "shape", [(32, 32, 32, 32), (24, 24, 24, 48), (48, 48, 48, 12), (32, 32, 32, 8)]
)
def test_tasks_wait_for_earlier_ones_only(shape: tuple[int, int, int, int], single: bool) -> None:
    schedule = Schedule.of(shape, 48 if single else 96, single, 4, 1, 132, 2**25)
    parts, slices = schedule.parts, shape[3]
    slabs = parts * slices
    assert 2 * parts <= schedule.lag < slabs - 2 * parts
    order = tasks_in_order(schedule, slabs, 3)
    assert len(order) == len(set(order)) == 2 * 3 * slabs
    number = {task: n for n, task in enumerate(order)}
    for (sweep, color, slab), own in number.items():
        slice_, part = divmod(slab, parts)
        for near in (
            slab,
            slice_ * parts + (part + 1) % parts,
            slice_ * parts + (part - 1) % parts,
            (slice_ + 1) % slices * parts + part,
            (slice_ - 1) % slices * parts + part,
        ):
            if sweep + color > 0:
                assert number[sweep + color - 1, 1 - color, near] < own


@settings(max_examples=60, deadline=None)
@given(extents, st.booleans(), st.integers(1, 4), st.sampled_from([2**20, 2**22]))
def test_sides_share_each_timeslice(
    shape: tuple[int, int, int, int], single: bool, copies: int, cache: int
) -> None:
    given = shape, 48 if single else 96, single, 4, copies, 132, cache
    alone, parted = (Schedule.of(*given, two_sided=two) for two in (False, True))
    if parted.sides == 1:
        assert parted == alone
        return
    beside = parted.parts // 2
    assert parted.parts == 2 * beside == alone.parts
    assert alone.lag > 0
    assert 2 * beside <= parted.lag < (shape[3] - 2) * beside
    assert parted.tasks(shape, 3) == alone.tasks(shape, 3)
    assert parted.blocks_of(shape, 1, 528) % 2 == 0


@pytest.mark.parametrize("single", [True, False])
def test_large_lattices_are_parted(single: bool) -> None:
    size = 48 if single else 96
    for extent in (32, 48, 64):
        given = (extent,) * 4, size, single, 4, 1, 132, 50 * 2**20
        assert Schedule.of(*given, two_sided=True).sides == 2
        assert Schedule.of(*given).sides == 1


@pytest.mark.parametrize("single", [True, False])
def test_blocks_keep_their_links_where_all_are_resident(single: bool) -> None:
    def chosen(shape: tuple[int, int, int, int], copies: int, shared: int = 228 * 1024) -> Schedule:
        size = 48 if single else 96
        return Schedule.of(shape, size, single, 4, copies, 132, 2**25, shared=shared)

    shape = (16, 16, 16, 16)
    alone = chosen(shape, 1)
    assert alone.kept
    assert chosen(shape, 16).kept != single  # in single precision two groups of copies fit
    x, y, z, _ = shape
    half_row, (rows, planes) = x // 2, alone.tile
    assert half_row * rows * planes == alone.threads
    assert (y % rows, z % planes, alone.parts) == (0, 0, z // planes)
    for resident in (264, 528):
        assert alone.blocks_of(shape, 10, resident) == prod(shape) // 2 // alone.threads
    # 49 or 97 KiB a block, two of them on a multiprocessor.
    assert chosen(shape, 1, 164 * 1024).kept == single
    assert not chosen(shape, 1, 0).kept
    assert not chosen((32, 32, 32, 32), 1).kept
    assert not chosen((6, 16, 16, 16), 1).kept  # a block's sites are no tile
