"""Permanents against those of thewalrus and piquasso, and against numbers from their manuals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardscape

#: An interferometer of four modes from the tutorial on boson sampling of Strawberry Fields, which takes
#: its permanents from thewalrus: photons in modes 0, 1 and 3, and probabilities of outputs.
INTERFEROMETER = np.array(
    [
        [0.219546940711, 0.611076853957, -0.102700187435, -0.027250232925],
        [0.451281863394, 0.456952590016, 0.131625867435, 0.035283194078],
        [0.038710094355, -0.019212744068, -0.240776471286, -0.458388143039],
        [-0.156619083736, 0.109992223305, -0.421179844245, 0.818769184612],
    ]
) + 1j * np.array(
    [
        [-0.256534554457, 0.524178937791, 0.474478834685, 0.03729094623],
        [0.602582912475, 0.01230749109, -0.450417744715, -0.053244267184],
        [0.492715562066, -0.321842852355, 0.524432833034, 0.329633367819],
        [0.224568570065, -0.163750223027, 0.183644837982, 0.068015658737],
    ]
)
INPUT = (1, 1, 0, 1)


def outputs(modes, photons):
    """Every way to spread photons over modes."""
    if modes == 1:
        return [(photons,)]
    return [(k, *rest) for k in range(photons + 1) for rest in outputs(modes - 1, photons - k)]


def probability(unitary, into, out):
    amplitude = hardscape.permanent(unitary, rows=out, cols=into)
    return abs(amplitude) ** 2 / math.prod(map(math.factorial, (*into, *out)))


@pytest.mark.parametrize(
    ("out", "expected"), [((1, 1, 0, 1), 0.174689160486), ((2, 0, 0, 1), 0.106441927246)]
)
def test_published_probabilities_of_boson_sampling(out, expected):
    assert probability(INTERFEROMETER, INPUT, out) == pytest.approx(expected, abs=2e-12)


def test_probabilities_of_all_outputs_add_up_to_one():
    total = sum(probability(INTERFEROMETER, INPUT, out) for out in outputs(4, 3))
    assert total == pytest.approx(1, abs=1e-11)


def test_two_photons_leave_a_beam_splitter_together():
    splitter = np.array([[1, 1j], [1j, 1]]) / math.sqrt(2)
    assert [probability(splitter, (1, 1), out) for out in ((2, 0), (1, 1), (0, 2))] == (
        pytest.approx([0.5, 0, 0.5])
    )


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_thewalrus_gives_the_same(kind, monkeypatch):
    import numba

    # Compiled for each type, which takes seconds; these are small enough to be interpreted.
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    import thewalrus

    rng = np.random.default_rng(1)
    for n in range(1, 8):
        a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if kind == "complex" else 0)
        expected = thewalrus.perm(a, method="bbfg")
        assert hardscape.permanent(a) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("out", [(1, 1, 0, 1), (0, 0, 3, 0), (2, 1, 0, 0)])
def test_piquasso_gives_the_same(out):
    import piquasso

    expected = piquasso.NumpyConnector().permanent(INTERFEROMETER, np.array(out), np.array(INPUT))
    found = hardscape.permanent(INTERFEROMETER, rows=out, cols=INPUT)
    assert found == pytest.approx(expected, rel=1e-12)
