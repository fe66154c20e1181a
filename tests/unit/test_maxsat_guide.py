"""Near which assignment a prover looks for better ones."""

import json

import pytest

pytest.importorskip("pysat", reason="python-sat is not installed")

from hardscape.maxsat.methods.exact.prover.board import Board
from hardscape.maxsat.methods.exact.prover.costs import Costs
from hardscape.maxsat.methods.exact.prover.linear import _SOLVER
from hardscape.maxsat.methods.exact.prover.oracle import Oracle


@pytest.fixture
def board(monkeypatch):
    told = []
    monkeypatch.setattr(Board, "tell", lambda self, **message: told.append(message))
    found = Board()
    found.told = told
    return found


def hear(board, cost, model):
    board._heard.append(json.dumps({"cost": cost, "model": model}))
    board.look()


def test_what_was_found_here_guides_where_it_costs_little_more(board):
    hear(board, 100, "01")
    assert board.guide == [-1, 2]
    board.offer(110, [1, 2])
    assert board.guide == [-1, 2]  # it costs a tenth more
    board.offer(104, [1, -2])
    assert board.guide == [1, -2]
    assert board.cost == 100
    assert board.model == [-1, 2]
    assert not board.told  # of nothing that others know better
    board.offer(105, [-1, -2])
    assert board.guide == [1, -2]
    hear(board, 90, "00")
    assert board.guide == [-1, -2]


def test_a_solver_goes_on_near_it(board):
    clauses = [[v, v + 1] for v in range(1, 20, 2)]
    hear(board, 100, "10" * 10)
    own = [v if v % 2 == 0 else -v for v in range(1, 21)]
    for cost, expected in ((120, [-v for v in own]), (103, own)):
        board.offer(cost, own)
        oracle = Oracle(clauses, board)
        oracle.guided, oracle.until = True, float("inf")
        assert oracle.ask([])
        assert oracle.model() == expected
        oracle.delete()


def test_an_assignment_is_offered_where_it_is_the_best_one_found_here(board):
    formula = {"variables": 3, "clauses": [[1], [2], [3]], "hard": [0] * 3, "weights": [1, 2, 4]}
    costs = Costs.of(formula, board)
    hear(board, 2, "101")
    costs.offer([-1, 2, 3])
    assert (board.cost, board.told) == (1, [{"cost": 1, "model": "011"}])
    other = Board()
    costs = Costs.of(formula, other)
    hear(other, 2, "101")
    costs.offer([1, 2, -3])
    assert (other.cost, other.improves(3), other.improves(4)) == (2, True, False)


def test_the_linear_search_decides_so_whatever_its_last_conflicts_decided(board):
    hard = [[-v, -w] for v in range(1, 13) for w in range(v + 1, 13) if (v * w) % 5 == 0]
    like = [-v if v % 5 == 0 else v for v in range(1, 13)]
    solver = Oracle(hard, board, _SOLVER)
    solver.prefer(like)
    solver.until = float("inf")
    for other in ([5], [10], [-1, -2, 5]):
        assert solver.ask(other)
        assert solver.ask([])
        assert solver.model() == like
    solver.delete()
