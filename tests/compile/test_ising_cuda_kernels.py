"""Every CUDA kernel that the tests can generate compiles, without a GPU."""

from __future__ import annotations

import pytest

from hardscape.engine.cuda import jit
from hardscape.ising.methods.exhaustive.blocks import BlockSearch, Walk, Wanted
from hardscape.ising.methods.exhaustive.cuda import CudaSide
from helpers.instances import dense_gaussian, dense_integer, wide_range


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    "model",
    [
        dense_integer(17, 1),
        dense_integer(30, 1, fields=False),
        dense_gaussian(44, 1),
        wide_range(64, 1),
    ],
    ids=lambda m: f"{m.num_spins} spins",
)
def test_spectrum_kernel(model, arch):
    wanted = Wanted(model.exact, 101, None)
    search = BlockSearch(wanted, 0, Walk(False, 10, None), CudaSide.most_bits)
    assert jit.compile(CudaSide(search).kernel, arch).startswith(b"\x7fELF")
