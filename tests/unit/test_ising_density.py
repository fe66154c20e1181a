"""The density of states: closed forms, published tables, thermodynamics, and what is refused."""

import json
import math
import os
import pickle
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, Shard
from hardscape.errors import BudgetError, CheckpointError, DeviceError, InputError, Interrupted
from hardscape.ising.density import density_of_states
from hardscape.ising.methods.counting import LevelTerms
from hardscape.ising.methods.frontier.frontier import FrontierWork, plan_frontier
from hardscape.ising.methods.histogram.histogram import HistogramWork, choose_eliminated
from hardscape.ising.model import Ising
from helpers.density_oracle import all_energies, counted

METHODS = ("frontier", "exhaustive")


def ring(n):
    return Ising.from_dict({(i, (i + 1) % n): -1.0 for i in range(n)})


def torus(width, height, values=lambda: -1.0):
    pairs = {}
    for x in range(width):
        for y in range(height):
            for other in (((x + 1) % width) * height + y, x * height + (y + 1) % height):
                pairs[x * height + y, other] = values()
    return Ising.from_dict(pairs)


def dense(n, seed, field=0):
    rng = np.random.default_rng(seed)
    return Ising(np.full(n, field), np.triu(rng.choice([-1, 1], (n, n)), 1))


def small_integers(n):
    """A model that takes several shards."""
    rng = np.random.default_rng(n)
    return Ising(np.ones(n), np.triu(rng.integers(-30, 31, (n, n)), 1))


class InterruptingPool(ThreadPoolExecutor):
    """Sends Ctrl-C with the third shard: one is done by then, as two are in flight at a time."""

    submitted = 0

    def submit(self, *args, **kwargs):
        self.submitted += 1
        if self.submitted == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return super().submit(*args, **kwargs)


def complete_ferromagnet(n):
    return Ising(np.zeros(n), -np.triu(np.ones((n, n)), 1))


def context():
    return Context(Cpu(), None, np.zeros(1, dtype=np.uint8))


class TestCounts:
    @pytest.mark.parametrize("method", METHODS)
    def test_spins_in_a_field_are_binomial(self, method):
        result = density_of_states(Ising(np.ones(20), {}), method=method)
        assert result.energies.tolist() == list(range(-20, 21, 2))
        assert result.counts == tuple(math.comb(20, k) for k in range(21))

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("n", [3, 12, 17])
    def test_ring_has_an_even_number_of_walls(self, method, n):
        result = density_of_states(ring(n), method=method)
        walls = range(0, n + 1, 2)
        assert result.energies.tolist() == [2.0 * k - n for k in walls]
        assert result.counts == tuple(2 * math.comb(n, k) for k in walls)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("n", [9, 18])
    def test_complete_ferromagnet_depends_on_the_magnetization(self, method, n):
        expected = {}
        for up in range(n + 1):
            energy = (n - (2 * up - n) ** 2) / 2
            expected[energy] = expected.get(energy, 0) + math.comb(n, up)
        result = density_of_states(complete_ferromagnet(n), method=method)
        assert dict(zip(result.energies.tolist(), result.counts, strict=True)) == expected

    @pytest.mark.parametrize("n", [43, 65, 130, 300])
    def test_counts_beyond_64_bits(self, n):
        result = density_of_states(ring(n))
        assert result.info["method"] == "frontier"
        assert result.counts == tuple(2 * math.comb(n, k) for k in range(0, n + 1, 2))

    def test_ladder(self):
        pairs = {(i, i + 1): -1.0 for i in range(0, 40, 2)}
        pairs |= {(i, i + 2): -1.0 for i in range(38)}
        result = density_of_states(Ising.from_dict(pairs))
        assert (result.ground_energy, result.ground_degeneracy) == (-58.0, 2)
        # A corner: two bonds.
        assert (result.energies[1], result.counts[1]) == (-54.0, 2 * (4 + 19))
        column = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
        beta = 0.3
        rung = np.exp(beta * column[:, 0] * column[:, 1])
        transfer = np.exp(beta * column @ column.T) * rung
        z = rung @ np.linalg.matrix_power(transfer, 19) @ np.ones(4)
        assert result.log_partition(beta) == pytest.approx(math.log(z), rel=1e-13)

    @pytest.mark.parametrize("method", METHODS)
    def test_torus_4x4(self, method):
        model = torus(4, 4)
        result = density_of_states(model, method=method)
        half = [2, 32, 64, 424, 1728, 6688, 13568]
        assert result.counts == (*half, 20524, *half[::-1])
        assert result.energies[:3].tolist() == [-32.0, -24.0, -20.0]

    def test_torus_6x6(self):
        result = density_of_states(torus(6, 6))
        assert result.counts[:7] == (2, 72, 144, 1620, 6048, 35148, 159840)
        assert result.counts == result.counts[::-1]

    def test_methods_agree_beyond_what_can_be_listed(self):
        rng = np.random.default_rng(5)
        model = torus(4, 6, lambda: float(rng.choice([-1, 1])))
        frontier, exhaustive = (density_of_states(model, method=method) for method in METHODS)
        assert frontier.counts == exhaustive.counts
        assert frontier.energies.tolist() == exhaustive.energies.tolist()

    @pytest.mark.parametrize("method", [*METHODS, "auto"])
    def test_no_spins(self, method):
        result = density_of_states(Ising([], {}, 2.5), method=method)
        assert (result.energies.tolist(), result.counts) == ([2.5], (1,))
        assert result.log_partition(2.0) == pytest.approx(-5.0)

    @pytest.mark.parametrize("method", METHODS)
    def test_spins_without_terms_are_counted(self, method):
        result = density_of_states(Ising([0, 0.5, 0, 0], {}), method=method)
        assert (result.energies.tolist(), result.counts) == ([-0.5, 0.5], (8, 8))

    @pytest.mark.parametrize("method", METHODS)
    def test_wide_level_axis(self, method):
        rng = np.random.default_rng(2)
        model = Ising(
            rng.integers(-9999, 9999, 10), np.triu(rng.integers(-9999, 9999, (10, 10)), 1)
        )
        result = density_of_states(model, method=method)
        assert (result.energies.tolist(), result.counts) == counted(model)

    def test_dense_model_is_counted_exhaustively(self):
        result = density_of_states(dense(24, 1))
        assert result.info["method"] == "exhaustive"
        assert sum(result.counts) == 2**24

    def test_input_in_other_forms(self):
        result = density_of_states({("a", "b"): 1.0, ("b", "b"): 0.5})
        assert (result.energies.tolist(), result.counts) == ([-1.5, -0.5, 0.5, 1.5], (1, 1, 1, 1))


class TestWork:
    def test_any_cut_into_shards(self):
        work = HistogramWork(LevelTerms.of(dense(16, 3, field=1).exact), (2, 5))
        blocks = 2**work.counted // 256
        whole = work.run(Shard(0, 0, blocks), context())
        merged = work.run(Shard(0, 0, 1), context()).partial
        for first, last in ((1, 7), (7, 40), (40, blocks)):
            merged = work.merge(merged, work.run(Shard(0, first, last), context()).partial)
        assert whole.complete
        assert whole.partial["counts"].sum() == 2**16
        assert np.array_equal(whole.partial["counts"], merged["counts"])

    @pytest.mark.parametrize("eliminated", [(), (0,), (3, 7), (1, 2, 3, 4, 5)])
    def test_any_spins_left_out(self, eliminated):
        terms = LevelTerms.of(dense(15, 4).exact)
        work = HistogramWork(terms, eliminated)
        plain = HistogramWork(terms, ())
        counts, expected = (
            w.run(Shard(0, 0, -(-(2**w.counted) // 256)), context()).partial["counts"]
            for w in (work, plain)
        )
        assert np.array_equal(counts, expected)

    def test_small_integers_leave_spins_out(self):
        assert len(choose_eliminated(LevelTerms.of(dense(32, 1).exact))) >= 3

    def test_slices_add_up(self):
        model = torus(4, 4)
        whole = plan_frontier(LevelTerms.of(model.exact))
        sliced = whole.slice_once_more().slice_once_more().slice_once_more()
        assert len(sliced.shards()) == 8
        assert sliced.max_frontier < whole.max_frontier
        parts = [sliced.run(shard, context()).partial for shard in sliced.shards()]
        total = parts[0]
        for part in parts[1:]:
            total = sliced.merge(total, part)
        expected = whole.run(Shard(0, 0, 1), context()).partial
        assert np.array_equal(total["counts"], expected["counts"])

    def test_wide_models_are_sliced(self):
        plan = plan_frontier(LevelTerms.of(torus(10, 10).exact))
        assert plan.sliced
        assert plan.fits

    def test_order_follows_the_graph(self):
        # Spins of a 3 x 30 strip in random order: the frontier must still be about 3.
        rng = np.random.default_rng(0)
        name = rng.permutation(90).tolist()
        pairs = {(name[i], name[i + 3]): 1.0 for i in range(87)}
        pairs |= {(name[i], name[i + 1]): 1.0 for i in range(90) if i % 3 < 2}
        assert plan_frontier(LevelTerms.of(Ising.from_dict(pairs).exact)).max_frontier <= 4

    def test_a_stopped_shard_is_not_complete(self):
        stopped = Context(Cpu(), None, np.ones(1, dtype=np.uint8))
        terms = LevelTerms.of(torus(4, 4).exact)
        for work in (HistogramWork(terms, ()), plan_frontier(terms)):
            assert not work.run(work.shards()[0], stopped).complete

    def test_digest_tells_plans_apart(self):
        terms = LevelTerms.of(torus(4, 4).exact)
        order = tuple(range(terms.num_bits))
        works = [
            HistogramWork(terms, ()),
            HistogramWork(terms, (1,)),
            FrontierWork(terms, order),
            FrontierWork(terms, order[1:], order[:1]),
            HistogramWork(LevelTerms.of(torus(4, 5).exact), ()),
        ]
        assert len({work.digest() for work in works}) == len(works)


class TestRun:
    def test_threads_and_processes_agree(self):
        model = small_integers(30)
        expected = density_of_states(model, threads=1)
        assert expected.info["shards"] > 2
        assert density_of_states(model, threads=3).counts == expected.counts
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            assert density_of_states(model, executor=pool).counts == expected.counts

    def test_interrupt_and_resume(self, tmp_path):
        model = small_integers(30)
        path = tmp_path / "density.ledger"
        with InterruptingPool(1) as pool, pytest.raises(Interrupted):
            density_of_states(model, executor=pool, checkpoint=path)
        result = density_of_states(model, checkpoint=path)
        assert 1 <= result.info["resumed_shards"] < result.info["shards"]
        assert result.counts == density_of_states(model).counts

    def test_checkpoint_of_another_model(self, tmp_path):
        path = tmp_path / "density.ledger"
        density_of_states(ring(8), checkpoint=path)
        with pytest.raises(CheckpointError):
            density_of_states(ring(9), checkpoint=path)

    def test_time_limit(self):
        with pytest.raises(BudgetError):
            density_of_states(dense(50, 1), time_limit=0.2)


class TestThermodynamics:
    betas = np.array([[-2.0, -0.1, 0.0], [1e-3, 0.7, 5.0]])

    def test_log_partition_is_the_sum_over_states(self):
        model = dense(10, 9, field=1)
        energies = all_energies(model)
        result = density_of_states(model).log_partition(self.betas)
        for value, beta in zip(result.ravel(), self.betas.ravel(), strict=True):
            assert value == pytest.approx(math.log(math.fsum(np.exp(-beta * energies))), rel=1e-13)
        assert result.shape == self.betas.shape

    def test_infinite_temperature(self):
        result = density_of_states(ring(100))
        assert result.log_partition(0.0) == pytest.approx(100 * math.log(2), rel=1e-14)
        assert result.log_partition(0.0).shape == ()
        assert result.entropy(0.0) == pytest.approx(100 * math.log(2), rel=1e-14)
        assert result.heat_capacity(0.0) == 0.0

    def test_ring_in_closed_form(self):
        n = 40
        result = density_of_states(ring(n))
        for beta in (-0.4, 0.2, 1.0):
            c, s = math.cosh(beta), math.sinh(beta)
            z = c**n + s**n
            mean = -n * (c ** (n - 1) * s + s ** (n - 1) * c) / z
            assert result.log_partition(beta) == pytest.approx(n * math.log(2) + math.log(z))
            assert result.mean_energy(beta) == pytest.approx(mean)

    def test_free_spins(self):
        result = density_of_states(Ising(np.ones(30), {}))
        beta = np.linspace(-3, 3, 13)
        tanh = np.tanh(beta)
        assert result.mean_energy(beta) == pytest.approx(-30 * tanh)
        assert result.heat_capacity(beta) == pytest.approx(30 * beta**2 / np.cosh(beta) ** 2)
        expected = 30 * (np.log(2 * np.cosh(beta)) - beta * tanh)
        assert result.entropy(beta) == pytest.approx(expected, rel=1e-11)

    def test_ground_state_limit(self):
        result = density_of_states(torus(4, 4))
        for beta in (50.0, 1e300):
            assert result.log_partition(beta) == pytest.approx(beta * 32 + math.log(2))
            assert result.mean_energy(beta) == -32.0
            assert result.entropy(50.0) == pytest.approx(math.log(2), abs=1e-10)
            assert result.heat_capacity(beta) == pytest.approx(0.0, abs=1e-100)

    @pytest.mark.parametrize("beta", [math.inf, -math.inf, math.nan, [0.0, math.inf], 1e308, "x"])
    def test_beta_must_be_finite(self, beta):
        with pytest.raises(InputError):
            density_of_states(ring(4)).log_partition(beta)


class TestResult:
    def test_json(self):
        result = density_of_states(ring(70))
        data = json.loads(result.to_json())
        assert data["energies"] == result.energies.tolist()
        assert tuple(data["counts"]) == result.counts
        assert data["num_spins"] == 70
        assert data["method"] == "frontier"

    def test_pickle(self):
        result = density_of_states(ring(6))
        again = pickle.loads(pickle.dumps(result))
        assert again.counts == result.counts
        assert again.energies.tolist() == result.energies.tolist()
        assert dict(again.info) == dict(result.info)

    def test_is_frozen(self):
        result = density_of_states(ring(6))
        with pytest.raises(AttributeError):
            result.counts = ()

    def test_repr_shows_the_ground_level(self):
        text = repr(density_of_states(ring(6)))
        assert "-6.0" in text
        assert "x2" in text

    def test_logarithms_of_counts(self):
        result = density_of_states(ring(6))
        assert result.log_counts == pytest.approx([math.log(x) for x in (2, 30, 30, 2)])


class TestAnyCoefficients:
    """Of few spins, whose states are listed where no axis holds their levels."""

    @pytest.mark.parametrize("method", ["auto", "exhaustive"])
    def test_levels_of_real_couplings(self, method):
        rng = np.random.default_rng(0)
        model = Ising(rng.normal(size=8), np.triu(rng.normal(size=(8, 8)), 1))
        result = density_of_states(model, method=method)
        assert (result.energies.tolist(), result.counts) == counted(model)

    def test_ties_are_one_level(self):
        pairs = {(i, j): 0.1 for i in range(6) for j in range(i)}
        result = density_of_states(Ising([0.3] * 6, pairs))
        assert sorted(result.counts) == sorted(math.comb(6, up) for up in range(7))

    def test_levels_that_round_to_one_number(self):
        result = density_of_states(Ising([1e300, 1e-300], {}))
        assert result.energies.tolist() == [-1e300, -1e300, 1e300, 1e300]
        assert result.counts == (1, 1, 1, 1)

    def test_a_time_limit(self):
        rng = np.random.default_rng(0)
        model = Ising(rng.normal(size=20), np.triu(rng.normal(size=(20, 20)), 1))
        with pytest.raises(BudgetError):
            density_of_states(model, time_limit=1e-6)


class TestRefusals:
    def test_real_couplings(self):
        rng = np.random.default_rng(0)
        with pytest.raises(InputError, match=r"2\*\*26"):
            density_of_states(Ising(np.zeros(21), np.triu(rng.normal(size=(21, 21)), 1)))
        with pytest.raises(InputError, match=r"2\*\*26"):
            density_of_states(Ising([0.1, 0.3], {(0, 1): 1.0}), method="frontier")

    def test_coefficients_of_extreme_scales(self):
        with pytest.raises(InputError):
            density_of_states(Ising([1e300, 1e-300] + [0] * 20, {(0, 1): 1.0}))

    def test_extreme_scale_alone_is_fine(self):
        result = density_of_states(Ising([0, 0], {(0, 1): 1e-300}))
        assert result.energies.tolist() == [-1e-300, 1e-300]

    def test_unknown_method(self):
        with pytest.raises(InputError, match="gray"):
            density_of_states(ring(4), method="gray")

    def test_gpu(self):
        with pytest.raises(DeviceError):
            density_of_states(ring(4), device="cuda")

    @pytest.mark.parametrize("threads", [0, -1])
    def test_threads(self, threads):
        with pytest.raises(InputError):
            density_of_states(ring(4), threads=threads)

    @pytest.mark.parametrize("method", ["auto", *METHODS])
    def test_too_many_spins(self, method):
        with pytest.raises(BudgetError, match="80"):
            density_of_states(dense(80, 1), method=method)

    def test_days_of_work_need_a_flag(self):
        with pytest.raises(BudgetError, match="60"):
            density_of_states(dense(60, 1), threads=1)
