"""Who of the searches that take turns has how much of them."""

import ast
import collections
import inspect
import itertools
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hardscape.engine import Context, Cpu
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.asking.swaps import Swapping
from hardscape.maxsat.methods.exact import exact
from hardscape.maxsat.methods.walkers import growing_turns, hitting_turns, openings, schedule
from hardscape.maxsat.methods.walkers.beginning import Searches
from hardscape.maxsat.methods.walkers.growing_turns import GrowingTurns
from hardscape.maxsat.methods.walkers.hitting_turns import HittingTurns
from hardscape.maxsat.methods.walkers.local import LocalSearch, Walker
from hardscape.maxsat.methods.walkers.rounds import rounds
from hardscape.maxsat.methods.walkers.standing import Standing
from hardscape.maxsat.methods.weighting.searches import NEVER, Hitting, Weighing, Weighted
from helpers.maxsat_clauses import random_clauses
from helpers.maxsat_turns import Falling, Violating, parities

pytest.importorskip("pysat", reason="python-sat is not installed")

STOP = np.zeros(1, dtype=np.uint8)


@pytest.fixture
def flips(monkeypatch):
    """Flips of each kind of search."""
    spent = collections.Counter()
    advance = Walker._advance

    def counted(self, search, end):
        before = self.flips
        going_on = advance(self, search, end)
        spent[type(search).__name__] += self.flips - before
        return going_on

    monkeypatch.setattr(Walker, "_advance", counted)
    return spent


def test_searches_that_stay_behind_have_ever_less(flips):
    formula = parities(200, 180, 2)  # whose hard clauses only a solver satisfies
    found = solve(formula, method="weighting", max_flips=50_000, seed=1, threads=1)
    assert found.status == "SATISFIABLE"
    assert 0 < flips["Hitting"] < flips["Swapping"] / 2
    assert 0 < flips["Weighing"] < flips["Swapping"] / 2


def test_clause_weighting_that_satisfies_hard_clauses_has_its_turns(flips):
    solve(parities(120, 90, 3), method="weighting", max_flips=300_000, seed=1, threads=1)
    assert flips["Weighing"] > flips["Swapping"] > 0


def test_what_follows_another_ones_assignment_is_not_found_by_itself():
    walker = LocalSearch(parities(100, 60, 3), False, 1, 1, 0).walker(0, Context(Cpu(), None, STOP))
    schedule, standing = walker._schedule, walker._schedule.standing
    led, alone = (schedule._searches.weighing(None) for _ in range(2))
    standing.lead(led)
    for search in (led, alone):
        assert not walker.able
        search.run(100_000, STOP)
        standing.note(search)
        standing.lead(search)
    assert standing.satisfies(alone)
    assert not standing.satisfies(led)
    assert walker.able


@pytest.mark.parametrize("weighs", [False, True])
def test_clause_weighting_beside_cores_goes_its_own_way(weighs, monkeypatch):
    """What a prover found is where others go on from."""
    monkeypatch.setattr(hitting_turns, "wishes_are_literals", lambda _: not weighs)
    formula = parities(200, 180, 2)
    incumbent = Incumbent(formula, None, 0.0)
    incumbent.suggest(solve(formula, seed=1, threads=1, time_limit=1).assignment)
    work = LocalSearch(formula, False, 1, 1, 0, endless=True, incumbent=incumbent)
    walker = work.walker(0, Context(Cpu(), None, STOP))
    led, adopt = {}, walker._adopt

    def adopted(search):
        before = search.cost()
        adopt(search)
        led[type(search)] = led.get(type(search), False) or search.cost() != before

    walker._adopt = adopted
    while len(led) < 3:
        next(walker._going)
    assert led[Hitting]
    assert not led[Weighing]


def test_a_search_that_has_nothing_yet_is_not_the_best():
    formula = parities(60, 30, 3)
    incumbent = Incumbent(formula, None, 0.0)
    incumbent.suggest(solve(formula, seed=1, threads=1, time_limit=1).assignment)
    before = incumbent.best
    walker = LocalSearch(formula, False, 1, 1, 0, incumbent=incumbent).walker(
        0, Context(Cpu(), None, STOP)
    )
    nothing = np.zeros(0, dtype=np.uint8)
    compiled = SimpleNamespace(best_cost=(NEVER, 0, 0), adopt=lambda *_: None, best=lambda: nothing)
    walker._adopt(Weighted(compiled, 0))
    walker._offer()
    assert incumbent.best is before
    assert walker._best is None


def test_a_walker_goes_on_after_a_proof_of_a_moment(monkeypatch):
    tables = SimpleNamespace(seconds=0.06, solve=lambda stop: None)  # which are stopped
    monkeypatch.setattr(exact.Tables, "of", lambda formula: tables)
    walkers, prove = [], exact.Exact._prove

    def proven(self, task, local, pace, *moment, **_):
        walkers.append(local.kept[0])
        if moment:  # the other one would go on
            prove(self, task, local, pace, *moment)

    monkeypatch.setattr(exact.Exact, "_prove", proven)
    solve(parities(1000, 950, 2), seed=1, threads=1, time_limit=60)
    before, after = walkers
    assert before is after
    assert before.flips > 0


def test_who_is_able_asks_no_solver():
    formula = parities(100, 60, 3)
    solved = solve(formula, seed=1, threads=1, time_limit=5).assignment
    incumbent = Incumbent(formula, None, 0.0)

    def able(first=None):
        work = LocalSearch(formula, False, 1, 1, 0, incumbent=incumbent)
        walker = work.walker(0, Context(Cpu(), None, STOP))
        if first is not None:
            walker._schedule.standing.note(first)
        return walker.able

    swapping = Swapping(formula, 1, 0, 0, solved, STOP)
    hitting = Hitting(formula, 0, 1, 0, solved, STOP)
    hitting.run(1000, STOP)
    assert swapping.cost()[0] == hitting.cost()[0] == 0
    assert [able(first) for first in (None, swapping, hitting)] == [False, False, True]
    incumbent.offer(solved)
    assert able()  # it holds from the start
    assert not able(swapping)
    incumbent.suggest(1 - solved)
    assert not able()  # a prover found it


@pytest.mark.parametrize(
    ("counts", "turns"),
    [
        ((100, 50, 20, 7, 7), [32, 64, 64, 64, 32]),
        ((100, 95, 91, 91, 91), [32, 16, 8, 8, 8]),
    ],
)
def test_who_falls_fast_towards_the_hard_clauses_is_not_behind(counts, turns):
    formula = parities(100, 60, 3)
    standing = Standing(SimpleNamespace(flips=10**6), formula)
    standing.note(Violating(0))
    late = {}
    search = Violating(*counts)
    assert [standing.less(search, 64, late) for _ in counts] == turns


class Cheap(Weighing):
    """Clause weighting that has satisfied the hard clauses by itself."""

    def __init__(self, cost=5):
        self._cost = cost

    def cost(self):
        return 0, self._cost


class Behind(Swapping):
    """Exchanges that stay behind."""

    def __init__(self):
        self._cost = 0, 9


@pytest.mark.parametrize(("able", "least"), [(True, 2), (False, 8)])
def test_exchanges_behind_have_least_where_no_solver_is_needed(able, least):
    standing = Standing(SimpleNamespace(flips=10**6), parities(100, 60))
    late, swapping = {}, Behind()
    standing.note(swapping)
    standing.note(Cheap() if able else Violating(*[0] * 9))
    if not able:
        standing.first = swapping
    turns = [standing.less(swapping, 64, late) for _ in range(8)]
    assert turns[:3] == [32, 16, 8]
    assert turns[-1] == least


class Barren(Hitting):
    """A search by cores that has found so much, and whose cores take many wishes."""

    few = False

    def __init__(self, hard):
        self.hard = hard

    def cost(self):
        return self.hard, 9


def test_a_search_by_cores_that_never_satisfied_the_hard_clauses_has_least():
    standing = Standing(SimpleNamespace(flips=10**6), parities(100, 60, 3))
    standing.note(Violating(0))
    for hard, turns in [(7, [64, 32, 16, 8, 4, 2, 2]), (0, [64, 32, 16, 16, 16, 16, 16])]:
        search, late = Barren(hard), {}
        standing.note(search)
        assert [standing.less(search, 128, late) for _ in turns] == turns


def given(walker, turns, most):
    """Searches that have the first turns, with their flips done."""
    for search, turn in itertools.islice(turns, most):
        yield search
        walker.flips += turn


def growing(walker):
    """Clause weighting's turns beside who asks a solver, and what each has found."""
    standing = Standing(walker, walker.work.formula)
    return GrowingTurns(walker, Searches(walker, 0), standing), standing


class Stuck:
    """What grows from clause weighting's best, where nothing can join."""

    def __init__(self, cost):
        self.given_up, self._cost = False, cost

    def cost(self):
        return self._cost


def refuted(*_):
    """Somebody who asks a solver, and has nothing left to ask."""
    stuck = Stuck((NEVER, 0))
    stuck.given_up = stuck.tried = True
    stuck.is_last = lambda cost: False
    return stuck


def test_what_grows_begins_again_where_clause_weighting_found_something_then_nothing(monkeypatch):
    weighing = Falling()
    monkeypatch.setattr(growing_turns, "Growing", lambda *_: Stuck(weighing.cost()))
    monkeypatch.setattr(growing_turns, "Together", refuted)
    monkeypatch.setattr(growing_turns, "nearly_all", lambda *_: True)
    soft = Formula.from_clauses([[1, 2], [-1, 2], [1, -2, 3], [100]])
    walker = SimpleNamespace(work=SimpleNamespace(formula=soft, target=0), flips=0, stop=STOP)
    order = ""
    for search in given(walker, growing(walker)[0].turns(weighing, 64), 12):
        order += "g" if isinstance(search, Stuck) else "w"
        if isinstance(search, Stuck):
            search.given_up = True
        else:
            weighing.turns += 1
            weighing.least -= weighing.turns % 3 == 0
    assert order == "wgwwwgwwwgww"


def test_wishes_are_exchanged_once_clause_weighting_finds_nothing(monkeypatch):
    monkeypatch.setattr(growing_turns, "plain_turns", lambda *_: iter(()))
    weighing, swapping = Falling(), Stuck((0, 9))
    swapping.adopt = lambda *_: setattr(swapping, "_cost", weighing.cost())
    monkeypatch.setattr(growing_turns, "Growing", lambda *_: Stuck(weighing.cost()))
    monkeypatch.setattr(Searches, "swapping", lambda *_: swapping)
    formula = Formula.from_clauses([[1], [-2], [100]], hard=[[1, 2]])
    walker = SimpleNamespace(work=SimpleNamespace(formula=formula, target=0), flips=0, stop=STOP)
    turns, standing = growing(walker)
    standing.note(weighing)
    order = ""
    for search in given(walker, turns.turns(weighing, 64), 14):
        order += "s" if search is swapping else "g" if isinstance(search, Stuck) else "w"
        if search is weighing:
            weighing.turns += 1
            weighing.least -= weighing.turns == 2
        elif search is not swapping:
            search.given_up = True
    assert order == "wgwwgwswswswsw"


def test_what_grows_has_whole_turns_while_exchanges_wait_for_it(monkeypatch):
    monkeypatch.setattr(growing_turns, "plain_turns", lambda *_: iter(()))
    monkeypatch.setattr(growing_turns, "Growing", Patient)
    formula, weighing = Formula.from_clauses([[1], [-2], [100]], hard=[[1, 2]]), Falling()
    walker = SimpleNamespace(work=SimpleNamespace(formula=formula, target=0), flips=0, stop=STOP)
    grown, standing = growing(walker)
    standing.note(weighing)
    turns = grown.turns(weighing, 64)
    next(turns)  # clause weighting's alone
    had = {Falling: [], Patient: []}
    for search, flips in itertools.islice(turns, 10):
        walker.flips += flips
        had[type(search)].append(flips)
    assert had[Patient] == [64 >> 3, 128, 256, 512, 1024]
    assert had[Falling] == [64, 128, 256, 512, 1024]


@pytest.mark.parametrize("nearly", [True, False])
def test_what_gives_up_before_it_grows_leaves_clause_weighting_the_turns(nearly, monkeypatch):
    monkeypatch.setattr(growing_turns, "Growing", refuted)
    monkeypatch.setattr(growing_turns, "Together", refuted)
    monkeypatch.setattr(growing_turns, "nearly_all", lambda *_: nearly)
    soft, weighing = Formula.from_clauses([[1, 2], [-1, 2], [100]]), Falling()
    walker = SimpleNamespace(work=SimpleNamespace(formula=soft, target=0), flips=0, stop=STOP)
    turns, _ = growing(walker)
    assert list(given(walker, turns.turns(weighing, 64), 9)) == [weighing] * 9
    assert not turns.asking


class Patient(Stuck):
    """What grows where little can join, and never gives up."""

    def __init__(self, *_):
        super().__init__((0, 9))


def test_who_is_in_vain_has_ever_less(monkeypatch):
    monkeypatch.setattr(growing_turns, "plain_turns", lambda *_: iter(()))
    monkeypatch.setattr(growing_turns, "Growing", Patient)
    formula, weighing = Formula.from_clauses([[1, 2], [-1, 2], [100]], hard=[[3]]), Falling()
    walker = SimpleNamespace(work=SimpleNamespace(formula=formula, target=0), flips=0, stop=STOP)
    turns = growing(walker)[0].turns(weighing, 64)
    next(turns)  # clause weighting's alone
    had = {Falling: [], Patient: []}

    def go_on(count, finds=0):
        for search, flips in itertools.islice(turns, 2 * count):
            walker.flips += flips
            had[type(search)].append(flips)
            if isinstance(search, Patient):
                search._cost = 0, search.cost()[1] - finds

    go_on(6)
    assert had[Falling] == [64 << i >> min(i, 3) for i in range(6)]
    assert had[Patient] == [64 << i >> 3 for i in range(6)]  # has least at first
    go_on(1, finds=1)
    go_on(2)
    assert had[Patient][-3:] == [64 << 6 >> 3, 64 << 7, 64 << 8 >> 1]


def test_a_solver_that_satisfied_no_hard_clauses_at_first_is_asked_on(monkeypatch):
    weighing, solver = Falling(), Falling()
    weighing.cost = solver.cost = lambda: (5, 0)
    monkeypatch.setattr(growing_turns, "swapping_is_possible", lambda *_: True)
    monkeypatch.setattr(Searches, "swapping", lambda *_: solver)
    monkeypatch.setattr(growing_turns, "first_turns", lambda *_: iter(()))
    wide = Formula.from_clauses([[1, 2], [2, 3], [100]], hard=[[3]])
    walker = SimpleNamespace(work=SimpleNamespace(formula=wide, target=0), flips=0, stop=STOP)
    turns = growing(walker)[0].turns(weighing, 64)
    assert list(given(walker, turns, 6)) == [solver, weighing] * 3


@pytest.mark.parametrize(
    ("weight", "tried", "share"), [(10_000, True, 0.25), (500, True, 4), (500, False, 0.25)]
)
def test_a_solver_is_asked_for_all_clauses_until_it_answers(weight, tried, share, monkeypatch):
    """Clause weighting, in vain, has a quarter of that; later four times as much where it violates much."""
    asked = Stuck((NEVER, 0))
    asked.tried = tried
    asked.is_last = lambda cost: False
    monkeypatch.setattr(growing_turns, "Growing", lambda *_: Stuck((0, 5)))
    monkeypatch.setattr(growing_turns, "Together", lambda *_: asked)
    monkeypatch.setattr(growing_turns, "nearly_all", lambda *_: True)
    soft, weighing = Formula.from_clauses([[1, 2], [-1, 2], [100]], [1, 1, weight]), Falling()
    walker = SimpleNamespace(work=SimpleNamespace(formula=soft, target=0), flips=0, stop=STOP)
    grown, _ = growing(walker)
    had = {}
    turns = grown.turns(weighing, 64)
    for _ in range(16):
        search, flips = next(turns)
        walker.flips += flips
        had.setdefault(search, []).append(flips)
        assert grown.asking != (tried and len(had) > 1)
    assert had[asked][-1] == 2 * had[asked][-2]
    assert had[weighing][-2] in (share * had[asked][-1], share * had[asked][-2])
    asked.given_up = asked.tried = True
    later = list(itertools.islice(given(walker, turns, 99), 9))
    assert asked not in later[3:]
    assert not grown.asking


def test_a_schedule_without_turns_is_an_error(monkeypatch):
    def nothing(self, *_):
        for _ in rounds(self._walker):
            yield from ()

    monkeypatch.setattr(HittingTurns, "turns", nothing)
    walker = LocalSearch(parities(20, 10), False, 1, 1, 0).walker(0, Context(Cpu(), None, STOP))
    with pytest.raises(RuntimeError):
        walker.walk()


def test_no_loop_of_a_schedule_goes_on_without_turns():
    """What is endless are rounds, which look; any other loop ends, or begins or ends with a turn."""
    endless = [
        loop
        for module in (schedule, growing_turns, hitting_turns, openings)
        for loop in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(loop, ast.While)
        and not any(
            isinstance(node, ast.Yield) for each in loop.body for node in ast.iter_child_nodes(each)
        )
    ]
    assert [ast.unparse(loop.test) for loop in endless] == []


def test_where_only_all_clauses_are_better_who_asks_for_them_has_most(flips):
    at = [[10 * pigeon + hole + 1 for hole in range(10)] for pigeon in range(11)]
    twice = [[-a, -b] for hole in zip(*at, strict=True) for a, b in itertools.combinations(hole, 2)]
    clauses = at + twice
    formula = Formula.from_clauses(clauses, range(1, len(clauses) + 1))  # with no symmetries
    found = solve(formula, method="weighting", max_flips=1_500_000, seed=1, threads=1)
    assert (found.cost, found.status) == (1, "SATISFIABLE")
    assert flips["Growing"] == 0
    assert flips["Together"] > 2 * flips["Weighing"] > 0


def test_a_walk_behind_clause_weighting_has_less(flips):
    random_formula = Formula.from_clauses(random_clauses(400, 2400, [3], 1))
    solve(random_formula, method="weighting", max_flips=8_000_000, seed=1, threads=1)
    assert 0 < flips["Walking"] < 0.7 * flips["Weighing"]


def test_a_walk_that_asks_a_solver_comes_before_the_prover(flips, monkeypatch):
    began = []
    prove = exact.Exact._prove

    def noted(self, task, *rest):
        began.append((task.incumbent.best.hard_violations, flips["Swapping"] > 0))
        return prove(self, task, *rest)

    monkeypatch.setattr(exact.Exact, "_prove", noted)
    monkeypatch.setattr(exact, "_BEFORE_FEASIBLE", 60.0)
    monkeypatch.setattr(exact, "_at_once", lambda task: False)  # in a process of its own
    formula = parities(1200, 900)
    found = solve(formula, seed=1, threads=1, time_limit=20, target=10**6)
    assert found.status == "SATISFIABLE"
    assert not began
    assert flips["Swapping"] > 0


def test_a_moment_of_search_starts_no_thread(monkeypatch):
    lists = parities(60, 30, 3)
    least = solve(lists, seed=1, threads=1, time_limit=20).cost

    def refused(self):
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(exact, "_BEFORE_TARGET", 0.1)
    found = solve(lists, seed=1, threads=1, target=2 * least)
    assert found.cost is not None
    assert found.cost <= 2 * least


def test_whether_a_walk_is_the_calling_threads():
    work = LocalSearch(parities(60, 30, 3), False, 1, 1, 0)
    assert not work.brief(Cpu())
    assert replace(work, turn=0.05).brief(Cpu())
    assert not replace(work, turn=5.0).brief(Cpu())
    many = Formula.from_clauses([[v] for v in range(1, 300_001)])
    assert not replace(work, formula=many, turn=0.05).brief(Cpu())


def first_search(formula):
    """Who has the first turn."""
    walker = LocalSearch(formula, False, 1, 1, 0).walker(0, Context(Cpu(), None, STOP))
    return type(next(iter(walker._schedule))[0]).__name__


def test_cores_come_first_where_wishes_are_literals():
    assert first_search(parities(20, 10)) == "Hitting"
    wide = Formula.from_clauses([[1, 2], [3, 4], [5]], hard=[[-1, -3], [-2, -4, -5]])
    assert first_search(wide) == "Weighing"


@pytest.mark.parametrize("most_swapped", [0, 200_000])
def test_puzzles_whose_rules_are_soft_are_asked_for_all_of_them(most_swapped, flips, monkeypatch):
    formula = parities(120, 110, 2)
    ends = formula.offsets.tolist()
    rules = [formula.literals[a:b].tolist() for a, b in itertools.pairwise(ends)]
    rules = rules[: formula.num_hard]
    longer = [[121, 122, 1, 2], [-121, -122, -1, -2]]  # or it would look random
    puzzle = Formula.from_clauses(rules[40:], hard=[*rules[:40], *longer])
    monkeypatch.setattr(schedule, "_MOST_SWAPPED", most_swapped)
    found = solve(puzzle, method="weighting", max_flips=2_000_000, seed=1, threads=1)
    assert (found.status, found.cost) == ("OPTIMUM FOUND", 0)
    assert flips["Together"] > 0
