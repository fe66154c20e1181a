"""Links in pages near the side of a GPU that reads them: which page goes where, and who finds it there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hardscape.gauge import GaugeField
from hardscape.gauge.lattice.schedule import Window
from hardscape.gauge.sides.pages import table_of, wanted_sides
from hardscape.gauge.stored.instance import THREADS, Instance
from helpers.cuda_on_host import HostPlace

PLACE = HostPlace("-O0")
PAGE = 4096


@pytest.mark.parametrize(
    "instance",
    [
        Instance((4, 4, 4, 8), 3, False),
        Instance((4, 4, 4, 8), 3, True),
        Instance((4, 4, 4, 8), 3, False, ten_links=True),
        Instance((8, 4, 4, 6), 3, False, window=Window(halo=1, first=-1, before=6, after=6)),
        Instance((4, 8, 4, 4), 2, True),
        Instance((4, 4, 4, 4), 2, False),
    ],
    ids=str,
)
def test_a_page_is_wanted_by_the_side_that_moves_its_first_site(instance: Instance) -> None:
    x, y, z, t = instance.box
    row = len(instance.shape) * instance.link_chunks  # chunks of a site
    wanted = wanted_sides(instance)
    assert len(wanted) == -(-(-(-x * y * z * t // 32) * 32 * row * 16) // PAGE)
    seen: dict[int, int] = {}
    for color in (0, 1):
        numbers = [
            i
            for i in range(x * y * z * t)
            if (i % x + i // x % y + i // (x * y) % z + i // (x * y * z)) % 2 == color
        ]
        for place, natural in enumerate(numbers):
            site = color * x * y * z * t // 2 + place
            plane = natural // (x * y) % z
            for page in range(site // 32 * 32 * row // 256, -(-(site // 32 + 1) * 32 * row // 256)):
                seen.setdefault(page, int(plane * 2 >= z))
    assert [seen[page] for page in range(len(wanted))] == wanted.tolist()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.502, 1.0])
def test_pages_go_to_their_side_while_there_is_room(share: float) -> None:
    drawn = np.random.default_rng(5)
    wanted = drawn.integers(0, 2, 1001).astype(np.uint8)
    homes = (drawn.random(1001) < share).astype(np.uint8)
    table = table_of(wanted, homes)
    assert (np.sort(table) == np.arange(1001)).all()
    away = int((homes[table] != wanted).sum())
    assert away == abs(int(wanted.sum()) - int(homes.sum()))


#: A kernel that copies links to where those that are not paged would lie.
_PROBE = """
#include "gauge/lattice/site.cuh"
using namespace hardscape::gauge;
extern "C" __global__ void probe(const Chunk* paged, Chunk* plain) {
  for (int site = threadIdx.x; site < kVolume; site += blockDim.x) {
    for (int mu = 0; mu < kDimensions; ++mu) {
      const auto to = const_cast<Chunk*>(link_of(plain, mu, site));
      store<kLinkChunks>(to, load_link(paged, mu, site));
    }
  }
}
"""


@pytest.mark.parametrize(
    ("shape", "nc", "single", "ten"),
    [
        ((4, 4, 4, 8), 3, False, False),
        ((4, 4, 4, 8), 3, False, True),
        ((4, 4, 4, 8), 3, True, False),
        ((8, 4, 8), 3, True, False),
    ],
)
def test_paged_links_are_found_where_they_were_put(
    shape: tuple[int, ...], nc: int, single: bool, ten: bool
) -> None:
    volume, many = math.prod(shape), len(shape)
    plain = Instance(shape, nc, single, directions=many, ten_links=ten)
    paged = replace(plain, paged=True)
    links = GaugeField.random(shape, nc, seed=7).links
    pages = len(wanted_sides(paged))
    table = (1 + np.random.default_rng(3).permutation(pages + 3)[:pages]).astype(np.uint32)
    stored = np.zeros((pages + 4) * PAGE, dtype=np.uint8)
    stored[: table.nbytes] = table.view(np.uint8)
    size = -(-volume // 32) * 32 * many * plain.link_chunks * 16
    expected = np.zeros(size, dtype=np.uint8)
    kernels = [x.kernel("start", "gauge_put", kMatrices=many) for x in (paged, plain)]
    kernels[0] = replace(kernels[0], source=kernels[0].source + _PROBE)
    for kernel, to in zip(kernels, (stored, expected), strict=True):
        grid = -(-many * volume // THREADS)
        given = np.ascontiguousarray(links), 0, shape[-1]
        PLACE.launch(kernel, grid, THREADS, to, *given, shared=0)
    assert (stored[: table.nbytes] == table.view(np.uint8)).all()
    found = np.zeros_like(expected)
    PLACE.launch(replace(kernels[0], name="probe"), 1, 32, stored, found, shared=0)
    assert expected.any()
    assert (found == expected).all()
