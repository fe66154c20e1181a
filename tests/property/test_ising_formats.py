"""Files of Ising models: exact round trips, and only our own errors for any bytes."""

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape.errors import FormatError, HardscapeError, InputError
from hardscape.ising import formats
from hardscape.ising.model import Ising
from helpers.ising_strategies import coefficients, ising_models, pair_values, qubos, small_whole

quick = settings(max_examples=25, deadline=None)
fuzz = settings(max_examples=60, deadline=None)
compression = st.sampled_from(["", ".gz", ".xz"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def round_trip(model, path, **options):
    formats.write(model, path, **options)
    return formats.read(path, **options)


@quick
@given(
    ising_models(), st.sampled_from([None, 0, 1]), st.sampled_from(["dimod", "ising"]), compression
)
def test_coo_round_trip(folder, model, base, convention, suffix):
    path = folder / f"model.coo{suffix}"
    assert round_trip(model, path, base=base, convention=convention) == model
    assert formats.read(path, convention=convention) == model


@quick
@given(
    qubos(values=st.integers(-(2**90), 2**90)), st.sampled_from(["coo", "npz", "qubo", "sparse"])
)
def test_integers_beyond_float64_round_trip(folder, qubo, suffix):
    n, Q = qubo
    model = Ising.from_qubo({**{(i, i): 0 for i in range(n)}, **Q})
    text_of_quarters = suffix == "coo" and model.exact.exponent < 0
    assert text_of_quarters or round_trip(model, folder / f"wide.{suffix}") == model


@quick
@given(ising_models(named=True), st.sampled_from(["json", "npz"]), compression)
def test_formats_with_labels_round_trip(folder, model, suffix, packed):
    read = round_trip(model, folder / f"model.{suffix}{packed}")
    assert read == model
    assert read.labels == model.labels


@quick
@given(qubos(), compression)
def test_biqmac_round_trip(folder, qubo, suffix):
    n, Q = qubo
    model = Ising.from_qubo({**{(i, i): 0.0 for i in range(n)}, **Q})
    assert round_trip(model, folder / f"model.sparse{suffix}") == model


@quick
@given(qubos(), coefficients, compression)
def test_qubo_round_trip(folder, qubo, offset, suffix):
    n, Q = qubo
    model = Ising.from_qubo({**{(i, i): 0.0 for i in range(n)}, **Q}, offset)
    assert round_trip(model, folder / f"model.qubo{suffix}") == model


@quick
@given(st.integers(0, 10).flatmap(lambda n: st.tuples(st.just(n), pair_values(n, coefficients))))
def test_rudy_round_trip(folder, graph):
    n, weights = graph
    lines = [f"{n} {len(weights)}", *(f"{i + 1} {j + 1} {w!r}" for (i, j), w in weights.items())]
    path = folder / "graph.rud"
    path.write_text("\n".join(lines))
    model = formats.read(path)
    assert model.num_spins == n
    assert model.J.sum() == pytest.approx(sum(weights.values()) / 2)
    assert round_trip(model, folder / "again.rud") == model


@quick
@given(qubos(), coefficients)
def test_npz_holds_models_whose_coefficients_are_no_floats(folder, qubo, offset):
    n, Q = qubo
    model = Ising.from_qubo({**{(i, i): 0.0 for i in range(n)}, **Q}, offset)
    assert round_trip(model, folder / "model.npz") == model


@quick
@given(
    st.one_of(ising_models(6), qubos(5).map(lambda qubo: Ising.from_qubo(qubo[1]))),
    st.sampled_from(list(formats.FORMATS)),
)
def test_a_writer_is_exact_or_refuses(tmp_path_factory, model, format):
    path = tmp_path_factory.mktemp("one") / "model"
    try:
        formats.write(model, path, format=format)
    except InputError:
        assert list(path.parent.iterdir()) == []
    else:
        assert list(path.parent.iterdir()) == [path]
        assert formats.read(path, format=format).digest == model.digest


DOCUMENT = {
    "type": "BinaryQuadraticModel",
    "version": {"bqm_schema": "3.0.0"},
    "use_bytes": False,
    "index_type": "int32",
    "bias_type": "float64",
    "variable_labels": ["a", 3, ["b", 1]],
    "variable_type": "BINARY",
    "offset": 1.5,
    "linear_biases": [1.0, 2, 0.0],
    "quadratic_biases": [0.5, -1.0],
    "quadratic_head": [0, 1],
    "quadratic_tail": [1, 2],
}


def npz_bytes(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


VALID_NPZ = {
    "h": np.array([1.0, 2.0]),
    "row": np.array([0]),
    "col": np.array([1]),
    "value": np.array([0.5]),
    "offset": np.array(3.0),
    "labels": np.array('["a", 7]'),
}


def read_or_refuse(path, data, **options):
    """The model that some bytes hold, or None when they are refused in the right way."""
    path.write_bytes(data)
    refusal = None
    try:
        model = formats.read(path, **options)
    except HardscapeError as error:
        refusal = error
    if refusal is None:
        assert np.isfinite(model.energy(np.ones((1, model.num_spins)))).all()
        return model
    assert isinstance(refusal, FormatError)
    assert str(path) in str(refusal)
    assert refusal.line is None or refusal.line >= 1
    return None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)


@fuzz
@given(st.data())
def test_json_of_any_shape_is_refused_or_read(folder, data):
    document = dict(DOCUMENT)
    for key in data.draw(st.lists(st.sampled_from(sorted(document)), min_size=1, max_size=3)):
        document[key] = data.draw(json_values)
    read_or_refuse(folder / "model.json", json.dumps(document).encode())


arrays = st.one_of(
    st.lists(small_whole, max_size=3).map(np.array),
    st.lists(st.integers(-1, 3), max_size=3).map(lambda x: np.array(x, dtype=np.int64)),
    st.integers(-2000, 2000).map(np.array),
    st.floats().map(np.array),
    st.lists(st.text("-0123456789", max_size=3), max_size=3).map(lambda x: np.array(x, dtype="S")),
    st.text('[]",1a\\u', max_size=8).map(np.array),
    st.just(np.array([[1.0]])),
    st.just(np.array([1j])),
    st.just(np.array([1.0], dtype=">f8")),
    st.just(np.array([1.0], dtype=np.longdouble)),
)


@fuzz
@given(st.data())
def test_archives_of_any_arrays_are_refused_or_read(folder, data):
    names = st.lists(st.sampled_from([*VALID_NPZ, "exponent", "other"]), min_size=1, max_size=3)
    chosen = {**VALID_NPZ, **{name: data.draw(arrays) for name in data.draw(names)}}
    if data.draw(st.booleans()):
        del chosen[data.draw(st.sampled_from(sorted(chosen)))]
    read_or_refuse(folder / "model.npz", npz_bytes(**chosen))
