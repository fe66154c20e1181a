"""Ghosts on CUDA against the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardscape import gauge
from hardscape.engine import cuda_device, team
from hardscape.errors import NotConverged
from hardscape.gauge import GaugeField
from hardscape.gauge.ghost.cuda import CudaFaddeevPopov
from hardscape.gauge.ghost.operator import CpuFaddeevPopov

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("nc", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 31, 80])
def test_the_operator_is_that_of_the_cpu(nc: int, count: int) -> None:
    field = GaugeField.random((5, 4, 3, 6), nc, seed=1)
    random = np.random.default_rng(count)
    a, b = random.normal(size=(2, 6, 3, 4, 5, nc, nc, count, 2)) @ [1, 1j]
    one, other = random.normal(size=(2, count))
    with team(1) as lanes, cuda_device(0) as device:
        cpu, gpu = CpuFaddeevPopov(field, lanes), CudaFaddeevPopov(field, device)
        xp = gpu._cupy
        x, y = xp.asarray(a), xp.asarray(b)
        np.testing.assert_allclose(gpu.apply(x).get(), cpu.apply(a), atol=1e-12)
        np.testing.assert_allclose(gpu.projected(x).get(), cpu.projected(a), atol=1e-12)
        np.testing.assert_allclose(gpu.products(x, y), cpu.products(a, b), atol=1e-10)
        gpu.combine(y, one, x, other)
        cpu.combine(b, one, a, other)
        np.testing.assert_allclose(y.get(), b, atol=1e-13)


@pytest.mark.parametrize(
    ("shape", "nc", "xi"),
    [((5, 6), 2, 1.0), ((4, 3, 6), 3, 1.5), ((4, 2, 3, 6), 2, 2.0), ((2, 3, 2, 3, 4), 2, 1.25)],
)
def test_the_operator_in_other_dimensions(shape: tuple[int, ...], nc: int, xi: float) -> None:
    field = GaugeField.random(shape, nc, seed=1)
    random = np.random.default_rng(1)
    a = random.normal(size=(*shape[::-1], nc, nc, 7, 2)) @ [1, 1j]
    with team(1) as lanes, cuda_device(0) as device:
        cpu, gpu = CpuFaddeevPopov(field, lanes, xi), CudaFaddeevPopov(field, device, xi)
        found = gpu.projected(gpu._cupy.asarray(a)).get()
        np.testing.assert_allclose(found, cpu.projected(a), atol=1e-12)


@pytest.mark.parametrize("nc", [2, 3])
def test_the_propagator_is_that_of_the_cpu(nc: int, tmp_path: Path) -> None:
    field = gauge.generate((4, 6, 4, 8), {2: 2.4, 3: 6.0}[nc], nc, seed=4, sweeps=20, device="cpu")
    gauge.fix(field, theta=1e-24, seed=1, device="cpu").fixed().to_file(tmp_path / "u.nersc")
    momenta = [(1, 0, 0, 0), (0, 1, 0, 1), (1, 2, 1, 2), (0, -1, 0, 0)]
    values = {}
    for device in ("cpu", "cuda:0"):
        found = gauge.ghost_propagator(
            tmp_path / "u.nersc", momenta, residual=1e-11, device=device, seed=1
        )
        values[device] = found.value
    np.testing.assert_allclose(values["cuda:0"], values["cpu"], rtol=1e-10)
    again = gauge.ghost_propagator(
        tmp_path / "u.nersc", momenta, residual=1e-11, device="cuda:0", seed=1
    )
    assert again.value.tobytes() == values["cuda:0"].tobytes()


def test_points_are_those_of_the_cpu(tmp_path: Path) -> None:
    field = gauge.generate((4, 6, 4, 8), 6.0, 3, seed=4, sweeps=20, device="cpu")
    gauge.fix(field, theta=1e-20, seed=1, device="cpu").fixed().to_file(tmp_path / "u.nersc")
    cpu, gpu = (
        gauge.ghost_propagator(
            tmp_path / "u.nersc",
            5,
            sources="point",
            num_points=3,
            residual=1e-11,
            device=device,
            seed=1,
        )
        for device in ("cpu", "cuda:0")
    )
    np.testing.assert_allclose(gpu.value, cpu.value, rtol=1e-9)


def test_no_maximum_is_told(tmp_path: Path) -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=1)
    field.to_file(tmp_path / "u.nersc")
    with pytest.raises(NotConverged):
        gauge.ghost_propagator(tmp_path / "u.nersc", 2, theta=None, device="cuda:0")


def test_a_scan() -> None:
    field = gauge.generate((4, 4, 4, 8), 6.0, seed=1, sweeps=20, device="cpu")
    found = gauge.scan(field, omegas=[1.0, 1.6], copies=3, device="cuda:0", seed=2)
    assert found.converged.all()
    assert (found.mean_sweeps[1::2] < found.mean_sweeps[::2]).all()
    alone = gauge.fix(field, method="overrelaxation", omega=1.6, copies=3, device="cuda:0", seed=2)
    np.testing.assert_array_equal(found.sweeps[1], alone.copies.sweeps)
    np.testing.assert_array_equal(found.functional[1], alone.copies.functional)
