"""Works on other processes: the same bytes, early ends, limits, and errors that come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hardscape.engine import Outcome, RunOptions, Work, solve
from helpers.works import Failing, FirstHit, HarmonicSum, Lowest


def solved(work: Work[Any], **options: Any) -> Outcome[Any]:
    return solve(work, RunOptions.checked(device="cpu", threads=1, **options))


def raw(outcome: Outcome[Any]) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


@pytest.mark.parametrize("work", [HarmonicSum(), HarmonicSum(unfair=True), Lowest()])
def test_the_answer_is_the_same_bit_for_bit(executor, work):
    outcome = solved(work, executor=executor)
    assert outcome.complete
    fair = replace(work, unfair=False) if isinstance(work, HarmonicSum) else work
    assert raw(outcome) == raw(solved(fair))


def test_the_first_shard_that_settles_it_decides(executor):
    outcome = solved(FirstHit(targets=(50, 300)), executor=executor)
    assert outcome.partial is not None
    assert outcome.partial["hits"].tolist() == [50]
    assert outcome.stopped == "finished"


def test_a_time_limit_ends_shards_in_their_middle(executor):
    solved(HarmonicSum(), executor=executor)  # starts the workers
    work = HarmonicSum(units=4000, count=2, pause=0.01)
    outcome = solved(work, executor=executor, time_limit=0.5)
    assert outcome.stopped == "time_limit"
    assert outcome.shards_done == 0
    assert outcome.seconds < 10  # each shard alone would take 20 s
    assert outcome.partial is not None
    assert 0 < outcome.partial["terms"] < 4000


def test_an_exception_comes_out_and_the_executor_goes_on(executor):
    with pytest.raises(ZeroDivisionError):
        solved(Failing(), executor=executor)
    assert solved(HarmonicSum(), executor=executor).complete


def test_a_ledger_goes_from_processes_to_threads(executor, tmp_path):
    work = HarmonicSum(units=400, count=40, pause=0.002)
    first = solved(work, executor=executor, checkpoint=tmp_path / "job", time_limit=0.2)
    rest = solved(work, checkpoint=tmp_path / "job")
    assert rest.complete
    assert rest.resumed_shards == first.shards_done
    assert raw(rest) == raw(solved(HarmonicSum(units=400, count=40)))
