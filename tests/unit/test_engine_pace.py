"""The pace of this machine: measured once, kept, and measured again where the machine is another."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardscape
from hardscape.engine import RunOptions, Work
from hardscape.engine.device import cpu_lanes
from hardscape.engine.estimates import pace as pace_module
from hardscape.engine.estimates.pace import giving, pace
from hardscape.errors import BudgetError
from hardscape.ising import Ising, estimate
from hardscape.ising import density as density_module
from hardscape.ising.methods.counting import CountingWork
from hardscape.ising.methods.frontier.frontier import FrontierWork
from hardscape.ising.methods.histogram.histogram import HistogramWork
from hardscape.permanents.derivatives import pace as gradient_pace
from hardscape.permanents.derivatives.gradient import plan_gradient
from hardscape.permanents.matrix import intake
from hardscape.permanents.methods import pace as permanents_pace
from hardscape.permanents.methods.method import Method
from hardscape.permanents.methods.pace import seconds_here
from hardscape.permanents.methods.table import METHODS
from hardscape.permanents.plan import check_budget, plan, unasked
from hardscape.permanents.program import prepare
from hardscape.permanents.settings import Settings
from helpers.works import HarmonicSum


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(tmp_path))
    pace_module._known.cache_clear()
    pace_module._machine.cache_clear()
    yield tmp_path / "pace.json"
    pace_module._known.cache_clear()
    pace_module._machine.cache_clear()


class Probe:
    """A work, how often it was asked for, and what it is said to take."""

    def __init__(self, said: float = 1e-3) -> None:
        self.asked, self.said = 0, said

    def __call__(self) -> tuple[Work[Any], float]:
        self.asked += 1
        return HarmonicSum(units=300, count=3), self.said


def forget() -> None:
    """As another process begins."""
    pace_module._known.cache_clear()


def test_a_pace_is_measured_once_and_kept(own_cache: Path) -> None:
    probe = Probe()
    first = pace("some", probe)
    assert first > 0
    assert pace("some", probe) == first
    assert pace("other", probe) > 0
    forget()
    assert pace("some", probe) == first
    assert probe.asked == 2
    assert pace("some", probe, lanes=2) > 0
    assert probe.asked == 3
    assert json.loads(own_cache.read_text())["machine"]["cores"] >= 1


def test_another_machine_is_measured_again(own_cache: Path) -> None:
    probe = Probe()
    pace("some", probe)
    kept = json.loads(own_cache.read_text())
    for key in kept["machine"]:
        own_cache.write_text(json.dumps(kept | {"machine": kept["machine"] | {key: "another"}}))
        forget()
        pace("some", probe)
    assert probe.asked == 1 + len(kept["machine"])


def test_what_is_kept_holds_for_an_hour(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe, now = Probe(), time.time()
    pace("some", probe)
    for later, asked in ((3000, 1), (4000, 2), (7000, 2), (-9000, 3)):  # clocks are set back, too
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        forget()
        pace("some", probe)
        assert probe.asked == asked


def test_memory_beyond_what_programs_keep_takes_time() -> None:
    assert giving(1 << 20) == 0
    assert 0 < giving(1 << 30) < 60
    assert giving(1 << 31) == pytest.approx(2 * giving(1 << 30))


def test_what_is_found_at_once_takes_as_long_as_that() -> None:
    a = np.random.default_rng(1).normal(size=(8, 8)) + 0j
    lines = {"rows": [4] * 8, "cols": [4] * 8, "device": "cpu", "threads": 1}
    planned, proven = plan(a, **lines), plan(a, full_output=True, **lines)
    assert planned.method == hardscape.permanent(a, full_output=True, **lines).method == "repeated"
    assert 0 < planned.seconds < 10
    assert planned.planning_seconds == 0 < proven.planning_seconds


def test_short_semidefinite_searches_are_tried() -> None:
    n = 40
    edges = np.triu(np.random.default_rng(1).random((n, n)) < 0.5, 1).astype(float)
    model, what = Ising(np.zeros(n), edges), {"method": "semidefinite", "threads": 1, "seed": 1}
    began = time.process_time()
    hardscape.spectrum(model, 5, **what)
    taken = time.process_time() - began
    assert taken / 10 < estimate(model, 5, **what).seconds < 10 * taken


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[]", b"{}", b'{"machine": 1}', b'{"machine": {}, "paces": 3}'],
)
def test_a_damaged_file_costs_a_measurement(own_cache: Path, content: bytes) -> None:
    own_cache.write_bytes(content)
    probe = Probe()
    assert pace("some", probe) > 0
    assert probe.asked == 1


def test_absurd_paces_are_not_believed(own_cache: Path) -> None:
    probe = Probe()
    pace("some", probe)
    kept = json.loads(own_cache.read_text())
    for absurd in (0.0, -1.0, 1e9, float("nan")):
        own_cache.write_text(json.dumps(kept | {"paces": {"some x1": absurd}}))
        forget()
        assert 0 < pace("some", probe) < 1e4


def test_without_a_folder_it_is_measured_in_each_process(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    blocked = own_cache.parent / "file"
    blocked.write_text("")
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(blocked / "below"))
    probe = Probe()
    first = pace("some", probe)
    assert pace("some", probe) == first
    assert probe.asked == 1


def test_what_takes_twice_as_long_has_twice_the_pace() -> None:
    assert pace("long", Probe(1e-4)) > 3 * pace("short", Probe(1e-3))


@pytest.mark.parametrize("row", METHODS, ids=lambda row: f"{row.name}-{row.arithmetic}-{row.shape}")
def test_every_method_of_permanents_can_be_measured(row: Method) -> None:
    work, said = permanents_pace._probe(row)
    assert 1e-3 < said < 0.1
    assert 1e-2 < pace_module._seconds(work, 1) / said < 1e2


@pytest.mark.parametrize("name", gradient_pace._WORKS)
def test_every_work_of_gradients_can_be_measured(name: str) -> None:
    work, said = gradient_pace._probe(name)
    assert 1e-3 < said < 0.1
    assert 1e-2 < pace_module._seconds(work, 1) / said < 1e2


def test_plans_of_gradients_go_by_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(1).normal(size=(28, 28))
    seconds = []
    for factor in (1.0, 50.0):
        monkeypatch.setattr(gradient_pace, "pace", lambda name, probe, lanes, f=factor: f)
        seconds.append(plan_gradient(matrix, threads=2).blocks[-1].seconds)
    assert seconds[1] == pytest.approx(50 * seconds[0])


def test_plans_go_by_the_pace_and_ways_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(1).normal(size=(28, 28))
    settings = {"device": "cpu", "threads": 2}
    answers = []
    planned = []
    for factor in (1.0, 50.0):
        monkeypatch.setattr(permanents_pace, "pace", lambda name, probe, lanes, f=factor: f)
        planned.append(plan(matrix, **settings))
        answers.append(hardscape.permanent(matrix[:22, :22], threads=2, device="cpu"))
    assert planned[1].seconds == pytest.approx(50 * planned[0].seconds)
    assert planned[1].seconds_elsewhere["1 core"] == pytest.approx(
        50 * planned[0].seconds_elsewhere["1 core"]
    )
    assert planned[0].method == planned[1].method
    assert answers[0].hex() == answers[1].hex()


def test_a_refusal_goes_by_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    options = RunOptions.checked(device="cpu", threads=1)
    choice = Settings("double", "auto", 0.0, False, None).choice(
        "real", options.devices, options.deadline
    )
    for side, factor, refused in ((44, 1e2, True), (44, 1.0, False), (48, 1e-2, False)):
        program = prepare(intake(np.random.default_rng(1).normal(size=(side, side))), choice)
        monkeypatch.setattr(permanents_pace, "pace", lambda *_, f=factor: f)
        if refused:
            with pytest.raises(BudgetError):
                check_budget(program, options)
        else:
            check_budget(program, options)


def test_short_sums_are_not_measured(own_cache: Path) -> None:
    plan(np.random.default_rng(1).normal(size=(16, 16)), device="cpu", threads=1)
    assert not own_cache.exists()
    assert seconds_here([], cpu_lanes(1)) == 0


@pytest.mark.parametrize("kind", [FrontierWork, HistogramWork])
def test_every_way_of_counting_can_be_measured(kind: type[CountingWork]) -> None:
    work, said = density_module._probe(kind)
    assert type(work) is kind
    assert 1e-2 < pace_module._seconds(work, 1) / said < 1e2


def test_a_search_is_measured_alone_and_with_others(own_cache: Path) -> None:
    model = Ising(np.zeros(30), np.triu(np.random.default_rng(3).normal(size=(30, 30)), 1))
    found = estimate(model, 10, prune=False, device="cpu", threads=2, sample_seconds=0.02)
    assert found.seconds > 0
    kept = json.loads(own_cache.read_text())["paces"]
    assert sorted(kept) == ["ising.spectrum x1", "ising.spectrum x2"]


def test_long_work_is_refused_by_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    day = 86400.0
    asked, plain = (
        RunOptions.checked(device="cpu", threads=2, time_limit=limit) for limit in (1.0, None)
    )
    monkeypatch.setattr(permanents_pace, "pace", lambda *_: 4.0)
    assert unasked(day, 2, plain) == 2 * day
    assert unasked(day / 4, 2, plain) is None
    assert unasked(day, 2, asked) is None
    monkeypatch.setattr(permanents_pace, "pace", lambda *_: 0.25)
    assert unasked(6 * day, 2, plain) is None
