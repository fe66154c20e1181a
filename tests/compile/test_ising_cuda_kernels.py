"""Every CUDA kernel that the tests can generate compiles, without a GPU."""

from __future__ import annotations

import pytest

from hardscape.engine.cuda import jit
from hardscape.ising.search import CHUNK_BITS, SpectrumWork
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
    work = SpectrumWork(model.exact, 0, 101, None, prune=False, most_bits=CHUNK_BITS["cuda"])
    assert jit.compile(work.cuda.kernel, arch).startswith(b"\x7fELF")
