"""The matrix product state solver against exp(-beta E / 2) and against all states."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.engine import Cpu, Cuda, team
from hardscape.errors import AccuracyWarning, InputError, MissingDependencyError
from hardscape.ising import Ising, mps_spectrum, search, spectrum
from hardscape.ising.methods.mps.annealing import Annealing, Line, most_probable, spectral_order
from hardscape.ising.methods.mps.product_state import Gates, MatrixProductState
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice, wide_range
from helpers.oracles import all_states, lowest_states


def amplitudes(state: MatrixProductState) -> np.ndarray:
    """Amplitudes in the order of `all_states`: spin 0 runs fastest."""
    vector = np.ones((1, 1))
    for tensor in state.tensors:
        vector = np.einsum("ca,asb->scb", vector, tensor).reshape(-1, tensor.shape[2])
    return vector[:, 0]


def anneal(h, J, bond_dimension: int, sweeps: int, step: float) -> MatrixProductState:
    """The state after some steps of beta."""
    line = Line(np.arange(len(h)), False, h, J)
    chain = Annealing(line, bond_dimension, step, sweeps, Cpu())
    with team(1) as alone:
        assert chain.advance(chain.total, alone) == chain.total
    return chain.result()


def boltzmann(model: Ising, beta: float) -> np.ndarray:
    """exp(-beta E / 2) over all states, of norm 1."""
    energies = model.energy(all_states(model.num_spins))
    vector = np.exp(-beta / 2 * (energies - energies.min()))
    return vector / np.linalg.norm(vector)


def shuffled_chain(n: int, seed: int) -> tuple[Ising, np.ndarray]:
    """A chain of Gaussian couplings and fields with its spins relabelled, and its order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    J = {(int(i), int(j)): rng.normal() for i, j in zip(order[1:], order[:-1], strict=True)}
    return Ising(rng.normal(size=n), J), order


def chain_ground_energy(h: np.ndarray, bonds: np.ndarray) -> float:
    """Lowest energy of a chain, by carrying the best energy for each value of the last spin."""
    spins = np.array([-1.0, 1.0])
    best = h[0] * spins
    for field, coupling in zip(h[1:], bonds, strict=True):
        best = (best[:, None] + coupling * np.outer(spins, spins)).min(axis=0) + field * spins
    return float(best.min())


@given(st.integers(1, 10), st.integers(0, 10**6), st.sampled_from([0.3, 1.0]))
@settings(max_examples=25)
def test_state_is_exact_when_the_bonds_are_wide_enough(n, seed, density):
    rng = np.random.default_rng(seed)
    J = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), 1)
    model = Ising(rng.normal(size=n), J)
    state = anneal(model.h, model.J, 32, 4, 0.25)
    np.testing.assert_allclose(amplitudes(state), boltzmann(model, 1.0), rtol=0, atol=1e-10)
    assert state.discarded < 1e-13


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_number_of_steps_does_not_matter_to_an_exact_state(steps):
    model = dense_gaussian(8, 3)
    state = anneal(model.h, model.J, 16, steps, 1.5 / steps)
    np.testing.assert_allclose(amplitudes(state), boltzmann(model, 1.5), rtol=0, atol=1e-10)


@pytest.mark.parametrize("carriers", [1, 2, 3, 5])
def test_gates_in_any_grouping_multiply_to_the_same_state(carriers):
    model = dense_gaussian(7, 4)
    state = MatrixProductState(model.J, 8)
    for first in range(0, 7, carriers):
        stop = min(first + carriers, 7)
        state.apply(Gates(first, 6, model.h[first:stop] / 2, model.J[first:stop] / 2))
    np.testing.assert_allclose(amplitudes(state), boltzmann(model, 1.0), rtol=0, atol=1e-12)


def test_truncation_follows_the_bond_dimension():
    model = dense_gaussian(12, 0)
    exact = boltzmann(model, 1.0)
    lost, discarded = [], []
    for bond_dimension in (2, 8, 32, 64):
        state = anneal(model.h, model.J, bond_dimension, 4, 0.25)
        assert max(max(tensor.shape) for tensor in state.tensors) <= bond_dimension
        vector = amplitudes(state)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-12)
        lost.append(1 - float(vector @ exact) ** 2)
        discarded.append(state.discarded)
    assert lost == sorted(lost, reverse=True)
    assert discarded == sorted(discarded, reverse=True)
    assert lost[0] > 1e-3
    assert lost[-1] < 1e-12
    assert discarded[0] > 1e-3
    assert discarded[-1] < 1e-13


def test_one_truncation_drops_the_smallest_weight_of_its_cut():
    model = dense_gaussian(4, 9)
    states = all_states(4).astype(float)
    energies = sum(states[:, i] * (model.h[i] + states @ model.J[i]) for i in range(2))
    vector = np.exp(-energies / 2)
    # Ranks are 2, 4, 2: bond dimension 3 truncates the cut in the middle alone.
    weights = np.linalg.svd(vector.reshape(4, 4) / np.linalg.norm(vector))[1] ** 2
    state = MatrixProductState(model.J, 3)
    state.apply(Gates(0, 3, model.h[:2] / 2, model.J[:2] / 2))
    assert [tensor.shape[2] for tensor in state.tensors] == [2, 3, 2, 1]
    assert state.discarded == pytest.approx(weights[3], rel=1e-9)


def test_tensors_are_orthonormal_around_the_centre():
    model = dense_gaussian(12, 5)
    state = anneal(model.h, model.J, 8, 2, 0.5)
    before = amplitudes(state)
    state.move_centre(4, 6)
    assert state.centre == 6
    for site, tensor in enumerate(state.tensors):
        left, _, right = tensor.shape
        if site < 6:
            columns = tensor.reshape(2 * left, right)
            np.testing.assert_allclose(columns.T @ columns, np.eye(right), atol=1e-12)
        if site > 6:
            rows = tensor.reshape(left, 2 * right)
            np.testing.assert_allclose(rows @ rows.T, np.eye(left), atol=1e-12)
    np.testing.assert_allclose(amplitudes(state), before, atol=1e-12)


def test_branch_and_bound_lists_the_most_probable_configurations():
    model = dense_gaussian(9, 6)
    state = anneal(model.h, model.J, 16, 4, 0.25)
    found = most_probable(state, 2**9)
    assert len(found) == 2**9
    energies = model.energy(found)
    assert (np.diff(energies) > -1e-6).all()  # by probability, hence by energy


@pytest.mark.parametrize("n", [12, 13, 14])
@pytest.mark.parametrize("order", ["given", "spectral"])
def test_lowest_states_of_dense_gaussian_models(n, order):
    model = dense_gaussian(n, n)
    energies, states = lowest_states(model, 20)
    result = mps_spectrum(model, 20, bond_dimension=32, order=order)
    np.testing.assert_array_equal(result.energies, energies)
    np.testing.assert_array_equal(result.states, states)
    assert not result.certified


@pytest.mark.parametrize("seed", range(3))
def test_models_without_fields_give_both_flip_partners(seed):
    model = dense_gaussian(12, seed, fields=False)
    energies, states = lowest_states(model, 10)
    result = mps_spectrum(model, 10, bond_dimension=32)
    np.testing.assert_array_equal(result.energies, energies)
    np.testing.assert_array_equal(result.states, states)


def test_degenerate_lattice_gives_every_ground_state():
    model = plus_minus_lattice(4, 4, 0)
    energies, states = lowest_states(model, 200)
    ground = states[energies == energies[0]]
    result = mps_spectrum(model, 100, bond_dimension=16, beta=2.0)
    np.testing.assert_array_equal(result.states[: len(ground)], ground)


def test_small_integer_couplings_with_a_scaled_temperature():
    model = dense_integer(12, 1)
    energies, states = lowest_states(model, 5)
    result = mps_spectrum(model, 5, bond_dimension=32, beta=0.02, dbeta=0.005)
    np.testing.assert_array_equal(result.energies, energies)
    np.testing.assert_array_equal(result.states, states)


def test_chain_needs_bond_dimension_two():
    rng = np.random.default_rng(7)
    h, bonds = rng.normal(size=12), rng.normal(size=11)
    model = Ising(h, np.diag(bonds, 1))
    state = anneal(model.h, model.J, 2, 4, 0.5)
    np.testing.assert_allclose(amplitudes(state), boltzmann(model, 2.0), rtol=0, atol=1e-10)


def test_long_chain_reaches_its_ground_state():
    rng = np.random.default_rng(8)
    h, bonds = rng.normal(size=150), rng.normal(size=149)
    result = mps_spectrum(Ising(h, np.diag(bonds, 1)), 10, bond_dimension=2, beta=4.0, dbeta=1.0)
    assert result.energies[0] == pytest.approx(chain_ground_energy(h, bonds), abs=1e-9)
    assert result.info["discarded_weight"] < 1e-12


def test_spectral_order_straightens_shuffled_chains():
    first, order = shuffled_chain(9, 1)
    found = spectral_order(first.J).tolist()
    assert found in (order.tolist(), order[::-1].tolist())
    # Two chains that are not coupled stay apart.
    J = np.zeros((18, 18))
    J[:9, :9] = J[9:, 9:] = first.J
    both = spectral_order(J)
    assert sorted(both[:9]) == list(range(9))
    assert sorted(both) == list(range(18))


def test_spectral_order_saves_weight_on_a_shuffled_chain():
    model, _ = shuffled_chain(14, 2)
    lost = {
        order: mps_spectrum(model, 1, bond_dimension=2, order=order).info["discarded_weight"]
        for order in ("given", "spectral")
    }
    assert lost["spectral"] < 1e-12 < 1e-3 < lost["given"]
    best = mps_spectrum(model, 5, bond_dimension=2, order="spectral")
    np.testing.assert_array_equal(best.energies, lowest_states(model, 5)[0])


def test_same_input_gives_the_same_bytes():
    runs = [mps_spectrum(dense_gaussian(16, 2), 50, bond_dimension=12) for _ in range(2)]
    assert runs[0].states.tobytes() == runs[1].states.tobytes()
    assert runs[0].energies.tobytes() == runs[1].energies.tobytes()
    assert runs[0].info["discarded_weight"] == runs[1].info["discarded_weight"]


@pytest.mark.parametrize("h", [[], [0.0], [-2.0], [0.0, 0.0], [1.0, 0.0]])
def test_models_without_couplings(h):
    n = len(h)
    result = mps_spectrum(Ising(h, np.zeros((n, n)), offset=3.0), 10)
    assert result.states.shape == (2**n, n)
    assert result.energies[0] == 3.0 - np.abs(h).sum()


@pytest.mark.filterwarnings("ignore::hardscape.errors.AccuracyWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e3, 1e150, 1e305])
def test_couplings_of_any_size_are_safe(scale):
    model = dense_gaussian(12, 3)
    scaled = Ising(model.h * scale, model.J * scale)
    result = mps_spectrum(scaled, 5, bond_dimension=8, beta=1.0, dbeta=0.25)
    assert np.isfinite(result.energies).all()
    assert len(result.energies) >= 1
    assert 0 <= result.info["discarded_weight"] <= 1
    assert 0 < result.info["beta"] <= 1


def test_the_temperature_follows_the_couplings():
    model = dense_gaussian(13, 3)
    known = mps_spectrum(model, 20, bond_dimension=16)
    for scale in (2.0**-900, 2.0**10, 2.0**1000):
        found = mps_spectrum(Ising(model.h * scale, model.J * scale), 20, bond_dimension=16)
        assert found.info["beta"] * scale == pytest.approx(known.info["beta"])
        assert found.bit_strings() == known.bit_strings()


def test_the_temperature_is_that_of_the_fields():
    ring = Ising(np.full(6, 3.0), {(i, (i + 1) % 6): 4.0 for i in range(6)})
    found = mps_spectrum(ring, 3, bond_dimension=8)
    assert found.info["beta"] == pytest.approx(2 / np.sqrt(3**2 + 2 * 4**2))
    assert found.info["dbeta"] == pytest.approx(found.info["beta"] / 4)
    assert mps_spectrum(Ising(np.zeros(3), {}), 2).info["beta"] == 1.0


@pytest.mark.filterwarnings("ignore::hardscape.errors.AccuracyWarning")
def test_couplings_of_many_sizes_are_safe():
    model = wide_range(14, 1)
    result = mps_spectrum(model, 5, bond_dimension=8)
    assert result.energies[0] <= lowest_states(model, 100)[0][-1]


def test_states_missing_in_the_list_are_told():
    rng = np.random.default_rng(5)
    model = Ising(rng.normal(size=18), np.triu(rng.normal(size=(18, 18)), 1))
    met = search(model, 200, runs=1, seed=0, device="cpu", threads=1)
    with pytest.warns(AccuracyWarning, match="are not in it"):
        narrow = mps_spectrum(model, 200, bond_dimension=16, width=200)
    wide = mps_spectrum(model, 200, bond_dimension=32, width=8000)
    exact = set(spectrum(model, 200).bit_strings())
    for found in (narrow, wide):
        below = met.energies < found.energies[-1]
        belong = {x for x, low in zip(met.bit_strings(), below, strict=True) if low}
        missing = belong - set(found.bit_strings())
        assert found.info["search_states"] == len(belong) > 100
        assert found.info["missed_states"] == len(missing)
    assert len(exact & set(narrow.bit_strings())) < 190
    assert len(exact & set(wide.bit_strings())) == 200
    assert wide.info["missed_states"] == 0


def test_a_trapped_state_is_told():
    model = dense_gaussian(32, 1)
    hot = Ising(100 * model.h, 100 * model.J)
    with pytest.warns(AccuracyWarning, match="dbeta"):
        found = mps_spectrum(hot, 5, bond_dimension=8, beta=1.0, dbeta=0.25)
    assert found.info["search_energy"] < found.energies[0]
    assert found.info["search_energy"] == hardscape.spectrum(hot, 1).energies[0]


def test_steps_divide_beta_and_the_facts_are_reported():
    result = mps_spectrum(dense_gaussian(6, 0), 3, bond_dimension=8, beta=1.0, dbeta=0.3, width=7)
    assert result.info["dbeta"] == pytest.approx(0.25)
    assert result.info["beta"] == pytest.approx(1.0)
    assert result.info["method"] == "mps"
    assert result.info["width"] == 7
    assert result.info["candidates"] == 7
    assert result.num_states == 3


def test_labels_and_other_forms_of_a_model_are_taken():
    result = mps_spectrum({("a", "b"): 1.0, ("a", "a"): 0.5}, 1)
    assert result.labels == ("a", "b")
    assert result.states.tolist() == [[-1, 1]]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("num_states", 0),
        ("num_states", 1.5),
        ("num_states", True),
        ("bond_dimension", 0),
        ("bond_dimension", "8"),
        ("beta", 0.0),
        ("beta", float("nan")),
        ("beta", float("inf")),
        ("beta", "1"),
        ("beta", True),
        ("dbeta", -0.1),
        ("dbeta", 2.0),
        ("dbeta", 1e-9),
        ("dbeta", float("nan")),
        ("width", 0),
        ("width", 9),
        ("order", "random"),
    ],
)
def test_arguments_out_of_range_are_refused(argument, value):
    arguments = {"num_states": 10, argument: value}
    with pytest.raises(InputError, match=argument) as caught:
        mps_spectrum(dense_gaussian(4, 0), **arguments)
    assert str(value) in str(caught.value)


def test_a_gpu_without_cupy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingDependencyError, match="cupy"):
        mps_spectrum(dense_gaussian(4, 0), 1, device=Cuda(0))


@pytest.mark.gpu
def test_a_gpu_finds_what_the_cpu_finds():
    pytest.importorskip("cupy")
    model = dense_gaussian(20, 1)
    cpu, gpu = (mps_spectrum(model, 20, bond_dimension=64, device=d) for d in ("cpu", "cuda"))
    np.testing.assert_array_equal(gpu.states, cpu.states)
    assert gpu.info["discarded_weight"] == pytest.approx(cpu.info["discarded_weight"], rel=1e-6)
