"""Links of SU(3) in ten numbers: what is told of a link is what it was, but for a few roundings."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardscape.gauge import GaugeField
from hardscape.gauge.stored.instance import THREADS, Instance
from helpers.cuda_on_host import HostPlace

PLACE = HostPlace("-O0")
PLAIN = Instance((4, 4, 4, 4), 3, False)
TEN, ROUNDED = replace(PLAIN, ten_links=True), replace(PLAIN, rounded=True)
#: What the left-out number may be off by, in units of 2^-53: docs/theory/gauge-fixing.md.
BOUND = 24
LINKS = 4 * 4**4


def put(instance: Instance, links: Any) -> Any:
    """Links as they are stored: numbers of each, shape (links, numbers)."""
    stored = np.full((LINKS // 128, 4, instance.link_chunks, 32, 2), np.nan)
    kernel = instance.kernel("start", "gauge_put", kMatrices=4)
    PLACE.launch(kernel, LINKS // THREADS, THREADS, stored, links, 0, 4, shared=0)
    assert not np.isnan(stored).any() or np.isnan(links).any()
    return stored


def got(instance: Instance, stored: Any) -> Any:
    found = np.full((LINKS, 3, 3), np.nan, dtype=np.complex128)
    kernel = instance.kernel("start", "gauge_get", kMatrices=4)
    PLACE.launch(kernel, LINKS // THREADS, THREADS, stored, found, 0, 4, shared=0)
    return found


def there_and_back(links: Any) -> Any:
    """What ten numbers tell of each link."""
    filled = np.resize(links, (LINKS, 3, 3)).astype(np.complex128)
    return got(TEN, put(TEN, filled))[: len(links)]


def completed(rows: Any) -> Any:
    """The matrices with the last row that goes with the first two, and these at a right angle."""
    a, b = (rows[:, i].astype(np.clongdouble) for i in (0, 1))
    a /= np.sqrt((abs(a) ** 2).sum(axis=1))[:, None]
    for _ in range(2):  # or what is nearly parallel stays so to the last digits
        b -= (a.conj() * b).sum(axis=1)[:, None] * a
        b /= np.sqrt((abs(b) ** 2).sum(axis=1))[:, None]
    c = np.cross(a, b).conj()
    return np.stack([a, b, c], axis=1).astype(np.complex128)


def hard() -> Any:
    """Links whose first rows are as bad for the division as they come, and others near special ones."""
    drawn = np.random.default_rng(3)
    first = [np.eye(3)[i] * phase for i in range(3) for phase in (1, -1, 1j, np.exp(0.7j))]
    first += [np.array(x) for x in itertools.product((1, 1j, 1 + 1j), repeat=3)]  # the worst pivots
    first += [np.array([1, 1e-9, 1e-300j]), np.array([1e-12j, 1e-5, -1]), np.array([0, 1, 1j])]
    rows = np.array(first, dtype=complex)[:, None] * np.ones((1, 8, 1))
    rows = rows.reshape(-1, 3) * (1 + 1e-16 * drawn.normal(size=(len(first) * 8, 3)))
    second = drawn.normal(size=(len(rows), 3)) + 1j * drawn.normal(size=(len(rows), 3))
    second[::3] *= 10.0 ** drawn.integers(-12, 1, second[::3].shape)
    return completed(np.stack([rows, second, second], axis=1))


def random() -> Any:
    return GaugeField.random((4, 4, 4, 4), 3, seed=5).links.reshape(-1, 3, 3)


@pytest.mark.parametrize("links", [random(), hard()], ids=["random", "hard"])
def test_ten_numbers_tell_a_link_to_a_few_roundings(links: Any) -> None:
    found = there_and_back(links)
    assert (found[:, 0] == links[:, 0]).all()
    size = np.maximum(abs(links[:, 0].real), abs(links[:, 0].imag))
    changed = found[:, 1] != links[:, 1]
    assert (changed.sum(axis=1) <= 1).all()
    row, column = np.nonzero(changed)
    assert (size[row, column] >= size.max(axis=1)[row] * (1 - 2**-19)).all()
    off = abs(found[:, 1] - links[:, 1]).max()
    assert 0 < off <= BOUND * 2**-53
    # Rows stay as orthogonal as rounding lets them.
    products = found @ found.conj().swapaxes(1, 2)
    assert abs(products - np.eye(3)).max() < 2e-15
    assert abs(np.linalg.det(found) - 1).max() < 2e-15


def test_what_ten_numbers_tell_they_tell_again() -> None:
    links = np.concatenate([hard(), random()])[:LINKS]
    stored = put(TEN, links)
    told = got(TEN, stored)
    assert put(TEN, told).tobytes() == stored.tobytes()
    # Where rows are stored they are those.
    assert got(ROUNDED, put(ROUNDED, links)).tobytes() == told.tobytes()
    assert got(PLAIN, put(PLAIN, told)).tobytes() == told.tobytes()
    assert (got(PLAIN, put(PLAIN, links))[:, :2] == links[:, :2]).all()


def test_links_that_are_none() -> None:
    """Those beyond an open boundary are zeros, and a NaN is not hidden."""
    links = random()
    links[3] = 0
    links[5, 0, 1] = links[6, 1, 0] = np.nan
    links[6, 0] = 0.1, 0.2, 0.97
    found = there_and_back(links)
    assert (found[3] == 0).all()
    assert np.isnan(found[[5, 6]]).any(axis=(1, 2)).all()
    assert np.isfinite(np.delete(found, [5, 6], axis=0)).all()


def test_rows_that_are_not_at_a_right_angle_come_to_it() -> None:
    """Links of single precision: the left-out number takes what the rows' product is off by."""
    links = random().astype(np.complex64).astype(np.complex128)
    found = there_and_back(links)
    before, after = ((x[:, 0].conj() * x[:, 1]).sum(axis=1) for x in (links, found))
    assert abs(before).max() > 1e-8
    assert abs(after).max() < 1e-15
    assert (abs(found[:, 1] - links[:, 1]).max(axis=1) <= abs(before) * 5**0.5 + 1e-14).all()
