"""Orders of links in arrays and in files without a header: told, found, or refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pytest

from hardscape.errors import FormatError, InputError
from hardscape.gauge import GaugeField, fix, formats, generate
from hardscape.gauge.layouts import Layout

OURS = "t z y x mu a b"
FIELDS = {
    (shape, nc): generate(shape, 5.8 if nc == 3 else 2.4, nc, sweeps=20, seed=2, device="cpu")
    for shape, nc in (((4, 4, 4, 8), 3), ((4, 6, 2, 8), 2))
}
CUBE = FIELDS[(4, 4, 4, 8), 3]


def raw(field: GaugeField, layout: str, code: str, rows: int | None = None) -> bytes:
    """The numbers one by one, in the order of a layout."""
    names, order = [], "xyzt"
    for word in layout.split():
        order = word[3:-1] if "[" in word else order
        names.append(word[:2] if "[" in word else word)
    extents = dict(zip("xyzt", field.shape, strict=True))
    sizes = extents | {"mu": 4, "a": rows or field.nc, "b": field.nc, "eo": 2}
    if "eo" in names:
        sizes["x"] //= 2
    at = dict(zip(names, np.indices([sizes[name] for name in names]), strict=True))
    if "eo" in at:
        at["x"] = 2 * at["x"] + (at["y"] + at["z"] + at["t"] + at["eo"]) % 2
    at["mu"] = np.array(["xyzt".index(direction) for direction in order])[at["mu"]]
    return field.links[tuple(at[name] for name in OURS.split())].astype(code).tobytes()


@pytest.mark.parametrize(
    ("which", "layout", "code", "before", "after"),
    [
        (0, OURS, ">c16", b"", b""),
        (1, "t x y z mu[txyz] a b", "<c8", b"header", b""),
        (0, "mu t z y x a b", ">c16", b"1234", b"4321"),
        (1, "mu eo t z y x a b", "<c16", b"", b""),
        (0, "t z y x mu b a", "<c16", b"", b"\n"),
        (1, "mu b a t z y x", ">c8", b"", b""),
    ],
)
def test_what_is_left_out_is_found(
    which: int, layout: str, code: str, before: bytes, after: bytes, tmp_path: Path
) -> None:
    field, path = list(FIELDS.values())[which], tmp_path / "u"
    path.write_bytes(before + raw(field, layout, code) + after)
    back, report = formats.inspect(path, format="raw", shape=field.shape)
    np.testing.assert_allclose(back.links, field.links, atol=1e-6)
    assert report.header["layout"] == layout
    assert report.header["skip"] == str(len(before))
    assert layout in report.notes[0]
    said = {"layout": layout, "skip": len(before), "shape": field.shape}
    said["precision"] = "single" if code == "<c8" or code == ">c8" else "double"
    said["byteorder"] = "little" if code[0] == "<" else "big"
    assert formats.read(path, format="raw", **said) == back


def test_matrices_without_their_last_row(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(raw(CUBE, OURS, ">c16", rows=2))
    back, report = formats.inspect(path, format="raw", shape=CUBE.shape)
    np.testing.assert_allclose(back.links, CUBE.links, atol=1e-14)
    assert report.header["rows"] == "2"


def test_headerless_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(raw(CUBE, OURS, "<c16"))
    for options in (
        {},
        {"shape": (4, 4, 4, 16)},
        {"shape": CUBE.shape, "byteorder": "big"},
        {"shape": CUBE.shape, "skip": 1},
        {"shape": CUBE.shape, "layout": "t z y x mu a"},
        {"shape": CUBE.shape, "layout": "t z y x mu[xxyz] a b"},
    ):
        with pytest.raises(InputError):
            formats.read(path, format="raw", **options)
    hot = GaugeField.random(CUBE.shape, seed=1)
    path.write_bytes(hot.links.tobytes())
    with pytest.raises(FormatError, match="no plaquette stands out"):
        formats.read(path, format="raw", shape=hot.shape)
    path.write_bytes(np.random.default_rng(1).bytes(hot.links.nbytes))
    with pytest.raises(FormatError, match="no matrices"):
        formats.read(path, format="raw", shape=hot.shape)


@pytest.mark.parametrize("extents", [(2, 3), (3, 4), (2, 2, 3)])
def test_noise_of_few_plaquettes_does_not_stand_out(
    extents: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "links.bin"
    for seed in range(10):
        GaugeField.random(extents, 2, seed=seed).to_file(path, format="raw")
        with pytest.raises(FormatError):
            formats.read(path, format="raw", shape=extents)


@pytest.mark.filterwarnings("ignore:shape and plaquette")
def test_an_array_of_few_random_links_is_not_read_in_another_order(tmp_path: Path) -> None:
    for seed in range(20, 40):
        field = GaugeField.random((2, 4, 2, 4), 2, seed=seed)
        field.to_file(tmp_path / "u.npy")
        try:
            assert formats.read(tmp_path / "u.npy") == field
        except FormatError:
            assert formats.read(tmp_path / "u.npy", layout=OURS) == field


@pytest.mark.parametrize("kind", ["landau", "coulomb"])
def test_an_array_of_a_fixed_field_is_not_read_in_another_order(
    kind: Literal["landau", "coulomb"], tmp_path: Path
) -> None:
    """Its links are like their neighbours in any order; where nothing tells it, writing tells that."""
    refused = 0
    for seed, shape in enumerate([(3, 2, 3, 4), (3, 3, 2, 4), (2, 2, 6, 4), (3, 2, 4, 4)]):
        hot = generate(shape, 6.0, nc=2, seed=seed, sweeps=4, device="cpu")
        field = fix(hot, kind, theta=1e-6, device="cpu").fixed()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            field.to_file(tmp_path / "u.npy")
        try:
            assert formats.read(tmp_path / "u.npy") == field
        except FormatError:
            assert told
            refused += 1
        assert formats.read(tmp_path / "u.npy", layout=OURS) == field
    assert refused


def test_writing_raw(tmp_path: Path) -> None:
    for layout in (OURS, "mu eo t z y x a b", "t x y z mu[txyz] b a"):
        CUBE.to_file(tmp_path / "u", format="raw", layout=layout, byteorder="big")
        assert (tmp_path / "u").read_bytes() == raw(CUBE, layout, ">c16")


def test_arrays_of_pyquda() -> None:
    for field in FIELDS.values():
        for even_odd, layout in ((True, "mu eo t z y x a b"), (False, "mu t z y x a b")):
            array = field.to_pyquda(even_odd=even_odd)
            assert array.tobytes() == raw(field, layout, "<c16")
            assert GaugeField.from_pyquda(array) == field
            assert GaugeField(array, layout=layout) == field
    with pytest.raises(InputError):
        GaugeField.from_pyquda(CUBE.links)
    with pytest.raises(InputError):
        GaugeField.random((3, 4, 2, 2)).to_pyquda()


def test_an_array_that_could_be_two_things() -> None:
    array = CUBE.to_pyquda(even_odd=False)
    assert array.shape == (4, 8, 4, 4, 4, 3, 3)
    with pytest.raises(InputError) as caught:
        GaugeField(array)
    assert OURS in str(caught.value)
    assert "mu t z y x a b" in str(caught.value)
    small = generate((4, 4, 2, 4), 5.8, sweeps=20, seed=1, device="cpu")
    assert GaugeField(small.links) == small
    hot = GaugeField.random((4, 4, 4, 4), seed=1)
    with pytest.raises(InputError, match="does not tell"):
        GaugeField(hot.links)
    assert GaugeField(hot.links, layout=OURS) == hot
    with pytest.raises(InputError, match="from_pyquda"):
        GaugeField(FIELDS[(4, 6, 2, 8), 2].to_pyquda())
    with pytest.raises(InputError):
        GaugeField(CUBE.links, layout="mu t z y x a b")


ELONGATED = generate((4, 4, 4, 6), 5.8, sweeps=20, seed=4, device="cpu")


@pytest.mark.parametrize(
    "layout",
    [
        "mu x y z t a b",
        "x y z t mu a b",
        "t x y z mu[txyz] a b",
        "t x y z mu a b",
        "a b mu x y z t",
    ],
)
def test_arrays_of_other_packages(layout: str, tmp_path: Path) -> None:
    names = [word[:2] if "[" in word else word for word in layout.split()]
    sizes = dict(zip("xyzt", ELONGATED.shape, strict=True)) | {"mu": 4, "a": 3, "b": 3}
    shape = [sizes[name] for name in names]
    array = np.frombuffer(raw(ELONGATED, layout, "<c16")).view(np.complex128).reshape(shape)
    np.save(tmp_path / "u.npy", array)
    field, report = formats.inspect(tmp_path / "u.npy")
    assert field == ELONGATED
    assert layout in report.notes[0]
    with pytest.raises(InputError) as refused:
        GaugeField(array)
    if names[-3:] == ["mu", "a", "b"]:
        assert repr(layout) in str(refused.value)
        assert repr(OURS) in str(refused.value)
    assert GaugeField(array, layout=layout) == ELONGATED


@pytest.mark.parametrize("names", ["XYZT", "0123"])
def test_hdf5_of_other_packages(names: str, tmp_path: Path) -> None:
    path = tmp_path / "u.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("LatticeGauge")
        for mu in (3, 1, 0, 2):
            group[names[mu]] = ELONGATED.links[..., mu, :, :]
    assert formats.inspect(path)[0] == ELONGATED
    with h5py.File(path, "w") as file:
        file["some/where"] = np.moveaxis(ELONGATED.links, 4, 0)
    assert formats.inspect(path)[0] == ELONGATED
    with h5py.File(path, "a") as file:
        file["some/thing"] = np.zeros(3, dtype=complex)
    with pytest.raises(FormatError, match="some/where"):
        formats.read(path)


def test_disordered_and_smooth_arrays_are_not_taken_for_others() -> None:
    for seed in range(20):
        for shape in ((3, 2, 3, 2), (2, 5, 2, 3)):
            hot = GaugeField.random(shape, 2, seed=seed)
            assert GaugeField(hot.links) == hot
    unit = GaugeField.identity((6, 6, 6, 6))
    assert GaugeField(unit.links) == unit
    assert GaugeField(ELONGATED.links) == ELONGATED


class _Lattice:
    """What is used of a lattice of GPT: sites in one axis, x fastest."""

    class grid:  # noqa: N801
        fdimensions = (4, 4, 4, 8)

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getitem__(self, key: slice) -> Any:
        return self.data[key]

    def __setitem__(self, key: slice, value: Any) -> None:
        self.data[key] = value


def test_lattices_of_gpt() -> None:
    lattices = [_Lattice(np.zeros((512, 3, 3), dtype=np.complex128)) for _ in range(4)]
    assert CUBE.to_gpt(lattices) is lattices
    x, y, z, t = 1, 2, 3, 6
    site = x + 4 * (y + 4 * (z + 4 * t))
    np.testing.assert_array_equal(lattices[2].data[site], CUBE.links[t, z, y, x, 2])
    assert GaugeField.from_gpt(lattices) == CUBE
    with pytest.raises(InputError):
        GaugeField.from_gpt(lattices[:3])
    with pytest.raises(InputError):
        FIELDS[(4, 6, 2, 8), 2].to_gpt(lattices)


def test_layouts_have_names() -> None:
    for text in (OURS, "mu[txyz] eo t z y x b a"):
        assert str(Layout.parse(text)) == text


def test_halves_by_parity_need_an_even_extent_in_x() -> None:
    layout = Layout.parse("mu eo t z y x a b")
    assert layout.sizes((4, 3, 5, 7), 3, 3)["x"] == 2
    with pytest.raises(InputError, match="even extent in x; it is 3"):
        layout.sizes((3, 4, 4, 4), 3, 3)
