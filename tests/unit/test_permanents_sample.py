"""Boson sampling against whole distributions of small interferometers."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from scipy.special import chdtri

from hardscape import native
from hardscape.engine import RunOptions, solve
from hardscape.errors import BudgetError, DeviceError, InputError
from hardscape.permanents import sample
from hardscape.permanents.sampling.photons import photons_of
from hardscape.permanents.sampling.sample import SampleWork
from helpers.boson_oracle import distribution, interferometer
from helpers.permanent_oracle import exact_complex_permanent, repeat

SAMPLES = 20_000
U4, U5 = interferometer(4, 1), interferometer(5, 2)
STATES = np.array([[1, 0], [0.8, 0.6], [0.6, -0.8j]])
GRAM = STATES.conj() @ STATES.T
LOSSES = np.array([0.9, 0.5, 0.7, 1.0])


def fits(a, photons, expected, **options):
    """Whether samples may well be from a distribution: Pearson's test at one in 10,000."""
    assert sum(expected.values()) == pytest.approx(1)
    found = sample(a, photons, SAMPLES, seed=7, **options).occupations
    counts = Counter(map(tuple, found.tolist()))
    assert counts.keys() <= {output for output, p in expected.items() if p > 1e-9}
    rare = [output for output, p in expected.items() if p * SAMPLES < 8]
    often = [output for output in expected if output not in rare]
    pairs = [(counts[x], expected[x] * SAMPLES) for x in often]
    if rest := sum(expected[x] for x in rare) * SAMPLES:
        pairs.append((sum(counts[x] for x in rare), rest))
    statistic = sum((k - e) ** 2 / e for k, e in pairs if e > 1)
    return bool(statistic < chdtri(max(1, len(pairs) - 1), 1e-4))


@pytest.mark.parametrize(
    ("a", "photons"),
    [
        (U4, [1, 1, 1, 0]),
        (U4, [2, 0, 1, 1]),
        (U4, [4, 0, 0, 0]),
        (U4, [0, 3, 2, 0]),
        (U5[:, :3], [1, 2, 1]),
        (np.array([[1, 1], [1, -1]]) / np.sqrt(2), [1, 1]),
        (np.array([[0, 1], [1, 0]]), [2, 1]),
        (U4, [0, 0, 0, 0]),
    ],
)
def test_photons_that_are_alike(a, photons):
    assert fits(a, photons, distribution(a, photons))


@pytest.mark.parametrize("x", [0.0, 0.6])
def test_photons_that_are_less_alike(x):
    photons = [1, 1, 0, 1]
    gram = x + (1 - x) * np.eye(3)
    expected = distribution(U4, photons, gram)
    assert fits(U4, photons, expected, overlap=x)
    assert fits(U4, photons, expected, overlap=gram)
    # The test can tell them from photons that are alike.
    assert not fits(U4, photons, expected)


def test_overlaps_of_low_rank():
    photons = [1, 0, 1, 1]
    expected = distribution(U4, photons, GRAM)
    assert fits(U4, photons, expected, overlap=GRAM)
    assert not fits(U4, photons, expected, overlap=GRAM.conj())


def test_two_groups_and_a_shared_input():
    gram = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    photons = [2, 1, 1, 0]  # those of the first input are of different groups
    assert fits(U4, photons, distribution(U4, photons, gram), overlap=gram)


def test_losses_before():
    photons = [1, 1, 0, 2]
    columns = np.repeat(np.arange(4), photons)
    expected = distribution(U4, photons, kept=LOSSES[columns])
    assert fits(U4, photons, expected, transmission=LOSSES)
    assert fits(U4 * np.sqrt(LOSSES), photons, expected)
    assert fits(U4, photons, distribution(U4, photons, kept=[0.5] * 4), transmission=0.5)


def test_losses_inside():
    photons = [1, 2, 0, 0]
    # A unitary matrix of which the last outputs are not seen is any lossy one.
    expected = {}
    for output, p in distribution(U5, [*photons, 0]).items():
        expected[output[:3]] = expected.get(output[:3], 0) + p
    assert fits(U5[:3, :4], photons, expected)


@pytest.mark.parametrize("counts", [[1], [2], [1, 1, 1], [2, 1, 3], [4, 2], [1] * 8, [3, 1, 2, 4]])
def test_minors_all_ways(counts):
    rng = np.random.default_rng(len(counts))
    k = sum(counts) + 1
    a = rng.normal(size=(len(counts), k)) + 1j * rng.normal(size=(len(counts), k))
    whole = repeat(a, counts, [1] * k)
    without = [exact_complex_permanent(np.delete(whole, j, 1)) for j in range(k)]
    expected = np.array([complex(*map(float, x)) for x in without])
    parts = np.stack([a.real, a.imag])
    for way in (0, 1, 2) if k <= 8 else (1, 2):
        found, done = native.vector.permanents.laplace_minors(
            parts, np.array(counts, dtype=np.int32), way, np.zeros(1, dtype=np.uint8)
        )
        assert done
        scale = found[0] / expected[0]
        assert np.allclose(found, scale * expected, rtol=1e-11)


def test_many_photons_of_sums_that_are_restarted():
    """Laplace's expansion along a row that is there already agrees with both ways."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(2, 19, 20))
    stop = np.zeros(1, dtype=np.uint8)
    ones = np.ones(19, dtype=np.int32)
    signs, _ = native.vector.permanents.laplace_minors(a, ones, 1, stop)
    rows, _ = native.vector.permanents.laplace_minors(a, ones, 2, stop)
    assert np.allclose(signs / signs[0], rows / rows[0], rtol=1e-9)


def test_the_same_samples_on_any_number_of_threads():
    found = [sample(U5, [1, 1, 1, 1, 1], 3000, seed=3, threads=k) for k in (1, 3)]
    assert (found[0].occupations == found[1].occupations).all()
    assert (found[0].occupations.sum(axis=1) == 5).all()
    other = sample(U5, [1, 1, 1, 1, 1], 3000, seed=4)
    assert (found[0].occupations != other.occupations).any()
    # A longer run begins with a shorter one.
    assert (sample(U5, [1, 1, 1, 1, 1], 10, seed=3).occupations == found[0].occupations[:10]).all()


def test_the_work_pickles():
    work = SampleWork(photons_of(U4, [1, 1, 1, 0], 0.5, 0.9), 50, 5)
    again = pickle.loads(pickle.dumps(work))
    assert again.digest() == work.digest()
    options = RunOptions.checked(threads=1)
    assert (solve(again, options).whole() == solve(work, options).whole()).all()


def test_a_time_limit_leaves_whole_samples():
    u = interferometer(40, 5)
    found = sample(u, [1] * 26 + [0] * 14, 10**4, seed=1, time_limit=0.2)
    assert found.stopped == "time_limit"
    assert len(found.occupations) < 10**4
    assert (found.occupations.sum(axis=1) == 26).all()
    assert len(sample(u, [1] + [0] * 39, 0).occupations) == 0


def test_refusals():
    refused = [
        ((2 * U4, [1, 1, 1, 1], 1), {}),
        ((U4, [1, 1, 1], 1), {}),
        ((U4, [1, 1, 1, -1], 1), {}),
        ((np.stack([U4, U4]), [1, 1, 1, 1], 1), {}),
        ((U4, [1, 1, 1, 0], 1), {"overlap": 1.5}),
        ((U4, [1, 1, 1, 0], 1), {"overlap": np.ones((2, 2))}),
        ((U4, [1, 1, 1, 0], 1), {"overlap": 2 * np.eye(3)}),
        ((U4, [1, 1, 1, 0], 1), {"overlap": 1 - 2 * np.eye(3)}),
        ((U4, [2, 0, 1, 0], 1), {"overlap": GRAM}),
        ((U4, [1, 1, 1, 0], 1), {"transmission": -0.1}),
        ((U4, [1, 1, 1, 0], 1), {"transmission": [0.5, 0.5]}),
        ((U4, [1, 1, 1, 0], -1), {}),
        ((U4, [1, 1, 1, 0], 2.5), {}),
    ]
    for arguments, options in refused:
        with pytest.raises(InputError):
            sample(*arguments, **options)
    with pytest.raises(DeviceError):
        sample(U4, [1, 1, 1, 0], 1, device="cuda:0")
    many = interferometer(70, 6)
    for photons, count in (([1] * 70, 1), ([1] * 50 + [0] * 20, 1)):
        with pytest.raises(BudgetError):
            sample(many, photons, count)
    with pytest.raises(BudgetError):
        sample(U4, [1, 0, 0, 0], 2**46)
    # Photons that never interfere are cheap, however many.
    assert sample(many, [3] * 70, 2, overlap=0.0).occupations.sum() == 420
