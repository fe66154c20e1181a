"""How a lattice is cut among ranks, and what they may send each other."""

from __future__ import annotations

import pytest

from hardscape.errors import InputError
from hardscape.gauge.domains.messages import takes_gpu_memory
from hardscape.gauge.domains.together import Cut, grid_of


@pytest.mark.parametrize(
    ("parts", "slices", "rows", "grid"),
    [
        (1, 4, 4, (1, 1)),
        (2, 128, 64, (2, 1)),
        (4, 64, 64, (4, 1)),  # as many sites at the sides as 2 by 2 has
        (8, 64, 64, (4, 2)),
        (64, 64, 64, (8, 8)),
        (2, 4, 32, (1, 2)),  # few timeslices: hot lattices
        (4, 3, 3, (2, 2)),
        (6, 2, 64, (1, 6)),
        (5, 4, 5, (1, 5)),
    ],
)
def test_the_fewest_sites_are_at_the_sides(
    parts: int, slices: int, rows: int, grid: tuple[int, int]
) -> None:
    assert grid_of(parts, slices, rows) == grid


@pytest.mark.parametrize(("parts", "slices", "rows"), [(7, 6, 6), (9, 4, 2), (3, 2, 1)])
def test_ranks_that_do_not_fit(parts: int, slices: int, rows: int) -> None:
    with pytest.raises(InputError, match=str(parts)):
        grid_of(parts, slices, rows)


def test_every_slice_has_one_owner_and_sides_that_are_its_neighbours() -> None:
    for slices in range(2, 9):
        for parts in range(1, slices + 1):
            cut = Cut(slices, parts)
            owned = [t for part in range(parts) for t in cut.own(part)]
            assert owned == list(range(slices))
            for part in range(parts):
                own, held = cut.own(part), cut.held(part)
                assert held[1:-1] == list(own)
                assert (held[0], held[-1]) == ((own[0] - 1) % slices, (own[-1] + 1) % slices)


class Told:
    """A communicator that says what memory its library takes."""

    def __init__(self, **info: str) -> None:
        self.info = info

    def Get_info(self) -> dict[str, str]:
        return self.info


@pytest.mark.parametrize(
    ("info", "direct"),
    [
        ({}, False),
        ({"mpi_memory_alloc_kinds": "mpi,system"}, False),
        ({"mpi_memory_alloc_kinds": "system,mpi,cuda"}, True),
        ({"mpi_memory_alloc_kinds": "system,cuda:device,cuda:host"}, True),
        ({"mpi_memory_alloc_kinds": "rocm:device,system"}, False),
    ],
)
def test_what_the_library_takes(info: dict[str, str], direct: bool) -> None:
    assert takes_gpu_memory(Told(**info)) is direct
