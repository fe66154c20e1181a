"""How long a pruned search will take: the estimate of its tree, and the sample that tells its time."""

import numpy as np
import pytest

from hardscape.engine import Context, Cpu, RunOptions
from hardscape.ising import Ising
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.sample import Sample
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.tree.tree import Tree
from hardscape.ising.result import to_codes
from helpers.instances import dense_gaussian, dense_integer
from helpers.running import on_one_thread

#: More nodes than any position has here: none is left out.
ALL = 1 << 20


def search_of(model: Ising, count: int = 20, method: Tree | None = None) -> BlockWork:
    options = RunOptions.checked(device="cpu", threads=1, seed=1)
    wanted = Wanted(model.exact, min(count, 1 << model.num_spins) + 1, None)
    return (method or Tree()).work(wanted, options)


def tree_size(work: BlockWork, first: int, last: int, limit: int) -> tuple[int, int]:
    """Nodes below the top that a search of these roots visits, and roots: a plain walk."""
    geometry = work.search.geometry
    floors = from_limbs(work.search.layout.search.floors())
    top = geometry.terms.num_spins
    nodes = roots = 0
    level = [0]
    for position in range(top - 1, work.search.root_bits - 1, -1):
        below = position - work.search.root_bits
        children = [2 * bits + bit for bits in level for bit in (0, 1)]
        inside = [b for b in children if (b + 1) << below > first and b << below < last]
        nodes += len(inside)
        level = []
        for bits in inside:
            prefix = geometry.prefix(bits, position)
            bound = prefix.energy + floors[position] - sum(map(abs, prefix.fields))
            if bound <= limit:
                level.append(bits)
    roots = len(level)
    return nodes, roots


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("make", [dense_integer, dense_gaussian])
def test_without_thinning_the_tree_is_counted(make, fields) -> None:
    work = search_of(make(27, 3, fields=fields))
    limit = work.limit(None)
    core = work.search.layout.search
    words = work.wanted.word(limit)
    last = 1 << (work.search.free - work.search.root_bits)
    for first, end in ((0, last), (0, 1), (last // 4, last // 2), (5, 11)):
        roots = to_codes([first, end], 1)
        assert core.expected(roots, words, ALL) == tree_size(work, first, end, limit)


def test_a_thinned_estimate_is_close_and_always_the_same() -> None:
    work = search_of(dense_integer(40, 5, fields=False))
    limit = work.limit(None)
    parts = work.parts
    exact = work.search.expected(parts, limit, ALL).sum()
    assert exact > 20 * len(parts)
    rough = work.search.expected(parts, limit, 4)
    assert 0.75 < rough.sum() / exact < 1.33
    np.testing.assert_array_equal(rough, work.search.expected(parts, limit, 4))


def test_parts_cover_all_states() -> None:
    for n in (20, 30, 44):
        work = search_of(dense_integer(n, 1))
        assert work.parts[0].start == 0
        assert work.parts[-1].stop == work.shards()[-1].stop


def test_expected_sizes_tell_how_long_parts_take() -> None:
    work = search_of(dense_gaussian(40, 7))
    expected = work.expected(Cpu(), None)
    assert expected is not None
    stop = np.zeros(1, dtype=np.uint8)
    visited = []
    for part in work.parts:
        result = work.run(part, Context(Cpu(), None, stop))
        blocks, pruned = result.partial["counters"][:2].tolist()
        visited.append(blocks - pruned)
    walked = np.array(visited) > 0
    assert walked.any()
    assert expected[walked].mean() > 3 * expected[~walked].mean()


@pytest.mark.parametrize("n", [1, 5, 13, 14, 20, 34])
def test_every_search_can_be_sampled(n: int) -> None:
    work = search_of(dense_integer(n, 2))
    assert Sample(work, Cpu()).seconds(0.02) > 0


def test_a_sample_changes_nothing() -> None:
    model = dense_integer(34, 4)
    work = search_of(model)
    Sample(work, Cpu()).seconds(0.05)
    sampled, plain = (on_one_thread(x).answer for x in (work, search_of(model)))
    assert sampled is not None
    assert plain is not None
    np.testing.assert_array_equal(sampled.states, plain.states)
