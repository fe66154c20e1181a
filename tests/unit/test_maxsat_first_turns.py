"""The turns that come first: clause weighting, and a solver that seeks a first assignment."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardscape.engine import Context, Cpu
from hardscape.maxsat import Formula
from hardscape.maxsat.methods.walkers import openings
from hardscape.maxsat.methods.walkers.local import LocalSearch
from hardscape.maxsat.methods.walkers.openings import (
    FIRST_ALONE,
    falling_turns,
    finding_turns,
    first_turns,
    led_turns,
    plain_turns,
)
from hardscape.maxsat.methods.walkers.standing import Standing
from hardscape.maxsat.methods.weighting.searches import NEVER, Weighing
from hardscape.maxsat.task import SMALL
from helpers.maxsat_turns import Falling, Violating, parities

pytest.importorskip("pysat", reason="python-sat is not installed")

STOP = np.zeros(1, dtype=np.uint8)


@pytest.mark.parametrize(
    ("counts", "turns"),
    [
        ((90, 80, 30, 0, 0), 4),
        ((90, 89, 10), 2),
        ((0,), 1),
        ((99, 88, 77, 66, 55), 4),
        ((9, 8, 7, 6, 5), 4),
    ],
)
def test_clause_weighting_goes_on_while_it_falls(counts, turns):
    walker = SimpleNamespace(work=SimpleNamespace(formula=parities(100, 60)), flips=0)
    search = Violating(*counts)
    done = 0
    for which, turn in falling_turns(walker, search, 60_000):
        assert which is search
        walker.flips += turn
        done += 1
    assert done == turns


@pytest.mark.parametrize(
    ("finds", "turns"), [((), 1), ((1,), 2), ((1, 2), 4), ((1, 2, 4), 8), ((2,), 1)]
)
def test_clause_weighting_goes_on_for_as_long_as_its_last_find_took(finds, turns):
    weighing, done = Falling(), 0
    for which, turn in finding_turns(weighing, parities(100, 60)):
        assert which is weighing
        assert turn == openings.OPENING
        done += 1
        weighing.least -= done in finds
    assert done == turns


@pytest.mark.parametrize(
    ("finds", "turns"), [((), 3), ((1,), 3), ((2,), 4), ((2, 4), 8), ((4,), 3)]
)
def test_clause_weighting_that_is_led_goes_on_for_as_long_as_its_last_find_took(finds, turns):
    weighing, done = Falling(), 0
    for _, turn in led_turns(weighing):
        assert turn == 100_000
        done += 1
        weighing.least -= done in finds
    assert done == turns


class Seeking:
    """A solver that has no first assignment yet."""

    given_up = False

    def cost(self):
        return NEVER, 0


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        ((9, 5, 2), "SWSW"),
        ((1000,), "SS"),
        ((9,), "SWSwSw"),  # until it is seen that it has found nothing of late
    ],
)
def test_a_solver_seeks_a_first_assignment_beside_clause_weighting_that_comes_close(counts, shares):
    formula = parities(100, 60)
    walker = SimpleNamespace(work=SimpleNamespace(formula=formula), flips=9000)
    weighing, solver = SimpleNamespace(hard=list(counts)), Seeking()
    weighing.cost = lambda: (weighing.hard[0], 0)
    standing = Standing(walker, formula)
    had = ""
    for search, turn in first_turns(walker, solver, weighing, standing):
        assert standing.seeks
        if search is weighing:
            had += "w" if turn == FIRST_ALONE else "W"
            del weighing.hard[: len(weighing.hard) > 1]
        else:
            assert turn == 4 * FIRST_ALONE
            had += "S"
        walker.flips += turn
    assert had.startswith(shares)
    assert walker.flips < 10**7
    assert not standing.seeks


@pytest.mark.parametrize(("cost", "asked"), [(10, 1), (11, 0)])
def test_all_clauses_are_not_asked_for_where_much_is_violated(cost, asked):
    formula = Formula.from_clauses([[v] for v in range(1, 101)], hard=[[1, 2]])
    walker = SimpleNamespace(work=SimpleNamespace(formula=formula, target=0), stop=STOP)
    best = SimpleNamespace(cost=lambda: (0, cost), best=lambda: np.zeros(100, dtype=np.uint8))
    assert len(list(plain_turns(walker, best))) == asked


def test_clause_weighting_has_enough_for_all_of_its_searches_to_begin():
    def vain(formula):
        return len(list(finding_turns(Falling(), formula)))

    assert vain(parities(10_000, 60)) == 2  # 24 * (4096 + 10,000) flips
    assert vain(parities(100_000, 60)) == 3
    assert vain(Formula.from_clauses([[1], [-1], [100_000]])) == 1  # none is hard


@pytest.mark.parametrize(("variables", "large"), [(100, False), (1000, True)])
def test_clause_weighting_begins_with_as_many_flips_as_cores_had(variables, large):
    formula = parities(variables, 2 * variables)
    assert (len(formula.literals) > SMALL) is large
    walker = LocalSearch(formula, False, 1, 1, 0).walker(0, Context(Cpu(), None, STOP))
    for search, turn in walker._schedule:
        if isinstance(search, Weighing):
            assert (turn >= max(50_000, walker.flips)) is large
            return
        walker.flips += search.run(turn, STOP)
