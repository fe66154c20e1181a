"""Prover and walker share a thread by what each of them finds."""

import math
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardscape.maxsat import Formula
from hardscape.maxsat.methods.exact.pace import Pace
from hardscape.maxsat.methods.exact.prospects import Prospects
from hardscape.maxsat.methods.exact.sharing import Sharing, Turns, first_share
from hardscape.maxsat.result import Improvement

NONE = np.zeros(0, dtype=np.uint8)
PARTIAL = Formula.from_clauses([[1]], hard=[[1, 2]])
SOFT = Formula.from_clauses([[1], [2]])


def found(cost, hard=0):
    return Improvement(0.0, cost, hard, 0, NONE)


def idle(seconds=10.0):
    """A walker that found something in its first second, and then nothing for so many."""
    walker, best = Pace(), found(1000)
    walker.walked(1.0, None, best)
    walker.walked(seconds, best, best)
    return walker


def test_a_walker_that_finds_has_most():
    best, better = found(1000), found(999)
    sharing = Sharing(0.3, best, 0, idle(1.0), ends=time.monotonic() + 4.0)
    assert (
        sharing.of(best, 1, 9.0) == 0.9
    )  # it found something in the last three eighths of its time
    sharing.judge(best, best, 4.0)
    assert sharing.of(best, 1, 1.0) == 0.2
    sharing.judge(best, better, 0.1)
    assert sharing.of(better, 1, 1.1) == 0.9


def test_a_prover_that_finds_has_most():
    best = found(1000)
    sharing = Sharing(0.9, best, 0, idle(), ends=time.monotonic() + 4.0)
    better = found(990)
    assert sharing.of(better, 0, 2.0, able=True) == 0.2
    sharing.judge(better, better, 0.1)
    assert [sharing.of(better, 0, at, able=True) for at in (11.9, 12.1)] == [0.2, 0.9]


def limited(lower, proved, left, waited=0.8):
    """The walker's share where neither finds more, with so many seconds of the prover and left.

    The walker has waited as long, times a factor.
    """
    best, walker = found(1000), idle(waited * proved)
    return Sharing(0.3, best, 0, walker, time.monotonic() + left).of(best, lower, proved)


def test_where_the_bounds_will_not_meet_the_search_has_most():
    assert limited(lower=10, proved=1.0, left=10.0) == 0.9  # 99 s more
    assert limited(lower=10, proved=1.0, left=math.inf) == 0.3
    assert limited(lower=0, proved=0.4, left=10.0) == 0.3  # it has hardly begun
    assert limited(lower=0, proved=9.0, left=10.0) == 0.9


def test_where_limits_are_long_that_is_not_said_of_a_proof_that_had_little_of_it():
    assert limited(lower=10, proved=9.0, left=60.0) == 0.3
    assert limited(lower=10, proved=11.0, left=60.0) == 0.9
    assert limited(lower=10, proved=69.0, left=300.0) == 0.3
    assert limited(lower=10, proved=71.0, left=300.0) == 0.9


def test_a_fifth_where_it_has_waited_longer_than_the_prover():
    assert limited(lower=10, proved=11.0, left=60.0, waited=1.2) == 0.2


def test_little_is_left_to_a_walker_that_waits_where_the_bounds_are_near():
    best = found(1000)
    assert Sharing(0.5, best, 0, idle()).of(best, 799, 1.0) == 0.2
    assert Sharing(0.5, best, 0, idle()).of(best, 801, 1.0) == 0.05


@pytest.mark.parametrize("best", [None, found(3, hard=20)])
def test_the_prover_has_most_until_the_hard_clauses_hold(best):
    walker = Pace()
    walker.walked(1.0, best, best)
    assert Sharing(0.8, best, 0, walker).of(best) == 0.05
    assert (
        Sharing(0.8, best, 0, walker, prospects=Prospects(counted=True)).of(best) == 0.2
    )  # begins with linear programs
    assert Sharing(0.8, best, 0, walker).of(found(7), 0, 1.0) == 0.2  # it found that


def test_half_is_a_walkers_that_may_soon_satisfy_the_hard_clauses():
    def of(violated, seconds):
        walker, best = Pace(), found(9, hard=violated)
        walker.walked(seconds, best, best)
        return Sharing(0.8, best, 0, walker).of(best)

    assert of(1000, 0.4) == of(10, 9.0) == 0.5  # it has hardly begun; few are left
    assert of(1000, 0.6) == of(11, 9.0) == 0.05


def test_a_walker_whose_solver_seeks_a_first_assignment_is_one_of_those_who_ask():
    def of(violated):
        walker, best = Pace(), found(9, hard=violated)
        walker.walked(9.0, best, best)
        return Sharing(0.8, best, 0, walker).of(best, seeks=True)

    assert of(11) == 0.25  # the prover asks three
    assert of(10) == 2 / 3  # clause weighting may satisfy them, too


def test_without_hard_clauses_nobody_waits_long_for_a_prover_before_something_is_refuted():
    def of(proved=1.1, lower=0, bound=7, hard=False):
        walker = Pace()
        walker.walked(0.1, found(100, hard=1), best)
        walker.walked(4.0, best, best)
        sharing = Sharing(
            0.5, best, 7, walker, ends=time.monotonic() + 60.0, prospects=Prospects(hard=hard)
        )
        return sharing.of(best, lower, proved, able=True, bound=bound)

    best = found(90)
    assert [of(0.4), of()] == [0.2, 0.5]
    assert of(bound=8) == of(lower=1) == of(hard=True) == 0.2


@pytest.mark.parametrize(("idle", "share"), [(2.9, 0.9), (3.1, 0.2)])
def test_up_to_a_short_limit_the_prover_has_most_only_where_the_walker_finds_nothing(idle, share):
    best, walker = found(1000), Pace()
    walker.walked(1.0, None, best)
    walker.walked(idle, best, best)
    sharing = Sharing(0.9, best, 0, walker, time.monotonic() + 1.9)
    assert sharing.of(best, 0, 0.1) == share


def test_a_bound_that_rises_fast_enough_has_the_prover_go_on():
    best = found(1000)

    def of(*turns, left=10.0):
        sharing = Sharing(0.9, best, 0, ends=time.monotonic() + left)
        return [sharing.of(best, lower, proved) for proved, lower in turns]

    assert of((1.0, 500), (1.5, 600)) == [0.2, 0.2]  # 2 s more
    assert of((1.0, 500), (2.0, 501), (3.0, 502)) == [0.2, 0.9, 0.9]
    assert of((1.0, 500), (1.5, 600), left=1.0) == [0.9, 0.9]
    assert of((1.0, 500), (1.5, 600), left=math.inf) == [0.9, 0.9]


def test_who_has_waited_less_for_a_find_goes_on():
    def of(idle, proved, left=10.0, new=None, able=False, **told):
        best, walker = found(1000), Pace()
        sharing = Sharing(
            0.9, best, 0, walker, time.monotonic() + left, prospects=Prospects(hard=False, **told)
        )
        walker.walked(1.0, None, best)
        walker.walked(idle, best, best)
        if new:
            sharing.of(new, 0, proved - 0.1)
        return sharing.of(new or best, 0, proved, able=able, bound=1)

    assert [of(1.0, proved) for proved in (0.5, 1.5)] == [0.2, 0.9]
    assert of(0.05, 0.01) == 0.9  # a moment
    assert of(1.0, 3.0, new=found(900)) == 0.2  # its last find was just before
    assert [of(9.0, proved) for proved in (8.9, 9.1)] == [0.2, 0.9]
    assert of(1.0, 0.5, left=2.0) == 0.9  # in half of its time
    assert of(4.0, 0.5, left=2.0) == 0.2
    assert of(1.0, 0.5, able=True) == 0.2


def test_a_walker_waits_from_the_first_assignment_on():
    def of(idle):
        walker, best = Pace(), found(1000)
        sharing = Sharing(0.9, None, 0, walker, time.monotonic() + 10.0)
        walker.walked(1.0, None, None)
        assert sharing.of(found(5, hard=20), 0, 0.5) == 0.05
        sharing.of(best, 0, 1.0)
        sharing.judge(best, best, idle)
        return sharing.of(best, 0, 1.2)

    assert of(0.15) > 0.5  # not since it began, 1.15 s ago
    assert of(0.25) == 0.2


def test_how_long_it_was_in_vain_before_the_first_assignment_makes_nobody_patient():
    walker, best, better = Pace(), found(1000), found(900)
    sharing = Sharing(0.9, None, 0, walker, time.monotonic() + 10.0)
    walker.walked(10.0, None, None)
    sharing.of(None, 0, 0.5)
    sharing.of(best, 0, 1.0)
    sharing.judge(best, better, 0.3)
    assert sharing.of(better, 0, 1.1) == 0.9
    sharing.judge(better, better, 0.2)
    assert sharing.of(better, 0, 1.12) == 0.2


def test_half_is_the_provers_where_the_bounds_are_near():
    best = found(1000)

    def of(lower, first=0.9):
        walker = Pace()
        walker.walked(1.0, None, best)
        return Sharing(first, best, 100, walker, time.monotonic() + 4.0).of(best, lower, 1.0)

    assert [of(600), of(700)] == [0.9, 0.5]


def test_first_assignments_near_a_linear_program_are_waited_for():
    def shares_of(*turns, left=5.0, **told):
        sharing = Sharing(
            0.9, found(1000), 0, ends=time.monotonic() + left, prospects=Prospects(**told)
        )
        return [sharing.of(found(1000), lower, proved) for proved, lower in turns]

    turns = (0.1, 600), (0.3, 600), (0.5, 600)
    later = (0.1, 600), (0.5, 600), (0.7, 600)
    assert shares_of(*turns, first_ones=0.4) == [0.2, 0.2, 0.9]
    assert shares_of(*turns, first_ones=4.0, left=1.2) == [0.2, 0.2, 0.2]
    assert shares_of(*later, first_ones=4.0, left=1.2) == [0.2, 0.2, 0.9]
    assert shares_of(*later, first_ones=4.0, left=2.5) == [0.2] * 3  # 0.4 of it
    assert shares_of((0.1, 400), (0.3, 400), first_ones=0.4) == [0.2, 0.9]  # the bound rose
    assert shares_of(*turns) == [0.2, 0.9, 0.9]


def test_a_short_limit_is_shared_alike_until_the_hard_clauses_hold():
    best = found(7, hard=20)

    def of(left, seconds, asks=True):
        walker = Pace()
        walker.walked(seconds, best, best)
        known = Prospects(asks=asks)
        return Sharing(0.8, best, 0, walker, time.monotonic() + left, known).of(best)

    assert of(1.0, 0.9) == of(2.5, 1.5) == of(5.0, 0.7) == of(9.0, 0.4) == 0.5
    assert of(2.5, 1.7) == of(5.0, 0.9) == of(9.0, 0.6) == of(1.0, 0.9, asks=False) == 0.05


class Walks:
    """A walker that only says for how long it was let."""

    able = seeks = False

    def walk(self, seconds):
        self.seconds = seconds


@pytest.mark.parametrize(
    ("share", "limit", "let"),
    [(0.9, 1.5, 0.1), (0.9, 4.0, 0.05), (0.2, 1.5, 0.025), (0.9, math.inf, 0.0)],
)
def test_a_turn_that_ends_late_is_paid_back_the_more_the_shorter_a_limit(
    monkeypatch, share, limit, let
):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    best, walker = found(1000), Walks()
    told: Any = walker, SimpleNamespace(best=best, earned=0)
    turns = Turns(
        *told, share, Sharing(share, best, 0, ends=100.0 + limit, prospects=Prospects(hard=False))
    )
    turns._ends = 99.9
    turns.walk(0)
    assert walker.seconds == pytest.approx(let)


@pytest.mark.parametrize(("proved", "let"), [(0.5, [0.1, -0.7]), (2.0, [1.8, 1.8])])
def test_a_walker_that_has_little_pays_back_what_its_steps_take_beyond_a_turn(
    monkeypatch, proved, let
):
    clock, asked = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def walk(seconds):
        asked.append(seconds)
        clock[0] += 0.9

    best = found(1000)
    known = Prospects(counted=True, opening=1.5)
    walker: Any = SimpleNamespace(walk=walk, able=False, seeks=False)
    told: Any = SimpleNamespace(best=best, earned=0)
    turns = Turns(walker, told, 0.2, Sharing(0.2, best, 0, ends=110.0, prospects=known))
    turns._proved, turns._began = proved, 80.0
    turns.walk(0)
    turns._proved, turns._began = proved, 80.9
    turns.walk(0)
    assert asked == pytest.approx(let)


@pytest.mark.parametrize(("share", "turn"), [(0.2, 3.0), (0.9, 1 / 3)])
def test_a_long_turn_of_the_walker_makes_the_next_one_no_longer_than_itself(
    monkeypatch, share, turn
):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    best = found(1000)

    def walk(_):
        clock[0] += 3.0

    walker: Any = SimpleNamespace(walk=walk, able=False, seeks=False)
    known: Any = SimpleNamespace(best=best, earned=0)
    turns = Turns(walker, known, share, Sharing(share, best, 0, prospects=Prospects(hard=False)))
    turns.walk(1)
    assert turns._ends - clock[0] == pytest.approx(turn)


def test_short_limits_are_for_the_search():
    assert first_share(PARTIAL, None) == 0.2
    assert first_share(SOFT, None) == 0.5
    assert first_share(PARTIAL, 60.0) == 0.2
    assert first_share(PARTIAL, 16.0) == 0.5
    assert first_share(PARTIAL, 10.0) == 0.8
    assert first_share(PARTIAL, 0.1) == first_share(SOFT, 1.0) == first_share(SOFT, 2.0) == 0.9


def test_other_threads_go_on_while_the_prover_asks():
    pytest.importorskip("pysat")
    from hardscape.maxsat.methods.exact.prover.board import Board
    from hardscape.maxsat.methods.exact.prover.oracle import Oracle

    pigeons, holes = range(9), range(8)
    clauses = [[p * 8 + h + 1 for h in holes] for p in pigeons]
    pairs = [(p, q) for p in pigeons for q in range(p)]
    clauses += [[-p * 8 - h - 1, -q * 8 - h - 1] for p, q in pairs for h in holes]
    oracle = Oracle(clauses, Board())
    oracle._conflicts = 10**6  # it is over before
    asked = threading.Event()

    def interrupt():
        asked.wait()
        oracle._solver.interrupt()

    other = threading.Thread(target=interrupt)
    other.start()
    asked.set()
    answer = oracle._try([], (0, 0), math.inf, math.inf)
    other.join()
    assert answer is None  # and not that it has no solution
    oracle.delete()


def test_a_proof_by_linear_programs_has_nearly_all_of_the_time_until_it_may_have_found():
    best = found(1000)

    def of(*proved, opening, cost=901):
        sharing = Sharing(
            0.9,
            best,
            0,
            ends=time.monotonic() + 8.0,
            prospects=Prospects(counted=True, opening=opening),
        )
        assert sharing.of(best, 0, 1.0) == 0.05
        better = found(cost)
        sharing.judge(best, better, 0.1)
        return [sharing.of(better, 0, each) for each in proved]

    assert of(1.9, 2.1, opening=2.0) == [0.05, 0.9]
    assert of(1.9, 2.1, opening=2.0, cost=900) == [0.5, 0.9]  # the walker falls
    assert of(6.0, 7.0, opening=9.0) == [0.05, 0.9]


def test_and_all_of_it_while_hard_clauses_are_violated():
    best = found(1000, hard=20)

    def of(proved, left, *, counted=True):
        known = Prospects(counted=counted, opening=1.0, asks=False)
        sharing = Sharing(0.9, best, 0, ends=time.monotonic() + left, prospects=known)
        return sharing.of(best, 0, proved)

    assert [of(proved, 2.0) for proved in (0.1, 0.9, 1.1)] == [0.0, 0.0, 0.5]
    assert of(0.7, 0.8) == 0.5  # the opening is over at 0.8 of it
    assert of(0.1, 9.0) == 0.0
    assert of(0.1, 2.0, counted=False) == 0.5


def test_but_for_a_walker_of_which_fewer_are_violated_of_late():
    walker, known = Pace(), Prospects(counted=True, opening=1.0)
    walker.walked(0.4, found(9, hard=50), best := found(9, hard=30))
    ends = time.monotonic() + 9.0
    sharing = Sharing(0.9, best, 0, walker, ends=ends, prospects=known)
    assert sharing.of(best, 0, 0.1) == 0.5
    walker.walked(0.4, best, best)
    assert sharing.of(best, 0, 0.2) == 0.0


def test_so_has_a_proof_of_a_circuit_that_no_walker_is_able_to_satisfy():
    best, known = found(1000), Prospects(hard=False, opening=3.0)

    def of(proved, *, able=False, left=8.0, silent=0.6):
        walker = Pace()
        walker.walked(0.1, None, best)
        walker.walked(silent, best, best)
        sharing = Sharing(0.9, best, 0, walker, time.monotonic() + left, prospects=known)
        return sharing.of(best, 0, proved, able=able)

    assert [of(proved) for proved in (1.0, 2.9, 3.1)] == [0.0, 0.0, 0.9]
    assert of(1.0, able=True) == of(1.0, silent=0.3) == 0.9  # it may find more in a moment
    assert of(1.9, left=2.0) == 0.0  # all of a short limit


def test_the_question_for_all_clauses_has_half_of_a_long_limit_until_it_has_had_some_seconds():
    def of(proved, left, together=True):
        best, walker = found(1000), Pace()
        known = Prospects(hard=False, together=together)
        sharing = Sharing(0.9, best, 0, walker, time.monotonic() + left, prospects=known)
        walker.walked(1.0, None, best)
        walker.walked(9.0, best, best)
        return sharing.of(best, 0, proved, able=True)

    assert [of(proved, 60.0) for proved in (1.0, 4.9, 5.1)] == [0.5, 0.5, 0.9]
    assert [of(proved, 10.0) for proved in (1.0, 2.4, 2.6)] == [0.5, 0.5, 0.9]
    assert [of(proved, 2.0) for proved in (0.4, 0.6)] == [0.2, 0.9]
    assert of(1.0, 60.0, together=False) == 0.9
