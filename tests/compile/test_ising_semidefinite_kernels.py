"""The kernel of semidefinite bounds compiles, without a GPU."""

from __future__ import annotations

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.ising.methods.semidefinite.device_bounds import (
    MOST_SPINS,
    kernel_of,
    shared_bytes,
)
from helpers.compiling import compiles

#: Shared memory that a block is granted by compute capability 9.0, beside some that is the kernel's own.
_MOST_SHARED = 227 * 1024 - 2048


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("variables", [100, MOST_SPINS + 1])
def test_kernel(arch, variables):
    assert compiles(kernel_of(variables), arch)
    assert shared_bytes(variables) <= _MOST_SHARED
