"""The kernels of searches by teams compile, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape.ising.methods.annealing.teams import AnnealingTeams
from hardscape.ising.methods.tabu.teams import TabuTeams
from hardscape.ising.methods.walkers.model import FlipModel
from helpers.compiling import compiles


def ring(n: int, coupling: float) -> FlipModel:
    """Couplings of one size around a ring."""
    near = np.arange(n)[:, None] + [-1, 1]
    integers = coupling == int(coupling)
    starts = np.arange(0, 2 * n + 1, 2)
    return FlipModel(np.zeros(n), starts, near.ravel() % n, np.full(2 * n, coupling), integers)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(
    ("teams", "n", "coupling"),
    [
        (TabuTeams, 100, 1),
        (TabuTeams, 600, 300),
        (TabuTeams, 2000, 40_000),
        (TabuTeams, 2500, 0.5),
        (AnnealingTeams, 800, 1),
        (AnnealingTeams, 10_000, 40_000),
        (AnnealingTeams, 100, 0.5),
    ],
)
def test_kernels(arch, teams, n, coupling):
    for name, kernel in teams(ring(n, coupling)).kernels.items():
        assert kernel.name.endswith(f"_{name}")
        assert compiles(kernel, arch)
