"""Gauge fields: layout, averages, transformations, the group, and what is refused."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import native
from hardscape.errors import InputError
from hardscape.gauge import GaugeField
from hardscape.gauge.groups import project_to_group, random_group_elements
from helpers import gauge_oracles as oracle

SHAPES = st.tuples(*[st.integers(2, 4)] * 4)


@settings(max_examples=15)
@given(SHAPES, st.sampled_from([2, 3, 4, 5, 8]), st.integers(0, 2**64 - 1))
def test_plaquette_and_trace(shape: tuple[int, ...], nc: int, seed: int) -> None:
    field = GaugeField.random(shape, nc, seed=seed)
    assert field.shape == shape
    assert field.links.shape == (*shape[::-1], 4, nc, nc)
    assert field.plaquette() == pytest.approx(oracle.plaquette(field.links), abs=1e-14)
    assert field.link_trace() == pytest.approx(oracle.functional(field.links, "landau"), abs=1e-15)
    assert field.unitarity() < 1e-14


@settings(max_examples=15)
@given(SHAPES, st.sampled_from([2, 3, 4, 5, 8]), st.integers(0, 1000), st.booleans())
def test_a_transformation_keeps_the_plaquette_and_can_be_undone(
    shape: tuple[int, ...], nc: int, seed: int, single: bool
) -> None:
    dtype, rounding = (np.complex64, 1e-5) if single else (np.complex128, 1e-13)
    field = GaugeField.random(shape, nc, seed=seed, dtype=dtype)
    before = field.links.copy()
    g = random_group_elements(field.volume, nc, seed + 1).reshape(*shape[::-1], nc, nc)
    moved = field.transform(g)
    assert moved.dtype == dtype
    assert moved.plaquette() == pytest.approx(field.plaquette(), abs=rounding)
    np.testing.assert_allclose(
        moved.transform(oracle.dagger(g)).links, field.links, atol=10 * rounding
    )
    np.testing.assert_array_equal(field.links, before)


@settings(max_examples=25)
@given(
    SHAPES,
    st.sampled_from([2, 3, 4, 5, 8]),
    st.integers(0, 1000),
    st.sampled_from(["complex64", "complex128"]),
)
def test_a_transformation_follows_its_definition(
    shape: tuple[int, ...], nc: int, seed: int, dtype: str
) -> None:
    field = GaugeField.random(shape, nc, seed=seed, dtype=dtype)
    g = random_group_elements(field.volume, nc, seed + 1).reshape(*shape[::-1], nc, nc)
    rounding = 1e-14 if dtype == "complex128" else 1e-6
    np.testing.assert_allclose(
        field.transform(g).links, oracle.transformed(field.links, g), atol=rounding
    )
    mirrored = np.asfortranarray(g)  # of any order in memory
    np.testing.assert_array_equal(field.transform(mirrored).links, field.transform(g).links)


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_parts_of_a_lattice_are_those_of_the_whole(nc: int) -> None:
    field = GaugeField.random((3, 5, 2, 7), nc, seed=8)
    g = random_group_elements(field.volume, nc, 9).reshape(*field.links.shape[:4], nc, nc)
    whole, parts = field.transform(g).links, np.empty_like(field.links)
    for cuts in ([0, 1, 2, 17, 209, 210], [0, 100, 210]):
        parts[...] = np.nan
        for first, last in pairwise(cuts):
            native.vector.gauge.transform(field.links, g, first, last, parts)
        assert parts.tobytes() == whole.tobytes()
    for abelian in (False, True):
        sums = [
            np.concatenate(
                [
                    native.vector.gauge.conditions(whole, np.ones(4), 4, abelian, first, last)
                    for first, last in pairwise(cuts)
                ]
            )
            for cuts in ([0, 7], [0, 1, 4, 7])
        ]
        assert sums[0].tobytes() == sums[1].tobytes()


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_haar_moments(nc: int) -> None:
    u = random_group_elements(40_000, nc, 1)
    trace = np.trace(u, axis1=1, axis2=2)
    # |tr U|^2 has mean 1; tr U has mean 0, and Re tr U of SU(2) variance 1.
    assert np.mean(np.abs(trace) ** 2) == pytest.approx(1.0, abs=0.03)
    assert abs(np.mean(trace)) < 0.02
    # Left translation leaves the distribution as it is: an entry's second moment is 1/Nc everywhere.
    np.testing.assert_allclose(np.mean(np.abs(u) ** 2, axis=0), 1 / nc, atol=0.01)


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_identity(nc: int) -> None:
    cold = GaugeField.identity((2, 4, 6, 8), nc, dtype=np.complex64)
    assert (cold.plaquette(), cold.link_trace(), cold.unitarity()) == (1.0, 1.0, 0.0)
    assert cold.volume == 384
    assert oracle.theta(cold.links, "landau") == 0


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
def test_reprojection(nc: int) -> None:
    field = GaugeField.random((2, 2, 2, 2), nc, seed=3)
    noise = np.random.default_rng(4).normal(size=field.links.shape)
    disturbed = GaugeField(field.links + 1e-3 * noise)
    with pytest.raises(InputError):
        disturbed.require_unitary()
    back = disturbed.reproject()
    assert back.unitarity() < 1e-14
    np.testing.assert_allclose(back.links, field.links, atol=0.02)
    back.require_unitary(1e-13)
    np.testing.assert_allclose(back.reproject().links, back.links, atol=1e-15)


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_reprojection_is_that_of_the_definition(nc: int, dtype: type) -> None:
    exact = GaugeField.random((3, 5, 2, 7), nc, seed=3).links
    noise = np.random.default_rng(4).normal(size=(2, *exact.shape))
    near = (1.3 * exact + 0.1 * (noise[0] + 1j * noise[1])).astype(dtype)
    whole = GaugeField(near).reproject().links
    assert whole.dtype == dtype
    rounding = 1e-14 if dtype == np.complex128 else 1e-6
    np.testing.assert_allclose(whole, project_to_group(near.astype(np.complex128)), atol=rounding)
    parts = np.full_like(near, np.nan)
    for first, last in pairwise([0, 1, 2, 17, 839, 840]):
        assert native.vector.gauge.reproject(near, first, last, parts) == last
    assert parts.tobytes() == whole.tobytes()


@pytest.mark.parametrize("place", [0, 1, 6, 831, 839])
@pytest.mark.parametrize("bad", [0.0, 1e-7, np.nan])
def test_links_that_tell_no_element_are_named(place: int, bad: float) -> None:
    links = GaugeField.random((3, 5, 2, 7), seed=3).links
    links.reshape(-1, 3, 3)[place, 1] = links.reshape(-1, 3, 3)[place, 0] * (1 + bad)
    found = np.empty_like(links)
    assert native.vector.gauge.reproject(links, 0, 840, found) == place
    assert native.vector.gauge.reproject(links, place + 1, 840, found) == 840
    if np.isfinite(bad):
        with pytest.raises(InputError):
            GaugeField(links).reproject()


def test_the_worst_link_is_named() -> None:
    links = GaugeField.identity((2, 3, 4, 5)).links
    links[4, 3, 2, 1, 2] *= 1.5
    with pytest.raises(InputError, match=r"mu=2 .* \(1, 2, 3, 4\)"):
        GaugeField(links).require_unitary()


@pytest.mark.parametrize("nc", [2, 3, 4, 8])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_unitarity(nc: int, dtype: type) -> None:
    field = GaugeField.random((2, 3, 2, 2), nc, seed=1)
    noise = np.random.default_rng(2).normal(size=(2, *field.links.shape))
    disturbed = GaugeField((field.links + 0.01 * (noise[0] + 1j * noise[1])).astype(dtype))
    u = disturbed.links.astype(np.complex128)
    product = np.abs(u @ oracle.dagger(u) - np.eye(nc)).max(axis=(-2, -1))
    expected = np.maximum(product, np.abs(np.linalg.det(u) - 1))
    assert disturbed.unitarity() == pytest.approx(expected.max(), rel=1e-12)


def test_reflections_are_not_in_the_group() -> None:
    links = GaugeField.identity((2, 2, 2, 2), 2).links
    links[0, 0, 0, 0, 0] = np.diag([1, -1])
    assert GaugeField(links).unitarity() == pytest.approx(2.0)
    with pytest.raises(InputError):
        GaugeField(links).reproject()


def test_precision_and_pickle() -> None:
    field = GaugeField.random((2, 2, 2, 4), 3, seed=9)
    single = field.astype(np.complex64)
    assert single.dtype == np.complex64
    assert field.astype(np.complex128) is field
    assert single.unitarity() < 1e-6
    again = pickle.loads(pickle.dumps(field))
    np.testing.assert_array_equal(again.links, field.links)
    assert "SU(3), 2x2x2x4" in repr(field)
    assert field.device == "cpu"
    assert field.to("cpu") is field


def test_seeds() -> None:
    one, same, other = (GaugeField.random((2, 2, 2, 2), 2, seed=seed).links for seed in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.1


LINKS = np.zeros((2, 2, 2, 2, 4, 3, 3), dtype=complex)


@pytest.mark.parametrize(
    "links",
    [
        LINKS.real,
        LINKS.astype(np.clongdouble),
        LINKS[..., :2],
        LINKS[:1],
        LINKS[..., :3, :, :],
        np.zeros((2, 2, 2, 2, 4, 9, 9), dtype=complex),
        np.zeros((2, 2, 2, 2, 4, 1, 1), dtype=complex),
        np.zeros((0, 2, 2, 2, 4, 3, 3), dtype=complex),
        LINKS + np.nan,
        LINKS - 1j * np.inf,
        LINKS + 1e300,
        LINKS - 1e10j,
        "links",
        None,
        [[1, 2], [3]],
    ],
)
def test_refused_links(links: object) -> None:
    with pytest.raises(InputError):
        GaugeField(links)


@pytest.mark.parametrize("shape", [LINKS.shape, (4, 4, 4, 4, 4, 3, 3)])
def test_the_place_of_a_nan_is_named(shape: tuple[int, ...]) -> None:
    links = np.broadcast_to(np.eye(3, dtype=complex), shape).copy()
    links[1, 0, 1, 0, 3, 2, 1] = complex(1, np.nan)
    with pytest.raises(InputError, match=r"\[1, 0, 1, 0, 3, 2, 1\]"):
        GaugeField(links)


@pytest.mark.parametrize(
    "shape", [(4,), (2,) * 6, (4, 4, 4, 1), (4, 4, 4, -4), (4, 4, 4, 4.0), 4, "4444", (2**16,) * 4]
)
def test_refused_shapes(shape: object) -> None:
    with pytest.raises(InputError):
        GaugeField.identity(shape)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {"nc": 9},
        {"nc": True},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**64},
        {"dtype": float},
        {"dtype": "no"},
    ],
)
def test_refused_arguments(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError):
        GaugeField.random((2, 2, 2, 2), **arguments)  # type: ignore[arg-type]


def test_refused_transformation() -> None:
    with pytest.raises(InputError):
        GaugeField.identity((2, 2, 2, 2)).transform(np.eye(3))
