"""Running works: the same answer whoever runs the shards, and what ends a run early."""

import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hardscape import errors
from hardscape.engine import (
    Context,
    Device,
    Outcome,
    ProgressEvent,
    RunOptions,
    Shard,
    ShardResult,
    resolve,
    solve,
)
from helpers.running import run as run_work
from helpers.works import Failing, FirstHit, HarmonicSum, Lowest, harmonic, scrambled


def cpus(threads: int) -> tuple[Device, ...]:
    return resolve("cpu", threads=threads)


def raw(outcome: Outcome) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_answer_is_the_same_bit_for_bit(threads: int) -> None:
    work = HarmonicSum(unfair=True)
    outcome = run_work(work, devices=cpus(threads))
    assert raw(outcome) == {key: x.tobytes() for key, x in harmonic(work).items()}
    assert outcome.complete
    assert outcome.stopped == ""
    assert (outcome.shards_done, outcome.shards_total) == (23, 23)
    assert (outcome.units_done, outcome.units_total) == (997, 997)
    assert outcome.resumed_shards == 0


def test_no_shards() -> None:
    outcome = run_work(HarmonicSum(units=0), devices=cpus(2))
    assert outcome.partial is None
    assert outcome.complete


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_incumbents_do_not_change_the_answer(threads: int) -> None:
    work = Lowest()
    outcome = run_work(work, devices=cpus(threads))
    best = sorted((scrambled(k), k) for k in range(work.units))[: work.keep]
    assert outcome.partial is not None
    assert outcome.partial["value"].tolist() == [value for value, _ in best]
    assert outcome.partial["unit"].tolist() == [unit for _, unit in best]


@dataclass(frozen=True)
class Witness(Lowest):
    """Records whether its shards were given an incumbent."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        seen.append(context.incumbent is not None)
        return super().run(shard, context)


seen: list[bool] = []


def test_all_shards_but_the_first_see_an_incumbent() -> None:
    seen.clear()
    run_work(Witness(), devices=cpus(1))
    assert seen == [False] + [True] * 39


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_first_shard_that_settles_it_decides(threads: int) -> None:
    work = FirstHit(targets=(390, 130, 131, 310))
    outcome = run_work(work, devices=cpus(threads))
    assert outcome.partial is not None
    assert outcome.partial["hits"].tolist() == [130, 131]
    assert outcome.complete
    assert outcome.stopped == "finished"
    assert outcome.shards_done < outcome.shards_total


def test_nothing_settles_it() -> None:
    outcome = run_work(FirstHit(), devices=cpus(7))
    assert outcome.complete
    assert outcome.stopped == ""


def test_executor_that_does_not_tell_its_workers() -> None:
    @dataclass
    class Immediate:
        most: int = 0

        def submit(self, function, *args):
            future: Future = Future()
            future.set_result(function(*args))
            return future

    outcome = run_work(HarmonicSum(), devices=cpus(1), executor=Immediate(), workers=2)
    assert raw(outcome) == raw(run_work(HarmonicSum(), devices=cpus(3)))
    # There is always a report waiting; the clock is looked at nevertheless.
    work = HarmonicSum(units=10**6, count=10**6)
    outcome = run_work(work, devices=cpus(1), executor=Immediate(), workers=2, time_limit=0.2)
    assert outcome.stopped == "time_limit"
    assert outcome.seconds < 10


def test_shards_in_flight_are_twice_the_workers() -> None:
    class Patient(ThreadPoolExecutor):
        waiting = 0
        most = 0

        def submit(self, function, /, *args):
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            future = super().submit(function, *args)
            future.add_done_callback(self.left)
            return future

        def left(self, _: object) -> None:
            self.waiting -= 1

    with Patient(1) as pool:
        run_work(HarmonicSum(units=200, count=100), devices=cpus(1), executor=pool)
        assert pool.most == 2
        pool.most = 0
        run_work(HarmonicSum(units=200, count=100), devices=cpus(1), executor=pool, workers=3)
        assert pool.most <= 6


@pytest.mark.parametrize("threads", [1, 4])
def test_time_limit_returns_the_best_so_far(threads: int) -> None:
    work = HarmonicSum(units=4000, count=40, pause=0.002)
    outcome = run_work(work, devices=cpus(threads), time_limit=0.5)
    assert not outcome.complete
    assert outcome.stopped == "time_limit"
    assert 0 < outcome.shards_done < 40
    assert outcome.units_done == 100 * outcome.shards_done
    assert outcome.signum == 0
    assert outcome.partial is not None
    # Shards that were stopped on the way count too.
    assert outcome.units_done < outcome.partial["terms"] < 4000
    # What is left goes on at the pace of what is done.
    left = (4000 - outcome.units_done) / outcome.units_done
    assert outcome.needed == pytest.approx(outcome.seconds * left, rel=1e-2)


def test_tiny_time_limit_still_returns() -> None:
    work = HarmonicSum(units=4000, count=40, pause=0.002)
    outcome = run_work(work, devices=cpus(2), time_limit=1e-9)
    assert outcome.stopped == "time_limit"
    assert outcome.shards_done <= 2


@pytest.mark.parametrize("limit", [1e300, float("inf"), 1e5])
def test_generous_time_limit(limit: float) -> None:
    outcome = run_work(HarmonicSum(), devices=cpus(2), time_limit=limit)
    assert outcome.complete
    assert outcome.needed == 0


def test_bad_arguments() -> None:
    for limit in (0, -1.0, float("nan")):
        with pytest.raises(errors.InputError):
            run_work(HarmonicSum(), devices=cpus(1), time_limit=limit)
    with pytest.raises(errors.InputError):
        run_work(HarmonicSum(), devices=())
    with pytest.raises(errors.InputError):
        run_work(HarmonicSum(), devices=cpus(1), executor=object())
    with pytest.raises(errors.InputError), ThreadPoolExecutor(1) as pool:
        run_work(HarmonicSum(), devices=cpus(1), executor=pool, workers=0)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_in_a_shard_comes_out(threads: int, tmp_path: Path) -> None:
    ledger = tmp_path / "job"
    with pytest.raises(ZeroDivisionError, match="shard 5"):
        run_work(Failing(), devices=cpus(threads), checkpoint=ledger)
    # What was complete is in the ledger, and the repaired work goes on from there.
    repaired = run_work(Failing(culprit=-1), devices=cpus(threads), checkpoint=ledger)
    assert repaired.complete
    # Shards start in order, so only those beside the culprit can be missing.
    assert repaired.resumed_shards >= 5 - (threads - 1)
    assert raw(repaired) == raw(run_work(HarmonicSum(), devices=cpus(1)))


def test_an_exception_stops_the_other_shards() -> None:
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        run_work(Failing(units=4000, count=2, pause=0.01, culprit=1), devices=cpus(2))
    assert time.monotonic() - began < 10  # the other shard alone would take 20 s


def test_run_works_outside_the_main_thread() -> None:
    outcomes = []
    thread = threading.Thread(
        target=lambda: outcomes.append(run_work(HarmonicSum(), devices=cpus(2)))
    )
    thread.start()
    thread.join()
    assert raw(outcomes[0]) == raw(run_work(HarmonicSum(), devices=cpus(1)))


def test_progress_events_grow_to_the_total() -> None:
    events: list[ProgressEvent] = []
    run_work(
        HarmonicSum(units=400, count=40, pause=0.002),
        devices=cpus(2),
        progress=events.append,
    )
    assert (events[0].done, events[0].eta) == (0, None)
    assert events[-1].done == events[-1].total == 400
    assert events[-1].eta == 0
    assert {event.unit for event in events} == {"terms"}
    assert len(events) > 3
    for before, after in pairwise(events):
        assert before.done <= after.done
        assert before.seconds <= after.seconds


def test_resumed_units_do_not_count_as_speed(tmp_path: Path) -> None:
    work = HarmonicSum(units=400, count=40, pause=0.002)
    first = run_work(work, devices=cpus(2), checkpoint=tmp_path / "job", time_limit=0.2)
    events: list[ProgressEvent] = []
    run_work(work, devices=cpus(2), checkpoint=tmp_path / "job", progress=events.append)
    assert events[0].done == first.units_done > 0
    assert events[0].eta is None
    for event in events[1:]:
        speed = (event.done - first.units_done) / event.seconds
        if speed:
            assert event.eta == pytest.approx((400 - event.done) / speed)


def test_an_exception_of_the_progress_function_ends_the_run() -> None:
    def grumble(event: ProgressEvent) -> None:
        if event.done:
            raise LookupError("enough")

    with pytest.raises(LookupError):
        run_work(HarmonicSum(pause=0.001), devices=cpus(2), progress=grumble)


@dataclass(frozen=True)
class Brief(HarmonicSum):
    """A harmonic sum that records which threads its shards run on."""

    interrupt: int = -1

    def brief(self, device: Device) -> bool:
        return True

    def run(self, shard: Shard, context: Context) -> ShardResult:
        threads.add(threading.current_thread().name)
        if shard.index == self.interrupt:
            result = super().run(shard, context)
            signal.raise_signal(signal.SIGINT)
            return result
        if context.stopped():
            return ShardResult({"sum": np.zeros(()), "terms": np.zeros(())}, complete=False)
        return super().run(shard, context)


threads: set[str] = set()


@pytest.mark.parametrize(("lanes", "count"), [(1, 23), (3, 1)])
def test_brief_shards_on_one_lane_start_no_thread(lanes: int, count: int) -> None:
    threads.clear()
    work = Brief(count=count)
    outcome = solve(work, RunOptions.checked(threads=lanes))
    assert raw(outcome) == {key: x.tobytes() for key, x in harmonic(work).items()}
    assert threads == {threading.current_thread().name}
    assert (outcome.complete, outcome.stopped) == (True, "")
    assert (outcome.shards_done, outcome.units_done) == (count, 997)


def test_brief_shards_on_many_lanes_do() -> None:
    threads.clear()
    outcome = solve(Brief(), RunOptions.checked(threads=2))
    assert threading.current_thread().name not in threads
    assert outcome.complete


def test_brief_shards_keep_the_time_limit() -> None:
    outcome = solve(Brief(pause=0.002), RunOptions.checked(threads=1, time_limit=0.2))
    assert outcome.stopped == "time_limit"
    assert 0 < outcome.shards_done < 23
    assert outcome.partial is not None
    with pytest.raises(errors.BudgetError):
        outcome.whole()


def test_brief_shards_hear_ctrl_c() -> None:
    outcome = solve(Brief(interrupt=7, pause=0.001), RunOptions.checked(threads=1))
    assert (outcome.stopped, outcome.shards_done) == ("SIGINT", 8)
    assert outcome.partial is not None
    with pytest.raises(errors.Interrupted):
        outcome.whole()


def test_a_settled_answer_ends_brief_shards() -> None:
    class BriefHit(FirstHit):
        def brief(self, device: Device) -> bool:
            return True

    slow = solve(FirstHit(targets=(33, 200)), RunOptions.checked(threads=1))
    outcome = solve(BriefHit(targets=(33, 200)), RunOptions.checked(threads=1))
    assert raw(outcome) == raw(slow)
    assert (outcome.stopped, outcome.complete) == (slow.stopped, True)


def test_the_answer_is_what_the_work_makes_of_its_partial() -> None:
    work = HarmonicSum()
    outcome = solve(work, RunOptions.checked(threads=2))
    assert outcome.partial is not None
    assert outcome.answer == outcome.whole() == work.result(outcome.partial)
    assert solve(HarmonicSum(units=0), RunOptions.checked()).answer is None


@pytest.mark.parametrize("threads", [1, 3])
def test_a_shard_that_ends_early_by_itself_is_not_run_again(threads: int) -> None:
    attempts: list[int] = []

    class Halting(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            attempts.append(shard.index)
            found = super().run(shard, context)
            return ShardResult(found.partial, complete=shard.index % 5 != 4)

    outcome = run_work(Halting(), devices=cpus(threads))
    assert not outcome.complete
    assert outcome.shards_done == 19
    assert sorted(attempts) == list(range(23))
    assert outcome.partial is not None
    assert outcome.partial["terms"] == 997


@dataclass(frozen=True)
class Telling(HarmonicSum):
    """Says what it knows while its one shard runs, until somebody has asked for it."""

    asked: tuple[threading.Event, ...] = (threading.Event(),)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        until = time.monotonic() + 30
        while not self.asked[0].wait(0.02) and time.monotonic() < until:
            context.tell({"sum": np.asarray(7.0), "terms": np.asarray(1)})
        return super().run(shard, context)

    def bounds(self, parts, done):
        if not parts:
            return None
        self.asked[0].set()
        return float(parts[-1]["sum"]), -float(len(done))


def test_what_a_running_shard_tells_is_told() -> None:
    work = Telling(count=1)
    outcome = run_work(work, devices=cpus(1))
    assert [row[1:] for row in outcome.bounds] == [(7.0, 0.0)]
    assert raw(outcome) == {key: x.tobytes() for key, x in harmonic(HarmonicSum(count=1)).items()}
    # Where nobody listens, nothing happens.
    Context(cpus(1)[0], None, np.zeros(1, dtype=np.uint8)).tell({})
