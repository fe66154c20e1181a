"""The ghost propagator at weak coupling against lattice perturbation theory on the same finite lattice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardscape import gauge
from helpers import gauge_dimension_oracles as oracle


def test_the_one_loop_sum_is_the_published_one() -> None:
    """beta (J - 1) = 0.525314 - 0.0854897 log p^2 for Nc = 3 and the logarithmic A, for small p in an infinite
    volume (F. Di Renzo et al., Eur. Phys. J. C 64, 445 (2009))."""
    extent, seen = 32, []
    for m in (1, 2):
        tadpole, sunset = oracle.ghost_one_loop((extent,) * 4, (m,) * 4)
        square = 16 * np.sin(np.pi * m / extent) ** 2
        seen.append(6 * (3 * tadpole / 12 + 3 * sunset) + 0.0854897 * np.log(square))
        # What the lattice spacing and the volume change.
        assert abs(seen[-1] - 0.525314) < 0.025
    # The spacing's part is 0.02 p^2 there.
    assert seen[1] + 0.02 * square == pytest.approx(0.525314, abs=0.007)


@pytest.mark.parametrize("nc", [2, 3])
def test_weak_coupling(nc: int, tmp_path: Path) -> None:
    """With the linear A, and with the constant modes that the lattice has, as its gluon propagator tells."""
    beta, shape = 200.0 * nc, (4, 4, 4, 4)
    chain = gauge.WilsonChain(
        gauge.GaugeField.identity(shape, nc), beta, seed=3, overrelax=3, threads=1
    )
    chain.run(60)
    fields = []
    for i in range(16):
        chain.run(6)
        fixed = gauge.fix(chain.field, theta=1e-18, seed=1, device="cpu").fixed()
        fixed.to_file(tmp_path / f"{i}.npz")
        fields.append(fixed)
    momenta = [(2, 2, 2, 2), (2, 0, 0, 0), (1, 1, 1, 1)]
    ghost = gauge.ghost_propagator(str(tmp_path / "*.npz"), momenta, residual=1e-9, device="cpu")
    constant = gauge.gluon_propagator(fields, cylinder=None).value[0] / np.prod(shape)
    casimir = (nc**2 - 1) / (2 * nc)
    for k, found, error in zip(
        momenta, ghost.dressing, ghost.momentum**2 * ghost.error, strict=True
    ):
        tadpole, sunset = oracle.ghost_one_loop(shape, k)
        half = np.pi * np.array(k) / np.array(shape)
        p = 2 * np.sin(half)
        modes = casimir / 2 + nc * ((p * np.cos(half)) ** 2).sum() / (p**2).sum() ** 2
        expected = 2 * nc / beta * (casimir / 2 * tadpole + nc * sunset) + constant * modes
        assert abs(found - 1 - expected) < 4 * error + 0.03 * expected
        assert error < 0.2 * expected
