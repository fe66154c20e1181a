"""When a proof begins beside a search, by how that gets on and by what is known of the formula."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardscape.benchmarks.maxsat.formulas import partial_3sat
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.methods.exact import exact, near, pace
from hardscape.maxsat.methods.exact.pace import Pace
from hardscape.maxsat.methods.walkers import local
from hardscape.maxsat.result import Improvement

NONE = np.zeros(0, dtype=np.uint8)
PARTIAL = Formula.from_clauses([[1]], hard=[[1, 2]])
SOFT = Formula.from_clauses([[1], [2]])


def found(cost, hard=0):
    return Improvement(0.0, cost, hard, 0, NONE)


def test_first_assignments_come_where_literals_are_few_for_each_wish():
    def formula(literals, wishes=1):
        hard = [[-1, *range(2, literals)]]
        return Formula.from_clauses([[1]] * wishes, hard=hard)

    assert [pace.first_ones(formula(n)) for n in (50, 70)] == [0.6, 0.0]
    assert pace.first_ones(formula(40_000, 1000)) == pytest.approx(2.2e-5 * 41_000, rel=0.01)
    assert pace.first_ones(SOFT) == 0.0


def test_a_walker_is_still_where_three_quarters_of_its_time_were_in_vain():
    walker, best = Pace(), found(1000)
    assert walker.still(1.0)
    walker.walked(1.0, None, found(5, hard=2))
    assert walker.still(1.0)  # the hard clauses do not hold yet
    walker.walked(1.0, found(5, hard=2), best)
    assert not walker.still(1.0)
    walker.walked(5.9, best, best)
    assert [walker.still(part) for part in (1.0, 0.99)] == [False, True]
    walker.walked(0.2, best, best)
    assert walker.still(1.0)
    assert (walker.seconds, walker.idle) == (pytest.approx(8.1), pytest.approx(6.1))


@pytest.mark.parametrize("gets_on", [True, False])
def test_up_to_a_short_limit_a_prover_waits_for_a_search_that_gets_on(gets_on, monkeypatch):
    pytest.importorskip("pysat")
    pytest.importorskip("rustsat")
    monkeypatch.setattr(Pace, "still", lambda self, *_: not gets_on)
    monkeypatch.setattr(pace, "_SECONDS", 0.0)  # on a busy machine it takes long
    for module in (exact, near):
        monkeypatch.setattr(module, "SMALL", 0)  # of small formulas it does not
    n, soft, weights, hard = partial_3sat(150, 800, 0.3, 1)
    formula = Formula.from_clauses(soft, weights, hard=[*hard, [1, 2]], num_variables=n)
    result = solve(formula, seed=1, time_limit=1.5, threads=1, device="cpu")
    assert any("exact" in part for part in result.ran) != gets_on
    assert formula.evaluate(result.assignment)[0] == 0


@pytest.mark.parametrize(
    ("literals", "clauses", "each", "pays"),
    [
        (100_000, 9000, 10, "1234"),
        (100_001, 9000, 10, ""),  # not in time
        (100_000, 1500, 10, ""),  # 1500 wishes are few
        (100_000, 9000, 200, ""),  # a search that falls
    ],
)
def test_linear_programs_that_are_solved_soon_do_not_wait_for_a_search_that_gets_on(
    literals, clauses, each, pays, monkeypatch
):
    monkeypatch.setattr(pace, "programs_first", lambda formula: True)
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(1000), earned=1),
        options=SimpleNamespace(deadline=SimpleNamespace(left=1.0)),
        presolved=SimpleNamespace(
            formula=SimpleNamespace(literals=range(literals), num_clauses=clauses, num_hard=1)
        ),
    )
    walker, when, best = Pace(), "", found(1000)
    walker.walked(0.01, None, best)
    for tenth in range(5):
        when += str(tenth) * pace.proof_pays(task, walker, 1.0, able=True)
        before, best = best, found(best.cost - each)
        walker.walked(0.1, before, best)
    assert when == pays


def test_a_search_falls_whose_best_costs_a_tenth_less_than_after_a_quarter_of_its_time():
    def falls(*costs):
        walker, bests = Pace(), [found(cost) for cost in costs]
        walker.walked(0.01, None, found(2000, hard=1))
        walker.walked(0.09, None, bests[0])
        for before, after in itertools.pairwise(bests):
            walker.walked(0.1, before, after)
        return walker.falls

    assert not Pace().falls
    assert [falls(1000), falls(1000, 900), falls(1000, 901)] == [False, True, False]
    assert [falls(1000, 800, 790, 789), falls(1000, *range(800, 790, -1))] == [True, False]


def test_a_search_that_waited_for_half_of_its_time_does_not_fall():
    walker, best, better = Pace(), found(1000), found(800)
    walker.walked(0.1, None, best)
    walker.walked(0.1, best, better)
    walker.walked(0.15, better, better)
    assert walker.falls
    walker.walked(0.1, better, better)
    assert not walker.falls


def test_what_others_found_is_no_fall_of_a_search():
    walker, best, better = Pace(), found(1000), found(500)
    walker.walked(0.1, None, best)
    walker.walked(0.1, better, better)
    assert not walker.falls
    walker.walked(0.1, better, found(450))
    assert walker.falls


def waiting(literals: int, lower: int, left: float, idle: float) -> tuple[Any, Pace]:
    """A task of so many literals whose walker found a cost of 8 and a bound, and then nothing for so long."""
    best = found(8)
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=best, earned=lower),
        options=SimpleNamespace(deadline=SimpleNamespace(left=left)),
        presolved=SimpleNamespace(
            formula=SimpleNamespace(literals=range(literals), num_clauses=1, num_hard=1)
        ),
    )
    stuck = Pace()
    stuck.walked(idle, best, best)
    return task, stuck


@pytest.mark.parametrize(
    ("literals", "lower", "left", "idle", "pays"),
    [
        (200_000, 2, 0.7, 0.35, True),
        (600_000, 2, 0.7, 1.0, False),  # no time is left for it
        (600_000, 2, 1.0, 1.0, True),
        (
            400_000,
            2,
            0.7,
            0.5,
            False,
        ),  # the search has not waited as long as a proof takes to begin
        (400_000, 2, 0.7, 0.7, True),
        (400_000, 1, 1.0, 1.0, False),  # nor, where it promises little, to find something
        (40_000, 1, 1.0, 0.7, False),
        (40_000, 1, 1.0, 0.9, True),
    ],
)
def test_a_prover_that_takes_long_to_begin_does_not_begin_late_or_soon(
    literals, lower, left, idle, pays, monkeypatch
):
    monkeypatch.setattr(pace, "programs_first", lambda formula: False)
    task, stuck = waiting(literals, lower, left, idle)
    assert pace.proof_pays(task, stuck, 2.0, able=True) == pays


def test_the_longer_a_limit_the_less_a_proof_that_promises_little_is_waited_for(monkeypatch):
    monkeypatch.setattr(pace, "programs_first", lambda formula: False)
    pays = {}
    for limit in (2.0, 4.0):
        task, stuck = waiting(20_000, 1, limit, 0.3)
        pays[limit] = pace.proof_pays(task, stuck, limit, able=True)
    assert pays == {2.0: False, 4.0: True}


def test_a_search_has_less_of_a_limit_alone_the_longer_that_is():
    assert [pace.alone(limit) for limit in (0.5, 2.0, 2.5, 4.0, 20.0)] == [0.5, 2.0, 1.6, 1.0, 0.2]
    assert pace.alone(math.inf) == 0.0


@pytest.mark.parametrize(
    ("limit", "lower", "pays"),
    [
        (1.0, 0, "2345678"),  # three quarters of its time were in vain
        (1.5, 0, "2345678"),
        (4.0, 0, "12345678"),
        (10.0, 0, "12345678"),
        (4.0, 50, "12345678"),
        (10.0, 50, "12345678"),
    ],
)
def test_a_proof_begins_where_the_search_finds_nothing(limit, lower, pays):
    best = found(100)
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=best, earned=lower),
        options=SimpleNamespace(deadline=SimpleNamespace(left=limit)),
        presolved=SimpleNamespace(formula=PARTIAL),
    )
    walker = Pace()
    walker.walked(0.06, None, best)
    when = ""
    for tenth in range(1, 9):
        walker.walked(0.1, best, best)
        when += str(tenth) * pace.proof_pays(task, walker, limit, able=True)
        asking = pace.proof_pays(task, walker, limit, able=True, asking=True)
        assert asking == (lower > 0)  # where its bound promises something a proof begins at once
    assert when == pays


def test_a_proof_waits_for_a_question_unless_nothing_else_is_better():
    soft = Formula.from_clauses([[1, 2], [-1, 2], [1, -2], [-1, -2]], [3, 4, 5, 6])
    for cost, limit in ((3, 1.0), (4, 1.0), (3, 4.0), (4, 4.0)):
        best = found(7 + cost)
        task: Any = SimpleNamespace(
            incumbent=SimpleNamespace(best=best, earned=0),
            options=SimpleNamespace(deadline=SimpleNamespace(left=limit)),
            presolved=SimpleNamespace(formula=soft, constant=7),
        )
        assert pace.only_all_are_better(task) == (cost == 3)
        walker = Pace()
        walker.walked(0.1, None, best)
        assert not pace.proof_pays(task, walker, limit, able=True, asking=True)
        walker.walked(2.0, best, best)
        begins = pace.proof_pays(task, walker, limit, able=True, asking=True)
        assert begins == (cost == 3 and limit == 4.0)
    task.incumbent.best = None
    assert not pace.only_all_are_better(task)


@pytest.mark.parametrize(("limit", "pays"), [(2.0, ""), (4.0, "AB"), (8.0, "56789AB")])
def test_a_search_that_finds_something_is_alone_for_so_long(limit, pays):
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=limit)),
        presolved=SimpleNamespace(formula=SOFT),
    )
    walker, when = Pace(), ""
    for tenth in range(12):
        when += f"{tenth:X}" * pace.proof_pays(task, walker, limit, able=False)
        walker.walked(0.1001, found(1000 - 10 * tenth), found(990 - 10 * tenth))
    assert when == pays


def test_assignments_near_a_linear_program_are_begun_with_if_the_limit_lets_them():
    formula = Formula.from_clauses([[-1], [-2]], hard=[[1, 2]] * 1000 + [[1, -2]])
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100), earned=50),
        options=SimpleNamespace(deadline=SimpleNamespace(left=1.0)),
        presolved=SimpleNamespace(formula=PARTIAL),
    )
    walker = Pace()
    walker.walked(0.1, None, found(100))
    assert pace.proof_pays(task, walker, 1.0, able=True)
    task.incumbent.earned = 0
    assert not pace.proof_pays(task, walker, 1.0, able=True)
    task.incumbent.earned, task.options.deadline.left = 50, 0.5
    assert not pace.proof_pays(task, walker, 0.6, able=True)
    task.options.deadline.left, task.presolved.formula = 1.0, formula
    assert not pace.proof_pays(task, walker, 1.0, able=True)


@pytest.mark.parametrize(
    ("limit", "pays"),
    [
        (5.0, [(0.8, False), (2.9, False), (3.0, True)]),
        (3.0, [(1.7, False), (1.8, True)]),
        (2.0, [(0.5, False), (0.6, True)]),  # it is stuck, and a short limit leaves less
    ],
)
def test_a_proof_waits_for_a_solver_that_seeks_a_first_assignment(limit, pays, monkeypatch):
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100, hard=20), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=1.0)),
        presolved=SimpleNamespace(formula=SimpleNamespace(literals=range(1000))),
    )
    monkeypatch.setattr(pace, "asks_in_vain", lambda task: True)
    monkeypatch.setattr(pace, "leads", lambda formula: False)
    monkeypatch.setattr(Pace, "stuck", True)
    for seconds, begins in pays:
        walker = Pace()
        walker.walked(seconds, None, found(100, hard=20))
        assert pace.proof_pays(task, walker, limit, able=False, seeks=True) == begins
        assert pace.proof_pays(task, walker, limit, able=False) == (seconds >= 0.6)


def test_a_search_that_ends_before_a_proof_does_not_begin_anew(monkeypatch):
    began = []
    begin = local.Walker.__init__
    for module in (exact, near):
        monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(exact, "proof_pays", lambda *_, **__: False)
    monkeypatch.setattr(local.Walker, "__init__", lambda *told: began.append(begin(*told)))
    n, soft, weights, hard = partial_3sat(40, 300, 0.3, 1)
    formula = Formula.from_clauses(soft, weights, hard=[*hard, [1, 2]], num_variables=n)
    solve(formula, seed=1, time_limit=1.0, threads=1, device="cpu")
    assert len(began) <= 2  # the first moments may end one


def circuit(gates, inputs=2):
    """XOR gates of neighbours."""
    hard = []
    for z in range(inputs + 1, gates + inputs + 1):
        x, y = z - 2, z - 1
        hard += [[-z, x, y], [-z, -x, -y], [z, -x, y], [z, x, -y]]
    return Formula.from_clauses([[1]], hard=hard)


def test_variables_of_circuits_occur_seldom():
    assert [pace.opening(circuit(1700), left) for left in (0.5, 0.6, 2.0, 8.0, math.inf)] == [
        0.0,  # too late
        0.6,
        2.0,
        0.5,  # both have time
        0.0,
    ]
    assert pace.opening(circuit(100), 2.0) == 2.0
    hard = [[-1, *range(2, 9)]] * 3000
    assert pace.opening(Formula.from_clauses([[1]], hard=hard), 2.0) == 0.0


def test_a_proof_of_a_circuit_begins_where_the_search_is_silent_and_asks_a_solver():
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=1.5)),
        presolved=SimpleNamespace(formula=circuit(1700)),
    )

    def pays(seconds, left, able=False):
        task.options.deadline.left = left
        walker = Pace()
        walker.walked(0.3, None, task.incumbent.best)
        walker.walked(seconds - 0.3, task.incumbent.best, task.incumbent.best)
        return pace.proof_pays(task, walker, 2.0, able=able)

    assert [pays(0.6, 1.4), pays(0.9, 1.1), pays(0.9, 0.65)] == [False, True, False]
    assert not pays(0.9, 1.1, able=True)


def test_a_search_is_silent_where_half_of_its_time_and_half_a_second_were_in_vain():
    told, best = [], found(100)
    for first, later in ((0.1, 0.3), (0.1, 0.6), (1.0, 0.6), (1.0, 1.1)):
        walker = Pace()
        walker.walked(first, None, best)
        walker.walked(later, best, best)
        told.append(walker.silent)
    assert told == [False, True, False, True]


def test_up_to_a_short_limit_a_proof_begins_where_the_search_finds_nothing():
    best = found(100)
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=best, earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=0.9)),
        presolved=SimpleNamespace(formula=PARTIAL),
    )
    walker, when = Pace(), ""
    walker.walked(0.06, None, best)
    for twentieth in range(1, 8):
        when += str(twentieth) * pace.proof_pays(task, walker, 1.0, able=True)
        walker.walked(0.05, best, best)
    assert when == "567"


def test_where_hard_clauses_are_violated_that_a_solver_is_asked_about_only_leading_programs_begin(
    monkeypatch,
):
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100, hard=1), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=0.9)),
        presolved=SimpleNamespace(formula=PARTIAL),
    )
    walker = Pace()
    walker.walked(0.5, None, found(100, hard=1))
    monkeypatch.setattr(pace, "asks_first", lambda formula: True)
    for leads in (False, True):
        monkeypatch.setattr(pace, "programs_first", lambda formula, leads=leads: leads)
        assert pace.proof_pays(task, walker, 1.0, able=False) == leads


@pytest.mark.parametrize(
    ("literals", "since", "pays"),
    [(3, 0.5, True), (3, 0.2, False), (80_000, 0.5, True), (90_000, 0.5, False)],
)
def test_a_walk_that_asks_a_solver_and_is_stuck_is_not_waited_for(
    literals, since, pays, monkeypatch
):
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100, hard=1), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=1.3)),
        presolved=SimpleNamespace(formula=SimpleNamespace(literals=range(literals))),
    )
    walker = Pace()
    walker.walked(0.1, None, found(100, hard=3))
    walker.walked(0.6 - since, found(100, hard=3), found(100, hard=1))
    for name, value in (("asks_first", True), ("programs_first", False)):
        monkeypatch.setattr(pace, name, lambda formula, value=value: value)
    monkeypatch.setattr(pace, "leads", lambda formula: False)
    for left, then in ((1.3, False), (1.3 - since, pays)):
        task.options.deadline.left = left
        assert pace.proof_pays(task, walker, 2.0, able=False) == then
        walker.walked(since, found(90, hard=1), found(90, hard=1))


@pytest.mark.parametrize(("limit", "pays"), [(1.5, False), (2.0, False), (3.0, False), (5.0, True)])
def test_a_solver_is_asked_in_vain_for_so_long_before_a_proof_begins(limit, pays, monkeypatch):
    task: Any = SimpleNamespace(
        incumbent=SimpleNamespace(best=found(100, hard=1), earned=0),
        options=SimpleNamespace(deadline=SimpleNamespace(left=limit - 0.8)),
        presolved=SimpleNamespace(formula=PARTIAL),
    )
    walker = Pace()
    walker.walked(0.8, None, found(100, hard=1))
    for name, value in (("asks_first", True), ("programs_first", False)):
        monkeypatch.setattr(pace, name, lambda formula, value=value: value)
    assert pace.proof_pays(task, walker, limit, able=False) == pays
