"""The spectrum of random models of all sorts is what sorting all exact energies gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import hardscape
from hardscape.ising import Ising
from hardscape.ising.exact import ExactTerms, from_limbs
from hardscape.ising.methods.exhaustive.layout import Geometry, Layout
from hardscape.ising.result import spectral_order
from helpers.oracles import all_states, exact_energies

VALUES = {
    "small integers": st.integers(-3, 3).map(float),
    "large integers": st.integers(-(2**53), 2**53).map(float),
    "integers beyond float64": st.integers(-(2**130), 2**130),
    "reals": st.floats(-1, 1, allow_nan=False),
    "any magnitude": st.builds(
        lambda m, e: m * 2.0**e, st.floats(-1, 1, allow_nan=False), st.integers(-400, 400)
    ),
    "beside 1e12": st.sampled_from([1e12, -1e12, 1e-12, -3e-12, 0.0, 1.0]),
}


@st.composite
def models(draw, least, most):
    n = draw(st.integers(least, most))
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    sparse = draw(st.booleans())
    entry = st.one_of(st.just(0.0), st.just(0.0), values) if sparse else values
    pairs = n * (n - 1) // 2
    given = {"min_size": pairs, "max_size": pairs}
    couplings = np.array(draw(st.lists(entry, **given)), dtype=object)
    fields = (
        np.zeros(n)
        if draw(st.booleans())
        else np.array(draw(st.lists(entry, min_size=n, max_size=n)), dtype=object)
    )
    J = np.zeros((n, n), dtype=object)
    J[np.triu_indices(n, 1)] = couplings
    return Ising(fields.reshape(n), J, draw(values))


@settings(max_examples=60)
@given(models(0, 7), st.integers(1, 130))
def test_small_models(model, num_states):
    check(model, num_states, prune=True)


@settings(max_examples=12)
@given(models(14, 15), st.sampled_from([1, 5, 200, 10000]), st.booleans())
def test_models_with_blocks(model, num_states, prune):
    check(model, num_states, prune)


def coefficients(model):
    """Fields, couplings and offset as fractions."""
    terms, n = model.exact, model.num_spins
    unit = Fraction(2) ** terms.exponent
    J = np.full((n, n), Fraction(0))
    J[terms.row, terms.col] = [x * unit for x in terms.couplings]
    return [x * unit for x in terms.fields], J, terms.offset * unit


def check(model, num_states, prune):
    n = model.num_spins
    states = all_states(n)
    words = model.exact.words(states)
    exact = [int.from_bytes(w.tobytes(), "little", signed=True) for w in words]
    order = sorted(range(2**n), key=lambda c: (exact[c], c))[:num_states]
    result = hardscape.spectrum(model, num_states, device="cpu", threads=2, prune=prune)
    np.testing.assert_array_equal(result.states, states[order])
    fractions = exact_energies(*coefficients(model), states[order[:3]])
    assert result.energies[:3].tolist() == [float(x) for x in fractions]
    assert sum(level.count for level in result.levels) == len(order)


@settings(max_examples=25)
@given(models(15, 20), st.integers(0, 2**20 - 1), st.integers(0, 3))
def test_the_filter_never_exceeds_its_slack(model, gauge, mid):
    """Rounded energies as the kernels add them up stay within the slack of the exact ones."""
    geometry = Geometry.build(model.exact, gauge & (2**model.num_spins - 1))
    low = 12
    mid = min(mid, geometry.free - low)
    layout = Layout.build(geometry, low, mid, low + mid)
    rng = np.random.default_rng(gauge)
    for _ in range(20):
        root = int(rng.integers(1 << (geometry.free - layout.walked)))
        prefix = geometry.prefix(root, layout.walked)
        spin = rng.choice([-1, 1], layout.walked).tolist()
        couplings = geometry.couplings
        exact = sum(f * s for f, s in zip(prefix.fields, spin, strict=True)) + sum(
            couplings[p][q] * spin[p] * spin[q] for p in range(layout.walked) for q in range(p)
        )
        base = sum(layout.fine(prefix.fields[p]) * spin[p] for p in range(low, layout.walked))
        base += sum(
            layout.fine(couplings[p][q]) * spin[p] * spin[q]
            for p in range(low, layout.walked)
            for q in range(low, p)
        )
        steps = 0
        for i in range(low):
            field = layout.fine(prefix.fields[i]) + sum(
                layout.fine(couplings[p][i]) * spin[p] for p in range(low, layout.walked)
            )
            rounded = (field + (1 << layout.filter_shift >> 1)) >> layout.filter_shift
            steps += rounded * spin[i]
        coarse = layout.fine_shift + layout.filter_shift
        half = 1 << coarse >> 1
        # The CPU rounds three tables: inside A, inside B, across.
        for rows, columns in (
            (range(8), range(8)),
            (range(8, low), range(8, low)),
            (range(8, low), range(8)),
        ):
            pairs = sum(couplings[p][q] * spin[p] * spin[q] for p in rows for q in columns if q < p)
            steps += (pairs + half) >> coarse
        assert -(2**15) <= steps < 2**15
        fine = (steps << layout.filter_shift) + base
        target = layout.target(exact, 0)
        assert fine <= target
        assert abs((fine << layout.fine_shift) - exact) <= (layout.slack << layout.fine_shift)


@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(models(15, 17), st.integers(0, 2**17 - 1))
def test_floors_are_the_least_pair_energies(model, gauge):
    geometry = Geometry.build(model.exact, gauge & (2**model.num_spins - 1))
    low = 14
    layout = Layout.build(geometry, low, 0, low)
    layout.search.raise_floors(
        0,
        np.zeros(1, dtype=np.uint64),
        model.num_spins,
        np.inf,
        np.zeros(1, dtype=np.uint8),
        None,
        True,
    )
    floors = from_limbs(layout.search.floors())
    for p in range(low, model.num_spins + 1):
        unit = Fraction(2) ** model.exact.exponent
        pairs = [(i, j, geometry.couplings[i][j] * unit) for i in range(p) for j in range(i)]
        terms = ExactTerms.collect(p, [], pairs, Fraction(0))
        states = all_states(p)
        energies = terms.words(states)
        lowest = from_limbs(energies[spectral_order(energies, states)[:1]])[0]
        assert floors[p] * unit == lowest * Fraction(2) ** terms.exponent
