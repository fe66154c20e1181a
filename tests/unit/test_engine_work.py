"""Shards, and folding their partials."""

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import errors
from hardscape.engine import Context, Cpu, Shard, ShardResult, split
from hardscape.engine.fold import Fold
from helpers.works import FirstHit, HarmonicSum, harmonic


@given(units=st.integers(0, 3000), count=st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_split_covers_every_unit_once_and_evenly(units: int, count: int) -> None:
    shards = list(split(units, count))
    assert [k for s in shards for k in range(s.start, s.stop)] == list(range(units))
    assert [s.index for s in shards] == list(range(len(shards)))
    assert len(shards) == min(units, count)
    if shards:
        sizes = [len(s) for s in shards]
        assert max(sizes) - min(sizes) <= 1


def test_split_of_2_to_the_64_units_is_lazy() -> None:
    shards = split(2**64, 2**40)
    assert len(shards) == 2**40
    assert shards[0] == Shard(0, 0, 2**24)
    assert shards[-1] == Shard(2**40 - 1, 2**64 - 2**24, 2**64)
    assert shards[5:8] == (shards[5], shards[6], shards[7])
    assert pickle.loads(pickle.dumps(shards))[12345] == shards[12345]
    with pytest.raises(IndexError):
        shards[2**40]
    with pytest.raises(IndexError):
        shards[-(2**40) - 1]


@pytest.mark.parametrize(("units", "count"), [(-1, 3), (5, 0), (5, -2)])
def test_split_refuses(units: int, count: int) -> None:
    with pytest.raises(errors.InputError):
        split(units, count)


@given(st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_fold_does_not_depend_on_the_order_of_arrival(shuffle: random.Random) -> None:
    work = HarmonicSum()
    context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
    shards = list(work.shards())
    shuffle.shuffle(shards)
    fold = Fold(work, len(shards))
    for shard in shards:
        assert not fold.complete
        fold.add(shard.index, work.run(shard, context))
    assert fold.complete
    assert fold.prefix is not None
    assert fold.prefix["sum"].tobytes() == harmonic(work)["sum"].tobytes()


def test_order_of_merging_matters_for_the_test_work() -> None:
    # Else the tests of determinism could not fail.
    work = HarmonicSum()
    backwards = sum(1.0 / k for k in range(work.units, 0, -1))
    assert backwards != harmonic(work)["sum"]


def test_a_later_shard_that_settles_it_makes_the_rest_unneeded() -> None:
    work = FirstHit()

    def hits(*units: int) -> ShardResult:
        return ShardResult({"hits": np.array(units, dtype=np.int64)})

    fold = Fold(work, 20)
    fold.add(7, hits(140))
    assert fold.limit == 8
    fold.add(9, hits(180))
    for index in (0, 1, 2):
        fold.add(index, hits())
    fold.add(3, hits(61))
    assert fold.complete
    assert fold.best_so_far()["hits"].tolist() == [61]
