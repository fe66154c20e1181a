"""Parts of a formula around violated soft clauses, and exchanges in them: sound, the same again, stoppable."""

from types import SimpleNamespace

import numpy as np
import pytest

from hardscape import native
from hardscape.maxsat import Formula
from hardscape.maxsat.methods.neighbourhoods import neighbouring as module
from hardscape.maxsat.methods.neighbourhoods.neighbouring import Neighbouring, neighbouring_pays
from hardscape.maxsat.methods.walkers import neighbouring_turns
from hardscape.maxsat.methods.walkers.neighbouring_turns import NeighbouringTurns

pytest.importorskip("pysat", reason="python-sat is not installed")

FREE, STOP = np.zeros(1, dtype=np.uint8), np.ones(1, dtype=np.uint8)


def planted(n, seed, hard=3, soft=2):
    """A formula with hard clauses that the second value satisfies, soft ones of 1 to 3 literals."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, n)

    def clause(size, holds):
        variables = rng.choice(n, size, replace=False)
        values = rng.integers(0, 2, size)
        if holds:
            values[0] = hidden[variables[0]]
        return [int(v + 1) if x else -int(v + 1) for v, x in zip(variables, values, strict=True)]

    firm = [clause(int(rng.integers(2, 4)), True) for _ in range(hard * n)]
    wishes = [clause(int(rng.integers(1, 4)), False) for _ in range(soft * n)]
    weights = rng.integers(1, 20, len(wishes))
    f = Formula.from_clauses(wishes, weights, hard=firm, num_variables=n)
    return f, hidden.astype(np.uint8)


def parts_of(f, values, seed=1):
    return native.core.maxsat.Neighbourhoods(f, seed, 0, values, FREE)


def formula_of(f, free, literals, offsets, clauses):
    return Formula(len(free), literals, offsets, f.weights[clauses], f.hard[clauses])


@pytest.mark.parametrize("bind", [False, True])
@pytest.mark.parametrize("size", [5, 40, 400])
def test_costs_of_a_part_differ_as_those_of_the_formula(size, bind):
    rng = np.random.default_rng(7)
    f, values = planted(200, 3)
    parts = parts_of(f, values)
    seen = 0
    for _ in range(30):
        free, *told = parts.part(size, bind)
        part = formula_of(f, free, *told)
        before = values[free]
        assert parts.values().tolist() == values.tolist()
        assert part.hard_violations(before) == 0
        assert len(set(free.tolist())) == len(free)
        for _ in range(5):
            new = before.copy()
            new[rng.integers(len(free), size=min(len(free), 2))] ^= 1
            whole = values.copy()
            whole[free] = new
            assert f.hard_violations(whole) == part.hard_violations(new)
            assert f.cost(whole) - f.cost(values) == part.cost(new) - part.cost(before)
            if (whole != values).any() and not f.hard_violations(whole):
                values, before = whole, new
                seen += 1
        parts.fix(np.ascontiguousarray(values[free]))
        assert parts.values().tolist() == values.tolist()
        assert parts.lost == np.count_nonzero(~f.satisfied(values) & ~f.hard)
    assert seen


def test_what_others_imply_stays_fixed_and_what_follows_comes_along():
    # Inputs 1 to 3 and 7; 4 = 1 and 2, 5 = 4 and 3, 6 = 7.
    gates = [[-1, -2, 4], [1, -4], [2, -4], [-4, -3, 5], [4, -5], [3, -5], [6, -7], [-6, 7]]
    f = Formula.from_clauses([[-5]], hard=gates, num_variables=7)
    parts = parts_of(f, np.ones(7, dtype=np.uint8))
    free, literals, _, clauses = parts.part(3, True)
    assert set(free.tolist()) <= {0, 1, 2, 3, 4}
    assert 4 in free.tolist()
    assert len(clauses) < f.num_clauses
    assert max(map(abs, literals.tolist())) == len(free)
    parts.fix(None)
    assert parts.values().tolist() == [1] * 7


def test_another_assignment_is_gone_on_from():
    f, values = planted(100, 5)
    parts = parts_of(f, values)
    free = parts.part(50, False)[0]
    parts.fix(None)
    other = values.copy()
    for v in range(100):
        other[v] ^= 1
        if f.hard_violations(other):
            other[v] ^= 1
    assert (other != values).any()
    parts.adopt(other)
    assert parts.values().tolist() == other.tolist()
    assert parts.lost == np.count_nonzero(~f.satisfied(other) & ~f.hard)
    assert len(free)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "_SIZES", (16, 64))


def near_of(f, values, seed=1, target=0, stop=FREE):
    return Neighbouring(f, seed, 0, target, values, stop)


def test_it_finds_better_assignments_the_same_again_however_it_is_cut(small):
    f, values = planted(300, 11)
    assert neighbouring_pays(f)
    whole, cut = near_of(f, values), near_of(f, values)
    assert whole.run(60_000, FREE) == 60_000
    assert sum(cut.run(20_000, FREE) for _ in range(3)) == 60_000
    assert whole.cost() == cut.cost() < (0, f.cost(values))
    assert whole.best().tolist() == cut.best().tolist()
    assert f.evaluate(whole.best())[:2] == whole.cost()
    assert near_of(f, values, seed=2)._around.part(16, False)[0].tolist() != (
        near_of(f, values)._around.part(16, False)[0].tolist()
    )


def test_it_stops_at_a_target_and_when_told_to(small):
    f, values = planted(300, 12)
    search = near_of(f, values)
    assert search.run(10_000, STOP) == 0
    assert search.cost() == (0, f.cost(values))
    first = near_of(f, values, target=f.cost(values) - 1)
    done = first.run(10**7, FREE)
    assert done < 10**7
    assert first.cost() < (0, f.cost(values))
    assert f.evaluate(first.best())[:2] == first.cost()


def test_it_goes_on_from_what_another_has_in_the_middle_of_a_part(small):
    f, values = planted(300, 13)
    other, search = near_of(f, values, seed=2), near_of(f, values)
    other.run(40_000, FREE)
    while search._current is None:
        search._move(FREE)
    search.adopt(other.best(), FREE)
    assert search.cost() == other.cost()
    search.run(40_000, FREE)
    assert search.cost() < other.cost()
    assert f.evaluate(search.best())[:2] == search.cost()


def test_it_gives_up_where_nothing_can_be_better(small):
    f, values = planted(200, 14)
    bad = 1 - values
    assert f.hard_violations(bad)
    search = near_of(f, bad)
    assert search.given_up
    assert search.run(100, FREE) == 100
    assert search.cost()[0] > 0
    done = Formula.from_clauses([[1], [2]], hard=[[1, 2]], num_variables=200)
    satisfied = near_of(done, np.ones(200, dtype=np.uint8))
    satisfied.run(1, FREE)
    assert satisfied.cost() == (0, 0)


def test_kinds_that_find_more_for_their_work_have_more_and_others_some(small):
    search = near_of(*planted(300, 15))
    kinds = search._kinds
    assert [(kind.size, kind.bind) for kind in kinds] == [
        (16, False), (16, True), (64, False), (64, True)
    ]  # fmt: skip
    for _ in range(200):
        kind = search._next()
        kind.note(100, 10 if kind is kinds[2] else 0)
    assert kinds[2].worked > 5000
    assert min(kind.worked for kind in kinds) > 1000


class Known:
    """What has an assignment of some cost."""

    hard, value = 0, 10

    def cost(self):
        return self.hard, self.value

    def best(self):
        return self.value


class Near(Known):
    given_up, parts, kinds = False, 0, 2

    def adopt(self, best, stop):
        self.value = best


def test_turns_are_halved_where_others_find_more_for_their_flips(monkeypatch):
    monkeypatch.setattr(neighbouring_turns, "neighbouring_pays", lambda f: True)
    near, best = Near(), Known()
    walker = SimpleNamespace(stop=FREE, flips=0, work=SimpleNamespace(formula=None))
    turns = NeighbouringTurns(walker, SimpleNamespace(neighbouring=lambda best: near))
    had = []

    def turn(found=0, parts=2, others=0):
        walker.flips += 64
        best.value -= others
        for _, flips in turns.turns(best, 64):
            had.append(flips)
            walker.flips += flips
            near.parts += parts
            near.value -= found
        best.value = min(best.value, near.value)

    best.hard = 1
    turn()
    assert not had
    best.hard = 0
    for _ in range(2):
        turn(parts=1)  # of two kinds
    for _ in range(5):
        turn()
    assert had == [64, 64, 32, 16, 8, 8, 8]
    had.clear()
    best.value = near.value = 1000
    for _ in range(4):
        turn(found=1)
    assert had == [8, 16, 32, 64]
    turn(found=1, others=2)
    turn()
    assert had[4:] == [64, 32]
