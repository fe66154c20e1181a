"""Energy traces: the violated clauses of the CPU's words, counted plainly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.xorsat import energy_trace, random_regular, random_system
from hardscape.xorsat.methods.quasi_greedy.plan import Plan

CPU = {"device": "cpu", "threads": 1, "seed": 5}


def counted(plan, groups, sweeps):
    """Violated clauses of each clone."""
    words = np.concatenate(
        [plan.kernel.states(5, group, sweeps) for group in range(groups)], axis=1
    )
    return (words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).sum(axis=0).reshape(groups, -1)


@pytest.mark.parametrize("dynamics", ["quasi-greedy", "metropolis"])
def test_energies_are_those_of_the_words(dynamics):
    system = random_system(40, 1.5, planted=False, seed=1)
    plan = Plan.build(system, 0.1, dynamics)
    trace = energy_trace(system, 50, w1=0.1, dynamics=dynamics, looks=6, clones=3000, **CPU)
    assert trace.sweeps[0] == 0
    assert trace.sweeps[-1] == 50
    assert trace.clones == 3072
    for i, sweeps in enumerate(trace.sweeps.tolist()):
        counts = counted(plan, 3, sweeps)
        assert trace.energy[i] == pytest.approx((2 * counts.mean() - 60) / 40)
        assert trace.lowest[i] == pytest.approx((2 * int(counts.min()) - 60) / 40)
        expected = 2 * counts.mean(axis=1).std(ddof=1) / np.sqrt(3) / 40
        assert trace.error[i] == pytest.approx(expected)


def test_annealing_changes_w1_stage_by_stage():
    system = random_regular(60, seed=1)
    trace = energy_trace(
        system, 40, w1=0.4, until=0.02, dynamics="metropolis", looks=4, clones=1024, **CPU
    )
    assert trace.sweeps.tolist() == [0, 10, 20, 30, 40]
    temperatures = -2 / np.log(trace.w1)
    assert temperatures[1:] == pytest.approx(np.linspace(-2 / np.log(0.4), -2 / np.log(0.02), 4))
    one = counted(Plan.build(system, 0.4, "metropolis"), 1, 10)
    assert trace.energy[1] == pytest.approx((2 * one.mean() - 60) / 60)
    assert trace.energy[-1] < trace.energy[1]
    assert np.isnan(trace.error).all()


def test_the_same_for_any_number_of_threads(tmp_path):
    system = random_regular(60, seed=1)
    options = {"clones": 5000, "looks": 5, "device": "cpu", "seed": 2}
    traces = [energy_trace(system, 30, threads=threads, **options) for threads in (1, 3)]
    traces += [
        energy_trace(system, 30, threads=1, checkpoint=tmp_path / "a", **options) for _ in range(2)
    ]
    for trace in traces[1:]:
        assert trace.energy.tolist() == traces[0].energy.tolist()
        assert trace.error.tolist() == traces[0].error.tolist()


def test_metropolis_at_high_temperature_is_a_paramagnet():
    """In equilibrium e = -tanh(1/T) on 3-regular systems, above the dynamical temperature."""
    system = random_regular(600, seed=1)
    trace = energy_trace(system, 300, w1=0.3, dynamics="metropolis", looks=4, clones=8192, **CPU)
    expected = -np.tanh(-np.log(0.3) / 2)
    assert trace.energy[-1] == pytest.approx(expected, abs=5 * trace.error[-1] + 1e-3)


def test_plain_data_and_a_plot():
    trace = energy_trace(random_regular(30, seed=1), 20, clones=1024, looks=4, **CPU)
    plain = json.loads(trace.to_json())
    assert plain["sweeps"][-1] == 20
    assert plain["error"][0] is None
    pytest.importorskip("matplotlib")
    assert trace.plot().get_xscale() == "log"


@pytest.mark.parametrize(
    "options",
    [{"sweeps": 0}, {"looks": 0}, {"w1": 1.5}, {"until": 0.0}, {"until": 0.1, "w1": 1.0},
     {"dynamics": "glauber"}, {"clones": 0}],
    ids=str,
)  # fmt: skip
def test_refused(options):
    with pytest.raises(InputError):
        energy_trace(random_regular(12, seed=1), **({"sweeps": 5} | options), device="cpu")
