"""Many runs of one search."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.xorsat import (
    QuasiGreedyRunner,
    XorSystem,
    measure,
    quasi_greedy,
    random_regular,
    random_system,
)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("clones", [1024, 4096])
def test_sweeps_are_those_of_the_search(threads, clones):
    system = random_regular(48, seed=2)
    runner = QuasiGreedyRunner(system, clones=clones, restart=300, device="cpu", threads=threads)
    assert runner.clones == clones
    for seed in range(5):
        solved, sweeps, seconds = runner(seed, 60.0)
        expected = quasi_greedy(system, clones=clones, restart=300, seed=seed, device="cpu")
        assert solved
        assert sweeps == expected.sweeps
        assert 0 < seconds < 60


@pytest.mark.parametrize("threads", [1, 2])
def test_timeout(threads):
    runner = QuasiGreedyRunner(
        random_system(40, 3.0, planted=False, seed=1), device="cpu", threads=threads
    )
    solved, sweeps, seconds = runner(1, 0.05)
    assert not solved
    assert sweeps > 0
    assert 0.04 < seconds < 2


def test_longer_search_takes_more_sweeps():
    system = random_regular(90, seed=5)
    runner = QuasiGreedyRunner(system, device="cpu", threads=1)
    result = measure(system, runner, 60, 20.0, w1=0.055, seed=1)
    assert result.solved.all()
    assert len(np.unique(result.sweeps)) > 50
    small = random_regular(45, seed=5)
    runner = QuasiGreedyRunner(small, device="cpu", threads=1)
    assert measure(small, runner, 60, 20.0, w1=0.055, seed=1).tau_sweeps < result.tau_sweeps / 4


def test_refused():
    with pytest.raises(InputError):
        QuasiGreedyRunner(random_regular(12, seed=1), clones=0, device="cpu")
    with pytest.raises(InputError):
        QuasiGreedyRunner(XorSystem.from_clauses([[0, 1]]), w1=2.0, device="cpu")
