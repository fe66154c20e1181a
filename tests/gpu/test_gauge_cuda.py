"""Gauge fixing on CUDA against the CPU: the same sites, the same order, the same maximum."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardscape.arrays import array_namespace
from hardscape.engine import RunOptions, Team, cuda_device, solve, team
from hardscape.errors import NotConverged
from hardscape.gauge import GaugeField, fix
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.cuda import CudaLattices
from hardscape.gauge.lattice.lattices import MICROCANONICAL, Sweep, Turn
from hardscape.gauge.lattice.schedule import Schedule
from hardscape.gauge.options import FixOptions, Gauge, MethodName, Precision
from hardscape.gauge.sides.cuda import distances, sides, sides_of
from hardscape.gauge.sides.pages import homes_of
from hardscape.gauge.work import GaugeFixWork
from helpers import gauge_oracles

pytestmark = pytest.mark.gpu

SWEEPS = {
    "relaxation": Sweep(0),
    "overrelaxation": Sweep(0, omega=1.6, second=0.48),
    "stochastic": Sweep(0, omega=2.0, second=1.0, probability=0.4),
    "microcanonical": MICROCANONICAL,
    "matrix": Sweep(1, omega=1.8),
    "heatbath": Sweep(2, temperature=0.3),
}
STOP = np.zeros(1, dtype=np.uint8)
#: Of most tests, which then share what is compiled.
SHAPE = 4, 6, 4, 8
GAUGES: tuple[Gauge, ...] = ("landau", "coulomb", "mag")
METHODS: tuple[MethodName, ...] = ("auto", "matrix-overrelaxation", "overrelaxation")
PRECISIONS: tuple[Precision, ...] = ("double", "mixed")
#: Groups above SU(3) share their code, so one method each and precision will do.
MAXIMA = [
    *itertools.product((2, 3), GAUGES, METHODS, PRECISIONS),
    *itertools.product((4,), GAUGES, ("auto",), PRECISIONS),
    *itertools.product((4,), GAUGES, ("overrelaxation",), ("double",)),
    *itertools.product((5,), GAUGES, ("auto",), ("mixed",)),
]


@pytest.fixture
def alone() -> Iterator[Team]:
    with team(1) as made:
        yield made


def options(gauge: Any, **more: Any) -> FixOptions:
    return FixOptions(gauge=gauge, per_slice=gauge == "coulomb", **more)


@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("nc", [2, 3, 4, 5, 8])
def test_a_sweep_is_that_of_the_cpu(alone: Team, nc: int, gauge: str) -> None:
    field = GaugeField.random(SHAPE, nc, seed=3)
    chosen = options(gauge)
    seeds = np.array([5, 6], dtype=np.uint64)
    active = np.ones((2, 8), dtype=bool)
    active[1, 3] = False
    # Microcanonical sweeps magnify rounding, three of SU(8) by 10^11.
    count = 3 if nc < 5 else 1
    with cuda_device(0) as device:
        gpu = CudaLattices(device, field.links, chosen, False, 2)
        for sweep in SWEEPS.values():
            gpu.randomize(seeds)
            assert (
                gpu.sweep(Turn([sweep] * 2, seeds, np.array([0, 7]), count, active, STOP)) == count
            )
            measured = gpu.measure()
            delta = gpu.gradient()
            for b in range(2):
                cpu = CpuLattice(field.links, chosen, False, alone)
                cpu.randomize(seeds[b : b + 1])
                cpu.sweep(
                    Turn([sweep], seeds[b:], np.array([7 * b]), count, active[b : b + 1], STOP)
                )
                expected = cpu.measure()
                g = gpu.transformation(b).get()
                np.testing.assert_allclose(g, cpu.transformation(0), atol=1e-9)
                for name in ("functional", "theta_mean", "theta_max"):
                    ours, theirs = getattr(measured, name)[b], getattr(expected, name)[0]
                    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
                np.testing.assert_allclose(delta[b].get(), cpu.gradient()[0], atol=1e-8)


SCHEDULES = [
    Schedule(128, 2),
    Schedule(64, 2, parts=2, lag=4, groups=3, staged=8, tile=(4, 1)),
    Schedule(64, 2, parts=1, lag=9, groups=2, staged=5, tile=(2, 4)),
    Schedule(32, 4, parts=4, lag=9, groups=1, staged=8, tile=(8, 2)),
    Schedule(128, 1, parts=4, lag=0, groups=3, staged=2),
    Schedule(32, 4, parts=4, lag=5, staged=8, tile=(8, 2), sides=2),
    Schedule(64, 1, parts=2, lag=3, staged=8, tile=(8, 4), sides=2),
    Schedule(128, 2, parts=1, staged=8, tile=(8, 8), kept=True),
    Schedule(64, 2, parts=2, staged=8, tile=(8, 4), kept=True),
    Schedule(32, 2, parts=1, staged=8, tile=(4, 4), kept=True),
]


def test_a_gpu_has_the_same_sides_each_time() -> None:
    """Or none: large ones have two."""
    with cuda_device(0) as device:
        found = [sides_of(distances(device)) for _ in range(3)]
        if found[0] is None:
            assert found == [None] * 3
            pytest.skip("the GPU has no sides")
        for again in found[1:]:
            assert again is not None
            apart = int((again != found[0]).sum())
            assert min(apart, len(again) - apart) <= 4  # of those that are even out the sides


def test_pages_are_at_home_on_one_side_each_time() -> None:
    import cupy

    with cuda_device(0) as device:
        told = sides(device)
        if told is None:
            pytest.skip("the GPU has no sides")
        zeros = cupy.zeros(2**26, dtype=np.uint8)
        zeros = zeros[-zeros.data.ptr % 4096 :]
        found = [homes_of(device, zeros[: len(zeros) // 4096 * 4096], told) for _ in range(3)]
        assert not zeros.any()
    assert 0.4 < found[0].mean() < 0.6
    for again in found[1:]:  # by latencies, which other work disturbs: half would differ by chance
        assert (again != found[0]).mean() < 0.1


@pytest.mark.parametrize("single", [True, False])
def test_a_large_lattice_is_swept_the_same_by_sides_and_without(single: bool) -> None:
    field = GaugeField.random((32, 32, 16, 16), 3, seed=3)
    seeds, active = np.array([5], dtype=np.uint64), np.ones((1, 16), dtype=bool)
    found = []
    with cuda_device(0) as device:
        planned = CudaLattices(device, field.links, options("landau"), single, 1).schedule
        for parted in (1, 2):
            lag = 20 // parted
            schedule = replace(planned, parts=8, lag=lag, sides=parted, tile=(4, 2))
            gpu = CudaLattices(device, field.links, options("landau"), single, 1, schedule)
            gpu.randomize(seeds)
            for _ in range(2):
                gpu.sweep(Turn([Sweep(1, 1.7)], seeds, np.zeros(1, int), 5, active, STOP))
            found.append(gpu.transformation(0).get().tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("single", [True, False])
def test_the_order_of_tasks_changes_no_bit(single: bool) -> None:
    """Copies alone and copies together are moved by kernels that were compiled apart."""
    field = GaugeField.random((4, 8, 8, 14), 3, seed=3)
    seeds = np.array([5, 6, 7], dtype=np.uint64)
    active = np.ones((3, 14), dtype=bool)
    kinds = [Sweep(1, 1.7)], [Sweep(2, temperature=0.5), MICROCANONICAL]
    found = []
    with cuda_device(0) as device:
        for schedule in SCHEDULES:
            gpu = CudaLattices(device, field.links, options("landau"), single, 3, schedule)
            gpu.randomize(seeds)
            for sweeps in kinds:
                gpu.sweep_in_turn(
                    [Turn([x] * 3, seeds, np.zeros(3, int), 7, active, STOP) for x in sweeps]
                )
            found.append([gpu.transformation(b).get().tobytes() for b in range(3)])
    assert all(some == found[0] for some in found)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_the_order_of_tasks_changes_nothing(alone: Team, schedule: Schedule) -> None:
    field = GaugeField.random((4, 8, 8, 14), 3, seed=3)
    chosen = options("landau")
    seeds = np.array([5, 6, 7], dtype=np.uint64)
    active = np.ones((3, 14), dtype=bool)
    active[1, 3:5] = False
    with cuda_device(0) as device:
        gpu = CudaLattices(device, field.links, chosen, False, 3, schedule)
        gpu.randomize(seeds)
        assert gpu.sweep(Turn([Sweep(1, 1.7)] * 3, seeds, np.zeros(3, int), 25, active, STOP)) == 25
        for b in range(3):
            cpu = CpuLattice(field.links, chosen, False, alone)
            cpu.randomize(seeds[b : b + 1])
            cpu.sweep(
                Turn([Sweep(1, 1.7)], seeds[b:], np.zeros(1, int), 25, active[b : b + 1], STOP)
            )
            np.testing.assert_allclose(
                gpu.transformation(b).get(), cpu.transformation(0), atol=1e-7
            )


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_a_step_along_a_direction_is_that_of_the_cpu(alone: Team, nc: int) -> None:
    field = GaugeField.random(SHAPE, nc, seed=3)
    seeds, step = np.array([5], dtype=np.uint64), np.linspace(-0.2, 0.3, SHAPE[-1])[None]
    with cuda_device(0) as device:
        gpu = CudaLattices(device, field.links, options("landau"), False, 1)
        cpu = CpuLattice(field.links, options("landau"), False, alone)
        for lattices in (gpu, cpu):
            lattices.randomize(seeds)
            direction = lattices.gradient()
            lattices.move(direction, array_namespace(direction).asarray(step))
        np.testing.assert_allclose(gpu.transformation(0).get(), cpu.transformation(0), atol=1e-12)


@functools.cache
def maximum(nc: int, gauge: Gauge) -> tuple[GaugeField, float]:
    """A field with one maximum, from which every method comes to it, and the CPU's functional there."""
    noise = GaugeField.random(SHAPE, nc, seed=11)
    near = GaugeField(np.eye(nc) + 0.3 * noise.links, layout="t z y x mu a b").reproject()
    field = near.transform(GaugeField.random(SHAPE, nc, seed=12).links[..., 0, :, :])
    found = fix(field, gauge, device="cpu", method="matrix-overrelaxation", theta=1e-20, seed=1)
    return field, found.functional


@pytest.mark.parametrize(("nc", "gauge", "method", "precision"), MAXIMA)
def test_the_same_maximum(nc: int, gauge: Gauge, method: MethodName, precision: Precision) -> None:
    field, expected = maximum(nc, gauge)
    keywords: dict[str, Any] = {"method": method, "precision": precision, "theta": 1e-20, "seed": 1}
    gpu = fix(field, gauge, device="cuda:0", **keywords)
    assert gpu.functional == pytest.approx(expected, abs=1e-10)
    assert gauge_oracles.theta(gpu.fixed().links, gauge) <= 1.01e-20
    assert gpu.device == "cuda:0"


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("edge", ["open", "sf"])
def test_boundaries_in_time(edge: Any, gauge: Any) -> None:
    near = np.eye(3) + 0.3 * GaugeField.random((6, 4, 4, 8), 3, seed=11).links
    links = GaugeField(near).reproject().links
    links[-1, ..., 3, :, :] = 0
    if edge == "sf":
        links[[0, -1], ..., :3, :, :] = np.diag(np.exp(1j * np.array([-0.3, 0.1, 0.2])))
    field = GaugeField(links, boundary=edge)
    keywords: dict[str, Any] = {"theta": 1e-18, "seed": 1, "copies": 2, "annealing_sweeps": 5}
    gpu = fix(field, gauge, device="cuda:0", **keywords)
    fixed = gpu.fixed()
    assert fixed.plaquette() == pytest.approx(field.plaquette(), abs=1e-12)
    assert field.to("cuda").plaquette() == pytest.approx(field.plaquette(), abs=1e-12)
    by_site = gauge_oracles.theta_by_site(fixed.links, gauge)
    assert by_site[1:-1].mean(axis=(1, 2, 3)).max() < 1e-16
    if edge == "sf":
        np.testing.assert_allclose(
            fixed.links[[0, -1], ..., :3, :, :], links[[0, -1], ..., :3, :, :]
        )
    else:
        assert gauge_oracles.theta(fixed.links, gauge) <= 1.01e-18
    on_gpu = fix(field.to("cuda"), gauge, device="cuda:0", **keywords)
    assert on_gpu.functional == pytest.approx(gpu.functional, abs=1e-10)


def test_copies_together_are_the_copies_alone() -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=3)
    keywords: dict[str, Any] = {"copies": 4, "theta": 1e-16, "annealing_sweeps": 20, "seed": 1}
    gpu = fix(field, device="cuda:0", method="matrix-overrelaxation", **keywords)
    cpu = fix(field, device="cpu", method="matrix-overrelaxation", **keywords)
    assert gpu.copies.converged.all()
    assert len(gpu.copies) == 4
    assert np.ptp(gpu.copies.functional) > 0 or np.ptp(cpu.copies.functional) == 0
    assert fix(field, device="cuda:0", **keywords).copies.converged.all()


@pytest.mark.parametrize("method", ["auto", "matrix-overrelaxation", "fourier-cg"])
def test_copies_are_the_same_however_many_lie_together(method: Any) -> None:
    """On one GPU many do, on several fewer each."""
    noise = GaugeField.random((4, 4, 4, 8), 3, seed=3)
    links = GaugeField(np.eye(3) + 0.3 * noise.links, layout="t z y x mu a b").reproject().links
    chosen = options("landau", method=method, theta=1e-16, annealing_sweeps=10)
    found = []
    for together in (1, 2, 4):
        work = GaugeFixWork(links, chosen, copies=4, seed=1, together=together)
        partial = dict(solve(work, RunOptions.checked(device="cuda:0")).partial or {})
        del partial["spent"]
        found.append({name: array.tobytes() for name, array in partial.items()})
    assert len(found[0]) == 8
    assert found[0] == found[1] == found[2]


def test_a_gpu_that_is_not_the_first() -> None:
    cupy = pytest.importorskip("cupy")
    last = cupy.cuda.runtime.getDeviceCount() - 1
    if not last:
        pytest.skip("there is one GPU")
    field = GaugeField.random((4, 4, 4, 4), 3, seed=3)
    found = [fix(field, device=device, seed=1, copies=2) for device in ("cuda:0", f"cuda:{last}")]
    assert found[0].g.tobytes() == found[1].g.tobytes()


def test_device_arrays_in_device_arrays_out() -> None:
    cupy = pytest.importorskip("cupy")
    field = GaugeField.random((4, 4, 4, 4), 2, seed=3).to("cuda")
    found = fix(field, device="cuda:0", seed=1)
    assert isinstance(found.g, cupy.ndarray)
    assert found.fixed().device == "cuda"
    assert found.fixed().link_trace() == pytest.approx(found.functional, abs=1e-12)


def test_xi() -> None:
    field = GaugeField.random((4, 4, 4, 4), 2, seed=3)
    keywords: dict[str, Any] = {"xi": 1.5, "theta": 1e-20}
    gpu = fix(field, device="cuda:0", method="matrix-overrelaxation", **keywords)
    links = gpu.fixed().links * np.array([1, 1, 1, 2.25])[:, None, None]
    assert gauge_oracles.theta(links, "landau") < 1e-19


def test_links_that_were_single_precision() -> None:
    rounded = GaugeField.random((4, 4, 4, 6), 3, seed=3).astype(np.complex64)
    found = fix(
        rounded, theta=1e-20, device="cuda:0", seed=1, output_precision="double", reproject=True
    )
    whole = rounded.astype(np.complex128).reproject().transform(found.g)
    assert gauge_oracles.theta(whole.links, "landau") <= 1.01e-20
    assert found.fixed().dtype == np.complex128
    with pytest.raises(NotConverged):  # as the links that are returned in single precision are not
        fix(rounded, theta=1e-20, device="cuda:0", seed=1)
