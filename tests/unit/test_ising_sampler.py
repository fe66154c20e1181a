"""`ExactSampler` is a dimod sampler: its interface, its labels and vartypes, its energies."""

from __future__ import annotations

import pickle
import subprocess
import sys
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import dimod
import dimod.testing
import numpy as np
import pytest

from hardscape.engine import RunArguments
from hardscape.errors import InputError, MissingDependencyError, needed
from hardscape.ising import Ising, sampler
from hardscape.ising.sampler import ExactSampler
from helpers.instances import dense_gaussian, dense_integer


@dimod.testing.load_sampler_bqm_tests(ExactSampler)
class TestDimodsOwnChecks(unittest.TestCase):
    """dimod fills this class with its small models."""


def test_is_a_dimod_sampler() -> None:
    dimod.testing.assert_sampler_api(ExactSampler())
    assert issubclass(ExactSampler, dimod.Sampler)
    assert sampler.ExactSampler is ExactSampler
    assert type(pickle.loads(pickle.dumps(ExactSampler()))) is ExactSampler


def test_parameters_are_those_of_sample() -> None:
    code = ExactSampler.sample.__code__
    keywords = code.co_varnames[2 : 2 + code.co_kwonlyargcount]
    assert set(ExactSampler().parameters) == {*keywords, *RunArguments.__annotations__}
    limits = {limit for needed in ExactSampler().parameters.values() for limit in needed}
    assert limits <= set(ExactSampler().properties)


def test_is_made_with_how_it_is_run() -> None:
    rng = np.random.default_rng(1)
    couplings = np.triu(rng.random((140, 140)) < 0.5, 1).astype(float)
    stopped = ExactSampler(time_limit=0.1, seed=3).sample(Ising(np.zeros(140), couplings).to_bqm())
    assert stopped.info["stopped"] == "time_limit"
    assert stopped.info["seed"] == 3
    assert stopped.info["lower_bound"] <= stopped.first.energy
    ring = {(i, (i + 1) % 5): -1.0 for i in range(5)}
    assert ExactSampler(seed=3).sample_ising({}, ring, seed=4).info["seed"] == 4
    with pytest.raises(InputError):
        ExactSampler(time_limits=1)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_lowest_states_in_the_models_terms(vartype: str) -> None:
    model = dimod.generators.gnm_random_bqm(list("dcbahgfe"), 20, vartype, random_state=4)
    found = ExactSampler().sample(model, num_reads=40)
    everything = dimod.ExactSolver().sample(model).record.energy
    assert found.vartype is model.vartype
    assert list(found.variables) == list(model.variables)
    assert len(found) == 40
    np.testing.assert_allclose(found.record.energy, model.energies(found), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.record.energy, np.sort(everything)[:40], rtol=0, atol=1e-12)
    assert (np.diff(found.record.energy) >= 0).all()
    assert (found.record.num_occurrences == 1).all()
    assert len(np.unique(found.record.sample, axis=0)) == 40
    assert found.info["certified"] is True
    assert found.info["lower_bound"] == found.first.energy


def test_integer_energies_are_equal_to_dimods() -> None:
    model = dense_integer(10, seed=3).to_bqm()
    found = ExactSampler().sample(model, num_states=1024)
    assert (found.record.energy == model.energies(found)).all()
    assert (found.record.energy == np.sort(dimod.ExactSolver().sample(model).record.energy)).all()


def test_ising_and_qubo_calls() -> None:
    spins = ExactSampler().sample_ising({"a": 0.5}, {("a", "b"): -1}, num_reads=1)
    assert spins.first.sample == {"a": -1, "b": -1}
    assert spins.first.energy == -1.5
    bits = ExactSampler().sample_qubo({("x", "x"): -2, ("x", "y"): 3}, window=0)
    assert [dict(x) for x in bits.samples()] == [{"x": 1, "y": 0}]


def test_a_model_without_variables_has_one_state() -> None:
    found = ExactSampler().sample(dimod.BinaryQuadraticModel({}, {}, 2.5, "BINARY"))
    assert found.record.sample.shape == (1, 0)
    assert found.record.energy.tolist() == [2.5]


def test_how_many_states() -> None:
    model = dense_gaussian(9, seed=1).to_bqm()
    assert len(ExactSampler().sample(model)) == 100
    assert len(ExactSampler().sample(model, num_reads=7)) == 7
    assert len(ExactSampler().sample(model, num_reads=7, num_states=7)) == 7
    assert len(ExactSampler().sample(model, window=0.0)) == 1
    with pytest.raises(InputError, match=r"7.*8"):
        ExactSampler().sample(model, num_reads=7, num_states=8)
    with pytest.raises(InputError, match="0"):
        ExactSampler().sample(model, num_reads=0)


def test_any_number_of_sparse_variables() -> None:
    n = 300
    free = dimod.BinaryQuadraticModel(dict.fromkeys(range(n), 1.0), {}, "SPIN")
    assert ExactSampler().sample(free, num_reads=2).record.energy.tolist() == [-n, -n + 2.0]


def test_unknown_arguments_are_dropped_with_dimods_warning() -> None:
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning, match="chain_strength"):
        found = ExactSampler().sample_ising({"a": 1}, {}, chain_strength=2)
    assert len(found) == 2


def test_spectrum_to_dimod_and_back() -> None:
    model = dense_integer(8, seed=5)
    assert Ising.from_bqm(model.to_bqm()) == model


def test_without_dimod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dimod", None)
    with pytest.raises(MissingDependencyError, match=r"a test.*pip install 'hardscape\[dimod\]'"):
        needed("dimod", "dimod", "dimod", "a test")


def test_dimod_is_imported_when_used() -> None:
    code = (
        "import sys, hardscape.ising.sampler as sampler\n"
        "assert 'dimod' not in sys.modules\n"
        "assert sampler.ExactSampler.__name__ == 'ExactSampler' and 'dimod' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError, match="InexactSampler"):
        _ = sampler.InexactSampler


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_samples_that_are_known(vartype: str) -> None:
    model = dimod.generators.gnm_random_bqm(list("dcbahgfe"), 20, vartype, random_state=4)
    found = ExactSampler().sample(model, num_reads=5)
    for known in (found, found.first.sample, found.change_vartype("SPIN", inplace=False)):
        again = ExactSampler().sample(model, num_reads=5, initial_states=known, method="tree")
        assert (again.record.sample == found.record.sample).all()
    top = found.record.energy[2]
    assert (ExactSampler().sample(model, cutoff=top).record.energy <= top).all()
    assert len(ExactSampler().sample(model, num_reads=5, prune=False)) == 5
    for name, labels in (("a", "bcdefgh"), ("z", "abcdefghz")):
        wrong = dict.fromkeys(labels, 1)
        with pytest.raises(InputError, match=f"'{name}'"):
            ExactSampler().sample(model, initial_states=wrong)


def test_an_executor_gives_the_same_samples() -> None:
    """What runs the shards is passed on, and is used: it holds them all."""

    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, *call: Any, **named: Any) -> Any:
            self.submitted += 1
            return super().submit(*call, **named)

    model = dense_gaussian(30, seed=2).to_bqm()
    here = ExactSampler().sample(model, num_reads=30, method="tree", threads=1)
    with Counting(2) as executor:
        there = ExactSampler().sample(
            model, num_reads=30, method="tree", executor=executor, workers=2
        )
        assert executor.submitted > 1
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        elsewhere = ExactSampler().sample(model, num_reads=30, method="tree", executor=pool)
    for other in (there, elsewhere):
        assert other.info["certified"]
        assert other.variables == here.variables
        assert other.record.sample.tobytes() == here.record.sample.tobytes()
        assert other.record.energy.tobytes() == here.record.energy.tobytes()
