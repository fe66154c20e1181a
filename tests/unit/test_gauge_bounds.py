"""The lowest Faddeev-Popov eigenvalue beside the whole matrix, and between bounds of the literature."""

from __future__ import annotations

import numpy as np
import pytest

from hardscape import gauge
from hardscape.benchmarks.gauge.bounds import lowest, measured, whole_matrix
from hardscape.errors import InputError


def test_the_whole_matrix_has_the_eigenvalues() -> None:
    field = gauge.generate((4, 2, 3, 4), 2.2, 2, seed=2, sweeps=20, device="cpu")
    fixed = gauge.fix(field, "landau", theta=1e-16, device="cpu").fixed()
    matrix = whole_matrix(fixed)
    dense = matrix.toarray()
    np.testing.assert_allclose(dense, dense.T, rtol=0, atol=1e-14)
    values = np.linalg.eigvalsh(dense)
    assert np.abs(values[:3]).max() < 1e-6  # constant fields
    found = gauge.faddeev_popov_eigenvalues(fixed, 3, residual=1e-9, device="cpu")
    np.testing.assert_allclose(found.value, values[3:6], rtol=0, atol=1e-8)
    value, vector, ratio = lowest(matrix, fixed.shape)
    assert value == pytest.approx(values[3], abs=1e-9)
    np.testing.assert_allclose(dense @ vector.ravel(), value * vector.ravel(), rtol=0, atol=1e-6)
    assert 0 < ratio < 1


def test_bounds_hold() -> None:
    ours, whole, above, square, below, ghost, most = measured(3, 4)
    assert ours == pytest.approx(whole, abs=1e-8)
    assert 0 < above < ours < square == pytest.approx(2.0)
    assert 0 < below < ghost < most == pytest.approx(1 / ours)


def test_a_coupling_of_propagators_in_the_wrong_order() -> None:
    field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    fixed = gauge.fix(field, "landau", device="cpu").fixed()
    ghost = gauge.ghost_propagator(fixed, 1, device="cpu")
    gluon = gauge.gluon_propagator(fixed, beta=6.0, cylinder=None)
    with pytest.raises(InputError):
        gauge.running_coupling(gluon, ghost)
