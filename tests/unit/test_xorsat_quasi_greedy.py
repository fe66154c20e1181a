"""The quasi-greedy search: the same words as a plain oracle, and answers that depend on nothing else."""

from __future__ import annotations

import json
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.xorsat import XorSystem, quasi_greedy, random_regular, random_system
from hardscape.xorsat.methods.quasi_greedy.plan import RUN_W1, Plan, default_w1, flip_table
from helpers.quasi_greedy_oracle import initial_spins, sweep_order, trajectory, violated
from helpers.xorsat_oracle import all_assignments
from helpers.xorsat_systems import PLANNED


@pytest.fixture(params=PLANNED)
def planned(request):
    system, w = PLANNED[request.param]
    return Plan.build(system, w)


def test_words_equal_the_oracle(planned):
    group, sweeps = 3, 12
    words = planned.kernel.states(9, group, sweeps)
    for clone in (0, 31, 32, 777, 1023):
        number = group * 1024 + clone
        *_, x = trajectory(planned.system, planned, 9, number, sweeps)
        assert (words[:, clone // 32] >> clone % 32 & 1).tolist() == violated(
            planned.system, x
        ).tolist()
        assert planned.kernel.spins(9, number, sweeps).tolist() == x.tolist()


def test_initial_spins_are_random_bits():
    system = random_regular(30, seed=1)
    plan = Plan.build(system)
    spins = np.array([plan.kernel.spins(1, clone, 0) for clone in range(2048)])
    assert abs(spins.mean() - 0.5) < 0.01
    assert (np.abs(spins.mean(0) - 0.5) < 0.06).all()
    assert spins[77].tolist() == initial_spins(30, 1, 77).tolist()


def test_every_variable_with_a_clause_is_visited_once(planned):
    degrees = planned.system.degrees
    assert sorted(planned.order.tolist()) == np.flatnonzero(degrees).tolist()
    for update, variable in enumerate(planned.order):
        held = [a for a, c in enumerate(planned.system.clauses()) if variable in c]
        assert sorted(planned.clauses(update)) == held


@pytest.mark.parametrize(
    "system",
    [
        *(system for system, _ in PLANNED.values()),
        *(random_system(n, ratio, seed=n) for n, ratio in ((90, 0.3), (150, 0.8), (120, 3.0))),
        random_regular(200, seed=3),
        XorSystem.from_clauses([(0, 1), (0, 1), (5, 6, 7, 8)], [0, 0, 1], num_variables=12),
    ],
    ids=str,
)
def test_the_order_is_that_of_the_walk(system):
    plan = Plan.build(system)
    order, touched, chained = sweep_order(system)
    assert plan.order.tolist() == order
    assert [plan.clauses(update) for update in range(plan.updates)] == touched
    assert plan.chained.tolist() == chained


def test_chained_updates_share_a_clause(planned):
    for update in np.flatnonzero(planned.chained):
        assert planned.clauses(update)[0] == planned.clauses(update - 1)[-1]


def test_solution_comes_at_the_sweep_reported():
    system = random_regular(24, seed=3)
    result = quasi_greedy(system, seed=5, device="cpu", restart=4000)
    assert result.reached
    assert result.violated == 0 == system.violated(result.assignment)
    plan = Plan.build(system)
    rounds, sweep = divmod(result.sweeps, result.restart)
    solved = {}
    for clone in range(1024):
        last = plan.kernel.spins(5, rounds * 1024 + clone, sweep)
        if not violated(system, last).any():
            solved[clone] = last
    first = min(solved)
    assert solved[first].tolist() == result.assignment.tolist()
    for clone in range(1024):
        assert violated(system, plan.kernel.spins(5, rounds * 1024 + clone, sweep - 1)).any()


@pytest.mark.parametrize("clones", [1024, 5000])
def test_same_answer_for_any_number_of_threads(clones):
    system = random_regular(60, seed=8)
    results = [
        quasi_greedy(system, seed=1, clones=clones, restart=200, device="cpu", threads=threads)
        for threads in (1, 2, 7)
    ]
    assert {(r.sweeps, r.assignment.tobytes(), r.spin_updates) for r in results} == {
        (results[0].sweeps, results[0].assignment.tobytes(), results[0].spin_updates)
    }
    assert results[0].clones == -(-clones // 1024) * 1024
    assert results[0].reached


def test_fewest_violated_clauses_of_an_unsatisfiable_system():
    for seed in range(4):
        system = random_system(14, 3.0, planted=False, seed=seed)
        best = int(system.violated(all_assignments(14)).min())
        result = quasi_greedy(system, seed=seed, target=best, max_sweeps=20000, device="cpu")
        assert result.reached
        assert result.violated == best == system.violated(result.assignment)
        counts = [count for count, _ in result.improvements]
        assert counts == sorted(set(counts), reverse=True)
        assert counts[-1] == best


def test_without_success_the_best_is_reported():
    system = random_system(16, 4.0, planted=False, seed=3)
    best = int(system.violated(all_assignments(16)).min())
    assert best > 0
    for anytime in (False, True):
        result = quasi_greedy(
            system, seed=1, max_sweeps=500, restart=200, anytime=anytime, device="cpu", threads=2
        )
        assert not result.reached
        assert result.violated == system.violated(result.assignment) >= best
        assert result.sweeps <= 500
        assert result.spin_updates == 500 * 1024 * 16
    assert result.violated == best


@pytest.mark.parametrize("target", [0, 41])
def test_improvements_are_those_of_all_clones(target):
    system = random_system(300, 1.5, planted=False, seed=1)
    options = {"clones": 4096, "restart": 160, "seed": 3, "target": target, "anytime": True}
    result = quasi_greedy(system, max_sweeps=160, device="cpu", **options)
    plan = Plan.build(system)
    expected = []
    for sweep in range(16, result.sweeps + 1, 16):
        words = np.concatenate([plan.kernel.states(3, group, sweep) for group in range(4)], axis=1)
        bits = words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1
        least = max(int(bits.sum(axis=0).min()), target)
        if not expected or least < expected[-1][0]:
            expected.append((least, sweep))
    assert len(expected) > 1
    *before, (last, sweep) = result.improvements
    assert [*before, (max(last, target), sweep)] == expected
    assert last == result.violated


@pytest.mark.parametrize("threads", [1, 3])
def test_improvements_are_told_as_they_come(threads):
    told = []
    options = {"restart": 4000, "max_sweeps": 12000, "seed": 2, "device": "cpu"}
    system = random_system(300, 1.5, planted=False, seed=1)
    began = time.perf_counter()
    result = quasi_greedy(system, threads=threads, on_improvement=told.append, **options)
    counts = [step.violated for step in told]
    assert counts == sorted(set(counts), reverse=True)
    assert counts[-1] == result.violated
    seconds = [step.seconds for step in told]
    assert seconds == sorted(seconds)
    assert seconds[0] < seconds[-1] < time.perf_counter() - began
    if threads == 1:
        assert [(step.violated, step.sweeps) for step in told] == list(result.improvements)


def test_improvements_of_a_plain_search_are_told_too():
    told = []
    quasi_greedy(random_regular(40, seed=1), seed=1, device="cpu", on_improvement=told.append)
    assert told[-1].violated == 0


def test_what_on_improvement_raises_ends_the_search():
    def refuse(found):
        raise KeyError(found.violated)

    with pytest.raises(KeyError):
        quasi_greedy(
            random_system(40, 2.0, planted=False, seed=1),
            seed=1,
            device="cpu",
            on_improvement=refuse,
        )


def test_a_process_pool_tells_at_the_end():
    told = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = quasi_greedy(
            random_system(20, 2.0, planted=False, seed=1),
            seed=1,
            max_sweeps=100,
            device="cpu",
            executor=pool,
            on_improvement=told.append,
        )
    assert [(step.violated, step.sweeps) for step in told] == list(result.improvements)


def test_time_limit_holds():
    system = random_system(40, 6.0, planted=False, seed=3)
    began = time.perf_counter()
    result = quasi_greedy(system, seed=1, time_limit=0.2, device="cpu", threads=1)
    assert time.perf_counter() - began < 2
    assert result.stopped == "time_limit"
    assert result.violated == system.violated(result.assignment)


def test_resumes_from_a_checkpoint(tmp_path):
    system = random_system(30, 4.0, planted=False, seed=3)
    options = {"seed": 1, "restart": 64, "device": "cpu", "threads": 1}
    ledger = tmp_path / "job.ledger"
    whole = quasi_greedy(system, max_sweeps=640, **options)
    again = [quasi_greedy(system, max_sweeps=640, checkpoint=ledger, **options) for _ in range(2)]
    for result in again:
        assert result.assignment.tolist() == whole.assignment.tolist()
        assert result.improvements == whole.improvements


def test_constants_and_nothing():
    nothing = quasi_greedy(XorSystem(0, [0], [], []), seed=1, device="cpu")
    assert nothing.reached
    assert nothing.assignment.shape == (0,)
    false = quasi_greedy(
        XorSystem(2, [0, 0, 2], [0, 1], [1, 0]), seed=1, max_sweeps=50, device="cpu"
    )
    assert false.violated == 1
    assert not false.reached


def test_result_as_json():
    result = quasi_greedy(random_regular(20, seed=1), seed=1, device="cpu")
    plain = json.loads(result.to_json())
    assert [int(c) for c in plain["assignment"]] == result.assignment.tolist()
    assert plain["violated"] == 0
    assert plain["seed"] == 1


def test_plan_pickles():
    plan = Plan.build(random_regular(20, seed=1))
    plan.kernel.states(1, 0, 1)
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.digest == plan.digest
    assert (copy.kernel.states(1, 0, 3) == plan.kernel.states(1, 0, 3)).all()


def test_default_probabilities():
    byte, certain = 1 << 32, 1 << 40
    w1 = 14 / 256
    assert flip_table(w1, 3).tolist() == [0, 14 * byte, certain, certain]
    assert flip_table(w1, 1).tolist() == [0, certain]
    assert flip_table(w1, 2).tolist() == [0, certain, certain]
    assert flip_table(w1, 5).tolist() == [0, byte, 14 * byte, certain, certain, certain]
    assert flip_table([0, 0.5, 1], 4).tolist() == [0, certain // 2, certain, certain, certain]
    assert flip_table(0.25, 3).tolist() == [0, 64 * byte, certain, certain]
    assert flip_table(0.0, 3).tolist() == [0, 0, certain, certain]
    assert flip_table(RUN_W1, 3)[1] == round(RUN_W1 * certain)


def test_metropolis_probabilities_are_powers_of_w1():
    for degree in (1, 2, 3, 4, 7):
        for w1 in (0.01, 0.055, 0.5, 1.0):
            rises = np.maximum(degree - 2 * np.arange(degree + 1), 0)
            table = flip_table(w1, degree, "metropolis") / 2**40
            assert table == pytest.approx(w1**rises, abs=2**-41)
    assert flip_table(0.055, 3, "metropolis")[0] == round(0.055**3 * 2**40)


def test_default_w1():
    assert default_w1(random_regular(300, seed=1)) == 14 / 256
    assert default_w1(random_regular(128, seed=1)) == 20 / 256
    assert default_w1(random_regular(64, seed=1)) == 30 / 256
    assert default_w1(random_system(96, 1.0, planted=False, seed=1)) == 14 / 256
    assert default_w1(random_regular(24, 3, 4, seed=1, full_rank=False)) == 14 / 256
    table = Plan.build(random_regular(64, seed=1)).tables[3]
    assert table.tolist() == [0, 30 << 32, 1 << 40, 1 << 40]


def test_coins_of_any_resolution_come_up_as_often_as_they_should():
    """Single clauses of one variable, flipped where satisfied: the share that flips in a sweep is w_0."""
    system = XorSystem.from_clauses([[i] for i in range(4000)], [0] * 4000)
    for w0 in (0.055**3, 1 / 300, 0.4999):
        plan = Plan.build(system, [w0, 0.0])
        flips = tries = 0
        for group in range(100):
            before, after = (plan.kernel.states(3, group, sweeps) for sweeps in (0, 1))
            rows = ~before[:, 0] & np.uint32(0xFFFFFFFF)  # one word tells: its clones share a coin
            tries += int((rows != 0).sum())
            flips += int(((after[:, 0] != before[:, 0]) & (rows != 0)).sum())
        assert abs(flips - tries * w0) < 5 * np.sqrt(tries * w0)


def test_a_search_by_metropolis_tells_the_first_sweep_of_a_solution():
    system = random_regular(24, seed=3)
    found = quasi_greedy(system, seed=5, device="cpu", w1=0.2, dynamics="metropolis")
    assert found.violated == 0 == system.violated(found.assignment)
    plan = Plan.build(system, 0.2, "metropolis")
    rounds, last = divmod(found.sweeps, found.restart)
    for sweep in range(last + 1):
        words = plan.kernel.states(5, rounds, sweep)
        some = ~np.bitwise_or.reduce(words, axis=0)
        assert bool(some.any()) == (sweep == last)


@pytest.mark.parametrize(
    "options",
    [
        {"w1": 1.5},
        {"w1": [0, -0.1]},
        {"w1": []},
        {"w1": [[0, 1]]},
        {"w1": float("nan")},
        {"w1": 1e-13},
        {"w1": [0, 1e-13, 1]},
        {"w1": [0, 0.1, 1], "dynamics": "metropolis"},
        {"dynamics": "glauber"},
        {"clones": 0},
        {"clones": 1 << 27},
        {"target": -1},
        {"restart": 0},
        {"restart": 1 << 22},
        {"max_sweeps": 0},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": 2**64},
        {"clones": 1.5},
        {"target": True},
        {"max_sweeps": 10.0},
        {"time_limit": 0},
    ],
    ids=str,
)
def test_refused(options):
    with pytest.raises(InputError):
        quasi_greedy(random_regular(12, seed=1), device="cpu", **options)


def test_seeds_are_integers_of_any_type():
    system = random_regular(24, seed=1)
    found = [
        quasi_greedy(system, seed=seed, device="cpu") for seed in (7, np.uint64(7), np.int8(7))
    ]
    assert {result.sweeps for result in found} == {found[0].sweeps}
    assert quasi_greedy(system, seed=2**64 - 1, device="cpu").seed == 2**64 - 1
    for draw in (random_regular, lambda n, seed: random_system(n, 1.0, planted=False, seed=seed)):
        for seed in (1.5, True, 2**64):
            with pytest.raises(InputError):
                draw(12, seed=seed)


def test_the_result_says_why_the_search_ended():
    system = random_regular(24, seed=1)
    found = quasi_greedy(system, seed=1, device="cpu", threads=1)
    assert (found.stopped, found.method, found.device) == ("", "quasi-greedy", "1 CPU thread(s)")
    hopeless = random_system(24, 4.0, planted=False, seed=1)
    assert quasi_greedy(hopeless, seed=1, max_sweeps=9, device="cpu").stopped == "max_sweeps"


def test_too_many_clauses_of_a_variable():
    with pytest.raises(InputError):
        quasi_greedy(XorSystem.from_clauses([[0, i] for i in range(1, 300)]), device="cpu")
