"""The lowest states by odd-cycle cuts: against every state, other methods, and beyond their reach."""

from __future__ import annotations

import time

import numpy as np
import pytest

import hardscape
from hardscape.engine import Context, Cpu, RunOptions, Shard
from hardscape.errors import InputError
from hardscape.ising import Ising, estimate
from hardscape.ising.exact import from_limbs
from hardscape.ising.generators import lattice
from hardscape.ising.methods.cuts import cuts, search
from hardscape.ising.methods.cuts.graph import Clusters, EdgeForm
from hardscape.ising.methods.cuts.relaxation import Known, Most, Relaxation
from hardscape.ising.methods.exhaustive.blocks import Wanted
from helpers.spectra import assert_same_list

pytest.importorskip("highspy")

COEFFICIENTS = {
    "signs": [-1.0, 1.0],
    "integers": [-3.0, -2.0, 0.0, 1.0, 2.0, 3.0],
    "reals": [0.1, -0.2, 0.3, 1.25, -0.7],
    "long": [2.0**40 + 1, -(2.0**39) + 3, 5.0],
    "wide": [1e12, -1e12, 1e-12, -3e-7],
    "widest": [1e299, -1e299, 1e-300, 1.5],
}
CPU = {"device": "cpu", "threads": 1, "seed": 1}


def model_of(kind, n, seed, density=0.35, fields=True):
    """A random sparse model, in parts more often than not."""
    rng = np.random.default_rng([seed, n, len(kind)])
    drawn = rng.choice(COEFFICIENTS[kind], (n, n))
    couplings = np.triu(np.where(rng.random((n, n)) < density, drawn, 0.0), 1)
    h = rng.choice(COEFFICIENTS[kind], n) * (rng.random(n) < 0.5) if fields else np.zeros(n)
    return Ising(h, couplings, 0.5)


def by_cuts(model, num_states=None, **options):
    return hardscape.spectrum(model, num_states, method="cuts", **CPU | options)


def assert_same(found, other):
    assert_same_list(found, other)
    assert found.levels == other.levels
    assert found.gap == other.gap
    assert found.lower_bound == other.lower_bound


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_the_states_of_exhaustive_search(kind, fields):
    for seed, n in enumerate((1, 2, 5, 9, 11)):
        model = model_of(kind, n, seed, fields=fields)
        for asked in ({"num_states": 1}, {"num_states": 7}, {"num_states": 2**n}, {"window": 2.5}):
            other = hardscape.spectrum(model, method="exhaustive", **asked, **CPU)
            assert_same(by_cuts(model, **asked), other)


def branches_alone(monkeypatch):
    """Nothing is left to tables or lists: all edges are fixed by proofs or by branching."""
    monkeypatch.setattr(search, "_FIRST_WORK", 0)
    monkeypatch.setattr(search, "_LISTS", ())
    monkeypatch.setattr(search, "_AT_ONCE", -1.0)
    monkeypatch.setattr(search, "_RATHER", -1.0)


@pytest.mark.parametrize("fields", [True, False])
def test_branches(fields, monkeypatch):
    branches_alone(monkeypatch)
    nodes = 0
    for seed in range(4):
        for kind in ("signs", "integers", "reals", "wide"):
            model = model_of(kind, 7, 50 + seed, density=0.8, fields=fields)
            for count in (1, 3):
                found = by_cuts(model, count)
                assert_same(found, hardscape.spectrum(model, count, method="exhaustive", **CPU))
                nodes += found.info["nodes"]
    assert nodes > 100


def test_a_stopped_search_tells_what_the_rest_takes(monkeypatch):
    branches_alone(monkeypatch)
    shares = []
    tell = Context.tell

    def told(context, partial):
        shares.append(float(partial["share"][0]))
        while shares[-1] >= 0.5 and not context.stopped():  # half of the search is behind it
            time.sleep(0.01)
        tell(context, partial)

    monkeypatch.setattr(Context, "tell", told)
    model = model_of("signs", 13, 51, density=0.8, fields=False)
    found = by_cuts(model, 3, time_limit=2.0)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.5 <= shares[-1] < 1
    assert not found.certified
    seconds = found.info["seconds_needed"]
    assert 0 < seconds <= found.info["seconds"]  # of the other half


@pytest.mark.parametrize("cutoff", [-6.0, -3.0, -1000.0])
def test_a_cutoff(cutoff):
    for seed in range(4):
        model = model_of("integers", 10, seed)
        other = hardscape.spectrum(model, 20, cutoff=cutoff, method="exhaustive", **CPU)
        found = by_cuts(model, 20, cutoff=cutoff)
        assert found.certified
        assert found.energies.tobytes() == other.energies.tobytes()
        assert found.states.tobytes() == other.states.tobytes()


@pytest.mark.parametrize("kind", ["signs", "gauss"])
@pytest.mark.parametrize(("shape", "periodic"), [((6, 9), True), ((9, 10), False)])
def test_the_states_of_the_frontier_on_lattices(kind, shape, periodic):
    model = lattice(shape, periodic, kind, 3)
    for count in (1, 40):
        other = hardscape.spectrum(model, count, method="frontier", **CPU)
        assert_same(by_cuts(model, count), other)


def test_a_lattice_beyond_tables(monkeypatch):
    # Tables of what is left, and no lists.
    monkeypatch.setattr(search, "_FIRST_WORK", 0)
    monkeypatch.setattr(search, "_LISTS", ())
    model = lattice((24, 24), False, "signs", 1)
    found = hardscape.spectrum(model, 20, **CPU)
    assert found.method == "cuts"
    assert found.certified
    assert 0 < found.info["core_spins"] < 576
    np.testing.assert_array_equal(found.energies, model.energy(found.states))
    # The same spins under other numbers: other codes, the same energy.
    order = np.random.default_rng(2).permutation(576)
    row, col = (order[x] for x in (model.exact.row, model.exact.col))
    pairs = zip(row.tolist(), col.tolist(), model.exact.couplings, strict=True)
    turned = Ising(np.zeros(576), {(i, j): float(x) for i, j, x in pairs})
    again = by_cuts(turned, 1)
    assert again.energies[0] == found.energies[0]
    # No state that differs in one of the highest spins first and is lower in code is as low.
    assert found.states[0, -1] == -1


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_proofs_hold_for_any_multipliers(kind):
    rng = np.random.default_rng(5)
    for seed in range(6):
        model = model_of(kind, 8, seed, density=0.7, fields=bool(seed % 2))
        form = EdgeForm.of(model.exact)
        relaxation = Relaxation(form)
        for _ in range(4):
            relaxation.separate(rng.random(len(form.row)), tolerance=0.01)
        _, exact, broken = _exact_and_broken(form, 8)
        low, high = Clusters(form).known()
        for size in (0.0, 0.3, 1e6):
            relaxation.multipliers = rng.normal(size=relaxation.rows.count) * size
            proof = relaxation.proof(low, high)
            assert relaxation.exact(proof.bound) <= min(exact)
            for energy, values in zip(exact, broken, strict=True):
                likely = proof.reduced < 0
                rise = int(np.abs(proof.reduced[values != likely]).sum())
                assert relaxation.fine_above_base(energy) >= proof.bound + rise
                assert energy == form.allowed(energy)


def _exact_and_broken(form, n):
    """Energies of all states, and which edges are not satisfied in each."""
    states = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.int8) * 2 - 1
    words = form.terms.words(states)
    exact = [int.from_bytes(row.tobytes(), "little", signed=True) for row in words]
    ghost = np.hstack([states, np.ones((2**n, 1), dtype=np.int8)])
    return states, exact, (ghost[:, form.row] != ghost[:, form.col]) ^ form.signs.astype(bool)


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_the_lowest_states_are_listed_for_any_multipliers(kind, fields):
    rng, n, met = np.random.default_rng(6), 8, 0
    for seed in range(8):
        form = EdgeForm.of(model_of(kind, n, seed, density=0.6, fields=fields).exact)
        if form.vertices == n + (not fields):
            continue
        relaxation = Relaxation(form)
        relaxation.separate(rng.random(len(form.row)), tolerance=0.01)
        relaxation.multipliers = rng.random(relaxation.rows.count) * rng.choice([0.0, 0.2, 1.0])
        clusters = Clusters(form)
        edges = rng.permutation(len(form.row))[: rng.integers(3)].astype(np.int64)
        clusters.join_edges(edges, rng.integers(0, 2, len(edges)).astype(np.uint8))
        low, high = clusters.known()
        proof = relaxation.proof(low, high)
        states, exact, broken = _exact_and_broken(form, n)
        searched = ((broken >= low) & (broken <= high)).all(axis=1)
        searched &= form.vertices > n or states[:, -1] < 0
        # In the order of codes among equal ones, as Python sorts.
        order = sorted((exact[k], k) for k in np.flatnonzero(searched))
        for count in (1, 3, 300):
            top = order[min(count + 2, len(order) - 1)][0]
            expected = [k for energy, k in order if energy <= top][:count]
            known = Known(count, [exact[k] for k in expected[1:2]], states[expected[1:2]] > 0)
            known = known._replace(up=known.up.astype(np.uint8))
            most = Most(10_000, 10**9, np.zeros(1, dtype=np.uint8))
            found = relaxation.within(proof, (low, high), (order[0][0], top), known, most)
            assert found.complete
            rows = {row.tobytes() for row in found.up}
            assert {(states[k] > 0).astype(np.uint8).tobytes() for k in expected} <= rows
            if relaxation.shift <= 0:
                assert len(rows) == len(expected)
            stopped = relaxation.within(
                proof, (low, high), (order[0][0], top), known, most._replace(work=0)
            )
            assert not stopped.complete or stopped.work == 0
            met += len(expected)
    assert met > 100


@pytest.mark.parametrize("seed", [1, 11])
def test_a_lattice_in_three_dimensions_is_proven_by_lists(seed):
    model = lattice((5, 5, 5), True, "signs", seed)
    found = hardscape.spectrum(model, 1, **CPU)
    assert found.method == "cuts"
    assert found.certified
    assert found.energies[0] == model.energy(found.states[0])
    assert found.energies[0] <= hardscape.ising.search(model, 1, **CPU).energies[0]
    # Of a whole turn about an axis the lowest energy is the same, by other codes.
    turned = np.arange(125).reshape(5, 5, 5).transpose(2, 0, 1).ravel()
    matrix = (model.J + model.J.T)[np.ix_(turned, turned)]
    again = by_cuts(Ising(np.zeros(125), np.triu(matrix, 1)), 1)
    assert again.certified
    assert again.energies[0] == found.energies[0]


def test_stopped_with_a_bound():
    model = lattice((40, 40), True, "signs", 2)
    found = by_cuts(model, 1, time_limit=0.6)
    assert found.num_states == 1
    assert found.lower_bound <= found.energies[0]
    assert found.energies[0] == model.energy(found.states[0])
    assert found.certified or found.stopped == "time_limit"


def test_known_states_and_checkpoints(tmp_path):
    model = lattice((9, 9), True, "signs", 4)
    once = by_cuts(model, 5)
    known = hardscape.ising.search(model, 3, **CPU).states
    ledger = tmp_path / "cuts.job"
    assert_same(by_cuts(model, 5, initial_states=known, checkpoint=ledger), once)
    assert_same(by_cuts(model, 5, checkpoint=ledger), once)
    assert_same(by_cuts(model, 5, executor="processes:1", threads=None), once)


def test_chosen_where_tables_are_wide_and_refused_without_a_solver(monkeypatch):
    assert hardscape.spectrum(lattice((6, 6), True, "signs", 1), 1, **CPU).method == "frontier"
    wide = lattice((18, 18), True, "signs", 1)
    assert hardscape.spectrum(wide, 1, **CPU).method == "cuts"
    assert estimate(wide, 1, device="cpu", threads=1, seed=1).seconds < 60
    with pytest.raises(InputError):
        hardscape.spectrum(wide, 1, method="cuts", prune=False, **CPU)
    monkeypatch.setattr(cuts, "_installed", lambda: False)
    with pytest.raises(InputError):
        hardscape.spectrum(wide, 1, method="cuts", **CPU)


def test_one_state_of_real_couplings_is_left_to_cuts_and_is_that_of_the_tables():
    model = lattice((4, 4, 4), True, "gauss", 3)
    mine, tables = (
        hardscape.spectrum(model, 1, method=method, device="cpu", threads=1)
        for method in ("auto", "frontier")
    )
    assert mine.certified
    assert mine.method == "cuts"
    assert mine.energies.tobytes() == tables.energies.tobytes()
    assert mine.states.tobytes() == tables.states.tobytes()


def test_short_loops_are_triangles_and_squares():
    ring = {(i, (i + 1) % 5): 1.0 for i in range(5)}
    whole = {(i, j): 1.0 for j in range(5) for i in range(j)}
    for couplings, loops in ((ring, 0), ({**ring, (0, 2): 1.0}, 2), (whole, 10 + 15)):
        assert cuts.short_loops(Ising(np.zeros(5), couplings).exact) == loops


def test_one_state_of_a_lattice_is_found_without_taking_spins_out():
    # What is left of spins that are taken out has no flips, where the state after the lowest must be told.
    terms = lattice((4, 4, 4), True, "gauss", 5).exact
    assert cuts.Cuts().outright(Wanted(terms, 2, None))
    assert not cuts.Cuts().outright(Wanted(terms, 1001, None))


@pytest.mark.parametrize("kind", ["signs", "gauss"])
def test_some_states_of_a_lattice_are_left_to_cuts_and_are_those_of_the_tables(kind):
    model = lattice((10, 9), True, kind, 7)
    mine = hardscape.spectrum(model, 40, **CPU)
    assert mine.method == "cuts"
    assert_same(mine, hardscape.spectrum(model, 40, method="frontier", **CPU))
    # Many states, narrow lattices, and spins with fields are left to tables.
    fields = Ising(np.arange(90) % 3 - 1.0, model.J)
    for other, count in ((model, 1000), (lattice((4, 30), False, kind, 7), 40), (fields, 40)):
        assert hardscape.spectrum(other, count, **CPU).method == "frontier"


def test_what_relaxations_prove_is_told_as_they_go():
    model = lattice((14, 14), True, "gauss", 5)
    told, stop = [], np.zeros(1, dtype=np.uint8)
    work = cuts.CutWork(Wanted(model.exact, 2, None), 1)
    context = Context(Cpu(), None, stop, told=told.append)
    found = work.run(Shard(0, 0, 1), context)
    assert found.complete
    assert len(told) > 2
    bounds = [work.bounds([partial], []) for partial in told]
    least = work.result(found.partial).energies
    energy = from_limbs(least[:1])[0] * 2.0**model.exact.exponent
    assert all(bound <= energy <= best for best, bound in bounds)
    assert [bound for _, bound in bounds] == sorted(bound for _, bound in bounds)
    assert bounds[-1][1] > bounds[0][1]


def test_annealing_beside_the_proof(monkeypatch):
    monkeypatch.setattr(search, "_WIDE_SPINS", 1)
    monkeypatch.setattr(search, "_WIDE_COUPLINGS", 1)
    monkeypatch.setattr(search, "_PROOF_SECONDS", 1e9)
    model = lattice((12, 12), True, "signs", 1)
    options = RunOptions.checked(**CPU)
    work = cuts.Cuts().work(Wanted(model.exact, 2, None), options)
    stop = np.zeros(1, dtype=np.uint8)
    tried = search.CutSearch(work, Context(Cpu(), None, stop), 1, work.nothing())
    tried.anneal()
    least = from_limbs(tried.partial()["energies"][:1])[0]
    found = hardscape.spectrum(model, 1, device="cpu", threads=1, seed=1)
    assert least * 2.0**model.exact.exponent == found.energies[0]
    before = tried.partial()
    tried.anneal()  # no proof has taken long since
    assert tried.partial()["states"].tobytes() == before["states"].tobytes()
    same = hardscape.spectrum(model, 3, method="cuts", device="cpu", threads=1, seed=1)
    assert same.certified
    assert same.energies[0] == found.energies[0]
