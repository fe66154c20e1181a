"""The kernel of the frontier's tables compiles, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.ising.methods.frontier.device_tables import DeviceTables
from helpers.compiling import compiles
from helpers.cuda_on_host import HostPlace


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(("limbs", "half"), [(1, True), (1, False), (2, False)])
def test_kernel(arch, limbs, half):
    ends = np.array([0]), np.array([1])
    tables = DeviceTables(HostPlace(), 2, *ends, np.ones((1, limbs), dtype=np.uint64), half)
    assert tables.kernel.name == "tables_fill"
    assert compiles(tables.kernel, arch)
