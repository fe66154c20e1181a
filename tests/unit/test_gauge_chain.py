"""CUDA kernels run on the host: the Markov chain, whole and in windows, the ghosts' operator, unitarity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hardscape import native
from hardscape.engine import team
from hardscape.gauge import GaugeField
from hardscape.gauge.chain.cuda import chain_kernel
from hardscape.gauge.domains.grid import Grid, Held
from hardscape.gauge.fixed.cuda import farthest_of, fixed_kernel
from hardscape.gauge.ghost.cuda import ghost_kernel
from hardscape.gauge.ghost.operator import CpuFaddeevPopov
from hardscape.gauge.lattice.schedule import WHOLE
from hardscape.gauge.stored.instance import ONE_EACH, THREADS, Instance
from helpers.cuda_on_host import HostPlace

BETA, SEED = 2.2, 5
PARTS = 16


class Part:
    """A window of links on the host, in the kernels' order."""

    place = HostPlace("-O0")

    def __init__(self, links: Any, instance: Instance, action: tuple[Any, ...]) -> None:
        self.instance, self.action = instance, action
        self.matrices, self.held = links.shape[-3], links.shape
        sites = math.prod(instance.shape)
        shape = -(-sites // 32), self.matrices, instance.chunks, 32, 2
        self.links = np.zeros(shape)
        self.run("start", "put", self.links, np.ascontiguousarray(links))

    def run(self, kind: str, name: str, *given: Any) -> None:
        """Launch a kernel of start.cu over all slices."""
        kernel = self.instance.kernel(kind, f"gauge_{name}", ONE_EACH, kMatrices=self.matrices)
        blocks = -(-math.prod(self.instance.shape) * self.matrices // THREADS)
        last = 0, self.instance.shape[-1]
        self.place.launch(kernel, blocks, THREADS, *given, *last, shared=0)

    def own(self) -> Any:
        links = np.empty(self.held, dtype=np.complex128)
        self.run("start", "get", self.links, links)
        halo, rim = self.instance.window.halo, self.instance.window.rows.halo
        return links[halo : len(links) - halo, rim : links.shape[1] - rim]

    def move(self, beside: list[Part], number: int, heat: bool, color: int, mu: int) -> None:
        kernel = chain_kernel("step", self.instance, *self.action, heat=heat)
        coupling = np.array([BETA / self.instance.nc])
        blocks = -(-math.prod(self.instance.shape) // 2 // THREADS)
        where = self.instance.window.first, self.instance.origin
        before, after, *across = (part.links for part in beside)
        given = self.links, before, after, coupling, SEED, number, color, mu, *where, *across
        self.place.launch(kernel, blocks, THREADS, *given, shared=0)

    def tell(self, sites: Any, first: int) -> None:
        """Write what the plaquettes of each site sum up to, rows from `first` on."""
        kernel = chain_kernel("sites", self.instance, *self.action)
        deep = self.instance.box[2] // self.instance.shape[-2]
        given = self.links, sites, self.instance.window.first, sites.shape[1] * deep, first * deep
        blocks = -(-math.prod(self.instance.shape) // THREADS)
        self.place.launch(kernel, blocks, THREADS, *given, shared=0)

    def added(self, sites: Any) -> Any:
        sums = np.zeros((len(sites), PARTS))
        kernel = chain_kernel("sums", self.instance, *self.action)
        self.place.launch(kernel, sums.size, THREADS, sites, sums, sites[0].size, shared=0)
        return sums.sum(axis=1)

    def traces(self) -> Any:
        window = self.instance.window
        sums = np.zeros((self.instance.shape[-1] - 2 * window.halo, PARTS))
        kernel = chain_kernel("traces", self.instance, *self.action)
        self.place.launch(kernel, sums.size, THREADS, self.links, sums, window.first, shared=0)
        return sums.sum(axis=1)


def moved(links: Any, action: tuple[Any, ...], cut: tuple[int, int]) -> tuple[Any, Any]:
    """Links and traces of slices after a sweep of heatbath and one of overrelaxation, in windows."""
    slices, nc = links.shape[0], links.shape[-1]
    grid = Grid.of(links.shape[:-3], math.prod(cut), cut)
    parts = []
    for i in range(grid.parts):
        some = Held(links, grid.held(i))[:] if grid.parts > 1 else links
        shape = some.shape[-4::-1]
        window = grid.window(i) if grid.parts > 1 else WHOLE
        parts.append(Part(some, Instance(shape, nc, False, window=window), (slices, *action)))
    for heat in (True, False):
        for color in (0, 1):
            for mu in range(links.shape[-3]):
                for i, part in enumerate(parts):
                    part.move([parts[j] for j in grid.near(i)], 7, heat, color, mu)
    whole, traces = np.empty_like(links), []
    for i, part in enumerate(parts):
        own, rows = grid.own(i)
        whole[own.start : own.stop, rows.start : rows.stop] = part.own()
    if cut[1] == 1:
        return whole, np.concatenate([part.traces() for part in parts])
    for first in range(0, grid.parts, cut[1]):
        sites = np.full((len(grid.own(first)[0]), *links.shape[1:-3]), np.nan)
        for i in range(first, first + cut[1]):
            parts[i].tell(sites, grid.own(i)[1].start)
        traces.append(parts[first].added(sites))
    return whole, np.concatenate(traces)


@pytest.mark.parametrize(
    ("shape", "nc", "action", "cuts"),
    [
        ((4, 2, 2, 4), 3, (False, 0, 1.0), [(2, 1)]),
        ((2, 2, 6, 4), 2, (True, 2, 1.5), [(2, 3)]),
        ((2, 4, 4), 2, (True, 2, 2.5), []),
        ((4, 4), 4, (False, 0, 1.0), []),
    ],
    ids=str,
)
def test_kernels_move_links_as_the_cpu_does(
    shape: tuple[int, ...], nc: int, action: tuple[Any, ...], cuts: list[tuple[int, int]]
) -> None:
    links = GaugeField.random(shape, nc, seed=3).links.copy()
    if action[0]:
        links[-1, ..., -1, :, :] = 0
    chain = native.vector.gauge.WilsonChain(links, *action)
    sweeps = native.vector.gauge.WilsonSweeps(chain, BETA, 1, SEED, 7, 1, 1)
    sweeps.run(0)
    found, traces = moved(links, action, (1, 1))
    assert abs(found - links).max() > 0.1
    # The many subgroups of a larger group multiply rounding.
    assert abs(found - chain.links()).max() < (1e-11 if nc < 4 else 1e-8)
    planes = len(shape) * (len(shape) - 1) / 2
    counted = (links.shape[0] - action[0]) * math.prod(shape[:-1]) * planes * nc
    assert traces.sum() / counted == pytest.approx(
        sweeps.plaquettes()[0], abs=1e-12 if nc < 4 else 1e-9
    )
    for cut in cuts:
        again, sums = moved(links, action, cut)
        assert again.tobytes() == found.tobytes()
        assert sums.tobytes() == traces.tobytes()


def test_the_ghosts_operator_is_that_of_the_cpu() -> None:
    field, xi, count = GaugeField.random((3, 2, 5), 2, seed=1), 1.5, 3
    random = np.random.default_rng(2)
    fields = random.normal(size=(5, 2, 3, 2, 2, count, 2)) @ [1, 1j]
    found = np.empty_like(fields)
    kernel = ghost_kernel("operator", field.shape, 2, xi)
    links = np.ascontiguousarray(field.links)
    Part.place.launch(kernel, 1, 128, links, fields, found, count, shared=0)
    with team(1) as lanes:
        expected = CpuFaddeevPopov(field, lanes, xi).apply(fields)
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(("nc", "bad"), [(3, 1.5), (4, 1.5), (3, np.nan)])
def test_the_link_farthest_from_the_group_is_that_of_the_cpu(nc: int, bad: float) -> None:
    field = GaugeField.random((3, 5, 4), nc, seed=1)
    rounding = field.unitarity()
    links = field.links.copy()
    matrices = links.size // nc**2
    kernel = fixed_kernel("distances", 3, nc, False)
    for places in ([], [67], [131, 40]):
        links.reshape(-1, nc, nc)[places] *= bad
        links.reshape(-1, nc, nc)[places[:1]] *= 1.1
        far, where = np.empty(2), np.empty(2, dtype=np.int64)
        extents = 4, 5, 3, 1, 1
        Part.place.launch(kernel, 2, 128, links, far, where, *extents, matrices, shared=0)
        found, place = farthest_of(far, where)
        if not places:
            assert found == pytest.approx(rounding, abs=1e-14)
            continue
        if np.isnan(bad):
            assert (np.isnan(found), place) == (True, min(places))
        else:
            assert place == places[0]
            assert found == pytest.approx(GaugeField(links).unitarity(), rel=1e-12)
        links[:] = field.links


@pytest.mark.parametrize("site", [0, 77, 255])
def test_the_largest_violation_is_nan_where_one_is(site: int) -> None:
    field = GaugeField.random((8, 8, 4, 2), 2, seed=1)
    links = field.links.copy()
    links[0].reshape(256, 4, 2, 2)[site] = np.nan
    sums = np.empty(3)
    kernel = fixed_kernel("conditions", 4, 2, False)
    Part.place.launch(kernel, 1, 128, links, np.ones(4), sums, 8, 8, 4, 1, 2, shared=0)
    assert np.isnan(sums).all()
