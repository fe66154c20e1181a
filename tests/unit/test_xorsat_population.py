"""The law of tau among instances, and studies of many systems."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.xorsat import fit_population, random_regular, time_to_solution, times_to_solution
from hardscape.xorsat.studies.population import population_of
from hardscape.xorsat.studies.scans import least_w1, pooled_times


def test_the_median_is_found_where_most_instances_are_hardly_ever_solved():
    random = np.random.default_rng(1)
    pulls, naive = [], []
    for _ in range(12):
        tau = np.exp(random.normal(10.0, 0.8, 60))
        total = np.full(60, math.exp(9.5))
        solved = random.poisson(total / tau).astype(float)
        law = population_of(solved, total)
        pulls.append((math.log(law.median) - 10.0) / law.log_error)
        naive.append(float(np.median(total / np.maximum(solved, 1e-9))))
        assert 0.05 < law.log_error < 0.5
        assert abs(law.scatter - 0.8) < 5 * law.scatter_error
    assert abs(np.mean(pulls)) < 4 / math.sqrt(12)
    assert 0.3 < np.std(pulls) < 2
    assert np.median(naive) > 2 * math.exp(10.0)  # what point estimates would have told


def test_many_solved_runs_of_few_instances_leave_their_scatter():
    tau = np.array([1.0, 2.0, 4.0, 8.0])
    law = population_of(np.full(4, 1e6), 1e6 * tau)
    assert law.median == pytest.approx(math.sqrt(8), rel=0.02)
    assert law.log_error > 0.25
    assert law.instances == 4


def test_units():
    found = times_to_solution(
        [random_regular(24, seed=seed) for seed in range(4)],
        5,
        5.0,
        device="cpu",
        threads=1,
        seed=1,
    )
    sweeps, updates = (fit_population(found, unit) for unit in ("clone sweeps", "updates"))
    assert updates.median == pytest.approx(24 * sweeps.median)
    assert sweeps.tts(99) == pytest.approx(math.log(100) * sweeps.median)
    assert fit_population(found, "seconds").solved == 20
    with pytest.raises(InputError):
        fit_population(found, "hours")
    with pytest.raises(InputError):
        sweeps.tts(100)


def test_nothing_solved_is_refused():
    with pytest.raises(InputError):
        population_of(np.zeros(3), np.ones(3))


def test_a_study_of_many_systems_is_that_of_each(tmp_path):
    systems = [random_regular(32, seed=seed) for seed in range(3)]
    options = {"device": "cpu", "threads": 1, "clones": 2048, "w1": 0.1}
    found = times_to_solution(systems, 4, 5.0, seed=7, checkpoint=tmp_path / "a", **options)
    again = times_to_solution(systems, 4, 5.0, seed=7, checkpoint=tmp_path / "a", **options)
    for system, one, same in zip(systems, found, again, strict=True):
        alone = time_to_solution(system, 4, 5.0, seed=7, **options)
        assert one.seed == 7
        assert alone.sweeps.tolist() == one.sweeps.tolist()
        assert same.seconds.tolist() == one.seconds.tolist()
    with pytest.raises(InputError):
        times_to_solution([])


def test_pooled_times_tell_ways_apart_that_instances_hide():
    random = np.random.default_rng(3)
    hard = random.normal(10.0, 2.0, 30)
    ways = np.array([0.0, 0.5, -0.3, 1.5])
    totals = np.exp(hard[:, None] + random.uniform(-1, 2, (30, 4)))
    solved = random.poisson(totals / np.exp(hard[:, None] + ways)).astype(float)
    log, error = pooled_times(solved, totals)
    assert log[:3] - log[0] == pytest.approx(ways[:3], abs=5 * error[:3].max())
    assert error == pytest.approx(1 / np.sqrt(solved.sum(axis=0)))
    totals[:, 3] = 1e-9
    solved[:, 3] = 0
    log, _ = pooled_times(solved, totals)
    assert np.isinf(log[3])
    assert np.isfinite(log[:3]).all()


def test_the_least_w1_of_a_law_that_is_no_parabola():
    w1 = np.array([8, 11, 14, 17, 20, 30]) / 256
    log = 5 - 1.2 * np.log(w1) + 1.2 / 0.06 * w1  # least at b / c = 0.06
    assert least_w1(w1, log, np.full(6, 0.1))[0] == pytest.approx(0.06, rel=1e-9)
    random = np.random.default_rng(5)
    found = np.array(
        [least_w1(w1, log + random.normal(0, 0.02, 6), np.full(6, 0.02)) for _ in range(400)]
    )
    assert found[:, 0].mean() == pytest.approx(0.06, abs=3e-4)
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.15)


def test_no_least_w1_where_times_only_fall_or_points_are_few():
    w1 = np.array([0.03, 0.04, 0.05, 0.06])
    ones = np.full(4, 0.1)
    assert math.isnan(least_w1(w1, -np.log(w1), ones)[0])
    assert math.isnan(least_w1(w1, 100 * w1 - np.log(w1), ones)[0])  # at 0.01, outside
    assert math.isnan(least_w1(w1[[0, 0, 1]], np.zeros(3), ones[:3])[0])
