"""The density of states of random models: against a list of all states, and its invariances."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardscape.engine import Context, Cpu, Shard
from hardscape.ising.density import density_of_states
from hardscape.ising.methods.counting import LevelTerms, add_counts
from hardscape.ising.methods.frontier.frontier import (
    FrontierWork,
    breadth_first_order,
    greedy_order,
    plan_frontier,
    steps,
)
from hardscape.ising.methods.histogram.histogram import (
    HistogramWork,
    SpinTable,
    lattice_basis,
    lattice_coordinates,
)
from hardscape.ising.model import Ising
from helpers.density_oracle import counted

quick = settings(max_examples=60, deadline=None)


@st.composite
def models(draw, max_spins=11):
    n = draw(st.integers(0, max_spins))
    reach = draw(st.sampled_from([1, 3, 40]))
    unit = draw(st.sampled_from([1.0, 0.5, 0.25, 3.0, 1000.0, 2.0**-40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    J = np.triu(rng.integers(-reach, reach + 1, (n, n)), 1)
    J *= rng.random((n, n)) < draw(st.sampled_from([0.15, 0.4, 1.0]))
    h = rng.integers(-reach, reach + 1, n) * draw(st.integers(0, 1))
    return Ising(h * unit, J * unit, float(draw(st.integers(-5, 5))))


@quick
@given(models(), st.sampled_from(["auto", "frontier", "exhaustive"]))
def test_equals_the_list_of_all_states(model, method):
    result = density_of_states(model, method=method, threads=1)
    assert (result.energies.tolist(), result.counts) == counted(model)


@quick
@given(models(), st.data())
def test_any_spins_can_be_left_out(model, data):
    terms = LevelTerms.of(model.exact)
    bits = range(terms.num_bits)
    eliminated = data.draw(st.lists(st.sampled_from(bits), unique=True, max_size=3)) if bits else []
    assume(SpinTable.of(terms, sorted(eliminated), 2**18) is not None)
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    work = HistogramWork(terms, tuple(sorted(eliminated)))
    found = work.run(Shard(0, 0, -(-(2**work.counted) // 256)), context).partial["counts"]
    plan = plan_frontier(terms)
    expected = plan.run(Shard(0, 0, 1), context).partial["counts"]
    assert np.array_equal(found, expected)


@quick
@given(models(), st.data())
def test_any_order_and_slices(model, data):
    terms = LevelTerms.of(model.exact)
    order = data.draw(st.permutations(range(terms.num_bits)))
    cut = data.draw(st.integers(0, min(3, len(order))))
    work = FrontierWork(terms, tuple(order[cut:]), tuple(order[:cut]))
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    found = work.run(Shard(0, 0, 2**cut), context).partial["counts"]
    whole = plan_frontier(terms)
    expected = whole.run(Shard(0, 0, 1), context).partial["counts"]
    assert np.array_equal(found, expected)


@quick
@given(models(9), st.data())
def test_gauge_transformations_change_nothing(model, data):
    n = model.num_spins
    sign = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    order = data.draw(st.permutations(range(n)))
    J = model.J + model.J.T
    turned = (J * np.outer(sign, sign) if n else J)[np.ix_(order, order)]
    other = Ising((model.h * sign if n else model.h)[order], np.triu(turned, 1), model.offset)
    first, second = density_of_states(model), density_of_states(other)
    assert first.counts == second.counts
    assert first.energies.tolist() == second.energies.tolist()


@quick
@given(models(9), st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_thermodynamics_is_consistent(model, betas):
    result = density_of_states(model)
    betas = np.array(betas) / max(1.0, float(np.abs(result.energies).max()))
    assert (result.heat_capacity(betas) >= 0).all()
    entropy = result.entropy(betas)
    assert (entropy <= model.num_spins * np.log(2) + 1e-9).all()
    assert (entropy >= np.log(min(result.counts)) - 1e-9).all()
    mean = result.mean_energy(betas)
    assert ((mean >= result.energies[0] - 1e-9) & (mean <= result.energies[-1] + 1e-9)).all() or (
        np.abs(result.energies).max() > 1e3
    )


words = st.integers(0, 2**190 - 1)


@quick
@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_counts_of_several_words_add_up(pairs):
    def split(values):
        return np.array([[v >> 64 * w & 2**64 - 1 for v in values] for w in range(3)], np.uint64)

    total = add_counts(split([a for a, _ in pairs]), split([b for _, b in pairs]))
    joined = [sum(int(total[w, i]) << 64 * w for w in range(3)) for i in range(len(pairs))]
    assert joined == [a + b for a, b in pairs]


@quick
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(-50, 50), min_size=k, max_size=k), min_size=1, max_size=9
        )
    )
)
def test_lattice_basis(generators):
    basis = lattice_basis(generators)
    assert all(not any(row[:r]) and row[r] >= 0 for r, row in enumerate(basis))
    for vector in generators:
        y = lattice_coordinates(basis, vector)
        assert [
            sum(a * b for a, b in zip(y, col, strict=True)) for col in zip(*basis, strict=True)
        ] == vector
    # The same lattice: the volume of the basis divides that of any full set of generators.
    k = len(basis)
    volume = round(abs(np.linalg.det(np.array(basis, dtype=float))))
    if volume and len(generators) >= k:
        other = round(abs(np.linalg.det(np.array(generators[:k], dtype=float))))
        assert other % volume == 0


@quick
@given(models(), st.data())
def test_spins_leave_after_their_neighbours_entered(model, data):
    near = LevelTerms.of(model.exact).neighbours()
    n = len(near)
    start = data.draw(st.integers(0, max(0, n - 1)))
    for order in (greedy_order(near, start), breadth_first_order(near, start)):
        assert sorted(order) == list(range(n))
        entered, left = set(), set()
        for step in steps(order, near):
            entered.add(step.entering)
            for spin in step.leaving:
                assert {spin, *near[spin]} <= entered
                left.add(spin)
        assert left == entered
