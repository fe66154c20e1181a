"""Gauge fixing on CUDA in two, three and five dimensions: the CPU's sites, order and maximum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hardscape import gauge
from hardscape.engine import Team, cuda_device, team
from hardscape.gauge import GaugeField
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.cuda import CudaLattices
from hardscape.gauge.lattice.lattices import Sweep, Turn
from hardscape.gauge.options import FixOptions
from helpers import gauge_dimension_oracles as oracle

pytestmark = pytest.mark.gpu

SHAPES = [(8, 6), (16, 32), (4, 6, 8), (8, 8, 16), (4, 6, 2, 8), (4, 2, 6, 4, 8), (2, 4, 2, 6, 2)]
SWEEPS = [Sweep(0, omega=1.6, second=0.48), Sweep(1, omega=1.8), Sweep(2, temperature=0.3)]
STOP = np.zeros(1, dtype=np.uint8)


@pytest.fixture
def alone() -> Iterator[Team]:
    with team(1) as made:
        yield made


@pytest.mark.parametrize("kind", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sweep_is_that_of_the_cpu(alone: Team, shape: tuple[int, ...], kind: Any) -> None:
    field = GaugeField.random(shape, 3, seed=3)
    xi = 1.0 if kind == "coulomb" else 1.3
    chosen = FixOptions(gauge=kind, per_slice=kind == "coulomb", xi=xi, dimensions=len(shape))
    seeds = np.array([5, 6], dtype=np.uint64)
    active = np.ones((2, shape[-1]), dtype=bool)
    active[1, 1] = False
    with cuda_device(0) as device:
        gpu = CudaLattices(device, field.links, chosen, False, 2)
        for sweep in SWEEPS:
            gpu.randomize(seeds)
            gpu.sweep(Turn([sweep] * 2, seeds, np.array([0, 7]), 2, active, STOP))
            measured, delta = gpu.measure(), gpu.gradient()
            for b in range(2):
                cpu = CpuLattice(field.links, chosen, False, alone)
                cpu.randomize(seeds[b : b + 1])
                turn = Turn([sweep], seeds[b:], np.array([7 * b]), 2, active[b : b + 1], STOP)
                cpu.sweep(turn)
                expected = cpu.measure()
                g = gpu.transformation(b).get()
                np.testing.assert_allclose(g, cpu.transformation(0), atol=1e-9)
                for name in ("functional", "theta_mean", "theta_max"):
                    ours, theirs = getattr(measured, name)[b], getattr(expected, name)[0]
                    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
                np.testing.assert_allclose(delta[b].get(), cpu.gradient()[0], atol=1e-8)


@pytest.mark.parametrize("precision", ["double", "single", "mixed"])
@pytest.mark.parametrize(
    "method", ["overrelaxation", "matrix-overrelaxation", "fourier-cg", "auto"]
)
@pytest.mark.parametrize("shape", [(16, 16), (8, 8, 16), (4, 4, 4, 2, 8)])
def test_fixing(shape: tuple[int, ...], method: Any, precision: Any) -> None:
    field = gauge.generate(shape, 4.0, 2, seed=5, sweeps=10)
    theta = 1e-9 if precision == "single" else 1e-16
    found = gauge.fix(
        field, method=method, precision=precision, theta=theta, copies=2, seed=1, device="cuda",
        xi=1.5,
    )  # fmt: skip
    links = found.fixed().to("cpu").links
    assert float(oracle.theta_by_site(links, "landau", 1.5**2).mean()) < 1.1 * theta


@pytest.mark.parametrize("shape", SHAPES)
def test_fields_on_the_gpu(shape: tuple[int, ...]) -> None:
    field = GaugeField.random(shape, 3, seed=2)
    there = field.to("cuda")
    assert there.plaquettes() == pytest.approx(field.plaquettes(), abs=1e-12)
    g = GaugeField.random(shape, 3, seed=4).links[..., 0, :, :]
    import cupy

    turned = there.transform(cupy.asarray(g)).to("cpu")
    np.testing.assert_allclose(turned.links, field.transform(g).links, atol=1e-12)
