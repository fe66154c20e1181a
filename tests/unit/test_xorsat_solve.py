"""One call: which method answers, what is proven, and runs that are timed."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings

from hardscape.engine import Cuda
from hardscape.errors import BudgetError, CheckpointError, DeviceError, InputError
from hardscape.xorsat import (
    XorSystem,
    eliminate,
    measure,
    random_regular,
    random_system,
    scan_w1,
    solve,
    time_to_solution,
)
from hardscape.xorsat.methods.quasi_greedy import row
from helpers.xorsat_oracle import all_assignments, systems

CPU = {"device": "cpu", "threads": 1, "seed": 1}


@settings(deadline=None, max_examples=40)
@given(systems(most_variables=7))
def test_the_fewest_violated_clauses(system: XorSystem) -> None:
    """On systems this small the search meets the best assignment in its first sweeps."""
    fewest = int(system.violated(all_assignments(system.num_variables)).min())
    for method in ("auto", "quasi-greedy"):
        found = solve(system, method=method, max_sweeps=256, anytime=True, **CPU)
        assert found.violated == system.violated(found.assignment) == fewest
        assert found.satisfied == (fewest == 0)
        assert found.energy == system.energy(found.assignment)
        assert not found.optimal or found.violated == fewest
    linear = solve(system, method="elimination")
    assert linear.violated <= system.num_clauses - eliminate(system).rank
    assert linear.violated == system.violated(linear.assignment)
    assert bool(linear.contradiction) == (fewest > 0)


def test_elimination_answers_what_is_linear() -> None:
    system = random_regular(48, seed=1)
    found = solve(system)
    assert (found.method, found.violated, found.optimal) == ("elimination", 0, True)
    assert (found.clones, found.sweeps, found.spin_updates, found.contradiction) == (0, 0, 0, ())
    searched = solve(system, method="quasi-greedy", **CPU)
    assert (searched.method, searched.satisfied, searched.stopped) == ("quasi-greedy", True, "")
    assert (searched.assignment == found.assignment).all()
    assert searched.sweeps > 0
    again = solve(system, method="quasi-greedy", **CPU)
    assert again.sweeps == searched.sweeps


def test_max_xorsat() -> None:
    system = random_system(40, 2.0, planted=False, seed=1)
    found = solve(system, max_sweeps=200, **CPU)
    assert found.method == "quasi-greedy"
    assert found.stopped == "max_sweeps"
    assert found.contradiction
    assert 0 < found.violated < 16
    counts = [violated for violated, _ in found.improvements]
    assert counts == sorted(set(counts), reverse=True)
    assert counts[-1] == found.violated
    content = solve(system, target=found.violated + 2, max_sweeps=200, **CPU)
    assert content.violated <= found.violated + 2
    assert content.stopped == ""


def test_one_violated_clause_is_proven_fewest() -> None:
    base = random_regular(24, seed=3)
    clauses = [*base.clauses(), base.clauses()[0]]
    parity = [*base.parity.tolist(), 1 - base.parity[0]]
    system = XorSystem.from_clauses(clauses, parity)
    for method in ("auto", "elimination"):
        found = solve(system, method=method, max_sweeps=2000, **CPU if method == "auto" else {})
        assert (found.violated, found.optimal) == (1, True)
        assert found.contradiction == (0, 24)
        assert found.stopped == ""


def test_a_target_searches_at_once() -> None:
    found = solve(random_regular(30, seed=1), target=4, **CPU)
    assert found.method == "quasi-greedy"
    assert found.violated <= 4


def test_plain_data() -> None:
    found = solve(XorSystem.from_clauses([[0, 1], [1, 2], [0, 2]], [1, 0, 0]), method="elimination")
    data = json.loads(found.to_json())
    assert data["contradiction"] == [0, 1, 2]
    assert data["violated"] == 1
    assert data["assignment"] == "".join(map(str, found.assignment))
    assert data["spin_updates_per_second"] is None
    assert "1 of 3" in repr(found)
    with pytest.raises(InputError):
        solve(XorSystem.from_clauses([[0, 1]]), time_limit=-1.0, method="quasi-greedy")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "simulated annealing"},
        {"target": -1},
        {"target": 1.5},
        {"target": True},
        {"method": "quasi-greedy", "w1": 1.5},
        {"method": "quasi-greedy", "w1": [0, float("nan")]},
        {"method": "quasi-greedy", "clones": 0},
    ],
)
def test_refused(options) -> None:
    with pytest.raises(InputError):
        solve(random_regular(12, seed=0), **options)


def test_refused_systems() -> None:
    with pytest.raises(InputError):
        solve([[0, 1, 2]])


def test_nothing_to_solve() -> None:
    none = XorSystem(0, [0], [], [])
    assert solve(none).bit_string() == ""
    assert solve(XorSystem(3, [0], [], []), method="quasi-greedy", **CPU).satisfied
    never = solve(XorSystem(1, [0, 0], [], [1]))
    assert (never.violated, never.optimal, never.contradiction) == (1, True, (0,))


def test_runs_of_the_search() -> None:
    system = random_regular(40, seed=2)
    found = time_to_solution(system, 12, 5.0, w1=0.05, device="cpu", threads=1, seed=4)
    assert (found.runs, found.num_solved, found.w1) == (12, 12, 0.05)
    assert found.tau > 0
    assert found.clones % 1024 == 0
    again = time_to_solution(system, 12, 5.0, w1=0.05, device="cpu", threads=1, seed=4)
    assert (again.sweeps == found.sweeps).all()
    assert len(set(found.sweeps.tolist())) > 3
    # A run that cannot solve in its time is stopped, and counted.
    hopeless = random_regular(192, seed=2)
    stopped = time_to_solution(hopeless, 2, 0.02, device="cpu", threads=1, seed=1)
    assert stopped.num_solved == 0
    assert (stopped.seconds >= 0.02).all()
    assert (stopped.sweeps > 0).all()


def test_scan() -> None:
    scan = scan_w1(
        random_regular(32, seed=2), [0.03, 0.06, 0.09], 5, 5.0, device="cpu", threads=1, seed=4
    )
    assert scan.w1 == pytest.approx([0.03, 0.06, 0.09])
    assert [x.w1 for x in scan.results] == scan.w1.tolist()
    assert scan.coefficients is not None
    assert scan.seed == 4
    with pytest.raises(InputError):
        scan_w1(random_regular(12, seed=0), [[0.1]])
    with pytest.raises(InputError):
        scan_w1(random_regular(12, seed=0), [1.5], 1, 1.0)


@pytest.mark.parametrize("method", ["auto", "elimination", "quasi-greedy"])
@pytest.mark.parametrize(
    "options",
    [
        {"time_limit": -1},
        {"time_limit": "1"},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 2**64},
        {"threads": 1.5},
        {"threads": 0},
        {"device": "gpu"},
        {"checkpoint": 3},
        {"executor": 3},
        {"clones": 1.5},
        {"restart": 0},
        {"max_sweeps": True},
        {"w1": 2.0},
        {"target": 1.0},
    ],
    ids=str,
)
def test_options_are_refused_whatever_method_answers(method, options) -> None:
    with pytest.raises(InputError):
        solve(random_regular(12, seed=1), method=method, **options)


def test_the_log_says_which_method_was_passed_over(caplog) -> None:
    with caplog.at_level("DEBUG", "hardscape.xorsat"):
        solve(random_regular(24, seed=1))
        assert [record.args[0] for record in caplog.records] == ["elimination"]
        caplog.clear()
        solve(random_system(30, 2.0, planted=False, seed=1), max_sweeps=20, **CPU)
        assert [record.args[0] for record in caplog.records] == ["elimination", "quasi-greedy"]


def test_a_study_resumes_from_its_checkpoint(tmp_path) -> None:
    system, ledger = random_regular(40, seed=2), tmp_path / "study.ledger"
    options = {"device": "cpu", "threads": 1, "seed": 4, "checkpoint": ledger}
    first = time_to_solution(system, 12, 5.0, **options)
    again = time_to_solution(system, 12, 5.0, **options)
    assert again.seconds.tolist() == first.seconds.tolist()  # nothing is timed twice
    assert again.sweeps.tolist() == first.sweeps.tolist()
    for change in ({"w1": 0.1}, {"seed": 5}, {"restart": 77}):
        with pytest.raises(CheckpointError):
            time_to_solution(system, 12, 5.0, **options | change)
    with pytest.raises(CheckpointError):
        time_to_solution(system, 12, 4.0, **options)


def test_a_time_limit_ends_a_study_and_its_checkpoint_goes_on(tmp_path) -> None:
    system, ledger = random_regular(192, seed=2), tmp_path / "study.ledger"
    options = {"device": "cpu", "threads": 1, "seed": 1, "checkpoint": ledger}
    part = time_to_solution(system, 6, 0.25, time_limit=0.9, **options)
    assert 0 < part.runs < 6
    assert part.stopped == "time_limit"
    whole = time_to_solution(system, 6, 0.25, **options)
    assert (whole.runs, whole.stopped) == (6, "")
    assert whole.seconds[: part.runs].tolist() == part.seconds.tolist()
    with pytest.raises(BudgetError):
        time_to_solution(system, 2, 5.0, device="cpu", threads=1, seed=1, time_limit=0.05)


def test_runs_are_spread_by_threads_and_executors() -> None:
    system = random_regular(40, seed=2)
    options = {"device": "cpu", "seed": 4}
    alone = time_to_solution(system, 8, 5.0, threads=1, **options)
    side_by_side = time_to_solution(system, 8, 5.0, threads=3, **options)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        elsewhere = time_to_solution(system, 8, 5.0, executor=pool, **options)
        foreign = measure(system, Fixed(), 4, 1.0, w1=0.05, seed=1, executor=pool)
    for found in (side_by_side, elsewhere):
        assert found.sweeps.tolist() == alone.sweeps.tolist()
        assert (found.seconds > 0).all()
    assert (
        foreign.sweeps.tolist() == measure(system, Fixed(), 4, 1.0, w1=0.05, seed=1).sweeps.tolist()
    )
    assert (foreign.method, alone.method) == ("Fixed", "quasi-greedy")


def test_a_scan_has_one_checkpoint(tmp_path) -> None:
    system, ledger = random_regular(32, seed=2), tmp_path / "scan.ledger"
    options = {"device": "cpu", "threads": 1, "seed": 4, "checkpoint": ledger}
    first, again = (scan_w1(system, [0.05, 0.09], 4, 5.0, **options) for _ in range(2))
    for a, b in zip(first.results, again.results, strict=True):
        assert a.seconds.tolist() == b.seconds.tolist()


@pytest.mark.parametrize(
    "options", [{"time_limit": 0}, {"seed": 2**64}, {"progress": 3}, {"checkpoint": ""}], ids=str
)
def test_options_of_studies_are_refused(options) -> None:
    system = random_regular(12, seed=0)
    for study in (
        lambda: time_to_solution(system, 1, 1.0, **options),
        lambda: scan_w1(system, [0.05], 1, 1.0, **options),
        lambda: measure(system, Fixed(), 1, 1.0, w1=0.05, **options),
    ):
        with pytest.raises(InputError):
            study()


class Fixed:
    clones, device = 7, "elsewhere"

    def __call__(self, seed: int, timeout: float) -> tuple[bool, int, float]:
        return True, seed % 100 + 1, 0.5


def test_another_search() -> None:
    system = random_regular(12, seed=0)
    found = time_to_solution(system, 4, 1.0, seed=1, runner=Fixed())
    assert (found.clones, found.device, found.tau) == (7, "elsewhere", 0.5)
    with pytest.raises(InputError):
        time_to_solution(system, 4, 1.0, clones=5, runner=Fixed())
    with pytest.raises(InputError):
        time_to_solution(system, 4, 1.0, threads=1, runner=Fixed())
    for seed in (-1, 1.5, True):
        with pytest.raises(InputError):
            time_to_solution(system, 4, 1.0, seed=seed, runner=Fixed())
        with pytest.raises(InputError):
            scan_w1(system, [0.05], 1, 1.0, seed=seed)
    assert np.array_equal(
        found.sweeps, time_to_solution(system, 4, 1.0, seed=1, runner=Fixed()).sweeps
    )


@pytest.mark.parametrize("method", ["auto", "elimination"])
def test_a_gpu_that_was_asked_for_is_never_passed_over_in_silence(method) -> None:
    with pytest.raises(DeviceError):
        solve(random_regular(24, seed=1), method=method, device=Cuda(0))


def test_the_result_says_what_time_the_search_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row, "_SEARCH_SECONDS", 0.2)
    system = XorSystem.from_clauses([[0, 1], [1, 2], [0, 2], [0, 1], [1, 2], [0, 2]], [1, 0, 0] * 2)
    found = solve(system, **CPU)
    assert (found.stopped, found.time_limit) == ("time_limit", 0.2)
    assert json.loads(found.to_json())["time_limit"] == 0.2
    assert solve(system, time_limit=0.1, **CPU).time_limit == 0.1
    assert solve(random_regular(24, seed=1), **CPU).time_limit is None
