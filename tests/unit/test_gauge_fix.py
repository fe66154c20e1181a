"""Fixing gauges: what is reached is what the definitions ask for."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from hardscape.engine import Cuda, Ledger, RunOptions, Team, solve, team
from hardscape.engine.fold import Block
from hardscape.errors import CheckpointError, InputError, NotConverged
from hardscape.gauge import GaugeField, fix, generate
from hardscape.gauge.lattice.cpu import CpuLattice
from hardscape.gauge.lattice.lattices import MICROCANONICAL, Lattices, Sweep, Turn
from hardscape.gauge.methods import descent
from hardscape.gauge.methods.descent import Descent
from hardscape.gauge.methods.fourier import FourierSteps
from hardscape.gauge.methods.relaxation import temperatures
from hardscape.gauge.methods.table import METHODS as ROWS
from hardscape.gauge.options import FixOptions, MethodName
from hardscape.gauge.work import GaugeFixWork
from helpers import gauge_oracles

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "gauge"
METHODS = ("relaxation", "overrelaxation", "stochastic", "annealing", "matrix-overrelaxation")
SHORT: dict[str, Any] = {"annealing_sweeps": 8, "temperatures": (0.5, 0.05)}


def smooth(shape: tuple[int, int, int, int], nc: int, seed: int) -> GaugeField:
    """A field near the vacuum, in a random gauge: its maximum is easily found."""
    noise = GaugeField.random(shape, nc, seed=seed)
    near = GaugeField(np.eye(nc) + 0.3 * noise.links, layout="t z y x mu a b").reproject()
    return near.transform(GaugeField.random(shape, nc, seed=seed + 1).links[..., 0, :, :])


@pytest.fixture
def alone() -> Iterator[Team]:
    with team(1) as made:
        yield made


@pytest.fixture(scope="module")
def fields() -> dict[int, GaugeField]:
    return {nc: smooth((4, 4, 6, 4), nc, 11) for nc in (2, 3, 4, 5)}


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("nc", [2, 3, 4, 5])
def test_the_gauge_condition_holds(fields: dict[int, GaugeField], nc: int, gauge: Any) -> None:
    field = fields[nc]
    before = field.links.copy()
    found = fix(field, gauge, theta=1e-20, seed=1, device="cpu")
    fixed = found.fixed().links
    assert found.converged
    by_site = gauge_oracles.theta_by_site(fixed, gauge)
    assert by_site.mean() < 1e-20
    assert gauge_oracles.functional(fixed, gauge) == pytest.approx(found.functional, abs=1e-13)
    assert found.slice_functional.mean() == pytest.approx(found.functional, abs=1e-13)
    assert found.fixed().plaquette() == pytest.approx(field.plaquette(), abs=1e-13)
    np.testing.assert_array_equal(field.links, before)
    if gauge == "coulomb":
        by_slice = gauge_oracles.slice_functionals(fixed, gauge)
        np.testing.assert_allclose(found.slice_functional, by_slice, atol=1e-13)
        assert found.slice_theta_mean.max() < 1e-20


@pytest.mark.parametrize("method", [*METHODS, "fourier-cg", "auto"])
@pytest.mark.parametrize("nc", [2, 3, 4])
def test_all_methods_reach_the_same_maximum(
    fields: dict[int, GaugeField], nc: int, method: Any
) -> None:
    reference = fix(fields[nc], seed=1, device="cpu", theta=1e-24)
    found = fix(fields[nc], method=method, seed=2, device="cpu", theta=1e-16, **SHORT)
    assert found.functional == pytest.approx(reference.functional, abs=1e-10)
    assert found.method == method
    assert found.theta_mean <= 1e-16


def swept(lattice: CpuLattice, sweep: Sweep, first: int, active: Any = True) -> None:
    everywhere = np.broadcast_to(active, (1, lattice.slices))
    stop, seeds = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.uint64)
    assert lattice.sweep(Turn([sweep], seeds, np.array([first]), 1, everywhere, stop)) == 1


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("nc", [2, 3, 4, 8])
@pytest.mark.parametrize("method", [0, 1])
def test_relaxation_never_lowers_the_functional(
    alone: Team, nc: int, gauge: Any, method: int
) -> None:
    field = GaugeField.random((4, 4, 4, 4), nc, seed=5)
    lattice = CpuLattice(field.links, FixOptions(gauge=gauge), False, alone)
    values = []
    for number in range(12):
        values.append(lattice.measure().functional.sum())
        swept(lattice, Sweep(method), number)
    assert np.diff(values).min() > -1e-13
    assert values[-1] > values[0]


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("nc", [2, 3, 4])
def test_annealing_begins_above_and_ends_below_where_g_orders(
    alone: Team, fields: dict[int, GaugeField], nc: int, gauge: Any
) -> None:
    field = fields[nc]
    options = FixOptions(gauge=gauge)
    lattice = CpuLattice(field.links, options, False, alone)
    least = 1 / nc if gauge == "mag" else 0.0  # without order
    gained = []
    for temperature in temperatures(options, nc):
        lattice.randomize(np.array([7], dtype=np.uint64))
        for number in range(60):
            swept(lattice, Sweep(2, temperature=temperature), number)
        functional = lattice.measure().functional.mean()
        gained.append((functional - least) / (1 - least))
    assert gained[0] < 0.5 < gained[1]


def test_microcanonical_sweeps_keep_the_functional(alone: Team) -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=5)
    gauges: tuple[Any, ...] = ("landau", "mag")
    for gauge in gauges:
        lattice = CpuLattice(field.links, FixOptions(gauge=gauge), False, alone)
        before = lattice.measure().functional.sum()
        start = lattice.transformation(0)
        for number in range(3):
            swept(lattice, MICROCANONICAL, number)
        assert lattice.measure().functional.sum() == pytest.approx(before, abs=1e-12)
        assert np.abs(lattice.transformation(0) - start).max() > 0.1


@pytest.mark.parametrize("precision", ["single", "mixed"])
def test_precisions(fields: dict[int, GaugeField], precision: Any) -> None:
    double = fix(fields[3], device="cpu", theta=1e-22, seed=1)
    theta = 1e-10 if precision == "single" else 1e-22
    found = fix(fields[3], device="cpu", theta=theta, seed=1, precision=precision)
    tolerance = 1e-6 if precision == "single" else 1e-12
    assert found.functional == pytest.approx(double.functional, abs=tolerance)
    assert gauge_oracles.theta(found.fixed().links, "landau") < theta


def test_a_line_search_near_a_maximum_costs_one_gradient(
    fields: dict[int, GaugeField], alone: Team
) -> None:
    class Counted(CpuLattice):
        gradients = 0

        def gradient(self) -> Any:
            Counted.gradients += 1
            return super().gradient()

    near = fix(fields[3], method="fourier-cg", theta=1e-6, device="cpu").fixed()
    options = FixOptions()
    lattice = Counted(np.ascontiguousarray(near.links), options, False, alone)
    steps, begun = FourierSteps(lattice, options), lattice.measure().theta_mean.mean()
    for done in range(1, 13):
        steps.advance(np.ones((1, lattice.slices), dtype=bool))
        assert Counted.gradients <= done + 2  # the first step may be of a wrong length
    assert lattice.measure().theta_mean.mean() < 1e-18 * begun


@pytest.mark.parametrize("cost", [3.0, 200.0])
def test_sweeps_begin_for_what_will_follow_them(
    fields: dict[int, GaugeField], monkeypatch: pytest.MonkeyPatch, cost: float
) -> None:
    given: list[float | None] = []
    relax = Descent.relax

    def noted(self: Descent, lattices: Any, target: float, omega: Any = None, **how: Any) -> None:
        given.append(omega)
        relax(self, lattices, target, omega, **how)

    monkeypatch.setattr(descent, "_SMALL", 0)
    monkeypatch.setattr(Lattices, "iteration_cost", cost)
    monkeypatch.setattr(Descent, "relax", noted)
    assert fix(fields[3], method="auto", theta=1e-20, device="cpu").converged
    # Where iterations are dear, sweeps go on to the end: nothing is gained by an omega for their beginning.
    assert (given[0] is None) == (cost > 100)
    assert all(omega is None for omega in given[1:])


def test_where_iterations_are_dear_they_wait_until_sweeps_stand_still(
    fields: dict[int, GaugeField], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []
    accelerate = Descent.accelerate

    def noted(self: Descent, lattices: Any, target: float) -> None:
        begun.append(float(self.sweeps[0]))
        accelerate(self, lattices, target)

    monkeypatch.setattr(Lattices, "iteration_cost", 6.5)
    monkeypatch.setattr(Descent, "accelerate", noted)
    how: dict[str, Any] = {"theta": 1e-20, "device": "cpu"}
    found = fix(fields[3], method="auto", **how)
    swept = fix(fields[3], method="matrix-overrelaxation", **how)
    assert not begun
    assert np.array_equal(found.g, swept.g)
    # Without overrelaxation sweeps gain little on a long lattice.
    long = GaugeField.random((4, 4, 4, 24), 3, seed=2)
    near = GaugeField(np.eye(3) + 0.05 * long.links, layout="t z y x mu a b").reproject()
    field = near.transform(long.links[..., 0, :, :])
    found = fix(field, method="auto", omega=1.0, **how)
    assert begun
    assert begun[0] % 100 == 0
    swept = fix(field, method="matrix-overrelaxation", omega=1.0, **how)
    assert found.sweeps < swept.sweeps
    assert found.functional == pytest.approx(swept.functional, abs=1e-10)


def test_timeslices_rest_one_by_one(alone: Team) -> None:
    field = GaugeField.random((4, 4, 4, 8), 3, seed=5)
    lattice = CpuLattice(field.links, FixOptions(gauge="coulomb"), False, alone)
    start = lattice.transformation(0)
    active = np.array([1, 0, 1, 1, 0, 0, 1, 0], dtype=bool)
    for number in range(2):
        swept(lattice, Sweep(1, omega=1.5), number, active)
    moved = np.abs(lattice.transformation(0) - start).max(axis=(1, 2, 3, 4, 5)) > 0
    np.testing.assert_array_equal(moved, active)


def test_reduction_max_and_per_slice(fields: dict[int, GaugeField]) -> None:
    found = fix(fields[3], theta=1e-14, reduction="max", device="cpu")
    assert found.theta == found.theta_max <= 1e-14
    found = fix(fields[3], theta=1e-14, per_slice=True, device="cpu")
    assert found.slice_theta_mean.max() <= 1e-14


def test_xi_weighs_the_links_in_time(fields: dict[int, GaugeField]) -> None:
    field = fields[2]
    found = fix(field, xi=1.5, theta=1e-22, device="cpu")
    links = found.fixed().links
    weights = np.array([1, 1, 1, 2.25])[:, None, None]
    assert gauge_oracles.theta(links * weights, "landau") < 1e-21
    traces = np.trace(links, axis1=-2, axis2=-1).real.mean(axis=(0, 1, 2, 3)) / 2
    assert found.functional == pytest.approx((traces * weights[:, 0, 0]).sum() / 5.25, abs=1e-13)


def test_abelian_gauge_does_not_see_the_cartan_subgroup(fields: dict[int, GaugeField]) -> None:
    for nc, field in fields.items():
        first = fix(field, "mag", theta=1e-22, device="cpu")
        phases = np.random.default_rng(3).uniform(0, 2 * np.pi, (*field.links.shape[:4], nc))
        phases[..., -1] = -phases[..., :-1].sum(axis=-1)
        cartan = np.exp(1j * phases)[..., None] * np.eye(nc)
        turned = first.fixed().transform(cartan)
        again = fix(turned, "mag", theta=1e-20, device="cpu")
        assert again.sweeps == 0
        assert again.functional == pytest.approx(first.functional, abs=1e-13)


@pytest.mark.parametrize("shape", [(3, 4, 5, 4), (3, 3, 3, 3), (2, 2, 2, 2), (6, 4, 4, 3)])
@pytest.mark.parametrize("gauge", ["landau", "coulomb"])
def test_odd_and_tiny_extents(shape: tuple[int, int, int, int], gauge: Any) -> None:
    field = smooth(shape, 2, 7)
    found = fix(field, gauge, theta=1e-18, device="cpu")
    assert gauge_oracles.theta(found.fixed().links, gauge) <= 1.01e-18


@pytest.mark.parametrize("method", ["auto", "stochastic"])
def test_the_same_for_any_number_of_threads(fields: dict[int, GaugeField], method: Any) -> None:
    options: dict[str, Any] = {"method": method, "seed": 4, "device": "cpu", **SHORT}
    one = fix(fields[3], copies=2, threads=1, **options)
    four = fix(fields[3], copies=2, threads=4, **options)
    np.testing.assert_array_equal(one.g, four.g)
    np.testing.assert_array_equal(one.copies.functional, four.copies.functional)


@pytest.mark.parametrize("shape", [(10, 10, 6, 2), (6, 6, 6, 6), (3, 4, 5, 2), (5, 5, 3, 7)])
@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
def test_odd_shapes_are_the_same_for_any_number_of_threads(
    shape: tuple[int, int, int, int], gauge: Any
) -> None:
    """Also where vectors do not fit, and loops over sites are the compiler's to cut."""
    field = GaugeField.random(shape, 3, seed=5)
    for method in ("matrix-overrelaxation", "overrelaxation", "fourier-cg"):
        if (gauge, method) == ("mag", "fourier-cg"):
            continue
        for precision in ("double", "single"):
            options: dict[str, Any] = {"method": method, "precision": precision, "seed": 4}
            options |= {"max_sweeps": 3, "strict": False, "device": "cpu", "theta": 1e-9}
            found = [fix(field, gauge, threads=n, **options) for n in (1, 2, 3)]
            for other in found[1:]:
                np.testing.assert_array_equal(found[0].g, other.g)
                np.testing.assert_array_equal(found[0].history, other.history)


def test_every_name_has_a_row() -> None:
    assert set(get_args(MethodName)) == set(ROWS)


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 1.5},
        {"seed": True},
        {"seed": 2**64},
        {"threads": 1.5},
        {"time_limit": "1"},
        {"time_limit": -1},
        {"copies": 1.5},
        {"copies": True},
    ],
)
def test_how_to_run_is_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        fix(GaugeField.identity((2, 2, 2, 2), 2), **options)


def test_seeds_are_of_any_integer_type() -> None:
    field = GaugeField.random((4, 4, 4, 4), 2, seed=3)
    keywords: dict[str, Any] = {"copies": 2, "device": "cpu", **SHORT}
    one, same = fix(field, seed=3, **keywords), fix(field, seed=np.int64(3), **keywords)  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.g, same.g)


def test_an_older_algorithm_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = GaugeField.random((2, 2, 2, 2), 2, seed=3)
    ledger = tmp_path / "ledger"
    keywords: dict[str, Any] = {"device": "cpu", "copies": 2, "seed": 1, "checkpoint": ledger}
    first = fix(field, **keywords)
    again = fix(field, **keywords)
    np.testing.assert_array_equal(first.g, again.g)
    monkeypatch.setattr(GaugeFixWork, "revision", GaugeFixWork.revision + 1)
    with pytest.raises(CheckpointError):
        fix(field, **keywords)


def test_the_work_answers_without_the_function() -> None:
    field = GaugeField.random((4, 4, 4, 4), 2, seed=3)
    run = RunOptions.checked(device="cpu", threads=1, seed=1)
    work = GaugeFixWork.build(field, FixOptions(theta=1e-16), 2, run)
    answer = solve(work, run).whole()
    assert answer.converged
    found = fix(field, theta=1e-16, copies=2, seed=1, device="cpu", threads=1)
    np.testing.assert_array_equal(answer.g, found.g)
    # That of the links that are returned is added up again.
    assert answer.functional == pytest.approx(found.functional, rel=1e-14)


def test_copies_keep_every_functional_and_give_the_best() -> None:
    field = GaugeField.random((4, 4, 4, 6), 2, seed=3)
    found = fix(field, copies=6, method="matrix-overrelaxation", seed=1, device="cpu", theta=1e-14)
    assert len(found.copies) == 6
    assert found.copies.converged.all()
    assert found.functional == pytest.approx(found.copies.functional.max(), rel=1e-14)
    assert len(np.unique(found.copies.functional.round(8))) > 1
    assert found.functional == pytest.approx(
        gauge_oracles.functional(found.fixed().links, "landau")
    )


def test_copies_that_cool_keep_to_the_sweeps_allowed(fields: dict[int, GaugeField]) -> None:
    how: dict[str, Any] = {"copies": 2, "strict": False, "seed": 1, "device": "cpu"}
    for most in (1, 15, 30):
        assert (fix(fields[3], max_sweeps=most, **how).copies.sweeps == most).all()
    cooled = fix(fields[3], max_sweeps=20, **how)
    swept = fix(fields[3], max_sweeps=20, method="matrix-overrelaxation", **how)
    assert (cooled.copies.functional < swept.copies.functional).all()


def test_annealing_finds_larger_functionals() -> None:
    """Of random links, which are a glass."""
    field = GaugeField.random((4, 4, 4, 4), 3, seed=3)
    options: dict[str, Any] = {"copies": 6, "seed": 1, "device": "cpu"}
    plain = fix(field, method="matrix-overrelaxation", **options)
    schedule: dict[str, Any] = {"annealing_sweeps": 400, "temperatures": (0.6, 0.2)}
    annealed = fix(field, method="annealing", **schedule, **options)
    assert annealed.copies.functional.mean() > plain.copies.functional.mean()


def test_a_fixed_field_stops_at_once(fields: dict[int, GaugeField]) -> None:
    fixed = fix(fields[3], theta=1e-20, device="cpu").fixed()
    again = fix(fixed, theta=1e-18, device="cpu")
    assert again.sweeps == 0
    np.testing.assert_allclose(again.g, np.broadcast_to(np.eye(3), again.g.shape), atol=1e-15)


def test_not_converging_is_an_error_that_carries_the_result() -> None:
    field = GaugeField.random((4, 4, 4, 4), 3, seed=3)
    with pytest.raises(NotConverged) as caught:
        fix(field, max_sweeps=5, device="cpu")
    result = caught.value.result
    assert not result.converged
    assert result.sweeps == 5
    assert gauge_oracles.theta(result.fixed().links, "landau") == pytest.approx(result.theta)
    loose = fix(field, max_sweeps=5, device="cpu", strict=False)
    np.testing.assert_array_equal(loose.g, result.g)
    assert pickle.loads(pickle.dumps(caught.value)).result.sweeps == 5


def test_checkpoint_resumes(fields: dict[int, GaugeField], tmp_path: Path) -> None:
    options: dict[str, Any] = {"copies": 3, "seed": 4, "device": "cpu", **SHORT}
    first = fix(fields[2], checkpoint=tmp_path / "copies.db", **options)
    again = fix(fields[2], checkpoint=tmp_path / "copies.db", **options)
    np.testing.assert_array_equal(first.g, again.g)
    np.testing.assert_array_equal(first.history, again.history)


@pytest.mark.parametrize(
    "options",
    [
        {"gauge": "axial"},
        {"method": "newton"},
        {"theta": 0.0},
        {"theta": float("nan")},
        {"theta": 1e-30},
        {"theta": 1e-13, "precision": "single"},
        {"precision": "half"},
        {"reduction": "median"},
        {"omega": 2.5},
        {"omega": float("nan")},
        {"copies": 0},
        {"max_sweeps": 0},
        {"seed": -1},
        {"xi": -1.0},
        {"gauge": "coulomb", "xi": 2.0},
        {"gauge": "mag", "method": "fourier-cg"},
        {"omega_order": 3},
        {"probability": 1.5},
        {"temperatures": (0.1, 0.2)},
        {"annealing_sweeps": 0},
        {"microcanonical": -1},
        {"device": "tpu"},
    ],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        fix(GaugeField.identity((2, 2, 2, 2), 2), **options)


def test_bad_links() -> None:
    links = GaugeField.identity((2, 2, 2, 2), 3).links.copy()
    links[0, 1, 0, 1, 2] *= 1.1
    with pytest.raises(InputError):
        fix(GaugeField(links, layout="t z y x mu a b"))
    with pytest.raises(InputError):
        fix(links[..., :2])


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")
def test_a_published_coulomb_configuration_stops_at_once() -> None:
    field = GaugeField.from_file(DATA / "lat.sample.l4448.gf")
    found = fix(field, "coulomb", theta=2e-5, device="cpu")
    assert found.sweeps == 0
    assert found.functional == pytest.approx(0.862916102, abs=2e-7)
    further = fix(field, "coulomb", device="cpu")
    assert further.functional == pytest.approx(0.862916102, abs=1e-8)


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
def test_links_that_were_single_precision(fields: dict[int, GaugeField], gauge: Any) -> None:
    rounded = fields[3].astype(np.complex64)
    run: dict[str, Any] = {"theta": 1e-22, "device": "cpu", "seed": 1}
    with pytest.raises(NotConverged):
        fix(rounded, gauge, **run)
    found = fix(rounded, gauge, strict=False, **run)
    assert not found.converged
    assert found.fixed().dtype == np.complex64
    told = gauge_oracles.theta(found.fixed().links.astype(np.complex128), gauge)
    assert 1e-22 < told < 1e-11
    assert found.theta == pytest.approx(told, rel=1e-6) or gauge == "coulomb"
    whole = fix(rounded, gauge, output_precision="double", reproject=True, **run)
    assert whole.converged
    assert whole.fixed().dtype == np.complex128
    assert whole.fixed().unitarity() < 1e-14
    assert gauge_oracles.theta(whole.fixed().links, gauge) <= 1.01e-22


@pytest.mark.parametrize("gauge", ["landau", "coulomb", "mag"])
@pytest.mark.parametrize("nc", [2, 3, 4])
def test_what_is_told_is_of_the_links_that_are_returned(
    fields: dict[int, GaugeField], nc: int, gauge: Any
) -> None:
    noise = np.random.default_rng(3).normal(size=fields[nc].links.shape)
    rough = GaugeField(fields[nc].links + 1e-5 * noise)
    found = fix(rough, gauge, theta=1e-6, strict=False, device="cpu", seed=1, per_slice=False)
    fixed = found.fixed()
    by_site = gauge_oracles.theta_by_site(fixed.links, gauge)
    assert found.theta_mean == pytest.approx(by_site.mean(), rel=1e-9)
    assert found.theta_max == pytest.approx(by_site.max(), rel=1e-9)
    assert found.functional == pytest.approx(
        gauge_oracles.functional(fixed.links, gauge), rel=1e-12
    )
    assert found.plaquette == fixed.plaquette()
    assert found.slice_theta_mean == pytest.approx(by_site.mean(axis=(1, 2, 3)), rel=1e-9)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no public data in {DATA}")
def test_a_published_configuration() -> None:
    field = GaugeField.from_file(DATA / "nersc.l8t4b3360")
    found = fix(field, copies=2, theta=1e-16, seed=1, device="cpu", **SHORT)
    assert found.fixed().plaquette() == pytest.approx(0.5038664469, abs=1e-8)
    assert gauge_oracles.theta(found.fixed().links, "landau") < 1.01e-16


def test_result_as_json_and_plot(fields: dict[int, GaugeField]) -> None:
    pytest.importorskip("matplotlib")
    found = fix(fields[2], copies=3, seed=1, device="cpu", **SHORT)
    content = json.loads(found.to_json())
    assert content["functional"] == found.functional
    assert content["shape"] == [4, 4, 6, 4]
    assert content["copies"] == len(content["copy_functional"]) == 3
    counts = [bar.get_height() for bar in found.plot().patches]
    assert sum(counts) == 3
    line = fix(fields[2], seed=1, device="cpu").plot().lines[0]
    assert line.get_ydata()[-1] < 1e-12


def test_copies_are_shared_among_the_gpus_that_there_are(tmp_path: Path) -> None:
    """No GPU is started for that. A ledger goes on with the shards that it was begun with."""
    field, options = GaugeField.random((4, 4, 4, 4), 2, seed=11), FixOptions()

    def work(gpus: int, copies: int = 16, **run: Any) -> GaugeFixWork:
        lanes = RunOptions.checked(seed=1, **run).on([Cuda(i) for i in range(gpus)])
        return GaugeFixWork.build(field, options, copies, lanes)

    assert [len(work(gpus).shards()) for gpus in (1, 2, 4)] == [1, 2, 4]
    assert len(work(1, copies=40).shards()) == 3  # sixteen at most
    ledger = tmp_path / "copies"
    with Ledger(ledger, work(2)) as begun:
        begun.commit(Block(0, 1), {"seen": np.ones(1)})
    for gpus in (1, 3, 4):
        with Ledger(ledger, work(gpus, checkpoint=ledger)) as again:
            assert [block for block, _ in again.load()] == [Block(0, 1)]
    for copies in (7, 10, 17):  # cuts that do not come out even
        other = tmp_path / f"{copies}"
        with Ledger(other, work(3, copies)):
            pass
        with Ledger(other, work(2, copies, checkpoint=other)):
            pass
    parts = [work(gpus, checkpoint=ledger, shards="1/4") for gpus in (1, 2)]
    assert parts[0].identity() == parts[1].identity() == work(2).identity()


def test_copies_are_shared_among_the_workers_of_an_executor() -> None:
    field, options = GaugeField.random((4, 4, 4, 4), 2, seed=11), FixOptions()
    with ThreadPoolExecutor(4) as pool:
        for run, shards in (({}, 4), ({"workers": 8}, 8)):
            lanes = RunOptions.checked(executor=pool, **run).on([Cuda(0)])
            assert len(GaugeFixWork.build(field, options, 16, lanes).shards()) == shards


def test_links_far_from_the_group_are_taken_where_they_are_reprojected() -> None:
    field = generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    far = GaugeField(1.01 * field.links)
    with pytest.raises(InputError, match="reproject"):
        fix(far, device="cpu")
    found = fix(far, reproject=True, theta=1e-14, device="cpu")
    assert found.converged
    assert found.fixed().unitarity() < 1e-13
    assert found.plaquette == pytest.approx(field.plaquette(), abs=1e-12)
