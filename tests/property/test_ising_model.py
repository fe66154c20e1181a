"""The Ising model against rational arithmetic, and its constructors against one another."""

import copy
import itertools
import pickle
from fractions import Fraction

import dimod
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import InputError
from hardscape.ising.exact import (
    LIMB_CHOICES,
    MIN_EXPONENT,
    ExactTerms,
    dyadic,
    from_limbs,
    to_limbs,
)
from hardscape.ising.model import Ising
from helpers.ising_strategies import (
    coefficients,
    exact_energy,
    extreme,
    ising_models,
    pair_values,
    qubos,
    small_whole,
)

quick = settings(max_examples=30, deadline=None)
tiny = st.integers(-9, 9).map(lambda k: k * 5e-324)


def spin_states(n):
    return list(itertools.product((-1, 1), repeat=n))


def ordered_bqm(linear, quadratic, offset, vartype):
    """A model whose variables come in the order of `linear`; dimod's own constructor mixes them."""
    bqm = dimod.BinaryQuadraticModel(vartype)
    bqm.add_linear_from(linear)
    bqm.add_quadratic_from(quadratic)
    bqm.offset = offset
    return bqm


def bare_terms(integers, exponent):
    empty = np.empty(0, dtype=np.int64)
    return ExactTerms(len(integers), tuple(integers), empty, empty.copy(), (), 0, exponent)


@quick
@given(ising_models(6))
def test_energies_are_the_exact_sums_rounded_once(model):
    states = spin_states(model.num_spins)
    wanted = [float(exact_energy(model, s)) for s in states]
    assert model.energy(np.array(states).reshape(len(states), -1)).tolist() == wanted


@quick
@given(st.integers(1, 5).flatmap(lambda n: st.lists(extreme, min_size=n, max_size=n)))
def test_cancelling_fields_of_any_range_lose_nothing(h):
    model = Ising([*h, *h], {}, 1.0)
    states = np.hstack([np.ones((1, len(h))), -np.ones((1, len(h)))])
    assert model.energy(states).tolist() == [1.0]


@quick
@given(ising_models(6))
def test_words_hold_the_energies_as_integers(model):
    states = spin_states(model.num_spins)
    states = np.array(states, dtype=np.int8).reshape(len(states), -1)
    unit = Fraction(2) ** model.exact.exponent
    found = [x * unit for x in from_limbs(model.exact.words(states))]
    assert found == [exact_energy(model, tuple(s)) for s in states.tolist()]


@quick
@given(qubos(6, st.one_of(coefficients, tiny)), st.one_of(small_whole, extreme))
def test_qubo_energies_are_exact(qubo, offset):
    n, Q = qubo
    model = Ising.from_qubo({**{(i, i): 0.0 for i in range(n)}, **Q}, offset)
    states = spin_states(n)
    wanted = []
    for s in states:
        q = [(1 + x) // 2 for x in s]
        exact = sum((Fraction(x) * q[i] * q[j] for (i, j), x in Q.items()), Fraction(offset))
        wanted.append(float(exact))
    assert model.energy(states).tolist() == wanted


@quick
@given(ising_models(8))
def test_binary_terms_return_to_the_same_spin_terms(model):
    assert model.exact.to_binary().from_binary().canonical() == model.exact.canonical()


@quick
@given(ising_models(6, small_whole))
def test_binary_terms_have_the_same_energies(model):
    binary = Ising.from_exact(model.exact.to_binary())
    row, col, value = binary.couplings
    for s in spin_states(model.num_spins):
        q = [(1 + x) // 2 for x in s]
        energy = binary.offset + sum(x * y for x, y in zip(binary.h, q, strict=True))
        energy += sum(x * q[i] * q[j] for i, j, x in zip(row, col, value, strict=True))
        assert energy == exact_energy(model, s)


@quick
@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-9, 9)), st.integers(MIN_EXPONENT, 900))
def test_integers_round_to_nearest_even_at_every_exponent(integers, exponent):
    wanted = [float(x * Fraction(2) ** exponent) for x in integers]
    assert bare_terms(integers, exponent).floats(integers).tolist() == wanted


@quick
@given(st.sampled_from(LIMB_CHOICES), st.data())
def test_words_of_every_width_round_to_nearest_even(limbs, data):
    # At the lowest exponent, the widest words hold more than float64 does.
    bits = min(64 * limbs - 1, 1022 - MIN_EXPONENT)
    wide = st.integers(-(2**bits), 2**bits - 1)
    near_ties = st.builds(
        lambda head, shift, rest: ((2 * head + 1) << shift) + rest,
        st.integers(-(2**53), 2**53 - 1),
        st.integers(1, bits - 55),
        st.integers(-1, 1),
    )
    integers = data.draw(st.lists(wide | near_ties, min_size=1, max_size=8))
    words = to_limbs(integers, limbs)
    assert words.shape == (len(integers), limbs)
    assert from_limbs(words) == integers
    exponent = data.draw(st.integers(MIN_EXPONENT, 1022 - bits))
    wanted = [float(x * Fraction(2) ** exponent) for x in integers]
    assert bare_terms([], exponent).round(words).tolist() == wanted


@quick
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_is_dyadic(x):
    assert dyadic(x, "x") == Fraction(x)


@quick
@given(st.fractions() | st.integers(-(2**60), 2**60))
def test_rationals_are_taken_exactly_or_not_at_all(x):
    if Fraction(float(x)) == x:
        assert dyadic(x, "x") == x
    else:
        with pytest.raises(InputError):
            dyadic(x, "x")


@quick
@given(ising_models(8))
def test_all_constructors_agree(model):
    n = model.num_spins
    h, J, c = model.h, model.J, model.offset
    row, col, value = model.couplings
    pairs = {(i, j): x for i, j, x in zip(row.tolist(), col.tolist(), value.tolist(), strict=True)}
    fields = dict(enumerate(h.tolist()))
    matrix = J + np.diag(h)
    graph = nx.Graph()
    graph.add_nodes_from((i, {"h": x}) for i, x in fields.items())
    graph.add_edges_from((i, j, {"weight": x}) for (i, j), x in pairs.items())
    spins = range(n)
    same = [
        Ising(h, J, c),
        Ising(h.tolist(), J.tolist(), c),
        Ising(h, J.T, c),
        Ising(h, pairs, c),
        Ising(h, {(j, i): x for (i, j), x in pairs.items()}, c),
        Ising(h, scipy.sparse.csr_array(J.reshape(n, n)), c) if n else model,
        Ising.from_dict(pairs, fields, c),
        Ising.from_matrix(matrix, c),
        Ising.from_matrix(scipy.sparse.coo_array(matrix), c) if n else model,
        Ising.from_entries(n, [*row, *spins], [*col, *spins], [*value, *h], c),
        Ising.from_bqm(ordered_bqm(fields, pairs, c, "SPIN")),
        Ising.from_any((h, J, c)),
        Ising.from_any(model),
        Ising.from_exact(model.exact),
    ]
    assert all(other == model and hash(other) == hash(model) for other in same)
    without = Ising(h, J)
    assert Ising.from_networkx(graph) == without
    assert Ising.from_any(graph) == without
    assert Ising.from_any(matrix) == without


@quick
@given(qubos(6))
def test_all_binary_constructors_agree(qubo):
    n, Q = qubo
    full = {**{(i, i): 0.0 for i in range(n)}, **Q}
    matrix = np.zeros((n, n))
    for (i, j), x in Q.items():
        matrix[i, j] = x
    model = Ising.from_qubo(full)
    assert Ising.from_qubo(matrix) == model
    assert Ising.from_qubo(matrix.T) == model
    assert Ising.from_qubo(scipy.sparse.csr_matrix(matrix)) == model
    linear = {i: full[i, i] for i in range(n)}
    quadratic = {(i, j): x for (i, j), x in Q.items() if i != j}
    assert Ising.from_bqm(ordered_bqm(linear, quadratic, 0.0, "BINARY")) == model


@quick
@given(ising_models(6), ising_models(6))
def test_halves_and_repeated_entries_are_summed_exactly(one, other):
    n = min(one.num_spins, other.num_spins)
    upper, lower = one.J[:n, :n], other.J[:n, :n].T
    model = Ising(np.zeros(n), upper + lower)
    unit = Fraction(2) ** model.exact.exponent
    found = {
        (i, j): x * unit
        for i, j, x in zip(model.exact.row, model.exact.col, model.exact.couplings, strict=True)
    }
    wanted = {
        (i, j): Fraction(upper[i, j]) + Fraction(lower[j, i]) for j in range(n) for i in range(j)
    }
    assert found == {pair: x for pair, x in wanted.items() if x}


@quick
@given(ising_models(8))
def test_the_ising_convention_flips_fields_and_couplings_but_not_the_offset(model):
    flipped = Ising(-model.h, -model.J, model.offset)
    assert Ising(model.h, model.J, model.offset, convention="ising") == flipped


@quick
@given(ising_models(8, small_whole), st.integers(-900, 900))
def test_the_digest_tells_scaled_models_apart(model, power):
    scale = 2.0**power
    scaled = Ising(model.h * scale, model.J * scale, model.offset * scale)
    empty = not model.h.any() and not model.num_couplings and not model.offset
    assert (scaled.digest == model.digest) == (power == 0 or empty)
    assert scaled.exact.fields == model.exact.fields


@quick
@given(ising_models(8, named=True))
def test_copies_are_equal_and_as_locked(model):
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert twin == model
        assert hash(twin) == hash(model)
        assert twin.digest == model.digest
        assert twin.labels == model.labels
        row, _, _ = twin.couplings
        with pytest.raises(ValueError, match="read-only"):
            row[...] = 0


@quick
@given(st.integers(0, 8).flatmap(lambda n: st.tuples(st.just(n), pair_values(n, small_whole))))
def test_float_views_return_the_input(sized):
    n, pairs = sized
    model = Ising(np.zeros(n), pairs)
    kept = sorted((i, j, x) for (i, j), x in pairs.items() if x)
    assert list(zip(*(a.tolist() for a in model.couplings), strict=True)) == kept
    assert model.num_couplings == len(kept)
    assert model.is_integer
