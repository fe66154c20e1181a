"""Checksums of links, against zlib and sums written out."""

from __future__ import annotations

import threading
import time
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardscape import gauge, native
from hardscape.engine import lanes
from hardscape.gauge import GaugeField, intake
from hardscape.gauge.formats.content import summed
from hardscape.gauge.intake import in_parts
from helpers import gauge_files as codes

take = native.vector.gauge.take_numbers


def crc(data: bytes) -> int:
    """The CRC-32 of data as of one site."""
    stored = np.frombuffer(data, np.uint8)
    return int(take(stored, np.empty_like(stored), 4, False, len(data), 0, len(data))[0])


@given(st.binary(min_size=4, max_size=1200).map(lambda x: x[: len(x) // 4 * 4]))
def test_the_crc_is_zlibs(data: bytes) -> None:
    assert crc(data) == zlib.crc32(data)


@pytest.mark.parametrize("size", [*range(4, 200, 4), 256, 288, 576, 1024])
def test_the_crc_of_every_length(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc(data) == zlib.crc32(data)


@pytest.mark.parametrize("kind", ["<c8", ">c8", "<c16", ">c16"])
@pytest.mark.parametrize("sites", [1, 30, 2000])  # the last are shared by threads
def test_links_in_either_order(kind: str, sites: int) -> None:
    random = np.random.default_rng(sites)
    numbers = random.normal(size=(sites, 36, 8, 2)) @ [1, 1j]
    stored = np.frombuffer(numbers.astype(kind).tobytes(), kind).reshape(numbers.shape)
    found, sums = summed(stored, sites=True)
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, stored)
    assert (sums.suma, sums.sumb) == codes.scidac_sums(stored.tobytes(), sites)
    words = np.frombuffer(stored.tobytes(), f"{kind[0]}u4")
    assert sums.words == int(words.sum(dtype=np.uint64)) % 2**32
    assert summed(stored)[1].words == sums.words


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e7])
@pytest.mark.parametrize("place", [0, 13, 1023])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_what_is_no_number_is_found_anywhere(bad: float, place: int, dtype: type) -> None:
    largest = native.vector.gauge.largest_number
    numbers = np.linspace(-3, 2, 1023 + 1).astype(dtype).real.copy()
    assert largest(numbers, 0, len(numbers)) == 3
    numbers[place] = bad
    assert not largest(numbers, 0, len(numbers)) <= 1e6
    assert largest(numbers, place + 1, len(numbers)) <= 3


def test_ranges_are_in_order_however_large_the_field_is() -> None:
    for size in (1, 2**22, 2**29):
        parts = in_parts(1000, size, lambda i, j: (i, j))
        assert [part[0] for part in parts] == [0, *(part[1] for part in parts[:-1])]
        assert parts[-1][1] == 1000


def threads_of(call) -> int:
    """How many threads shared something under a call."""
    seen = set()

    def part(i: int, j: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.002)

    call(lambda: in_parts(1000, 2**32, part))
    return len(seen)


def test_parts_keep_to_the_threads_of_their_call(monkeypatch) -> None:
    monkeypatch.setattr(lanes, "cpu_count", lambda: 4)

    @lanes.on_its_threads
    def call(work, **run: Any) -> None:
        work()

    @lanes.on_its_threads
    def within(work, **run: Any) -> None:
        call(work, threads=3)

    assert threads_of(call) == 4
    assert threads_of(lambda work: call(work, threads=1)) == 1
    assert threads_of(lambda work: call(work, threads=2)) == 2
    assert threads_of(lambda work: call(work, threads=16)) == 4
    assert threads_of(lambda work: within(work)) == 3
    assert threads_of(lambda work: within(work, threads=2)) == 2
    assert lanes.working_threads() == 4


def test_a_call_on_one_thread_starts_no_other(tmp_path, monkeypatch) -> None:
    """Its file is read, the links brought to the group, transformed and measured on one."""
    monkeypatch.setattr(lanes, "cpu_count", lambda: 4)
    sizes = []
    monkeypatch.setattr(intake, "team", lambda size: (sizes.append(size), lanes.team(size))[1])
    GaugeField.random((8, 8, 8, 16), seed=4).to_file(tmp_path / "cfg.1.ildg")
    path = str(tmp_path / "cfg.1.ildg")
    run: dict[str, Any] = {"max_sweeps": 1, "strict": False, "device": "cpu", "seed": 1}
    for call in (
        lambda **n: gauge.fix(path, reproject=True, **run, **n),
        lambda **n: gauge.wilson_flow(path, 0.01, **n),
        lambda **n: gauge.smear(path, steps=1, **n),
        lambda **n: gauge.observables(path, device="cpu", **n),
    ):
        for threads in (1, 3):
            sizes.clear()
            call(threads=threads)
            assert set(sizes) == {threads}


def test_a_field_of_several_threads_goes_round(tmp_path) -> None:
    field = GaugeField.random((8, 8, 8, 12), seed=4)
    for name in ("u.ildg", "u.nersc"):
        field.to_file(tmp_path / name)
        assert GaugeField.from_file(tmp_path / name) == field
