"""Every CUDA kernel that the tests can generate compiles, without a GPU."""

from __future__ import annotations

import pytest

from hardscape.ising.methods.exhaustive.blocks import BlockSearch, Walk, Wanted
from hardscape.ising.methods.exhaustive.cuda import CudaSide
from helpers.compiling import compiles
from helpers.instances import dense_gaussian, dense_integer, wide_range

MODELS = {
    17: dense_integer(17, 1),
    30: dense_integer(30, 1, fields=False),
    44: dense_gaussian(44, 1),
    64: wide_range(64, 1),
}
#: Without instructions for two 16-bit numbers, on sm_80, assembling takes five times as long.
CASES = [(n, arch) for n in MODELS for arch in ("sm_90", "sm_100")] + [(30, "sm_80"), (64, "sm_80")]


@pytest.mark.parametrize(("spins", "arch"), CASES)
def test_spectrum_kernel(spins, arch):
    wanted = Wanted(MODELS[spins].exact, 101, None)
    search = BlockSearch(wanted, 0, Walk(False, 10, None), CudaSide.most_bits)
    assert compiles(CudaSide(search).kernel, arch)
