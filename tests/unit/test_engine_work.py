"""Shards, and folding their partials."""

import math
import pickle
import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import errors
from hardscape.engine import Context, Cpu, Partial, Shard, ShardResult, split
from hardscape.engine.fold import Block, Fold, Waiting
from hardscape.engine.pool import run_block
from helpers.works import Failing, FirstHit, HarmonicSum, harmonic


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


CONTEXT = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))


def nodes(total: int) -> st.SearchStrategy[list[Block]]:
    """Blocks that partition `total` shards, each a node of the tree, in any order."""

    def cut(numbers: random.Random) -> list[Block]:
        waiting, found = Waiting(total, []), []
        while block := waiting.take(numbers.choice([1, 2, 3, 8, 64])):
            found.append(block)
        numbers.shuffle(found)
        return found

    return st.randoms(use_true_random=False).map(cut)


@given(total=st.integers(1, 70), data=st.data())
@settings(max_examples=60, deadline=None)
def test_fold_does_not_depend_on_blocks_and_their_order(total: int, data: st.DataObject) -> None:
    work = HarmonicSum(units=10 * total, count=total)
    fold = Fold(work, total)
    for block in data.draw(nodes(total)):
        assert not fold.complete
        result = run_block(work, block, CONTEXT, math.inf)
        assert [node for node, _ in result.nodes] == [block]
        assert fold.add(block, result.nodes[0][1])
        assert all(node.is_node for node, _ in fold.nodes())
    assert fold.complete
    ((node, partial),) = fold.nodes()
    assert node == Block(0, total)
    assert partial["sum"].tobytes() == harmonic(work)["sum"].tobytes()


@given(total=st.integers(2, 70), data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_comes_twice_counts_once(total: int, data: st.DataObject) -> None:
    work = HarmonicSum(units=10 * total, count=total)
    fold = Fold(work, total)
    once, again = data.draw(nodes(total)), data.draw(nodes(total))
    both = [block for pair in zip(once, again, strict=False) for block in pair] + once + again
    for block in both:
        covered = fold.covers(block)
        result = run_block(work, block, CONTEXT, math.inf)
        assert fold.add(block, result.nodes[0][1]) == (not covered)
        assert fold.covers(block)
        assert fold.shards == sum(len(node) for node, _ in fold.nodes())
    partial = fold.best_so_far()
    assert fold.complete
    assert partial is not None
    assert partial["sum"].tobytes() == harmonic(work)["sum"].tobytes()


@given(total=st.integers(1, 200), data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_waits_is_all_that_is_not_done(total: int, data: st.DataObject) -> None:
    done = sorted(data.draw(nodes(total)))[:: data.draw(st.integers(1, 3))]
    waiting, taken = Waiting(total, done), []
    assert waiting.left == total - sum(map(len, done))
    while block := waiting.take(data.draw(st.integers(1, 40))):
        assert block.is_node
        if data.draw(st.integers(0, 3)):
            taken.append(block)
        else:
            waiting.give_back(block.start, block.stop)
    covered = [index for block in taken + done for index in range(block.start, block.stop)]
    assert sorted(covered) == list(range(total))
    assert waiting.left == 0


@dataclass(frozen=True)
class Members(HarmonicSum):
    """Which units there are: merges of any blocks, in any order, are exact."""

    def joined(self) -> int:
        return self.count

    def run(self, shard: Shard, context: Context) -> ShardResult:
        return ShardResult({"units": np.arange(shard.start, shard.stop)})

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {"units": np.concatenate([left["units"], right["units"]])}


@given(total=st.integers(2, 60), data=st.data())
@settings(max_examples=60, deadline=None)
def test_joined_blocks_of_any_size_count_once(total: int, data: st.DataObject) -> None:
    work = Members(units=total, count=total)
    fold = Fold(work, total)
    ends = st.tuples(st.integers(0, total), st.integers(0, total))
    for one, other in data.draw(st.lists(ends, max_size=30)):
        block = Block(min(one, other), max(one, other))
        if len(block):
            fold.add(block, work.run(block.shard(work.shards()), CONTEXT).partial)
    done = [block for block, _ in fold.nodes()]
    waiting = Waiting(total, done)
    assert waiting.left == total - fold.shards
    while block := waiting.take(total):
        assert fold.add(block, work.run(block.shard(work.shards()), CONTEXT).partial)
    assert fold.complete
    ((whole, partial),) = fold.nodes()
    assert whole == Block(0, total)
    assert sorted(partial["units"].tolist()) == list(range(total))


@given(total=st.integers(1, 200), data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_shared_among_takers_is_all_that_waits(total: int, data: st.DataObject) -> None:
    waiting, taken = Waiting(total, []), []
    most = data.draw(st.integers(1, total))
    while block := waiting.share(most, data.draw(st.integers(1, 9))):
        assert 1 <= len(block) <= most
        done = data.draw(st.integers(1, len(block)))
        taken.append(Block(block.start, block.start + done))
        waiting.give_back(block.start + done, block.stop)
    assert sorted(i for block in taken for i in range(block.start, block.stop)) == [*range(total)]
    assert waiting.left == 0


def test_two_takers_get_the_parts_of_one_block() -> None:
    waiting = Waiting(64, [])
    assert [waiting.share(64, takers) for takers in (4, 3)] == [Block(32, 64), Block(0, 32)]
    assert waiting.share(64, 2) is None
    waiting.give_back(40, 64)
    assert waiting.share(64, 2) == Block(48, 64)
    assert waiting.left == 8
    waiting.give_back(1, 4)
    assert [waiting.share(64, 1) for _ in range(2)] == [Block(40, 48), Block(1, 4)]


def test_order_of_merging_matters_for_the_test_work() -> None:
    # Else the tests of determinism could not fail.
    work = HarmonicSum()
    in_order = sum(1.0 / k for k in range(1, work.units + 1))
    assert in_order != harmonic(work)["sum"]


def test_a_later_shard_that_settles_it_makes_the_rest_unneeded() -> None:
    work = FirstHit()

    def hits(*units: int) -> dict[str, np.ndarray]:
        return {"hits": np.array(units, dtype=np.int64)}

    fold = Fold(work, 20)
    fold.add(Block(7, 8), hits(140))
    assert fold.limit == 8
    assert not fold.add(Block(9, 10), hits(180))
    fold.add(Block(0, 2), hits())
    fold.add(Block(2, 3), hits())
    fold.add(Block(3, 4), hits(61))
    assert fold.complete
    best = fold.best_so_far()
    assert best is not None
    assert best["hits"].tolist() == [61]


@pytest.mark.parametrize("settles", range(12))
def test_a_settled_answer_is_folded_as_if_there_were_no_more(settles: int) -> None:
    @dataclass(frozen=True)
    class Until(HarmonicSum):
        def finished(self, partial: Partial) -> bool:
            return bool(partial["last"])

        def run(self, shard: Shard, context: Context) -> ShardResult:
            found = super().run(shard, context).partial
            return ShardResult({**found, "last": np.array(shard.index == settles)})

        def merge(self, left: Partial, right: Partial) -> Partial:
            return {**super().merge(left, right), "last": left["last"] | right["last"]}

    work = Until(units=120, count=12)
    first = run_block(work, Block(0, 8), CONTEXT, math.inf)
    rest = run_block(work, Block(8, 12), CONTEXT, math.inf)
    fold = Fold(work, 12)
    for block, partial in (*rest.nodes, *first.nodes):
        fold.add(block, partial)
    assert fold.complete
    assert fold.shards == settles + 1
    partial = fold.best_so_far()
    expected = harmonic(HarmonicSum(units=10 * (settles + 1), count=settles + 1))
    assert partial is not None
    assert partial["sum"].tobytes() == expected["sum"].tobytes()


def test_a_block_ends_when_its_time_is_over() -> None:
    work = HarmonicSum(units=64, count=64, pause=0.01)
    result = run_block(work, Block(0, 64), CONTEXT, 0.1)
    *_, (last, _) = result.nodes
    assert 1 <= last.stop < 64
    assert result.incomplete is None
    assert [0, *(node.stop for node, _ in result.nodes)][:-1] == [x.start for x, _ in result.nodes]


def test_an_exception_in_a_block_costs_nothing_that_was_complete() -> None:
    result = run_block(Failing(), Block(0, 8), CONTEXT, math.inf)
    assert [node for node, _ in result.nodes] == [Block(0, 4), Block(4, 5)]
    with pytest.raises(ZeroDivisionError):
        run_block(Failing(), Block(5, 6), CONTEXT, math.inf)


def test_what_was_stopped_counts_where_nothing_else_is() -> None:
    work = HarmonicSum()
    fold = Fold(work, 8)

    def part(terms: int) -> dict[str, np.ndarray]:
        return {"sum": np.array(0.5), "terms": np.array(terms)}

    fold.add(Block(0, 2), part(1))
    fold.add_incomplete(Block(4, 8), part(10))
    fold.add_incomplete(Block(4, 6), part(100))
    fold.add_incomplete(Block(1, 2), part(1000))
    best = fold.best_so_far()
    assert best is not None
    assert best["terms"] in (11, 101)
