"""Times to solution: the posterior against numerical integrals and against simulated runs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import InputError, Interrupted
from hardscape.xorsat import random_regular
from hardscape.xorsat.studies.posterior import CountPosterior, TauPosterior
from hardscape.xorsat.studies.scans import fit_exponent, fit_w1
from hardscape.xorsat.studies.time_to_solution import measure, time_to_solution
from hardscape.xorsat.studies.times import TimeToSolution, median_tts


def simulated(
    tau: float, runs: int, timeout: float, seed: int, shape: float = 1.0
) -> TimeToSolution:
    random = np.random.default_rng(seed)
    times = tau * random.weibull(shape, runs)
    stopped = np.minimum(times, timeout)
    sweeps = np.ceil(stopped * 1e6).astype(np.int64)
    return TimeToSolution(64, 512, 0.055, "none", timeout, times <= timeout, sweeps, stopped)


def integrated_quantile(log_density, mode: float, probability: float) -> float:
    """Quantile of a density in ln tau, summed over a grid."""
    grid = math.log(mode) + np.linspace(-15, 60, 1_500_001)
    share = np.cumsum(np.exp(log_density(np.exp(grid))))
    return float(np.exp(np.interp(probability, share / share[-1], grid)))


@pytest.mark.parametrize("solved", [1, 2, 7, 300])
def test_posterior_is_its_formula(solved: int) -> None:
    total = 12.5
    posterior = TauPosterior(solved, total)
    assert posterior.mode == total / solved

    def log_density(tau):
        return -solved * np.log(tau / posterior.mode) - total / tau + solved

    for probability in (0.01, 0.16, 0.5, 0.84, 0.99):
        wanted = integrated_quantile(log_density, posterior.mode, probability)
        assert posterior.quantile(probability) == pytest.approx(wanted, rel=1e-4)
    grid = np.exp(np.linspace(-12, 25, 200_001))
    area = float(
        np.sum((posterior.density(grid)[1:] + posterior.density(grid)[:-1]) / 2 * np.diff(grid))
    )
    assert area == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize(("solved", "runs"), [(1, 10), (5, 1000), (20, 40), (99, 100)])
def test_posterior_of_counts(solved: int, runs: int) -> None:
    timeout = 3.0
    posterior = CountPosterior(solved, runs, timeout)

    def log_density(tau):
        fail = np.exp(-timeout / tau)
        with np.errstate(divide="ignore"):
            return (
                solved * np.log1p(-fail)
                - (runs - solved) * timeout / tau
                - solved * math.log(solved / runs)
                - (runs - solved) * math.log1p(-solved / runs)
            )

    for probability in (0.16, 0.5, 0.84):
        wanted = integrated_quantile(log_density, posterior.mode, probability)
        assert posterior.quantile(probability) == pytest.approx(wanted, rel=1e-3)
    assert 1 - math.exp(-timeout / posterior.mode) == pytest.approx(solved / runs)


def test_counts_alone_say_the_same_where_few_runs_solve() -> None:
    """The paper's simplified formula is the limit of its exact one."""
    counts, times = CountPosterior(40, 10_000, 2.0), TauPosterior(40, 20_000.0)
    for probability in (0.05, 0.5, 0.95):
        assert counts.quantile(probability) == pytest.approx(times.quantile(probability), rel=4e-3)


@pytest.mark.parametrize(
    ("tau", "runs", "timeout"), [(1.0, 8, 9e9), (5.0, 60, 1.0), (2.0, 20, 2.0)]
)
def test_the_truth_lies_in_the_interval_as_often_as_it_says(tau, runs, timeout) -> None:
    random = np.random.default_rng(1)
    inside = tried = 0
    for seed in random.integers(0, 2**40, 800):
        found = simulated(tau, runs, timeout, int(seed))
        if found.num_solved:
            tried += 1
            inside += bool(found.posterior.low <= tau <= found.posterior.high)
    assert abs(inside / tried - 0.683) < 0.04


def test_nothing_solved() -> None:
    found = simulated(1e9, 50, 2.0, 0)
    assert found.num_solved == 0
    assert found.tau == found.tts() == found.posterior.high == math.inf
    # With tau at the lower limit, 50 runs of 2 s all fail 16% of the time.
    assert math.exp(-100 / found.posterior.low) == pytest.approx(0.1587, abs=1e-4)
    data = json.loads(found.to_json())
    assert data["tau"] is data["tts99"] is data["tau_high"] is None
    assert data["tau_low"] > 0
    assert len(found.curve()[0]) == 0
    assert not found.posterior.density([1.0]).any()
    with pytest.raises(InputError):
        found.exponential_test()


def test_percentiles_and_units() -> None:
    found = simulated(3.0, 4000, 1e9, 5)
    assert found.tau == pytest.approx(found.seconds.mean())
    assert found.tts(50) == pytest.approx(found.tau * math.log(2))
    assert found.tts(99) == pytest.approx(found.tau * math.log(100))
    for percent in (50, 90):
        assert found.empirical_tts(percent) == pytest.approx(
            np.percentile(found.seconds, percent, method="inverted_cdf")
        )
    assert found.tau_updates == found.sweeps.mean() * 64 * 512
    assert found.spin_updates_per_second == pytest.approx(64 * 512 * 1e6, rel=1e-3)
    times, left = found.curve()
    assert left == pytest.approx(1 - np.arange(1, 4001) / 4000)
    assert (times == np.sort(found.seconds)).all()
    assert "of 4000 runs" in repr(found)
    for percent in (0, 100, float("nan")):
        with pytest.raises(InputError):
            found.tts(percent)


def test_stopped_runs_count_as_long_as_they_ran() -> None:
    solved = np.array([True, False, True, False])
    seconds = np.array([1.0, 2.0, 3.0, 4.0])
    found = TimeToSolution(8, 1, 0.05, "none", 4.0, solved, seconds.astype(np.int64), seconds)
    assert found.tau == 5.0
    times, left = found.curve()
    assert times.tolist() == [1, 3]
    assert left.tolist() == [0.75, 0.375]
    assert found.empirical_tts(50) == 3
    assert found.empirical_tts(90) == math.inf
    cut = found.stopped_at(2.5)
    assert cut.solved.tolist() == [True, False, False, False]
    assert cut.seconds.tolist() == [1, 2, 2.5, 2.5]
    assert cut.sweeps.tolist() == [1, 2, 2, 2]
    assert cut.tau == 8.0
    with pytest.raises(InputError):
        found.stopped_at(0)
    with pytest.raises(InputError):
        TimeToSolution(8, 1, 0.05, "none", 4.0, solved[:3], seconds.astype(np.int64), seconds)


def test_a_shorter_timeout_gives_the_same_tau() -> None:
    found = simulated(4.0, 3000, 1e9, 11)
    for timeout in (0.5, 2.0, 8.0):
        cut = found.stopped_at(timeout)
        assert cut.posterior.low * 0.93 < found.tau < cut.posterior.high * 1.07


def test_exponential_or_not() -> None:
    values = [
        simulated(2.0, 80, timeout, seed).exponential_test()
        for timeout in (1e9, 1.5)
        for seed in range(4)
    ]
    assert min(values) > 0.01
    assert max(values) > 0.3
    for shape in (0.5, 2.5):
        assert simulated(2.0, 200, 1e9, 3, shape).exponential_test() < 0.01
        assert simulated(2.0, 400, 2.0, 3, shape).exponential_test() < 0.02


class Counting:
    """A search whose outcome is its seed's."""

    clones, device = 32, "cpu"

    def __call__(self, seed: int, timeout: float) -> tuple[bool, int, float]:
        time = float(np.random.default_rng(seed).exponential(1.0))
        return time <= timeout, int(min(time, timeout) * 1000) + 1, min(time, timeout)


def test_measure() -> None:
    system = random_regular(12, seed=0)
    found = measure(system, Counting(), 200, 0.5, w1=0.05, seed=3)
    assert (found.runs, found.clones, found.num_variables, found.w1) == (200, 32, 12, 0.05)
    assert found.posterior.quantile(0.001) < 1 < found.posterior.quantile(0.999)
    again = measure(system, Counting(), 200, 0.5, w1=0.05, seed=3)
    assert (again.sweeps == found.sweeps).all()
    assert len(np.unique(found.seconds)) > 50
    for runs, timeout in ((0, 1.0), (True, 1.0), (2, 0.0), (2, -1.0)):
        with pytest.raises(InputError):
            measure(system, Counting(), runs, timeout, w1=0.05, seed=3)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Interrupted(15)])
@pytest.mark.parametrize("ended", [0, 3])
def test_an_interrupt_keeps_the_runs_that_had_ended(stop, ended) -> None:
    class Stopped(Counting):
        calls = 0

        def __call__(self, seed, timeout):
            self.calls += 1
            if self.calls > ended:
                raise stop
            return super().__call__(seed, timeout)

    with pytest.raises(Interrupted) as caught:
        measure(random_regular(12, seed=1), Stopped(), 8, 2.0, w1=0.05, seed=3)
    assert caught.value.signum == (15 if isinstance(stop, Interrupted) else 2)
    if ended:
        assert caught.value.result.runs == ended
    else:
        assert caught.value.result is None


def test_median_over_instances() -> None:
    results = [simulated(tau, 400, 1e9, i) for i, tau in enumerate((1.0, 2.0, 3.0, 20.0, 50.0))]
    value, low, high = median_tts(results)
    assert low < value < high
    assert value == pytest.approx(3 * math.log(100), rel=0.12)
    hopeless = [*results[:1], *[simulated(1e9, 10, 1.0, i) for i in range(3)]]
    assert median_tts(hopeless)[0] == math.inf
    with pytest.raises(InputError):
        median_tts([])


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_w1_scan(seed: int) -> None:
    w1 = np.linspace(0.03, 0.08, 8)
    results = [
        simulated(math.exp(900 * (x - 0.054) ** 2), 3000, 1e9, seed * 8 + i)
        for i, x in enumerate(w1)
    ]
    scan = fit_w1(w1, results)
    assert abs(scan.optimum - 0.054) < 5 * scan.optimum_error + 1e-9
    assert scan.optimum_error < 0.002
    assert json.dumps(scan.to_dict())


def test_scans_without_a_minimum() -> None:
    some = [simulated(1.0, 20, 1e9, i) for i in range(3)]
    none = simulated(1e9, 5, 1.0, 0)
    few = fit_w1([0.04, 0.05, 0.06], [some[0], some[1], none])
    assert few.coefficients is None
    assert math.isnan(few.optimum)
    assert few.to_dict()["optimum"] is None
    hill = [simulated(math.exp(-5e3 * (x - 0.05) ** 2), 500, 1e9, 1) for x in (0.03, 0.05, 0.07)]
    assert math.isnan(fit_w1([0.03, 0.05, 0.07], hill).optimum)
    beyond = [simulated(math.exp(5e3 * (x - 0.05) ** 2), 500, 1e9, 1) for x in (0.06, 0.07, 0.08)]
    assert math.isnan(fit_w1([0.06, 0.07, 0.08], beyond).optimum)
    with pytest.raises(InputError):
        fit_w1([0.04], some)


def test_exponent() -> None:
    fit = fit_exponent([128, 256, 320], [0.0275, 640, 130e3], [0.0005, 20, 30e3])
    assert fit.exponent == pytest.approx(0.0786, abs=5e-5)
    sizes = np.array([32, 64, 96])
    exact = fit_exponent(sizes, 2e-3 * np.exp(0.07 * sizes))
    assert exact.exponent == pytest.approx(0.07)
    assert exact.exponent_error == pytest.approx(0, abs=1e-9)
    assert exact.predict([64]) == pytest.approx([2e-3 * math.exp(0.07 * 64)])
    assert json.dumps(exact.to_dict())
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(300):
        times = np.exp(0.07 * sizes + 0.1 * random.normal(size=3))
        found = fit_exponent(sizes, times, 0.1 * times)
        wrong += abs(found.exponent - 0.07) > found.exponent_error
    assert abs(wrong / 300 - 0.317) < 0.08
    two = fit_exponent([32, 64], [1.0, 2.0])
    assert math.isnan(two.exponent_error)


@pytest.mark.parametrize(
    ("sizes", "times", "errors"),
    [
        ([32], [1], None),
        ([32, 32], [1, 2], None),
        ([32, 64], [1, 0], None),
        ([32, 64], [1, float("inf")], None),
        ([32, 64], [1, 2], [1, 0]),
        ([32, 64], [1, 2], [1]),
        ([[32, 64]], [[1, 2]], None),
    ],
)
def test_refused_fits(sizes, times, errors) -> None:
    with pytest.raises(InputError):
        fit_exponent(sizes, times, errors)


def test_refused_posteriors() -> None:
    for solved, total in ((-1, 1.0), (1, -1.0), (1, math.inf), (1, math.nan)):
        with pytest.raises(InputError):
            TauPosterior(solved, total)
    for solved, runs in ((0, 5), (5, 5)):
        with pytest.raises(InputError):
            CountPosterior(solved, runs, 1.0)
    with pytest.raises(InputError):
        TauPosterior(1, 1.0).quantile(1.0)
    with pytest.raises(InputError):
        CountPosterior(1, 2, 1.0).quantile(0.0)


def test_runs_that_are_stopped_after_sweeps_are_the_same_everywhere():
    system = random_regular(60, seed=1)
    options = {"device": "cpu", "threads": 1, "seed": 3, "clones": 1024, "restart": 64}
    whole = time_to_solution(system, 12, 60.0, **options)
    limit = int(np.median(whole.sweeps))
    cut = time_to_solution(system, 12, 60.0, max_sweeps=limit, **options)
    assert 0 < cut.num_solved < 12
    assert cut.max_sweeps == limit
    same = whole.stopped_at(limit, "sweeps")
    assert cut.solved.tolist() == same.solved.tolist()
    assert cut.sweeps.tolist() == same.sweeps.tolist() == np.minimum(whole.sweeps, limit).tolist()
    for wrong in (0, 1.5):
        with pytest.raises(InputError):
            whole.stopped_at(wrong, "sweeps")


def test_percentiles_in_sweeps():
    system = random_regular(40, seed=1)
    found = [
        time_to_solution(system, 30, 60.0, device="cpu", threads=1, seed=seed) for seed in (1, 2, 3)
    ]
    one = found[0]
    assert one.tts(90, "sweeps") == pytest.approx(np.log(10) * one.tau_sweeps)
    assert one.empirical_tts(50, "sweeps") in one.sweeps
    value, low, high = median_tts(found, 99, "sweeps")
    assert value == pytest.approx(np.log(100) * np.median([x.tau_sweeps for x in found]))
    assert low < value < high
    assert json.loads(one.to_json())["tts99_sweeps"] == pytest.approx(one.tts(99, "sweeps"))
