"""The prover beside a search: processes, what they tell one another, and what a checked call relies on."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hardscape import maxsat, native
from hardscape.benchmarks.maxsat import formulas
from hardscape.errors import InputError

pytest.importorskip("pysat")
pytest.importorskip("rustsat")


from hardscape.maxsat.methods.exact import near, proof
from hardscape.maxsat.methods.exact.prover import board as boards
from hardscape.maxsat.methods.exact.prover import main as process
from hardscape.maxsat.methods.exact.prover import oracle as oracles
from hardscape.maxsat.methods.exact.prover import turns as prover


@pytest.fixture(autouse=True)
def _in_a_process(monkeypatch):
    """Short proofs, too."""
    monkeypatch.setattr(near, "_BRIEF", 0)


def hard_formula(seed=1, n=60):
    """A vertex cover that takes a while to prove."""
    rng = np.random.default_rng(seed)
    edges = {tuple(sorted(rng.choice(n, 2, replace=False) + 1)) for _ in range(6 * n)}
    hard = [[int(a), int(b)] for a, b in edges]
    weights = rng.integers(1, 100, n).tolist()
    return maxsat.Formula.from_clauses([[-v] for v in range(1, n + 1)], weights, hard=hard)


def test_a_checked_proof_relies_on_no_bound_from_before(tmp_path):
    formula = hard_formula(n=40)
    how = {"threads": 1, "seed": 1, "device": "cpu", "checkpoint": tmp_path / "kept.ledger"}
    optimum = maxsat.solve(formula, threads=1, seed=1, device="cpu").cost
    # Nobody checks what is given: whatever comes first counts as proven, and stands in the checkpoint.
    wrong = maxsat.solve(formula, lower_bound=2**40, **how)
    assert wrong.status == "OPTIMUM FOUND"
    assert wrong.cost > optimum
    checked = maxsat.solve(formula, check=True, **how)
    assert (checked.status, checked.cost, checked.lower_bound) == (
        "OPTIMUM FOUND",
        optimum,
        optimum,
    )


def test_a_checked_call_of_a_solver_relies_on_no_bound_from_before():
    formula = hard_formula(n=40)
    with maxsat.Solver(formula) as solver:
        first = solver.solve(seed=1)
        solver._bounds[frozenset()] = None  # as if the hard clauses had been refuted
        assert solver.solve(seed=1).status == "UNSATISFIABLE"
        checked = solver.solve(seed=1, check=True)
    assert (checked.status, checked.cost) == ("OPTIMUM FOUND", first.cost)


def test_a_checked_proof_says_so():
    result = maxsat.solve(hard_formula(n=40), threads=1, seed=1, device="cpu", check=True)
    assert result.status == "OPTIMUM FOUND"
    assert any("checked" in what for what in result.ran)
    with pytest.raises(InputError):
        maxsat.solve(hard_formula(n=40), method="weighting", check=True)


@pytest.mark.parametrize("threads", [None, 1, 2, 8])
def test_bounds_meet_from_both_sides(threads, monkeypatch):
    monkeypatch.setattr(proof, "_LATER", 0.02)
    formula = hard_formula(n=40)
    bounds = []
    result = maxsat.solve(formula, threads=threads, seed=1, on_bound=bounds.append, device="cpu")
    assert result.status == "OPTIMUM FOUND"
    assert result.gap == 0
    assert bounds == sorted(set(bounds))
    assert bounds[-1] <= result.cost == result.lower_bound
    assert formula.cost(result.assignment) == result.cost


def test_hard_clauses_that_contradict_one_another_end_all_provers(monkeypatch):
    monkeypatch.setattr(proof, "_LATER", 0.02)
    pigeons = [[7 * p + h + 1 for h in range(7)] for p in range(8)]
    holes = [
        [-a, -b] for row in zip(*pigeons, strict=True) for a, b in itertools.combinations(row, 2)
    ]
    formula = maxsat.Formula.from_clauses(
        [[-v] for row in pigeons for v in row], hard=pigeons + holes
    )
    result = maxsat.solve(formula, threads=8, seed=1, device="cpu", method="exact")
    assert result.status == "UNSATISFIABLE"


def test_modules_that_lie_around_are_not_the_prover_s(tmp_path, monkeypatch):
    for name in ("prover", "json", "random", "pysat"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    assert maxsat.solve(hard_formula(n=40), threads=1, device="cpu").status == "OPTIMUM FOUND"


def test_a_gap_when_time_is_over():
    formula = hard_formula(n=300)
    result = maxsat.solve(formula, threads=1, seed=1, time_limit=3.0, device="cpu")
    assert result.status == "SATISFIABLE"
    assert 0 < result.lower_bound < result.cost
    assert result.gap == result.cost - result.lower_bound == result.to_dict()["gap"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_no_prover_outlives_a_killed_search(tmp_path):
    program = (
        "import os\n"
        "from hardscape import maxsat\n"
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from unit.test_maxsat_prover_talk import hard_formula\n"
        "formula = hard_formula(n=4000)\n"
        "for _ in range(3):\n"
        "    search = os.fork()\n"
        "    if not search:\n"
        "        maxsat.solve(formula, threads=1, time_limit=60, device='cpu')\n"
        "    print(search, flush=True)\n"
        "    os.waitpid(search, 0)\n"
    )
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as begins:
        for moment in (0.3, 0.7, 1.1):
            search = int(begins.stdout.readline())
            try:
                child = _child_of(search)
                time.sleep(moment)
            finally:
                os.kill(search, signal.SIGKILL)
            end = time.monotonic() + 20
            while _alive(child) and time.monotonic() < end:
                time.sleep(0.05)
            assert not _alive(child)


def _child_of(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            children = task.read_text().split()
            if children:
                return int(children[0])
        time.sleep(0.02)
    raise AssertionError("no prover was started")


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_walkers_go_on_from_what_was_suggested():
    from hardscape.engine import Context, Cpu
    from hardscape.maxsat.incumbent import Incumbent
    from hardscape.maxsat.methods.walkers.local import LocalSearch

    formula = hard_formula(n=200)
    best = maxsat.solve(formula, threads=1, seed=2, time_limit=1.0, device="cpu")
    incumbent = Incumbent(formula, None, time.monotonic())
    incumbent.aim(maxsat.presolve.presolve(formula), None)
    search = LocalSearch(
        incumbent._presolved.formula, False, 1, 1, 0, endless=True, incumbent=incumbent
    )
    walker = search.walker(0, Context(Cpu(), None, np.zeros(1, dtype=np.uint8)))
    next(walker._going)
    incumbent.suggest(incumbent._presolved.restrict(best.assignment))
    walker.walk(0.2)
    found = walker.partial()
    high, low = found["cost"].tolist()
    assert (found["hard"][0], (high << 64) + low) <= incumbent.reduced_cost(incumbent.suggested)


def test_a_text_is_told_as_a_formula_is():
    """What was read without arrays: the same bytes, and the same costs."""
    text = native.core.maxsat.parse_wcnf(b"h 1 -2 0\n7 2 3 0\n9223372036854775807 -1 0\nh 3 0\n")
    told = process.read(io.BytesIO(text.packed()))
    assert (told["variables"], told["clauses"]) == (3, [[1, -2], [2, 3], [-1], [3]])
    assert (list(told["weights"]), list(told["hard"])) == ([0, 7, 2**63 - 1, 0], [1, 0, 0, 1])
    assert text.cost("101") == (0, 0, 2**63 - 1)
    assert text.cost("010") == (2, 0, 0)
    with pytest.raises(ValueError, match="assignment"):
        text.cost("10")


def test_a_walker_that_is_kept_goes_on_where_it_was():
    from hardscape.engine import Context, Cpu
    from hardscape.maxsat.methods.walkers.local import LocalSearch

    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    formula = hard_formula(n=200)
    whole = LocalSearch(formula, False, 1, 1, 0, max_flips=400_000)
    first = dataclasses.replace(whole, turn=0.01, kept={})
    part = first.run(first.shards()[0], context)
    again = dataclasses.replace(first, turn=math.inf)
    rest = again.run(again.shards()[0], context)
    once = whole.run(whole.shards()[0], context).partial
    assert part.complete
    assert rest.complete
    assert not again.kept
    assert 0 < int(part.partial["flips"][0]) < 400_000
    assert int(part.partial["flips"][0] + rest.partial["flips"][0]) == int(once["flips"][0])
    for name in ("hard", "cost", "assignment"):
        assert (rest.partial[name] == once[name]).all()


def as_the_prover_takes_it(lists):
    n, soft, weights, hard = lists
    formula = {"variables": n, "clauses": hard + soft, "weights": [1] * len(hard) + weights}
    return formula | {"hard": [1] * len(hard) + [0] * len(soft)}


@pytest.mark.parametrize(
    "lists", [formulas.partial_3sat(90, 480, 0.3, 1), formulas.planted(200, 800, 60, 1)]
)
def test_few_conflicts_lie_between_two_looks_where_somebody_waits(lists, monkeypatch):
    counts = []
    once = oracles.Oracle._try

    def counted(oracle, *arguments):
        before = oracle.work()[0]
        answer = once(oracle, *arguments)
        counts.append(oracle.work()[0] - before)
        return answer

    class Watched(boards.Board):
        patience = 0.0

        def look(self):
            if sum(counts) > 4000:
                raise boards.Stopped
            super().look()

        def tell(self, **message):
            pass

    monkeypatch.setattr(oracles.Oracle, "_try", counted)
    with pytest.raises((boards.Stopped, boards.Settled)):
        prover.prove(as_the_prover_takes_it(lists), Watched())
    assert sum(counts) > 1000
    assert max(counts) <= 101


def test_nothing_that_is_said_is_lost_where_the_process_is_stopped_meanwhile():
    code = (
        "from hardscape.maxsat.methods.exact.prover.board import say\n"
        "for k in range(5): say(cost=k, model='1' * 300_000)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    said = b""
    while True:  # each time the pipe is full
        time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.005)
        process.send_signal(signal.SIGCONT)
        more = os.read(process.stdout.fileno(), 2**16)
        if not more:
            break
        said += more
    process.wait()
    process.stdout.close()
    told = [json.loads(line) for line in said.splitlines()]
    assert [(each["cost"], len(each["model"])) for each in told] == [(k, 300_000) for k in range(5)]
