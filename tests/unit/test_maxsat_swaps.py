"""The walk over sets of soft clauses: sound, stoppable, and good on chains of implications."""

import importlib.util
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.engine import Context, Cpu
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods import installed
from hardscape.maxsat.methods.asking import asking
from hardscape.maxsat.methods.asking import swaps as module
from hardscape.maxsat.methods.asking.swaps import Swapping, levels_of, swapping_is_possible
from hardscape.maxsat.methods.walkers import hitting_turns
from hardscape.maxsat.methods.walkers.local import LocalSearch
from hardscape.maxsat.methods.weighting.searches import NEVER
from hardscape.maxsat.presolve import presolve
from helpers import maxsat_oracle as oracle
from helpers.maxsat_clauses import random_clauses
from helpers.maxsat_strategies import formulas
from helpers.seeds import each_seed

pytest.importorskip("pysat", reason="python-sat is not installed")

FREE, STOP = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)


def swaps(f, seed=1, target=0, initial=None, stop=FREE):
    return Swapping(f, seed, 0, target, initial, stop)


def partial_formula(n, hard, soft, seed):
    rng = np.random.default_rng(seed)
    return Formula.from_clauses(
        random_clauses(n, soft, [1, 1, 2], seed),
        rng.integers(1, 20, soft),
        hard=random_clauses(n, hard, [2, 3], seed + 1),
        num_variables=n,
    )


def chains(count, length):
    """Of each pair of chains the ends exclude one another; the starts are soft."""
    hard, soft, weights = [], [], []
    for k in range(count):
        first = 2 * k * length + 1
        for begin in (first, first + length):
            hard += [[-v, v + 1] for v in range(begin, begin + length - 1)]
            soft.append([begin])
        hard.append([-(first + length - 1), -(first + 2 * length - 1)])
        weights += [3 + k, 2 + k]
    return Formula.from_clauses(soft, weights, hard=hard), sum(2 + k for k in range(count))


def test_what_is_far_from_all_is_near_after_every_second_question_in_vain(monkeypatch):
    f = Formula.from_clauses([[3]], [1], hard=[[1, 2], [4, 5]], num_variables=6)
    initial = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8)
    answers = []
    for vain in range(3):
        search = Swapping(f, 1, 0, 0, initial, FREE, far=True)
        with monkeypatch.context() as patch:
            patch.setattr(search, "_ask", lambda *asked: None)
            for _ in range(vain):
                search._begin()
        search._begin()
        assert f.hard_violations(search.best()) == 0
        answers.append(search.best()[3:].tolist())
    assert answers[0] == answers[1] != answers[2] == [1, 1, 1]
    assert swaps(f, initial=initial)._near == []


def test_questions_for_a_first_assignment_take_ever_more_conflicts(monkeypatch):
    search, asked = swaps(partial_formula(20, 30, 20, 1)), []

    def ask(wishes, conflicts):
        asked.append(conflicts)

    monkeypatch.setattr(search, "_ask", ask)
    for _ in range(12):
        search._move(FREE)
    assert asked[:3] == [200, 400, 800]
    assert asked[-2:] == [module._MOST] * 2


def opened(f, seed=1):
    """A walk that has a first assignment, and has asked for the heavy wishes."""
    search = swaps(f, seed)
    search._move(FREE)
    while search._levels:
        search._move(FREE)
    return search


@settings(max_examples=150)
@given(formulas(max_clauses=12))
def test_small_formulas(lists):
    whole = lists.formula()
    best = oracle.optimum(lists.num_variables, lists.soft, lists.weights, lists.hard)
    reduced = presolve(whole)
    f = reduced.formula
    if reduced.unsatisfiable or not swapping_is_possible(f):
        return
    search = swaps(f)
    search.run(5000, FREE)
    if best is None:
        assert search.given_up
        assert search.cost()[0] == NEVER
        return
    found = search.best()
    assert search.cost() == (f.hard_violations(found), f.cost(found))
    assert search.cost() == (0, best - reduced.constant)


def test_hard_clauses_alone():
    """It answers as an exact enumeration does whether the hard clauses can hold."""
    answers = set()
    every = np.arange(2**12)[:, None] >> np.arange(12) & 1
    for seed in range(60):
        hard = random_clauses(12, 54, [3], seed)
        f = Formula.from_clauses([[1], [-2]], hard=hard, num_variables=12)
        can = bool((f.hard_violations(every) == 0).any())
        search = swaps(f)
        search.run(20_000, FREE)
        assert (search.cost()[0] == 0) == can
        assert search.given_up or can
        answers.add(can)
    assert answers == {True, False}


def test_optima_of_twelve_variables():
    every = (np.arange(2**12)[:, None] >> np.arange(12) & 1).astype(np.uint8)
    for seed in range(20):
        f = partial_formula(12, 18, 25, 10 * seed)
        sound = every[f.hard_violations(every) == 0]
        search = swaps(f)
        search.run(3000, FREE)
        assert search.cost() == (0, min(f.cost(sound)))
        assert f.evaluate(search.best())[:2] == search.cost()


def test_chains_of_implications():
    formula, best = chains(12, 40)
    search = swaps(formula)
    search.run(50_000, FREE)
    assert search.cost() == (0, best)
    result = solve(formula, method="weighting", seed=1, max_flips=300_000, threads=1)
    assert result.cost == best


class Endless:
    """A solver that answers no question before it is interrupted."""

    def __init__(self, solver):
        self._solver, self._heard = solver, threading.Event()
        self.interrupt, self.given_up = self._heard.set, 0

    def __getattr__(self, name):
        return getattr(self._solver, name)

    def solve_limited(self, assumptions, expect_interrupt):
        assert expect_interrupt
        self.given_up += self._heard.wait(60)

    def clear_interrupt(self):
        self._heard.clear()


def test_a_long_question_is_interrupted_when_the_time_is_up(monkeypatch):
    search, stop = swaps(partial_formula(100, 150, 200, 3)), np.zeros(1, dtype=np.uint8)
    monkeypatch.setattr(asking, "_ASSIGNED", 4)  # few variables are many
    search._solver = solver = Endless(search._solver)
    threading.Timer(0.05, stop.fill, (1,)).start()
    search.run(10_000, stop)
    assert solver.given_up == 1
    assert not solver._heard.is_set()


def test_it_goes_on_from_a_better_assignment():
    f = partial_formula(100, 150, 200, 3)
    found = swaps(f)
    found.run(20_000, FREE)
    for before in (0, 1):
        search = swaps(f, seed=2)
        search.run(before, FREE)
        assert search.cost() > found.cost()
        search.adopt(found.best(), STOP)
        assert search.cost() > found.cost()
        search.adopt(found.best(), FREE)
        known = f.evaluate(found.best())[:2]
        assert search.cost() == f.evaluate(search.best())[:2] == known
        search.run(5000, FREE)
        assert search.cost() <= known


def test_it_does_not_go_on_from_one_that_violates_hard_clauses():
    f = Formula.from_clauses([[-1], [-2], [3]], [3, 4, 5], hard=[[1, 2], [-3, 1]])
    search = swaps(f)
    search.run(1000, FREE)
    search.adopt(np.array([0, 0, 1], dtype=np.uint8), FREE)
    assert search.cost() == (0, 3)
    assert f.cost(search.best()) == 3


def test_an_initial_assignment_is_kept():
    f = partial_formula(60, 120, 40, 3)
    first = swaps(f)
    first.run(3000, FREE)
    assert first.cost()[0] == 0
    again = swaps(f, seed=2, initial=first.best())
    assert again.cost() == first.cost()
    again.run(3000, FREE)
    assert again.cost() <= first.cost()


def test_the_walk_does_not_depend_on_how_it_is_cut():
    f = partial_formula(80, 170, 60, 5)
    at_once, cut = swaps(f), swaps(f)
    assert at_once.run(6000, FREE) == 6000
    for steps in [1, 999, 2000, 5, 2995]:
        assert cut.run(steps, FREE) == steps
    assert at_once.cost() == cut.cost()
    assert (at_once.best() == cut.best()).all()


def test_stops():
    f = partial_formula(60, 120, 40, 3)
    assert swaps(f, stop=STOP).cost()[0] == NEVER
    search = swaps(f)
    assert search.run(100, STOP) == 0
    assert search.cost()[0] == NEVER
    search.run(3000, FREE)
    assert search.cost()[0] == 0
    target = search.cost()[1]
    done = set()
    for cut in (10**9, 200, 7):
        again, flips = swaps(f, target=target), 0
        while again.cost() > (0, target):
            flips += again.run(cut, FREE)
        done.add((flips, again.cost()))
    assert len(done) == 1


@pytest.mark.parametrize(("n", "hard", "soft"), [(150, 200, 100), (400, 560, 500)])
def test_the_same_seed_with_turns_of_both_searches(n, hard, soft):
    f = partial_formula(n, hard, soft, 7)
    many = [solve(f, method="weighting", seed=3, max_flips=60_000, threads=2) for _ in range(5)]
    assert len({(x.cost, x.flips, x.assignment.tobytes()) for x in many}) == 1
    proven = many[0].status == "OPTIMUM FOUND"
    assert proven == (n == 150)
    assert (many[0].flips < 120_000) if proven else many[0].flips == 120_000


def test_where_it_is_possible(monkeypatch):
    mixed = Formula.from_clauses([[1], [2, 3]], hard=[[-1, -2]])
    assert swapping_is_possible(mixed)
    assert not swapping_is_possible(Formula.from_clauses([[1], [2, 3]]))
    assert not swapping_is_possible(Formula.from_clauses([], hard=[[1, 2]], num_variables=2))
    monkeypatch.setattr(installed, "_found", set())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not swapping_is_possible(mixed)
    assert solve(mixed, method="weighting", seed=1, max_flips=20_000).cost == 0


def test_what_the_hard_clauses_refuse_is_not_asked_for_again():
    n = 100  # more than the moves after which the walk goes back
    f = Formula.from_clauses([[v] for v in range(1, n + 1)], hard=[[-v] for v in range(1, n + 1)])
    search = swaps(f)
    search.run(100_000, FREE)
    assert search.given_up
    assert search.cost() == (0, n)


def test_heavy_wishes_are_asked_for_first():
    """Of each pair the heavier chain holds, and nothing else is given up."""
    f, least = chains(30, 20)
    search = swaps(f)
    search._move(FREE)
    assert search.cost()[1] > least
    assert opened(f).cost() == (0, least)
    assert opened(f)._dropped == {20 * 2 * k + 21 for k in range(30)}


@each_seed(range(20, 40))
def test_it_opens_no_worse_than_it_began(seed):
    f = partial_formula(60, 90, 50, seed)
    search = swaps(f)
    search._move(FREE)
    assert not search.given_up
    first = search.cost()
    after = opened(f)
    assert after.cost() <= first
    assert after.cost() == f.evaluate(after.best())[:2]
    # The walk goes on from the best, not from the last.
    lost = {*after._lost, *after._impossible}
    assert sum(after._weight[wish] for wish in lost) == after.cost()[1]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_levels_fall_to_all(weights):
    levels = levels_of(weights)
    assert levels[-1] == 0
    assert levels == sorted(set(levels), reverse=True)
    assert levels[0] == (max(weights) if min(weights) < max(weights) else 0)


def test_the_opening_ends_where_it_takes_long(monkeypatch):
    f, least = chains(30, 20)
    monkeypatch.setattr(module, "_OPENED", 0)
    search = swaps(f)
    search._move(FREE)
    search._move(FREE)
    assert not search._levels
    assert search.cost()[1] > least


def moved(seed, monkeypatch):
    """A walk after a hundred moves; of each question what it assumed, what held, what did not, and the cost."""
    search, seen = opened(partial_formula(60, 90, 50, seed)), []
    ask = search._ask

    def noted(wishes, conflicts):
        seen.append((list(wishes), list(search._held), list(search._lost), search.cost()[1]))
        return ask(wishes, conflicts)

    monkeypatch.setattr(search, "_ask", noted)
    for _ in range(100):
        search._move(FREE)
    return search, seen


def test_moves_exchange_wishes_or_have_the_solver_decide(monkeypatch):
    """Each kind has about as much of the work."""
    kinds = {"exchanged": 0, "forced": 0, "released": 0}
    for asked, held, lost, _ in moved(3, monkeypatch)[1]:
        wanted = set(asked).intersection(lost)
        assert len(wanted) <= 1
        assert set(asked) <= {*held, *wanted}
        kinds["forced" if len(asked) == len(wanted) else "exchanged" if wanted else "released"] += 1
    assert min(kinds.values()) > 10


@pytest.mark.parametrize("seed", range(20, 30))
def test_the_walk_is_at_its_best(seed, monkeypatch):
    search, seen = moved(seed, monkeypatch)
    whole = sum(search._weight.values())
    for _, held, _, cost in seen:
        assert sum(search._weight[wish] for wish in held) == whole - cost
    assert search.cost() == search._formula.evaluate(search.best())[:2]
    assert search.cost()[1] <= seen[0][3]


def test_what_is_decided_first_holds(monkeypatch):
    """Of wishes that exclude one another in pairs the solver holds those that it is told to decide first."""
    pairs = [[-v, -v - 20] for v in range(1, 21)]
    f = Formula.from_clauses([[v] for v in range(1, 41)], hard=pairs)
    search = swaps(f)
    search._move(FREE)
    taken = []
    monkeypatch.setattr(search, "_take", taken.append)
    decided = [*range(1, 21, 2), *range(22, 41, 2)]
    search._decide(search._release, [], decided)
    assert set(decided) < set(taken[0])


def test_questions_in_which_the_solver_decides_are_as_long_as_its_answers_need(monkeypatch):
    search = swaps(Formula.from_clauses([[v] for v in range(1, 9)], hard=[[-1, -2], [-3, -4]]))
    search._move(FREE)
    answers, asked = iter([*[None] * 31, False, True, *[False] * 9]), []

    def told(wishes, conflicts):
        asked.append(conflicts)
        return next(answers)

    monkeypatch.setattr(search, "_ask", told)
    monkeypatch.setattr(search._solver, "get_model", lambda: list(range(-8, 0))[::-1])
    for move in [*[search._force] * 30, search._release, *[search._force] * 11]:
        search._decide(move, [1], [2])
    assert asked[:3] == [100, 110, 121]
    assert asked[28:35] == [800, 800, 100, 800, 533, 355, 237]  # each move has its own
    assert asked[-1] == 100


def parity(n, seed):
    """Sums of three variables that a hidden assignment satisfies: local search does not."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, n)
    hard = []
    for _ in range(n):
        row = rng.choice(n, 3, replace=False)
        odd = hidden[row].sum() % 2
        for signs in range(8):
            flipped = [signs >> i & 1 for i in range(3)]
            if sum(flipped) % 2 != odd:
                hard.append(
                    [int(v + 1) * (-1 if x else 1) for v, x in zip(row, flipped, strict=True)]
                )
    units = [[int(v + 1) * (1 if rng.integers(2) else -1)] for v in rng.permutation(n)[: n // 2]]
    return Formula.from_clauses(units, rng.integers(1, 9, len(units)), hard=hard, num_variables=n)


def schedule(formula, count):
    """The first searches of a walker, and how long each is let."""
    work = LocalSearch(formula, False, 1, 1, 0)
    walker = work.walker(0, Context(Cpu(), None, FREE))
    turns = []
    for search, turn in walker._schedule:
        turns.append((type(search).__name__, turn))
        walker._advance(search, walker.flips + turn)
        if len(turns) == count:
            return turns
    return turns


def test_a_solver_is_asked_at_once_where_nothing_satisfies_the_hard_clauses():
    turns = schedule(parity(150, 1), 30)
    assert "Swapping" in [name for name, _ in turns[:20]]
    hidden = [each for each in turns if each[0] != "Hitting"]
    assert [name for name, _ in hidden[:2]] == ["Weighing", "Swapping"]
    assert hidden[2][1] < hidden[1][1]
    easy = schedule(partial_formula(60, 100, 60, 1), 5)
    assert "Swapping" not in [name for name, _ in easy]


def test_no_solver_is_asked_before_clause_weighting_has_tried(monkeypatch):
    monkeypatch.setattr(hitting_turns, "_YOUNG", 10**9)
    names = [name for name, _ in schedule(parity(150, 1), 60) if name != "Hitting"]
    assert names.index("Swapping") == 2 + hitting_turns._BEFORE_SWAPS


def test_a_walker_that_begins_with_what_others_found():
    """Nothing is its own then: the searches take turns all the same."""
    f = partial_formula(300, 500, 500, 7)
    whole = presolve(f)
    first = swaps(whole.formula)
    first.run(20_000, FREE)
    incumbent = Incumbent(f, None, 0.0)
    incumbent.aim(whole, None)
    incumbent.suggest(first.best())
    work = LocalSearch(whole.formula, False, 1, 1, 0, endless=True, incumbent=incumbent)
    walker = work.walker(0, Context(Cpu(), None, FREE))
    slices = [next(walker._going, True) for _ in range(30)]
    assert slices == [None] * 30
    assert walker.flips > 0
    assert incumbent.best.cost <= f.cost(whole.lift(first.best()))


@pytest.mark.parametrize("how", [{}, {"time_limit": 20}, {"max_flips": 200_000}])
def test_hard_clauses_that_a_walk_finds_to_contradict_one_another(how):
    pigeons, holes = range(6), range(5)
    hard = [[5 * p + h + 1 for h in holes] for p in pigeons]
    pairs = [(p, q) for p in pigeons for q in range(p)]
    hard += [[-5 * p - h - 1, -5 * q - h - 1] for p, q in pairs for h in holes]
    formula = Formula.from_clauses([[-5 * p - 1] for p in pigeons], hard=hard)
    result = solve(formula, method="weighting", threads=1, seed=1, **how)
    assert result.status == "UNSATISFIABLE"
    assert result.stopped == ""
    assert result.hard_violations > 0
    assert result.flips == how.get("max_flips", result.flips)
