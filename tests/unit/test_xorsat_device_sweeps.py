"""The sweep as a GPU runs it against the CPU's; here g++ compiles the kernel of each system."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from hardscape.xorsat import random_regular
from hardscape.xorsat.methods.quasi_greedy.cuda.unrolled import Unrolled
from hardscape.xorsat.methods.quasi_greedy.plan import Plan
from helpers.cuda_on_host import HostPlace
from helpers.xorsat_systems import PLANNED

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SEED, GROUPS, SWEEPS = 9, 3, 24
KINDS = ["3-regular", "3-regular, w1", "metropolis", "random, many degrees", "no coins"]


def words_on_host(code: Unrolled) -> np.ndarray:
    """Words of all clauses after two launches."""
    kernel = code.kernel
    shared = f"alignas(16) static uint32_t shared[{code.shared_bytes // 4 + 4}];"
    source = kernel.source.replace("extern __shared__ uint32_t shared[];", shared)
    assert source != kernel.source
    words, place = 32 * GROUPS, HostPlace("-O0")
    state = np.zeros((max(code.state_rows, 1), words), np.uint32)
    scratch = np.zeros((max(code.scratch_rows, 1), words), np.uint32)
    found = np.zeros(2 + 1024, np.uint64)
    found[0] = 2**64 - 1
    for first, sweeps in ((0, SWEEPS // 3), (SWEEPS // 3, SWEEPS - SWEEPS // 3)):
        numbers = (first, sweeps, 1 << 30, 0, words, 0, 1)
        place.launch(
            replace(kernel, source=source),
            -(-words // code.threads),
            code.threads,
            *(state, scratch, found, np.zeros(1, np.uint64), SEED, 0, *numbers),
            *code.arguments(),
            shared=0,
        )
    return state


def assert_same(code: Unrolled) -> None:
    plan, words = code.plan, words_on_host(code)
    has_word = np.diff(plan.system.offsets) > 0
    for group in range(GROUPS):
        expected = plan.kernel.states(SEED, group, SWEEPS)[has_word]
        assert (words[has_word, 32 * group : 32 * group + 32] == expected).all()


@pytest.mark.parametrize("kind", KINDS)
def test_words_of_every_kind(kind: str) -> None:
    assert_same(Unrolled(Plan.build(*PLANNED[kind])))


@pytest.mark.parametrize(("n", "w1", "warps"), [(100, 0.055, 12), (320, 14 / 256, 8)])
def test_words_of_large_systems(n: int, w1: float, warps: int) -> None:
    """With and without clauses in shared memory, with and without a path for groups without coins."""
    code = Unrolled(Plan.build(random_regular(n, seed=n), w1))
    assert code.layout.warps == warps
    assert bool(code.kept) == (n > 160)
    assert_same(code)
