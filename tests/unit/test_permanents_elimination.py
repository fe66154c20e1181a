"""Eliminated variables against Glynn's formula without any."""

import functools
import itertools
import math

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.permanents import plan
from hardscape.permanents.methods.sparse.cuda import CudaSparseWork
from hardscape.permanents.methods.sparse.sparse import CpuSparseWork
from hardscape.permanents.structure.elimination import eliminate
from helpers.permanent_sums import glynn
from helpers.sparse_matrices import sparse_matrix


def evaluated(plan, leaves):
    """The value of the elimination for the outer sums of the factors."""
    values = list(leaves)

    def of(operand):
        return values[operand] if isinstance(operand, int) else operand

    for step in plan.operations:
        value = of(step.left)
        if step.right is not None:
            value = value * of(step.right)
        values.append(value if step.more is None else value + of(step.more))
    return of(plan.result)


def by_signs(matrix, plan):
    """The permanent by a plain sum over the outer signs."""
    outer = matrix[[*plan.slow, *plan.fast]] / np.array(plan.scales)
    total = 0
    for signs in itertools.product([1, -1], repeat=len(outer) - 1):
        whole = np.array([1, *signs])
        total = total + whole.prod() * evaluated(plan, whole @ outer)
    return total * math.prod(plan.scales) / 2 ** (len(outer) - 1)


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize(("n", "density"), [(6, 1.0), (8, 0.5), (11, 0.3), (12, 0.2)])
def test_elimination_is_the_permanent(n, density, complex_entries):
    matrix = sparse_matrix(n, density, complex_entries=complex_entries)
    plan = eliminate(matrix, 3)
    expected = glynn(matrix, devices=engine.resolve("cpu", threads=1)).value
    assert by_signs(matrix, plan) == pytest.approx(expected, rel=1e-11)
    assert sorted([*plan.inner, *plan.fast, *plan.slow]) == list(range(n))
    assert plan.inner or density == 1.0


def test_wide_ranges_and_lines_of_zeros():
    matrix = sparse_matrix(9, 0.4)
    matrix[:, 2] *= 1e-30
    matrix[4, matrix[4] != 0] *= 1e-25
    expected = glynn(matrix, devices=engine.resolve("cpu", threads=1)).value
    assert by_signs(matrix, eliminate(matrix, 2)) == pytest.approx(expected, rel=1e-9)
    matrix[5] = 0
    assert by_signs(matrix, eliminate(matrix, 2)) == 0


def test_rows_in_one_column_alone_leave_nothing():
    matrix = sparse_matrix(8, 0.6)
    matrix[[1, 2]] = 0
    matrix[[1, 2], 3] = 2.0, 5.0
    assert by_signs(matrix, eliminate(matrix, 2)) == 0


def test_what_does_not_change_is_not_computed_again():
    plan = eliminate(sparse_matrix(30, 0.15), 5)
    for number, step in enumerate(plan.operations):
        changes = 0
        for operand in (step.left, step.right, step.more):
            if isinstance(operand, int):
                known = operand - len(plan.leaves)
                assert known < number
                changes |= plan.leaves[operand] if known < 0 else plan.operations[known].changes
        assert step.changes == changes


def test_sparse_matrices_cost_less():
    costs = [eliminate(sparse_matrix(40, density), 5).cost for density in (0.1, 0.25, 0.6)]
    assert costs[0] < costs[1] < costs[2]
    assert costs[1] < 8


def test_shards_cover_all_steps():
    for n, density in ((12, 0.3), (45, 0.25), (63, 0.5), (70, 0.5)):
        work = CudaSparseWork(sparse_matrix(n, density))
        shards = work.shards()
        assert shards[0].start == 0
        assert shards[-1].stop == work.steps
        assert len(shards) <= 2**20


@pytest.mark.parametrize("complex_entries", [False, True])
@pytest.mark.parametrize(("n", "density"), [(20, 0.15), (21, 0.3), (22, 0.6)])
def test_the_interpreted_program_is_the_permanent(n, density, complex_entries):
    matrix = sparse_matrix(n, density, complex_entries=complex_entries)
    work = CpuSparseWork(matrix)
    context = engine.Context(engine.Cpu(), None, np.zeros(1, np.uint8))
    results = [work.run(shard, context) for shard in engine.split(work.steps, 3)]
    assert all(result.complete for result in results)
    found = work.result(functools.reduce(work.merge, [result.partial for result in results]))
    expected = glynn(matrix, devices=engine.resolve("cpu", threads=1))
    assert abs(found.value - expected.value) <= found.error_bound + expected.error_bound
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    stopped = engine.Context(engine.Cpu(), None, np.ones(1, np.uint8))
    assert not work.run(work.shards()[0], stopped).complete


def test_cpus_sum_sparse_matrices_by_it():
    matrix = sparse_matrix(26, 0.3)
    result = hardscape.permanent(matrix, method="sparse", device="cpu", full_output=True)
    assert result.method == "sparse"
    assert result.value == pytest.approx(hardscape.permanent(matrix, method="glynn"), rel=1e-10)
    large = sparse_matrix(45, 0.25)
    dense = plan(large, device="cpu", method="glynn")
    assert plan(large, device="cpu", method="sparse").seconds < dense.seconds / 8
