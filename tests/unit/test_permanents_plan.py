"""What is said before a permanent is computed, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import hardscape
from hardscape.engine import Cpu, Cuda
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import plan
from hardscape.permanents.methods.method import Block, Choice
from hardscape.permanents.methods.table import METHODS
from helpers.sparse_matrices import sparse_matrix


def test_a_plan_says_what_will_be_done():
    rng = np.random.default_rng(1)
    matrix = np.zeros((14, 14))
    matrix[:6, :6] = rng.normal(size=(6, 6))
    matrix[6:, 6:] = rng.normal(size=(8, 8))
    planned = plan(matrix, method="glynn", threads=1)
    assert [block.side for block in planned.blocks] in ([6, 8], [8, 6])
    result = hardscape.permanent(matrix, method="glynn", threads=1, full_output=True)
    assert (planned.method, planned.terms) == (result.method, result.terms) == ("glynn", 160)
    assert planned.reductions == result.reductions
    assert planned.device == result.device
    assert planned.precision == "double"
    assert json.loads(planned.to_json())["blocks"][0]["method"] == "glynn"


def test_the_record_of_192_gpus():
    matrix = np.random.default_rng(1).normal(size=(62, 62))
    planned = plan(matrix)
    assert planned.terms == 2**61
    assert 100 * 86400 < planned.seconds_elsewhere["1 H200"] < 400 * 86400
    assert planned.seconds_elsewhere["192 H200s"] == pytest.approx(
        planned.seconds_elsewhere["1 H200"] / 192
    )
    assert planned.seconds > planned.seconds_elsewhere["1 H200"]
    with pytest.raises(BudgetError):
        hardscape.permanent(matrix)
    # Asked for, it starts, and the limit ends it.
    with pytest.raises(BudgetError):
        hardscape.permanent(matrix, time_limit=0.2)


def test_more_rows_than_terms_can_be_counted():
    for matrix in (np.random.default_rng(1).normal(size=(71, 71)),
                   np.random.default_rng(1).integers(1, 100, (64, 64))):  # fmt: skip
        with pytest.raises(BudgetError):
            hardscape.permanent(matrix, time_limit=1)
        with pytest.raises(BudgetError):
            plan(matrix)


def test_structure_may_be_all():
    planned = plan(np.triu(np.ones((100, 100), dtype=int)))
    assert (planned.method, planned.terms, planned.blocks) == ("structure", 0, ())
    assert planned.seconds == 0


def test_a_plan_has_the_shape_that_was_given():
    for shape in ((5, 4), (4, 5), (3, 0)):
        assert plan(np.ones(shape)).shape == shape
    assert plan(np.ones((5, 4)), rows=[2, 0, 0, 0, 0], cols=[1, 1, 0, 0]).shape == (2, 2)


def test_multiplicities_are_planned():
    planned = plan(np.random.default_rng(1).normal(size=(3, 3)), rows=[60, 1, 1], cols=[30, 30, 2])
    assert planned.shape == (62, 62)
    assert planned.method == "repeated"
    assert planned.terms == 61 * 2
    assert planned.seconds < 1


@pytest.mark.parametrize("method", ["ryser", "", None, 3])
def test_methods_that_do_not_exist(method):
    with pytest.raises(InputError):
        plan(np.ones((3, 3)), method=method)


def test_a_method_that_does_not_fit():
    with pytest.raises(InputError, match="glynn"):
        hardscape.permanent(np.random.default_rng(1).normal(size=(4, 4)), method="repeated")
    with pytest.raises(InputError):
        plan(np.ones((2, 3, 3)))


def test_double_that_lost_too_much_is_summed_again():
    # One entry is set to what makes the permanent vanish, but for its rounding.
    matrix = np.random.default_rng(5).normal(size=(12, 12))
    matrix[0, 0] = 0
    rest = hardscape.permanent(matrix, precision="exact")
    matrix[0, 0] = float(-rest / hardscape.permanent(matrix[1:, 1:], precision="exact"))
    doubled = hardscape.permanent(matrix, precision="double", full_output=True)
    exact = hardscape.permanent(matrix, precision="exact")
    assert doubled.condition > 1e5
    assert hardscape.permanent(matrix) == float(exact)
    loose = hardscape.permanent(matrix, rtol=1e9)
    assert loose == hardscape.permanent(matrix, precision="double")
    with pytest.raises(InputError):
        hardscape.permanent(matrix, rtol=-1)


@pytest.mark.parametrize("full_output", [False, True])
@pytest.mark.parametrize("n", [8, 15, 20, 21])
def test_a_checkpoint_changes_no_digit(n, full_output, tmp_path):
    rng = np.random.default_rng(n)
    real = rng.normal(size=(n, n))
    several = rng.integers(0, 3, n).tolist()
    cases = [
        (real, {}),
        (real + 1j * rng.normal(size=(n, n)), {}),
        (real * (rng.random((n, n)) < 0.4) + np.eye(n), {}),
        (real, {"rows": several, "cols": several}),
        (rng.integers(-9, 10, (n, n)), {}),
    ]
    for k, (matrix, lines) in enumerate(cases):
        path = tmp_path / str(k)
        recorded = hardscape.permanent(
            matrix, checkpoint=path, full_output=full_output, threads=1, **lines
        )
        assert path.exists()
        value = recorded.value if full_output else recorded
        assert value == hardscape.permanent(matrix, threads=1, **lines)


def test_checkpoints_are_for_one_matrix(tmp_path):
    matrix = np.random.default_rng(6).normal(size=(18, 18))
    path = tmp_path / "ledger"
    value = hardscape.permanent(matrix, checkpoint=path)
    assert path.exists()
    assert hardscape.permanent(matrix, checkpoint=path) == value
    with pytest.raises(InputError):
        hardscape.permanent(np.ones((2, 3, 3)), checkpoint=path)


def test_gpus_get_what_they_are_good_at():
    gpu = Cuda(0)  # is not started for a plan
    dense = np.random.default_rng(1).normal(size=(40, 40))
    planned = plan(dense, device=gpu)
    assert (planned.method, planned.device) == ("glynn", "1 GPU(s)")
    assert planned.terms == 2**39
    assert planned.seconds < 10
    sparse = plan(sparse_matrix(45, 0.25), device=gpu)
    assert sparse.method == "sparse"
    assert sparse.seconds < plan(sparse_matrix(45, 0.25), device=gpu, method="glynn").seconds / 5
    # What has no kernel for GPUs runs on the CPU, and the plan says so.
    repeated = plan(np.repeat(dense[:4], 10, axis=0), device=gpu)
    assert repeated.method == "repeated"
    assert "CPU" in repeated.device
    assert "GPU" not in repeated.device


def test_planning_counts():
    dense = np.random.default_rng(1).normal(size=(26, 26))
    planned = plan(dense)
    assert planned.planning_seconds > 0
    proven = plan(dense, full_output=True)
    assert proven.seconds > planned.seconds
    assert (proven.method, proven.blocks) == (planned.method, planned.blocks)
    assert json.loads(planned.to_json())["planning_seconds"] == planned.planning_seconds


def blocks_to_race():
    rng = np.random.default_rng(3)
    sparse = rng.normal(size=(26, 26)) * (rng.random((26, 26)) < 0.2) + np.eye(26)
    yield Block(rng.normal(size=(12, 12)))
    yield Block(rng.normal(size=(24, 24)) * np.exp(1j))
    yield Block(rng.random((22, 22)))
    yield Block(sparse)
    yield Block(sparse * np.exp(1j))
    yield Block(np.repeat(rng.normal(size=(4, 24)), 6, axis=0))
    yield Block(
        np.array([[int(i == j) * i + 1 for j in range(20)] for i in range(20)], dtype=object)
    )
    yield Block(np.array((sparse != 0).astype(int).tolist(), dtype=object))


@pytest.mark.parametrize("devices", [[Cpu()], [Cpu()] * 5, [Cuda(0)], [Cuda(0), Cpu()]])
def test_no_way_takes_less_than_its_method_told(devices):
    asked = 0
    for block in blocks_to_race():
        for row in METHODS:
            if (row.arithmetic == "exact") != (block.entries.dtype == object):
                continue
            if row.shape not in ("any", block.shape):
                continue
            choice = Choice("real", row.arithmetic, row.name, tuple(devices))
            least = row.least(block, choice)
            ways = row.ways(block, choice, math.inf)
            for way in ways if isinstance(ways, list) else []:
                asked += 1
                assert way.seconds(choice.devices) >= 0.999 * least
    assert asked > 20
