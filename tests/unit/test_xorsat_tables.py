"""The CUDA kernel that goes by tables, compiled for the host: the same words as the CPU's dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape.xorsat import random_regular
from hardscape.xorsat.methods.quasi_greedy.cuda.tabled import Tabled
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from helpers.cuda_on_host import HostPlace
from helpers.xorsat_systems import PLANNED

_NOTHING = np.uint64(2**64 - 1)


class HostRound:
    """What `CudaRound` does, with arrays of the host."""

    def __init__(self, code, groups, seed, first_group=0):
        self.words = 32 * groups
        self.state = np.zeros((code.state_rows, self.words), np.uint32)
        self._scratch = np.zeros((code.scratch_rows, self.words), np.uint32)
        self.found = np.zeros(2 + 1024, np.uint64)
        self.firsts = np.full(code.state_rows + 1, _NOTHING)
        self.found[0] = _NOTHING
        self._key = (np.uint64(seed), np.uint64(first_group))
        self._arrays = [x if x.size else np.zeros(2, x.dtype) for x in code.arrays]
        self._place, self._kernel = HostPlace("-O0"), code.kernel
        self._threads = code.threads

    def start(self, first, sweeps, look, *, last):
        numbers = map(np.uint32, (first, sweeps, look, 0, self.words, last, True))
        blocks = -(-self.words // self._threads)
        arrays = (self.state, self._scratch, self.found, self.firsts)
        given = *arrays, *self._key, *numbers, *self._arrays
        self._place.launch(self._kernel, blocks, self._threads, *given, shared=0)


@pytest.mark.parametrize(
    "kind",
    ["3-regular, w1", "3-regular, w1 in 256ths", "metropolis", "random, many degrees", "falling w_k",
     "pairs and singles", "a false constant"],
)  # fmt: skip
def test_words_equal_the_cpu(kind):
    plan = Plan.build(*PLANNED[kind])
    search = HostRound(Tabled(plan), 2, 9, first_group=5)
    search.start(0, 9, 1 << 30, last=False)
    search.start(9, 14, 1 << 30, last=False)
    for group in range(2):
        expected = plan.kernel.states(9, 5 + group, 23)
        assert (search.state[:, 32 * group : 32 * group + 32] == expected).all()


def test_the_fewest_violated_clauses_and_their_sweep():
    plan = Plan.build(random_regular(40, seed=1), 0.2)
    search = HostRound(Tabled(plan, count=True), 1, 4)
    search.start(0, 12, 4, last=True)
    best = int(_NOTHING)
    for sweep in (4, 8, 12):
        words = plan.kernel.states(4, 0, sweep)
        counts = (words[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).sum(axis=0).ravel()
        clone = int(counts.argmin())
        best = min(best, int(counts[clone]) << 48 | sweep << 26 | clone)
    assert int(search.found[0]) == best


def test_solutions_are_listed():
    plan = Plan.build(random_regular(12, seed=1, full_rank=False), 0.2)
    search = HostRound(Tabled(plan), 1, 4)
    search.start(0, 40, 8, last=False)
    sweep, listed = int(search.found[0]) >> 26 & 0x3FFFFF, int(search.found[1])
    solved = ~np.bitwise_or.reduce(plan.kernel.states(4, 0, sweep), axis=0)
    threads = {int(x) & 0xFFFFFFFF for x in search.found[2 : 2 + listed] if int(x) >> 32 == sweep}
    assert int(search.found[0]) >> 48 == 0
    assert threads <= set(np.flatnonzero(solved).tolist())
    assert int(search.found[0]) & 0x3FFFFFF in [32 * t + b for t in threads for b in range(32)]
