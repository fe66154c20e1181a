"""The cellular genetic algorithm against the paper's definitions, one operator after the other."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    CudaStatus,
    RunOptions,
    Shard,
    ShardResult,
    split,
    steps,
    team,
)
from hardscape.engine import device as device_module
from hardscape.errors import CheckpointError, InputError
from hardscape.maxsat import CellularOptions, Formula, cellular_search
from hardscape.maxsat.methods.cellular.generation import CellularKernel
from hardscape.maxsat.methods.cellular.run import CellularRun
from hardscape.maxsat.methods.cellular.runs import CellularRuns
from hardscape.maxsat.methods.weighting.walk import break_weights
from helpers import cellular_oracle as oracle
from helpers.maxsat_oracle import holds
from helpers.maxsat_random import random_clauses

SMALL = CellularOptions(width=4, height=3, columns=2, rows=2, passes=6)
STOP = np.zeros(1, dtype=np.uint8)


def kernel_of(options, formula=None):
    return CellularKernel(formula or Formula.from_clauses([[1]], num_variables=70), options)


def unpack(partial, n):
    bits = np.unpackbits(partial["bits"].view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n].astype(bool)


def breed_once(options, formula, rows, passes, seed=5, number=1):
    """The next generation of given individuals."""
    n = formula.num_variables
    packed = np.zeros((len(rows), -(-n // 64) * 64), dtype=np.uint8)
    packed[:, :n] = rows
    words = np.packbits(packed, axis=1, bitorder="little").view(np.uint64)
    costs = np.array([oracle.value(formula, row) for row in rows])
    kernel = kernel_of(options, formula)
    parents = {"bits": words, "costs": costs}
    born, whole = kernel.room(), split(options.islands, 1)[0]
    unfinished = kernel.breed(seed, number, passes, parents, whole, born, STOP)
    return {**born, "unfinished": unfinished}


def marked(options, n=70):
    """Individuals that carry their own number in their first bits."""
    rows = np.zeros((options.individuals, n), dtype=bool)
    for i, row in enumerate(rows):
        row[:16] = i >> np.arange(16) & 1
    return rows


def numbers(rows):
    return rows[:, :16] @ (1 << np.arange(16))


def all_equal(n=70):
    """A formula that no flip changes: every individual costs the same, children never replace."""
    return Formula.from_clauses([[n, -n]], num_variables=n)


def rewarding(n=70):
    """A formula that every child of a parent without bit n-1 satisfies better after one pass."""
    return Formula.from_clauses([[n - 1]], num_variables=n)


@pytest.mark.parametrize("number", range(1, 6))
def test_second_parents_are_neighbours_in_the_sub_population(number):
    options = CellularOptions(
        width=5, height=4, columns=3, rows=2, diffusion=0, recombination=1, mutation=0
    )
    born = breed_once(options, rewarding(), marked(options), 1, number=number)
    partner = numbers(unpack(born, 70))
    around = oracle.neighbours(options, diffusion=False)
    assert all(partner[i] in around[i] for i in range(options.individuals))
    assert (partner // options.cells == np.arange(options.individuals) // options.cells).all()


def test_diffusion_reaches_the_neighbour_island_only_with_its_flag():
    sizes = {"width": 3, "height": 3, "columns": 3, "rows": 3}
    never = CellularOptions(**sizes, diffusion=0, recombination=1, mutation=0)
    always = CellularOptions(**sizes, diffusion=1, recombination=1, mutation=0)
    own = np.arange(never.individuals) // never.cells
    crossed = set()
    for number in range(1, 30):
        partner = numbers(
            unpack(breed_once(never, rewarding(), marked(never), 1, number=number), 70)
        )
        assert (partner // never.cells == own).all()
        partner = numbers(
            unpack(breed_once(always, rewarding(), marked(always), 1, number=number), 70)
        )
        around = oracle.neighbours(always, diffusion=True)
        assert all(partner[i] in around[i] for i in range(always.individuals))
        crossed |= set(zip(own.tolist(), (partner // always.cells).tolist(), strict=True))
    # Every island met its four neighbours on the torus of islands, and itself.
    assert len(crossed) == 9 * 5


def test_tournament_takes_the_better_neighbour():
    options = CellularOptions(width=8, height=8, columns=1, rows=1, recombination=1, mutation=0)
    # One individual in two has bit 20; it costs less. The other ones' only neighbours have it.
    formula = Formula.from_clauses([[21], [70]], [5, 1], num_variables=70)
    rows = marked(options)
    rows[::3, 20] = True
    values = [oracle.value(formula, row) for row in rows]
    seen = set()
    for number in range(1, 6):
        partner = numbers(unpack(breed_once(options, formula, rows, 1, number=number), 70))
        around = oracle.neighbours(options, diffusion=False)
        for i in range(options.individuals):
            expected = oracle.second_parent(around, values, 5, i, number)
            child = oracle.climb(formula, rows[expected], 1)
            if child[1] < values[i]:
                assert partner[i] == expected
                seen.add(i)
    assert len(seen) > options.individuals // 2


def test_mask_with_chance_0_copies_parent_1_and_with_1_parent_2():
    for share in (0, 1):
        options = CellularOptions(
            width=4, height=4, columns=2, rows=1, recombination=share, mutation=0, diffusion=0
        )
        rows = marked(options)
        rows[:, 20:60] = np.random.default_rng(1).integers(0, 2, (options.individuals, 40))
        born = unpack(breed_once(options, rewarding(), rows, 1), 70)
        assert born[:, 68].all()  # every child beat its parent
        source = numbers(born)
        assert (born[:, :68] == rows[source, :68]).all()
        assert (source == np.arange(options.individuals)).all() == (share == 0)


def test_masks_have_their_probability():
    options = CellularOptions(width=30, height=30, columns=1, rows=1, recombination=0.2, mutation=0)
    n = 300
    rows = np.zeros((options.individuals, n), dtype=bool)
    y, x = np.divmod(np.arange(options.individuals), 30)
    rows[(x + y) % 2 == 1] = True  # a chess board: all neighbours differ everywhere
    rows[:, n - 2 :] = False
    born = unpack(breed_once(options, rewarding(n), rows, 1), n)[:, : n - 2]
    share = (born != rows[:, : n - 2]).mean()
    assert abs(share - 0.2) < 5 * np.sqrt(0.2 * 0.8 / born.size)

    options = CellularOptions(
        width=30, height=30, columns=1, rows=1, recombination=0.5, mutation=0.1
    )
    rows = np.zeros((options.individuals, n), dtype=bool)
    born = unpack(breed_once(options, rewarding(n), rows, 1), n)[:, : n - 2]
    assert abs(born.mean() - 0.1) < 5 * np.sqrt(0.1 * 0.9 / born.size)


def test_parent_stays_unless_the_child_is_better():
    formula = all_equal()
    rows = marked(SMALL)
    assert (unpack(breed_once(SMALL, formula, rows, 3), 70) == rows).all()


def test_feedback_counts_who_improved_in_the_last_pass():
    # One pass sets all variables of a chain that depends on earlier ones; the next pass is quiet.
    options = CellularOptions(width=6, height=6, columns=1, rows=1, mutation=0.3)
    formula = Formula.from_clauses([[v] for v in range(1, 71)])
    rows = np.zeros((options.individuals, 70), dtype=bool)
    assert int(breed_once(options, formula, rows, 1)["unfinished"]) == options.individuals
    assert int(breed_once(options, formula, rows, 2)["unfinished"]) == 0


def test_feedback_raises_and_lowers_the_passes():
    formula = random_clauses(60, 256, 3, seed=2)
    crowded = CellularOptions(width=5, height=5, columns=2, rows=1, passes=8, step=3, feedback=0)
    calm = CellularOptions(width=5, height=5, columns=2, rows=1, passes=8, step=3, feedback=1)
    falling = cellular_search(formula, options=calm, seed=3, device="cpu").history[1:, 2]
    assert falling[:4].tolist() == [8, 5, 2, 1]
    assert set(falling[3:].tolist()) == {1}
    passes = cellular_search(formula, options=crowded, seed=3, device="cpu").history[1:, 2]
    steps = np.diff(passes)
    assert (steps > 0).any()
    assert set(steps.tolist()) <= {3, -3, 2, 1, 0}
    assert passes.max() == 8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [0, 12])
def test_whole_runs_equal_the_oracle(weighted, hard):
    rng = np.random.default_rng(7)
    clauses = [
        (rng.choice(66, size, replace=False) + 1) * rng.choice([-1, 1], size)
        for size in rng.choice([1, 2, 3, 3, 3, 5], 150)
    ]
    weights = rng.integers(1, 9, 150 - hard) if weighted else None
    clauses = [[int(x) for x in clause] for clause in clauses]
    formula = Formula.from_clauses(clauses[hard:], weights, hard=clauses[:hard], num_variables=66)
    options = CellularOptions(
        width=3, height=3, columns=2, rows=1, diffusion=0.5, max_generations=4, passes=5
    )
    result = cellular_search(formula, options=options, seed=11, device="cpu", threads=2)
    history, best = oracle.run(formula, options, oracle.run_seed(11, 0), (0, 0))
    assert [tuple(x) for x in result.history.tolist()] == history
    assert (result.assignment == best).all()
    assert (result.hard_violations, result.cost) == history[-1][:2]


OLD = {
    "crossover": "two-point",
    "inversion": "gene",
    "selection": "panmictic",
    "migration": "sorted",
}


@pytest.mark.parametrize("names", [*((name,) for name in OLD), tuple(OLD)], ids="+".join)
def test_operators_that_the_paper_compares_with_equal_the_oracle(names):
    formula = random_clauses(70, 290, 3, seed=9)
    options = CellularOptions(
        width=3, height=4, columns=2, rows=2, diffusion=0.6, recombination=0.5, mutation=0.4,
        max_generations=4, passes=3, **{name: OLD[name] for name in names},
    )  # fmt: skip
    result = cellular_search(formula, options=options, seed=11, device="cpu", threads=2)
    history, best = oracle.run(formula, options, oracle.run_seed(11, 0), (0, 0))
    assert [tuple(x) for x in result.history.tolist()] == history
    assert (result.assignment == best).all()
    plain = replace(options, **{name: getattr(CellularOptions(), name) for name in names})
    assert plain.operators == 0 < options.operators
    other = cellular_search(formula, options=plain, seed=11, device="cpu")
    assert (other.history[:, 1] != result.history[:, 1]).any()


@pytest.mark.parametrize("name", OLD)
def test_operators_are_checked(name):
    with pytest.raises(InputError):
        CellularOptions(**{name: "both"})


def test_counting_and_adding_weights_climb_alike():
    formula = random_clauses(130, 560, 3, seed=4)
    uneven = Formula.from_clauses([*_lists(formula), [130, -130]], [3] * formula.num_clauses + [1])
    # The tautology is left out, so weights are even again; a second formula keeps them uneven.
    heavy = Formula.from_clauses(
        [*_lists(formula), [131]], [3] * formula.num_clauses + [1], num_variables=131
    )
    plain = cellular_search(formula, seed=1, device="cpu", options=SMALL)
    same = cellular_search(uneven, seed=1, device="cpu", options=SMALL)
    assert (plain.assignment == same.assignment).all()
    assert (3 * plain.history[:, 1] == same.history[:, 1]).all()
    assert cellular_search(heavy, seed=1, device="cpu", options=SMALL).cost % 3 == 0


def _lists(formula):
    ends = formula.offsets.tolist()
    return [formula.literals[a:b].tolist() for a, b in pairwise(ends)]


def test_the_number_of_threads_changes_nothing():
    formula = random_clauses(100, 430, 3, seed=5)
    one, two, five = (cellular_search(formula, seed=2, device="cpu", threads=t) for t in (1, 2, 5))
    assert (one.history == two.history).all()
    assert (one.history == five.history).all()
    assert (one.assignment == five.assignment).all()


def test_a_run_goes_on_from_its_state():
    kernel = CellularKernel(random_clauses(100, 430, 3, seed=5), SMALL)
    whole, begun = (CellularRun(kernel, 3, (0, 0)) for _ in range(2))
    steps(whole, RunOptions.checked(device="cpu", threads=1))
    with team(2) as two:
        assert begun.advance(3, two) == 3
        rest = pickle.loads(pickle.dumps(CellularRun(kernel, 3, (0, 0))))
        rest.restore(begun.state())
        assert rest.advance(10**9, two) == whole.generations - 2
    assert rest.finished()
    for name, array in whole.result().items():
        assert (rest.result()[name] == array).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_single_run_is_kept_in_a_checkpoint(threads, tmp_path):
    formula = random_clauses(400, 2400, 3, seed=5)
    slow = CellularOptions(patience=30, max_generations=40)
    how = {"options": slow, "seed": 2, "device": "cpu", "threads": threads}
    ledger = tmp_path / "run.ledger"
    plain = cellular_search(formula, **how)
    cut = cellular_search(formula, time_limit=0.3 * plain.seconds, checkpoint=ledger, **how)
    assert cut.generations < plain.generations
    whole = cellular_search(formula, checkpoint=ledger, **how)
    assert whole.stopped == ""
    assert (whole.history == plain.history).all()
    assert (whole.assignment == plain.assignment).all()
    again = cellular_search(formula, checkpoint=ledger, **how)
    assert (again.history == plain.history).all()
    with pytest.raises(CheckpointError):
        cellular_search(formula, checkpoint=ledger, **how | {"seed": 3})


@pytest.mark.parametrize("runs", [1, 4])
def test_an_executor_does_the_runs(runs):
    formula = random_clauses(60, 256, 3, seed=2)
    options = CellularOptions(width=5, height=5, columns=2, rows=1)
    how = {"options": options, "seed": 3, "runs": runs, "device": "cpu", "threads": 1}
    here = cellular_search(formula, **how)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = cellular_search(formula, executor=pool, **how)
    assert (here.assignment == there.assignment).all()
    assert (here.run_costs == there.run_costs).all()
    assert (here.device, there.device) == ("cpu", "cpu of ProcessPoolExecutor")


def test_runs_are_those_of_their_seeds_and_the_best_is_returned():
    formula = random_clauses(80, 400, 3, seed=6)
    many = cellular_search(formula, seed=4, runs=5, device="cpu", threads=2, options=SMALL)
    alone = cellular_search(formula, seed=4, device="cpu", threads=2, options=SMALL)
    assert many.runs == 5
    assert many.run_costs[0].tolist() == [0, alone.cost]
    assert many.run_generations[0] == alone.generations
    assert many.cost == many.run_costs[:, 1].min() == formula.cost(many.assignment)
    assert len(set(many.run_costs[:, 1].tolist())) > 1


def test_target_ends_the_search():
    formula = random_clauses(80, 400, 3, seed=6)
    result = cellular_search(formula, seed=4, runs=50, target=40, device="cpu", options=SMALL)
    assert result.cost <= 40
    assert result.runs == 1
    reports = []
    best = cellular_search(
        formula,
        seed=4,
        device="cpu",
        options=SMALL,
        on_improvement=lambda x: reports.append((formula.cost(x.assignment), x.seconds)),
    )
    costs, seconds = zip(*reports, strict=True)
    assert list(costs) == sorted(set(costs), reverse=True)
    assert costs[-1] == best.cost
    assert list(seconds) == sorted(seconds)


def test_time_limit_returns_the_best_so_far():
    formula = random_clauses(300, 1800, 3, seed=1)
    patient = CellularOptions(patience=10**6)
    for runs in (1, 3):
        result = cellular_search(
            formula, seed=1, runs=runs, time_limit=0.2, device="cpu", threads=1, options=patient
        )
        assert result.stopped
        assert result.seconds < 2
        assert result.cost == formula.cost(result.assignment)


@pytest.mark.parametrize("clauses", [[], [[]], [[], [1]], [[1, -1]]])
def test_degenerate_formulas(clauses):
    formula = Formula.from_clauses(clauses)
    result = cellular_search(formula, seed=1, device="cpu", options=SMALL)
    assert result.cost == clauses.count([])
    assert result.assignment.shape == (formula.num_variables,)


def test_empty_hard_clause_is_counted():
    formula = Formula.from_clauses([[1]], hard=[[]])
    result = cellular_search(formula, seed=1, device="cpu", options=SMALL)
    assert (result.hard_violations, result.cost) == (1, 0)
    assert result.generations <= 1


def test_refusals():
    formula = Formula.from_clauses([[1]])
    for change in (
        {"width": 0},
        {"diffusion": 1.5},
        {"passes": 0},
        {"rows": 2.0},
        {"mutation": "a"},
    ):
        with pytest.raises(InputError):
            CellularOptions(**change)
    with pytest.raises(InputError):
        CellularOptions(width=2**16, height=2**16)
    for change in (
        {"runs": 0},
        {"runs": True},
        {"seed": -1},
        {"seed": 1.5},
        {"target": -1},
        {"seed": 2**64},
        {"time_limit": 0},
        {"time_limit": "1"},
        {"threads": 1.5},
    ):
        with pytest.raises(InputError):
            cellular_search(formula, device="cpu", **change)
    with pytest.raises(InputError):
        cellular_search(Formula.from_clauses([[1], [2]], [2**63 - 1] * 2), device="cpu")


def test_work_pickles():
    kernel = CellularKernel(random_clauses(30, 60, 3, seed=1), SMALL)
    assert kernel.native() is not None
    again = pickle.loads(pickle.dumps(kernel))
    assert again.formula.digest == kernel.formula.digest


def test_result_is_plain_data():
    result = cellular_search(Formula.from_clauses([[1], [-2]]), seed=1, device="cpu", options=SMALL)
    told = result.to_dict()
    assert told["assignment"] == "10"
    assert told["cost"] == 0
    assert "cost 0" in repr(result)


def _walked(formula, bits, flips, seed, individual, generation):
    """The memetic local search by the definition of the walk: best assignment met, its violated clauses."""
    clauses = [sorted(clause, key=abs) for clause in _lists(formula)]
    weights = break_weights(len(formula.literals) / len(clauses)).tolist()
    random = oracle.stream(seed, individual, generation, oracle.WALK)
    value = [bool(x) for x in bits]
    violated = [c for c, clause in enumerate(clauses) if not holds(clause, value)]
    best, least = list(value), len(violated)

    def leave(c):
        place = violated.index(c)
        violated[place] = violated[-1]
        violated.pop()

    for _ in range(flips):
        if not violated:
            break
        draw = random.next()
        chosen = violated[(draw % 2**32) * len(violated) >> 32]
        breaks = []
        for x in clauses[chosen]:
            value[abs(x) - 1] ^= True
            now = [c for c, clause in enumerate(clauses) if not holds(clause, value)]
            breaks.append(len(set(now) - set(violated)))
            value[abs(x) - 1] ^= True
        chances = [weights[b] for b in breaks]
        q, k = (draw >> 32) * sum(chances) >> 32, 0
        while q >= chances[k]:
            q -= chances[k]
            k += 1
        literal = clauses[chosen][k]
        value[abs(literal) - 1] ^= True
        leave(chosen)
        for c in [c for c in reversed(violated) if literal in clauses[c]]:
            leave(c)
        violated += [
            c
            for c, clause in enumerate(clauses)
            if -literal in clause and not holds(clause, value) and c not in violated
        ]
        if len(violated) < least:
            best, least = list(value), len(violated)
    return np.array(best), least


@pytest.mark.parametrize("size", [2, 3])
def test_memetic_children_are_walked(size):
    formula = random_clauses(70, 110 if size == 2 else 300, size, seed=8)
    options = CellularOptions(width=3, height=2, columns=1, rows=1, walk_flips=40)
    rows, values = oracle.initial(formula, options, 5)
    born = breed_once(options, formula, rows, 1)
    around = oracle.neighbours(options, oracle.diffuses(options, 5, 1))
    for i in range(options.individuals):
        partner = oracle.second_parent(around, values, 5, i, 1)
        child, least = _walked(formula, oracle.child(options, rows, partner, 5, i, 1), 40, 5, i, 1)
        assert least < values[i][1]
        assert born["costs"][i].tolist() == [0, least]
        assert (unpack(born, 70)[i] == child).all()


def test_memetic_search_goes_below_climbing():
    formula = random_clauses(200, 860, 3, seed=2)
    climbed = cellular_search(formula, seed=1, device="cpu", options=SMALL)
    options = replace(SMALL, walk_flips=2000, mutation=0.02)
    walked = cellular_search(formula, seed=1, device="cpu", options=options)
    again = cellular_search(formula, seed=1, device="cpu", options=options, threads=3)
    assert walked.cost < climbed.cost
    assert (walked.history == again.history).all()


def test_memetic_children_of_uneven_weights_are_weighed():
    """Hard and soft clauses, no two of the latter of one weight."""
    rng = np.random.default_rng(4)
    drawn = random_clauses(60, 330, 3, seed=9)
    hard = np.arange(330) < 150
    weights = np.where(hard, 0, rng.permutation(330) + 1)
    formula = Formula(60, drawn.literals, drawn.offsets, weights, hard)
    options = CellularOptions(width=3, height=2, columns=2, rows=1, walk_flips=300)
    rows, values = oracle.initial(formula, options, 5)
    born = breed_once(options, formula, rows, 1)
    children = unpack(born, 60)
    for i in range(options.individuals):
        cost = formula.evaluate(children[i].astype(np.uint8))
        assert born["costs"][i].tolist() == [cost.hard_violations, cost.cost]
        assert tuple(born["costs"][i].tolist()) < tuple(values[i])
    climbed = cellular_search(formula, seed=1, device="cpu", options=SMALL)
    walked = [
        cellular_search(
            formula, seed=1, device="cpu", threads=n, options=replace(SMALL, walk_flips=300)
        )
        for n in (1, 3)
    ]
    assert walked[0].cost <= climbed.cost
    assert (walked[0].history == walked[1].history).all()


def test_runs_are_shared_among_the_gpus_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a CPU in the place of each. A ledger goes on with the shards that it was begun with."""
    ran: list[int] = []
    whole = CellularRuns.run

    def run(work: CellularRuns, shard: Shard, context: Context) -> ShardResult:
        assert isinstance(context.device, Cuda)
        ran.append(len(shard))
        return whole(work, shard, replace(context, device=Cpu()))

    def search(gpus: int, checkpoint: Path | None = None) -> list[bytes]:
        monkeypatch.setattr(device_module, "_usable_gpus", lambda: tuple(map(Cuda, range(gpus))))
        given = {"runs": 10, "options": SMALL, "seed": 5, "checkpoint": checkpoint}
        found = cellular_search(formula, device="cuda" if gpus else "cpu", **given)
        return [x.tobytes() for x in (found.assignment, found.run_costs, found.run_generations)]

    monkeypatch.setattr(device_module, "cuda_status", lambda: CudaStatus(True, *("",) * 6, ()))
    formula = random_clauses(30, 200, 3, seed=1)
    expected = search(0)
    monkeypatch.setattr(CellularRuns, "run", run)
    assert search(2) == expected
    assert ran == [5, 5]
    assert search(3) == expected
    assert sorted(ran[2:]) == [3, 3, 4]
    ledger = tmp_path / "runs"
    for gpus in (2, 4, 1):
        assert search(gpus, ledger) == expected
    assert sorted(ran[5:]) == [5, 5]
