"""Exact permanents: known values, every arithmetic of the kernels, the edges, the engine."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import hardscape
from hardscape import engine
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.methods.exact.cuda import STEP_BITS
from hardscape.permanents.methods.exact.exact import CudaResidueWork, ResidueWork, WordWork
from hardscape.permanents.numbers.integers import permanent_bound
from helpers.permanent_oracle import exact_permanent_by_subsets
from helpers.permanent_sums import summed
from helpers.running import at_every_level


def exact_permanent(matrix, **options):
    return hardscape.permanent(matrix, precision="exact", **options)


def by_definition(matrix) -> int:
    rows = [list(map(int, row)) for row in matrix]
    columns = range(len(rows[0]))
    return sum(
        math.prod(row[c] for row, c in zip(rows, chosen, strict=True))
        for chosen in permutations(columns, len(rows))
    )


def integers(n: int, bound: int, seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    digits = rng.integers(0, 2**31, (n, n, 8)).tolist()
    whole = [[sum(d << 31 * k for k, d in enumerate(x)) for x in row] for row in digits]
    return [[x % (2 * bound + 1) - bound for x in row] for row in whole]


def computed(work) -> int:
    return summed(work, engine.resolve("cpu", threads=1))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6, 7, 12, 18])
def test_all_ones_count_permutations(n):
    assert exact_permanent(np.ones((n, n), dtype=np.int8)) == math.factorial(n)


@pytest.mark.parametrize(("n", "count"), [(10, 1334961), (20, 895014631192902121)])
def test_derangements(n, count):
    assert exact_permanent(1 - np.eye(n, dtype=int)) == count


@pytest.mark.parametrize("n", [4, 13, 17])
@pytest.mark.parametrize(("a", "b"), [(3, -2), (-(10**20), 7), (10**9, 10**9)])
def test_diagonal_plus_constant(n, a, b):
    matrix = [[a * (i == j) + b for j in range(n)] for i in range(n)]
    terms = (math.perm(n, k) * b**k * a ** (n - k) for k in range(n + 1))
    assert exact_permanent(matrix) == sum(terms)


def test_rank_one():
    u = [3, -7, 10**12, 5, 1, -2, 9, 4, -(10**30), 11, 13, 2]
    v = [-1, 10**15, 8, 6, 7, -3, 2, 5, 12, 17, 4, 1]
    value = exact_permanent([[x * y for y in v] for x in u])
    assert value == math.factorial(12) * math.prod(u) * math.prod(v)


def test_blocks_multiply():
    first, second = integers(7, 50, 1), integers(6, 10**12, 2)
    whole = [[*row, *[0] * 6] for row in first] + [[*[0] * 7, *row] for row in second]
    assert exact_permanent(whole) == by_definition(first) * by_definition(second)


@pytest.mark.parametrize("n", [6, 7, 8])
@pytest.mark.parametrize("bits", [1, 7, 20, 27, 28, 40, 58])
def test_words_equal_residues_and_the_definition(n, bits):
    matrix = tuple(map(tuple, integers(n, 2**bits, bits)))
    words = WordWork.of(matrix)
    assert words is not None
    assert computed(words) == computed(ResidueWork.of(matrix)) == by_definition(matrix)


@pytest.mark.parametrize("words", range(1, 9))
@pytest.mark.parametrize("sign", [-1, 1])
def test_every_number_of_words_holds_its_largest_value(words, sign):
    # All ones times a constant has the largest permanent that the bound allows.
    n = 8
    size = max(s for s in range(61) if (n * 2**s) ** n <= 2 ** (64 * words)) - 2
    matrix = tuple((sign * 2**size if i == 0 else 2**size,) * n for i in range(n))
    work = WordWork.of(matrix)
    assert work is not None
    assert work.words in (words - 1, words)
    expected = sign * math.factorial(n) * 2 ** (n * size)
    assert computed(work) == computed(WordWork(matrix, 64 * words)) == expected


@pytest.mark.parametrize("entries", [1, 40, 2**15, 2**26, 2**45])
@pytest.mark.parametrize("bits", [3, 31, 62, 63, 64, 93, 125, 190, 310, 512])
def test_sums_are_right_modulo_any_power_of_two(bits, entries):
    # Numbers grow from one limb or word to all of them, and are cut where there are too few.
    matrix = tuple(map(tuple, integers(9, entries, bits)))
    work = WordWork(matrix, bits)
    context = engine.Context(engine.Cpu(), None, np.zeros(1, np.uint8))
    first, second = (work.run(engine.Shard(0, *ends), context) for ends in ((0, 3), (3, 8)))
    words = work.merge(first.partial, second.partial)["words"]
    total = sum(int(word) << 64 * i for i, word in enumerate(words))
    assert total == 2**8 * int(exact_permanent_by_subsets(matrix)) % 2**bits


def test_no_bits_are_lost_by_the_largest_products():
    # Column sums whose products are just below 2^31, with terms of either sign at their bounds.
    for sums in ((2**30 - 1,) * 8, (46340,) * 8, (1289, 1290) * 4, (7,) * 8):
        columns = [[size - 7, 1, 1, 1, 1, 1, 1, 1] for size in sums]
        for sign in (-1, 1):
            matrix = tuple(tuple(sign * x for x in row) for row in zip(*columns, strict=True))
            flipped = tuple(
                tuple(-x for x in row) if i % 2 else row for i, row in enumerate(matrix)
            )
            for rows in (matrix, flipped):
                assert computed(WordWork.of(rows)) == exact_permanent_by_subsets(rows)


@pytest.mark.parametrize("bound", [10**20, 10**50])
def test_integers_beyond_the_machine_word(bound):
    matrix = integers(8, bound, 5)
    assert WordWork.of(tuple(map(tuple, matrix))) is None
    assert exact_permanent(matrix) == by_definition(matrix)


def test_one_column_sum_at_the_limit_of_32_and_of_64_bits():
    for limit, inside in ((2**30, WordWork), (2**62, type(None))):
        for size in (limit - 1, limit):
            matrix = [[int(i == j) for j in range(7)] for i in range(7)]
            matrix[2][3], matrix[4][3], matrix[3][2], matrix[3][3] = size - 1, -1, 3, 0
            work = WordWork.of(tuple(map(tuple, matrix)))
            assert isinstance(work, inside if size == limit else WordWork)
            assert computed(work or ResidueWork.of(tuple(map(tuple, matrix)))) == 3 * (size - 1)


def test_bound_holds_and_is_reached():
    ones = ((1,) * 9,) * 9
    assert math.factorial(9) <= permanent_bound(ones) <= math.factorial(9) + 1
    for seed in range(20):
        matrix = tuple(map(tuple, integers(5, 10, seed)))
        assert abs(by_definition(matrix)) <= permanent_bound(matrix)


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 4), (3, 5), (6, 8), (2, 100), (9, 11), (10, 40)])
def test_rectangular_ones_count_injections(m, n):
    assert exact_permanent(np.ones((m, n), dtype=bool)) == math.perm(n, m)


def test_rectangular_equals_the_definition():
    for m, n in ((2, 5), (4, 6), (6, 7), (7, 9)):
        matrix = np.array(integers(9, 30, m))[:m, :n]
        assert exact_permanent(matrix) == by_definition(matrix)


def test_completed_rectangle_runs_in_the_kernel():
    # Row sums of a rectangle with constant rows: every injection counts the product of the rows.
    rows = [3, -5, 7, 11, 2, 13, 1, 9, -4, 6, 8, 12]
    matrix = [[x] * 14 for x in rows]
    assert exact_permanent(matrix) == math.perm(14, 12) * math.prod(rows)
    matrix[0][0] += 1
    rest = math.perm(13, 11) * math.prod(rows[1:])
    assert exact_permanent(matrix) == math.perm(14, 12) * math.prod(rows) + rest


def test_structural_zeros():
    matrix = np.ones((30, 30), dtype=int)
    matrix[:, 4] = 0
    assert exact_permanent(matrix) == exact_permanent(matrix.T) == 0


def test_rationals_and_floats():
    half = Fraction(1, 2)
    value = exact_permanent([[half, 1], [1, Fraction(2, 3)]])
    assert (type(value), value) == (Fraction, Fraction(4, 3))
    value = exact_permanent(np.full((9, 9), 0.1))
    assert value == math.factorial(9) * Fraction(0.1) ** 9
    value = exact_permanent([[2.0**-1074, 10**40], [1, 2.0**1000]])
    assert value == Fraction(1, 2**74) + 10**40
    assert type(exact_permanent(np.ones((2, 2), dtype=np.float32))) is Fraction
    assert type(exact_permanent(np.ones((8, 8), dtype=np.uint64))) is int
    assert exact_permanent([]) == 1


def test_input_is_not_modified():
    matrix = np.array(integers(8, 10**30), dtype=object)
    before = matrix.copy()
    exact_permanent(matrix)
    assert (matrix == before).all()


@pytest.mark.parametrize(
    "bad",
    [
        [[1.0, math.nan], [1, 1]],
        [[1, math.inf], [1, 1]],
        np.array([[1, 1], [1, math.inf]]),
        [["1", 2], [3, 4]],
        [[None, 2], [3, 4]],
        [[1, 2], [3]],
        [1, 2, 3],
        7,
        np.ones((2, 2, 3)),
        np.ones((1, 2, 2, 2)),
    ],
)
def test_bad_matrices_are_refused(bad):
    with pytest.raises(InputError):
        exact_permanent(bad)


def test_sizes_out_of_reach_are_refused():
    for n in (60, 64):
        with pytest.raises(BudgetError, match=str(n)):
            exact_permanent(integers(n, 99))


def test_time_limit_and_checkpoint(tmp_path):
    matrix = np.array(integers(40, 9))
    ledger = tmp_path / "ledger"
    with pytest.raises(BudgetError, match="ledger"):
        exact_permanent(matrix, threads=1, time_limit=0.2, checkpoint=ledger)
    small = np.array(integers(21, 9))
    first = exact_permanent(small, checkpoint=tmp_path / "small")
    assert exact_permanent(small, checkpoint=tmp_path / "small") == first


def test_threads_and_executors_agree():
    for work in (
        WordWork.of(tuple(map(tuple, integers(22, 9, 3)))),
        ResidueWork(tuple(map(tuple, integers(22, 9, 3))), (2**61 - 1,)),
    ):
        assert len(work.shards()) > 2
        assert pickle.loads(pickle.dumps(work)).digest() == work.digest()
        partials = [
            engine.solve(work, engine.RunOptions.checked(device="cpu", threads=threads)).partial
            for threads in (1, 2, 7)
        ]
        with ThreadPoolExecutor(2) as executor:
            options = engine.RunOptions.checked(device="cpu", threads=1, executor=executor)
            partials.append(engine.solve(work, options).partial)
        (name,) = partials[0]
        assert len({p[name].tobytes() for p in partials}) == 1


def test_instruction_set_levels_agree():
    script = (
        "from hardscape import permanent as p\n"
        "for b in (1, 99, 2**33, 10**30):\n"
        "    print(p([[(i * j * 7 + i + 3 * j * j) % 23 * b - 9 * b + i - j for j in range(13)]"
        " for i in range(13)]))\n"
    )
    outputs = at_every_level(script)
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == 4


@pytest.mark.parametrize("n", [STEP_BITS + 1, STEP_BITS + 2, 20, 40, 63])
def test_shards_of_a_gpu_are_whole_steps_that_cover_all_blocks(n):
    shards = CudaResidueWork.of(((1,) * n,) * n).shards()
    ends = [0, *(shard.stop for shard in shards)]
    assert [shard.start for shard in shards] == ends[:-1]
    assert all(end % 2 ** (STEP_BITS - 5) == 0 for end in ends)
    assert ends[-1] == 2 ** (n - 6)
    assert len(shards) <= 2**14


@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (3, 0), (0, 5)])
@pytest.mark.parametrize("dtype", [float, complex, int, bool, object])
def test_what_has_no_rows_or_columns_has_one_term(shape, dtype):
    assert exact_permanent(np.zeros(shape, dtype)) == 1
