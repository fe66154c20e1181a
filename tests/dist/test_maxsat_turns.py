"""Searches on an executor go in turns, and tell one another the best that they know."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Shard
from hardscape.maxsat import solve
from hardscape.maxsat.methods.walkers import local
from helpers.jobs import unsatisfiable

FORMULA = unsatisfiable()
WORK = local.LocalSearch(FORMULA, True, 1, 4, 0, endless=True, turn=0.1)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    monkeypatch.setattr(local, "_TURN", 0.05)
    with ThreadPoolExecutor(2) as threads:
        yield threads


def context(incumbent: object = None) -> Context:
    return Context(Cpu(), incumbent, np.zeros(1, dtype=np.uint8))  # type: ignore[arg-type]


def cost(partial: object) -> tuple[int, int]:
    return local._order(partial)  # type: ignore[arg-type]


def test_a_turn_ends_and_is_complete() -> None:
    began = time.monotonic()
    found = WORK.run(Shard(0, 0, 1), context())
    assert found.complete
    assert time.monotonic() - began < 10  # without turns it goes on for ever
    assert FORMULA.evaluate(found.partial["assignment"])[1] == cost(found.partial)[1]


def test_every_second_walker_begins_with_the_best() -> None:
    best = WORK.run(Shard(0, 0, 1), context()).partial
    at_once = replace(WORK, turn=np.inf, max_flips=5000)
    later = [at_once.run(Shard(i, i, i + 1), context(best)).partial for i in (1, 3, 5)]
    assert all(cost(one) <= cost(best) for one in later)
    others = [at_once.run(Shard(i, i, i + 1), context(best)).partial for i in (2, 4, 6)]
    alone = [at_once.run(Shard(i, i, i + 1), context()).partial for i in (2, 4, 6)]
    assert [cost(x) for x in others] == [cost(x) for x in alone]


def test_the_best_is_what_is_told() -> None:
    parts = [WORK.run(Shard(i, i, i + 1), context()).partial for i in range(3)]
    least = min(map(cost, parts))
    told = WORK.hint(None, parts)
    assert told is not None
    assert cost(told) == least
    assert WORK.hint(told, parts[:1]) is told or cost(parts[0]) == least
    assert replace(WORK, turn=np.inf).hint(None, parts) is None


def test_what_is_found_elsewhere_is_known_on_the_way(pool: Executor) -> None:
    seen = []
    found = solve(
        FORMULA,
        method="weighting",
        time_limit=1.5,
        seed=1,
        executor=pool,
        device="cpu",
        on_improvement=lambda better: seen.append((better.seconds, better.cost)),
    )
    assert found.stopped == "time_limit"
    assert found.cost == seen[-1][1] == FORMULA.evaluate(found.assignment)[1]
    assert seen[0][0] < 1.2  # not at the end
    assert found.flips > 0


def test_a_target_ends_all_turns(pool: Executor) -> None:
    best = solve(FORMULA, method="weighting", max_flips=20000, seed=1, device="cpu", threads=1).cost
    assert best is not None
    found = solve(
        FORMULA, method="weighting", target=best + 1, time_limit=10, seed=2, executor=pool
    )
    assert found.cost is not None
    assert found.cost <= best + 1
    assert found.stopped == ""
    assert found.seconds < 8
