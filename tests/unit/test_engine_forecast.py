"""What a call would take, found by trying it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hardscape import gauge
from hardscape.engine import Outcome, forecast
from hardscape.errors import BudgetError, InputError
from hardscape.ising import density_of_states
from helpers.running import on_one_thread
from helpers.works import HarmonicSum

#: Sleeps for ten seconds in all, in parts of a tenth.
LONG = HarmonicSum(units=1000, count=100, pause=0.01)


@pytest.mark.parametrize("many", [1, 2])
def test_a_part_tells_the_whole(many: int) -> None:
    with ThreadPoolExecutor(many) as executor:
        given: dict[str, Any] = {} if many == 1 else {"executor": executor, "workers": 2}
        found = forecast(on_one_thread, LONG, **given)
    assert found.seconds is not None
    assert found.seconds > 7 / many  # sleep is never shorter
    assert 0 < found.share < 1
    assert found.tried_seconds < found.seconds
    assert (found.total, found.unit) == (1000, "terms")


def test_what_is_over_took_its_time(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    found = forecast(on_one_thread, HarmonicSum(), checkpoint=ledger, time_limit=1e-9)
    assert found.seconds is not None
    assert 0 < found.seconds <= found.tried_seconds
    assert found.share == 1
    assert not ledger.exists()


def test_where_no_part_is_over_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardscape.engine.estimates.forecast._PATIENCE", 0.2)
    works = HarmonicSum(units=10, count=1, pause=1.0)

    def whole(**run: Any) -> object:
        return on_one_thread(works, **run).whole()

    for call in (whole, lambda **run: on_one_thread(works, **run)):
        found = forecast(call)
        assert (found.seconds, found.share, found.total) == (None, 0, 10)


def test_a_chain_is_tried_too() -> None:
    found = forecast(gauge.generate, (4, 4, 4, 4), 6.0, sweeps=10**6, seed=1)
    assert found.seconds is not None
    assert found.seconds > found.tried_seconds
    assert (found.total, found.unit) == (10**6, "sweeps")


def test_a_cost_that_is_known_before_is_told() -> None:
    found = forecast(density_of_states, {(i, i + 1): -1 for i in range(11)})
    assert found.seconds is not None
    assert 0 < found.seconds < math.inf
    assert found.total == 0


def test_refusals_are_those_of_the_call() -> None:
    def refused(**run: Any) -> Outcome[Any]:
        raise BudgetError("too large")

    with pytest.raises(BudgetError, match="too large"):
        forecast(refused)
    with pytest.raises(InputError):
        forecast(gauge.generate, (4,), 6.0)
