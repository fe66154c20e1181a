"""The quasi-greedy dynamics on CUDA against the CPU: the same words, the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.engine.cuda import cuda_device
from hardscape.errors import CheckpointError
from hardscape.xorsat import (
    energy_trace,
    quasi_greedy,
    random_regular,
    random_system,
    time_to_solution,
    times_to_solution,
)
from hardscape.xorsat.methods.quasi_greedy.cuda import CudaClones, CudaRound
from hardscape.xorsat.methods.quasi_greedy.cuda.tabled import Tabled
from hardscape.xorsat.methods.quasi_greedy.cuda.unrolled import Unrolled
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from hardscape.xorsat.methods.quasi_greedy.rounds import Rounds
from helpers.xorsat_systems import PLANNED

pytestmark = pytest.mark.gpu


def words_on_cuda(plan, groups, sweeps, seed, pieces, code=None):
    """Words of all clauses after `sweeps` sweeps, run in `pieces` launches."""
    clones = CudaClones.build(plan, exact=True) if code is None else CudaClones(code)
    rounds = Rounds(plan, seed, groups, sweeps, 0, sweeps, False)
    with cuda_device(0) as device:
        search = CudaRound(clones, rounds, 0, device)
        step = -(-sweeps // pieces)
        for first in range(0, sweeps, step):
            search.start(first, min(step, sweeps - first), 1 << 30, last=False, keep=True)
        device.synchronize()
        return search.state.get()


def assert_same_words(plan, groups, sweeps, pieces=1, code=None):
    words = words_on_cuda(plan, groups, sweeps, 9, pieces, code)
    has_word = np.diff(plan.system.offsets) > 0
    for group in range(groups):
        expected = plan.kernel.states(9, group, sweeps)[has_word]
        assert (words[has_word, 32 * group : 32 * group + 32] == expected).all()


@pytest.mark.parametrize("kind", [k for k in PLANNED if k != "nothing"])
def test_words_equal_the_cpu(kind):
    plan = Plan.build(*PLANNED[kind])
    assert_same_words(plan, 3, 50)
    assert_same_words(plan, 30, 33, pieces=4)


@pytest.mark.parametrize("n", [40, 128, 200, 256, 320])
def test_words_after_a_thousand_sweeps(n):
    assert_same_words(Plan.build(random_regular(n, seed=n)), 14, 1000, pieces=2)


@pytest.mark.parametrize("kind", [k for k in PLANNED if k != "nothing"])
def test_words_by_tables_equal_the_cpu(kind):
    plan = Plan.build(*PLANNED[kind])
    assert_same_words(plan, 3, 50, code=Tabled(plan))
    assert_same_words(plan, 30, 33, pieces=4, code=Tabled(plan))


@pytest.mark.parametrize("n", [700, 3000, 65536])
def test_words_of_large_systems(n):
    system = random_regular(n, seed=n, full_rank=False)
    sweeps = 300 if n < 65536 else 5
    for w1, dynamics in ((None, "quasi-greedy"), (0.055, "quasi-greedy"), (0.055, "metropolis")):
        plan = Plan.build(system, w1, dynamics)
        assert_same_words(plan, 3, sweeps, pieces=2)


@pytest.mark.parametrize("n", [40, 192, 256])
@pytest.mark.parametrize("dynamics", ["quasi-greedy", "metropolis"])
def test_words_with_fine_coins(n, dynamics):
    assert_same_words(Plan.build(random_regular(n, seed=n), 0.055, dynamics), 7, 700, pieces=2)


def assert_same(a, b):
    assert (a.violated, a.sweeps, a.improvements) == (b.violated, b.sweeps, b.improvements)
    assert a.assignment.tolist() == b.assignment.tolist()


@pytest.mark.parametrize("clones", [1024, 40000])
def test_same_solution_as_the_cpu(clones):
    for n, seed in ((16, 1), (40, 2), (80, 3)):
        system = random_regular(n, seed=seed)
        options = {"seed": seed, "clones": clones, "restart": 500}
        cuda = quasi_greedy(system, device="cuda:0", **options)
        assert cuda.violated == 0
        assert_same(cuda, quasi_greedy(system, device="cpu", **options))


@pytest.mark.parametrize("n", [16, 40])
def test_same_solution_by_metropolis(n):
    system = random_regular(n, seed=2)
    options = {"seed": 3, "clones": 5000, "restart": 400, "w1": 0.2, "dynamics": "metropolis"}
    cuda = quasi_greedy(system, device="cuda:0", **options)
    assert cuda.violated == 0
    assert_same(cuda, quasi_greedy(system, device="cpu", **options))


@pytest.mark.parametrize("anytime", [True, False])
def test_a_large_system_ends_as_on_the_cpu(anytime):
    system = random_regular(1000, seed=1)
    options = {"seed": 3, "clones": 5000, "restart": 160, "max_sweeps": 300, "anytime": anytime}
    assert_same(
        quasi_greedy(system, device="cuda:0", **options),
        quasi_greedy(system, device="cpu", **options),
    )


def test_looks_may_be_further_apart_than_a_launch(monkeypatch):
    monkeypatch.setattr(Tabled, "launch_updates", 1e6)
    system = random_regular(1000, seed=1)
    options = {"seed": 3, "clones": 5000, "restart": 40, "max_sweeps": 40, "anytime": True}
    assert_same(
        quasi_greedy(system, device="cuda:0", **options),
        quasi_greedy(system, device="cpu", **options),
    )


def test_solutions_by_tables_are_those_of_the_cpu(monkeypatch):
    monkeypatch.setattr(Unrolled, "fits", False)
    for n, clones in ((9, 1 << 15), (40, 5000)):
        system = random_regular(n, seed=5, full_rank=False)
        options = {"seed": 8, "clones": clones, "restart": 500}
        cuda = quasi_greedy(system, device="cuda:0", **options)
        assert cuda.violated == 0
        assert_same(cuda, quasi_greedy(system, device="cpu", **options))


def test_many_solutions_at_once():
    for n in (3, 6, 9):
        system = random_regular(n, seed=1, full_rank=False)
        options = {"seed": 1, "clones": 1 << 17}
        assert_same(
            quasi_greedy(system, device="cuda:0", **options),
            quasi_greedy(system, device="cpu", **options),
        )


@pytest.mark.parametrize("anytime", [True, False])
def test_fewest_violated_clauses(anytime):
    system = random_system(60, 2.0, planted=False, seed=1)
    options = {"seed": 4, "clones": 8192, "restart": 300, "max_sweeps": 1000, "anytime": anytime}
    assert_same(
        quasi_greedy(system, device="cuda:0", **options),
        quasi_greedy(system, device="cpu", **options),
    )


@pytest.mark.parametrize("target", [0, 18])
def test_improvements_are_those_of_the_cpu_and_told_as_they_come(target):
    system = random_system(300, 1.2, planted=False, seed=1)
    options = {"seed": 4, "clones": 30000, "restart": 400, "max_sweeps": 800, "target": target}
    told = []
    cuda = quasi_greedy(
        system, device="cuda:0", anytime=True, on_improvement=told.append, **options
    )
    assert [(step.violated, step.sweeps) for step in told] == list(cuda.improvements)
    assert_same(cuda, quasi_greedy(system, device="cpu", anytime=True, **options))


def test_one_kernel_serves_all_w1():
    system = random_regular(60, seed=1)
    kernels = [
        CudaClones.build(Plan.build(system, w1), exact=True).kernel for w1 in (0.05, 0.1, 0.2)
    ]
    assert kernels[0] == kernels[1] == kernels[2]
    for w1 in (0.05, 0.2):
        assert_same_words(Plan.build(system, w1), 2, 200)


def test_target():
    system = random_system(60, 2.0, planted=False, seed=1)
    options = {"seed": 4, "clones": 4096, "target": 16}
    cuda = quasi_greedy(system, device="cuda:0", **options)
    assert cuda.reached
    assert_same(cuda, quasi_greedy(system, device="cpu", **options))


def test_time_limit():
    result = quasi_greedy(random_regular(320, seed=1), device="cuda:0", seed=1, time_limit=0.5)
    assert result.stopped == "time_limit"
    assert result.violated == random_regular(320, seed=1).violated(result.assignment)
    assert result.seconds < 20


def test_a_study_of_many_systems_counts_the_sweeps_of_the_cpu():
    systems = [random_regular(40, seed=seed) for seed in range(6)]
    options = {"clones": 4096, "restart": 500, "seed": 4}
    cpu, cuda = (
        times_to_solution(systems, 3, 5.0, device=device, **options) for device in ("cpu", "cuda")
    )
    assert [x.sweeps.tolist() for x in cuda] == [x.sweeps.tolist() for x in cpu]


@pytest.mark.parametrize("until", [None, 0.01])
@pytest.mark.parametrize("dynamics", ["quasi-greedy", "metropolis"])
def test_energies_are_those_of_the_cpu(dynamics, until):
    for system in (random_regular(300, seed=1), random_system(900, 1.5, planted=False, seed=2)):
        options = {"w1": 0.2, "until": until, "dynamics": dynamics, "looks": 7, "clones": 9000}
        cpu, cuda = (
            energy_trace(system, 90, device=device, seed=3, **options) for device in ("cpu", "cuda")
        )
        for name in ("sweeps", "w1", "energy", "error", "lowest"):
            assert getattr(cuda, name).tolist() == getattr(cpu, name).tolist()


def test_a_study_counts_the_sweeps_of_the_cpu(tmp_path):
    system = random_regular(40, seed=2)
    options = {"clones": 4096, "restart": 500, "seed": 4}
    cpu = time_to_solution(system, 8, 5.0, device="cpu", threads=1, **options)
    ledger = tmp_path / "study.ledger"
    cuda, again = (
        time_to_solution(system, 8, 5.0, device="cuda:0", checkpoint=ledger, **options)
        for _ in range(2)
    )
    assert cuda.sweeps.tolist() == cpu.sweeps.tolist()
    assert again.seconds.tolist() == cuda.seconds.tolist()
    assert (cuda.device, cuda.num_solved) == ("cuda:0", 8)
    with pytest.raises(CheckpointError):  # seconds of two kinds of device do not mix
        time_to_solution(system, 8, 5.0, device="cpu", checkpoint=ledger, **options)
