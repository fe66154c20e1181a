"""The Ising model by hand: values, labels, immutability, and every refusal."""

import itertools
from decimal import Decimal
from fractions import Fraction

import dimod
import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from hardscape.errors import InputError
from hardscape.ising.exact import ExactTerms, dyadic
from hardscape.ising.model import Ising


@pytest.fixture
def triangle():
    """E = s0 s1 - 2 s1 s2 + 0.5 s0 s2 + 0.25 s0 - s2 + 3."""
    return Ising([0.25, 0, -1], {(0, 1): 1, (1, 2): -2, (2, 0): 0.5}, 3)


def test_energies_by_hand(triangle):
    states = [[1, 1, 1], [-1, 1, 1], [1, -1, 1], [-1, -1, -1]]
    assert triangle.energy(states).tolist() == [1.75, -1.75, 3.75, 3.25]


def test_views(triangle):
    assert triangle.num_spins == 3
    assert triangle.num_couplings == 3
    assert triangle.h.tolist() == [0.25, 0.0, -1.0]
    assert triangle.J.tolist() == [[0, 1, 0.5], [0, 0, -2], [0, 0, 0]]
    row, col, value = triangle.couplings
    assert (row.tolist(), col.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert value.tolist() == [1.0, 0.5, -2.0]
    assert triangle.offset == 3.0
    assert triangle.labels == (0, 1, 2)
    assert not triangle.is_integer
    assert Ising([4], {}).is_integer


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3), (0, 3), (2, 0, 3)])
def test_energy_keeps_the_leading_axes(triangle, shape):
    assert triangle.energy(np.ones(shape, dtype=np.int64)).shape == shape[:-1]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
def test_energy_takes_spins_of_any_real_type(triangle, dtype):
    assert triangle.energy(np.array([-1, 1, 1], dtype=dtype)) == -1.75


def test_a_model_without_spins_has_its_offset_as_energy():
    model = Ising([], [], 2.5)
    assert model.energy([]) == 2.5
    assert model.energy(np.empty((3, 0))).tolist() == [2.5, 2.5, 2.5]
    assert model == Ising.from_matrix(np.empty((0, 0)), 2.5) == Ising.from_dict({}, offset=2.5)


def test_sums_of_the_whole_range_of_float64_are_exact():
    model = Ising([1e300, 1.0, 1e-300, -1e300, 5e-324], {(0, 1): 1e300, (2, 3): -1e300})
    # 1e300 + 1 + 1e-300 - 1e300 + 5e-324 + 1e300 - 1e300
    assert model.energy([1, 1, 1, 1, 1]) == 1.0
    assert model.energy([1, -1, -1, 1, -1]) == -1.0
    assert model.energy([-1, 1, 1, 1, 1]) == -4e300


def test_ties_round_to_even():
    above = Ising([2.0**53], {}, 1.0)  # 2^53 + 1 lies between 2^53 and 2^53 + 2
    assert above.energy([1]) == 2.0**53
    assert Ising([2.0**53, 2.0**-60], {}, 1.0).energy([1, 1]) == 2.0**53 + 2


def test_coefficients_that_cancel_disappear():
    model = Ising.from_entries(2, [0, 1, 0, 0], [1, 0, 0, 0], [0.1, -0.1, 7, -7])
    assert model.num_couplings == 0
    assert model == Ising([0, 0], {})


def test_sums_of_entries_are_not_rounded():
    model = Ising.from_entries(2, [0, 0, 0], [1, 1, 1], [1e300, 1.0, -1e300])
    assert model.J[0, 1] == 1.0


def test_qubo_by_hand():
    # 4 q0 - 8 q0 q1 + 1: 1, 5, 1, -3 for q = 00, 10, 01, 11
    model = Ising.from_qubo({(0, 0): 4, (0, 1): -8}, 1)
    assert model.energy([[-1, -1], [1, -1], [-1, 1], [1, 1]]).tolist() == [1, 5, 1, -3]
    assert model.h.tolist() == [0, -2]
    assert model.J[0, 1] == -2
    assert model.offset == 1


def test_qubo_quarters_below_the_least_float_stay_exact():
    model = Ising.from_qubo({(0, 1): 5e-324})
    assert model.exact.exponent == -1076
    assert model.energy([[1, 1], [1, -1]]).tolist() == [5e-324, 0.0]


def test_qubo_keeps_labels():
    model = Ising.from_qubo({("b", "a"): 4.0})
    assert model.labels == ("b", "a")


def test_from_dict_sorts_integers_and_keeps_the_order_of_other_names():
    assert Ising.from_dict({(7, 3): 1.0, (3, 3): 2.0}).labels == (3, 7)
    assert Ising.from_dict({(7, 3): 1.0, (3, 3): 2.0}).h.tolist() == [2.0, 0.0]
    assert Ising.from_dict({("b", "a"): 1.0}, {"c": 1.0}).labels == ("b", "a", "c")


def test_from_bqm_keeps_labels_and_order():
    bqm = dimod.BinaryQuadraticModel("SPIN")
    bqm.add_linear_from({"x": 1.0, ("y", 2): -1.0})
    bqm.add_quadratic("x", ("y", 2), 0.5)
    model = Ising.from_any(bqm)
    assert model.labels == ("x", ("y", 2))
    assert model.h.tolist() == [1.0, -1.0]


def test_models_of_mixed_variables_are_exact():
    for seed in range(20):
        random = np.random.default_rng(seed)
        mixed = dimod.QuadraticModel()
        for i in range(4):
            mixed.add_variable(random.choice(["SPIN", "BINARY"]), f"v{i}")
            mixed.add_linear(f"v{i}", random.integers(-4, 5) / 4)
            for j in range(i):
                mixed.add_quadratic(f"v{i}", f"v{j}", random.integers(-2, 3))
        mixed.offset = 0.75
        held = dimod.ConstrainedQuadraticModel()
        held.set_objective(mixed)
        model = Ising.from_any(mixed)
        assert Ising.from_any(held) == model
        for spins in itertools.product((-1, 1), repeat=4):
            named = zip(model.labels, spins, strict=True)
            sample = {v: s if mixed.vartype(v) is dimod.SPIN else (s + 1) // 2 for v, s in named}
            assert model.energy(spins) == mixed.energy(sample)


def test_integers_and_constraints_are_refused():
    whole = dimod.QuadraticModel()
    whole.add_variable("INTEGER", "k")
    bound = dimod.ConstrainedQuadraticModel()
    bound.add_variable("BINARY", "k")
    bound.add_constraint([("k", 1)], "<=", 1, label="least")
    for model, name in ((whole, "'k'"), (bound, "'least'")):
        with pytest.raises(InputError, match=name):
            Ising.from_any(model)


def test_from_networkx_reads_attributes_and_their_defaults():
    graph = nx.Graph()
    graph.add_node("a", h=2, bias=5)
    graph.add_edge("a", "b")
    graph.add_edge("b", "c", weight=-3, coupling=7)
    model = Ising.from_networkx(graph)
    assert model.labels == ("a", "b", "c")
    assert model.h.tolist() == [2, 0, 0]
    assert model.J.tolist() == [[0, 1, 0], [0, 0, -3], [0, 0, 0]]
    named = Ising.from_networkx(graph, weight="coupling", field="bias", convention="ising")
    assert named.h.tolist() == [-5, 0, 0]
    assert named.J.tolist() == [[0, -1, 0], [0, 0, -7], [0, 0, 0]]


def test_from_networkx_sums_parallel_edges_and_reads_loops_as_fields():
    graph = nx.MultiDiGraph()
    graph.add_nodes_from("ab")
    graph.add_edge("a", "b", weight=1)
    graph.add_edge("b", "a", weight=2)
    graph.add_edge("a", "a", weight=5)
    model = Ising.from_networkx(graph)
    assert model.J[0, 1] == 3
    assert model.h.tolist() == [5, 0]


@pytest.mark.parametrize(
    "build",
    [
        lambda convention: Ising([1, 2], {(0, 1): 4}, 8, convention=convention),
        lambda convention: Ising.from_dict({(0, 1): 4}, {0: 1, 1: 2}, 8, convention=convention),
        lambda convention: Ising.from_matrix([[1, 4], [0, 2]], 8, convention=convention),
        lambda convention: Ising.from_entries(
            2, [0, 0, 1], [0, 1, 1], [1, 4, 2], 8, convention=convention
        ),
    ],
)
def test_convention(build):
    assert build("dimod") == Ising([1, 2], {(0, 1): 4}, 8)
    assert build("ising") == Ising([-1, -2], {(0, 1): -4}, 8)
    with pytest.raises(InputError, match="physics"):
        build("physics")


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sparse_matrices_of_every_layout(layout, kind):
    J = np.array([[0.0, 2, 0], [0, 0, -1], [0, 0, 0]])
    sparse = getattr(scipy.sparse, f"{layout}_{kind}")(J)
    assert Ising.from_any(sparse) == Ising.from_any(J)
    assert Ising.from_any(([1, 0, 0], sparse)) == Ising([1, 0, 0], J)
    assert Ising.from_qubo(sparse) == Ising.from_qubo(J)


def test_sparse_matrices_sum_their_repeated_entries():
    twice = scipy.sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 1])), shape=(2, 2))
    assert Ising.from_matrix(twice) == Ising([0, 5], {(0, 1): 3})


def test_from_any_takes_every_form():
    wanted = Ising([1, 2], {(0, 1): 4})
    for form in (
        wanted,
        ([1, 2], {(0, 1): 4}),
        ([1, 2], [[0, 4], [0, 0]], 0.0),
        {(0, 0): 1, (1, 1): 2, (0, 1): 4},
        ({0: 1, 1: 2}, {(0, 1): 4}),
        ({0: 1, 1: 2}, {(0, 1): 4}, 0.0),
        [[1, 4], [0, 2]],
        np.array([[1, 4], [0, 2]]),
        scipy.sparse.csr_array([[1, 4], [0, 2]]),
    ):
        assert Ising.from_any(form) == wanted


def test_labels_name_the_spins():
    model = Ising([1, 2], {}, labels=["up", "down"])
    assert model.labels == ("up", "down")
    assert model != Ising([1, 2], {})
    assert model.digest == Ising([1, 2], {}).digest


def test_equality_and_hash():
    assert Ising([1], {}) == Ising([1.0], [[0]])
    assert hash(Ising([1], {})) == hash(Ising([1.0], [[0]]))
    assert Ising([1], {}) != Ising([1], {}, 1)
    assert Ising([1], {}) != Ising([1, 0], {})
    assert Ising([1], {}) != "ising"
    assert len({Ising([1], {}), Ising([1.0], {}), Ising([2], {})}) == 2


def test_a_model_cannot_be_changed(triangle):
    digest = triangle.digest
    for name in ("h", "J", "offset", "labels", "exact", "anything"):
        with pytest.raises(AttributeError):
            setattr(triangle, name, 0)
    triangle.h[0] = 99
    triangle.J[0, 1] = 99
    triangle.couplings[2][0] = 99
    with pytest.raises(ValueError, match="read-only"):
        triangle.couplings[0][0] = 2
    assert triangle.h[0] == 0.25
    assert triangle.energy([1, 1, 1]) == 1.75
    assert triangle.digest == digest


def test_the_input_is_not_changed():
    h, J = np.array([1.0, 2.0]), np.array([[0.0, 1.0], [3.0, 0.0]])
    Ising(h, J)
    assert h.tolist() == [1.0, 2.0]
    assert J.tolist() == [[0.0, 1.0], [3.0, 0.0]]


def test_repr_tells_size_and_kind(triangle):
    assert "3 spins" in repr(triangle)
    assert "real" in repr(triangle)
    assert "integer" in repr(Ising([1], {}))


@pytest.mark.parametrize(
    ("bits", "limbs"), [(61, 1), (62, 2), (125, 2), (126, 4), (253, 4), (254, 36), (1000, 36)]
)
def test_words_widen_with_the_range(bits, limbs):
    model = Ising.from_dict({}, {0: 2.0 ** (bits - 1), 1: 1.0})
    assert model.exact.limbs == limbs
    assert model.energy([1, -1]) == float(2 ** (bits - 1) - 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Ising([np.nan], {}),
        lambda: Ising([np.inf], {}),
        lambda: Ising([0, 0], {(0, 1): np.nan}),
        lambda: Ising([0, 0], [[0, -np.inf], [0, 0]]),
        lambda: Ising([0], {}, np.nan),
        lambda: Ising([0], {}, "1"),
        lambda: Ising([0], {}, None),
        lambda: Ising([0], {}, 1j),
        lambda: Ising([0], {}, [1.0]),
        lambda: Ising([1j], {}),
        lambda: Ising(["1"], {}),
        lambda: Ising(None, {}),
        lambda: Ising([[1.0]], {}),
        lambda: Ising([[1.0], [1.0, 2.0]], {}),
        lambda: Ising([0, 0], [[0, 1]]),
        lambda: Ising([0, 0], [0, 1]),
        lambda: Ising([0, 0], np.zeros((3, 3))),
        lambda: Ising([0, 0], np.zeros((2, 2, 1))),
        lambda: Ising([0, 0], scipy.sparse.csr_array((3, 3))),
        lambda: Ising([0, 0], scipy.sparse.coo_array(np.ones(2))),
        lambda: Ising([0, 0], None),
        lambda: Ising([0, 0], [[1, 0], [0, 0]]),
        lambda: Ising([0, 0], {(1, 1): 1.0}),
        lambda: Ising([0, 0], {(0, 2): 1.0}),
        lambda: Ising([0, 0], {(-1, 0): 1.0}),
        lambda: Ising([0, 0], {(2**70, 0): 1.0}),
        lambda: Ising([0, 0], {("a", 0): 1.0}),
        lambda: Ising([0, 0], {(0.0, 1.0): 1.0}),
        lambda: Ising([0, 0], {((0, 1), 0): 1.0, (0, 1): 1.0}),
        lambda: Ising([0, 0], {(0, 1, 1): 1.0}),
        lambda: Ising([0, 0], {5: 1.0}),
        lambda: Ising([0, 0], {(0, 1): "1"}),
        lambda: Ising([0, 0], {(0, 1): Fraction(1, 3)}),
        lambda: Ising([2**1024], {}),
        lambda: Ising([2**53 + 1, None], {}),
        lambda: Ising([1.7e308, 1.7e308], {}),
        lambda: Ising([0, 0], {}, labels=["a"]),
        lambda: Ising([0, 0], {}, labels=["a", "a"]),
        lambda: Ising([0, 0], {}, labels=[[0], [1]]),
        lambda: Ising([0, 0], {}, labels=2),
    ],
)
def test_constructor_refuses(build):
    with pytest.raises(InputError):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Ising.from_dict({"ab": 1.0}),
        lambda: Ising.from_dict({(0, 1): 2**1024}),
        lambda: Ising.from_dict({(0, 1): Fraction(1, 3)}),
        lambda: Ising.from_dict({(0, 1): None}),
        lambda: Ising.from_dict([(0, 1)]),
        lambda: Ising.from_dict({}, [1.0]),
        lambda: Ising.from_dict({}, {0: np.inf}),
        lambda: Ising.from_matrix(np.zeros((2, 3))),
        lambda: Ising.from_matrix(np.zeros(3)),
        lambda: Ising.from_matrix(3.0),
        lambda: Ising.from_matrix([[np.nan]]),
        lambda: Ising.from_matrix(np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]])),
        lambda: Ising.from_entries(-1, [], [], []),
        lambda: Ising.from_entries(2.5, [0], [1], [1.0]),
        lambda: Ising.from_entries(2, [0], [2], [1.0]),
        lambda: Ising.from_entries(2, [-1], [1], [1.0]),
        lambda: Ising.from_entries(2, [0.0], [1.0], [1.0]),
        lambda: Ising.from_entries(2, [0, 1], [1], [1.0]),
        lambda: Ising.from_entries(2, [0], [1], []),
        lambda: Ising.from_entries(2, [[0]], [[1]], [[1.0]]),
        lambda: Ising.from_qubo(np.zeros((2, 3))),
        lambda: Ising.from_qubo({(0, 1): np.nan}),
        lambda: Ising.from_qubo({(0, 0): 1.7e308}),
        lambda: Ising.from_networkx(nx.path_graph(2), convention=1),
        lambda: Ising.from_networkx(nx.Graph([("a", "b", {"weight": "heavy"})])),
        lambda: Ising.from_any(3),
        lambda: Ising.from_any(None),
        lambda: Ising.from_any(([1], [[0]], 0.0, "more")),
        lambda: Ising.from_any([[0, 1]]),
    ],
)
def test_other_constructors_refuse(build):
    with pytest.raises(InputError):
        build()


def test_a_qubo_and_its_offset_are_told_from_fields_and_couplings():
    bqm = dimod.BinaryQuadraticModel({"a": 1.5}, {("a", "b"): -1}, 0.25, "BINARY")
    with pytest.raises(InputError, match="from_qubo"):
        Ising.from_any(bqm.to_qubo())


@pytest.mark.parametrize(
    "states", [[1, 1], [1, 1, 1, 1], 1, [1, 0, 1], [1, 1, 2], [1, np.nan, 1], [[1], [1, 1]], "+++"]
)
def test_energy_refuses(triangle, states):
    with pytest.raises(InputError):
        triangle.energy(states)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3, 3),
        (0.1, Fraction(0.1)),
        (True, 1),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(2**53), 2**53),
        (np.longdouble(0.25), Fraction(1, 4)),
        (np.array(2.5), Fraction(5, 2)),
        (Fraction(-3, 8), Fraction(-3, 8)),
        (Decimal("0.5"), Fraction(1, 2)),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (10**300 + 1, 10**300 + 1),
        (Fraction(2**60 + 1, 2**1074), Fraction(2**60 + 1, 2**1074)),
        (-0.0, 0),
    ],
)
def test_dyadic_takes_real_numbers(value, wanted):
    assert dyadic(value, "x") == wanted


@pytest.mark.parametrize(
    "value",
    [
        "1",
        b"1",
        None,
        1j,
        np.array([1.0]),
        float("nan"),
        np.inf,
        10**400,
        Fraction(1, 3),
        Fraction(1, 2**5000),
    ],
)
def test_dyadic_refuses(value):
    with pytest.raises(InputError, match="weight"):
        dyadic(value, "weight")


WIDE = 2**53 + 1


@pytest.mark.parametrize(
    "model",
    [
        Ising([WIDE, 0], {(0, 1): 3 * WIDE}),
        Ising([WIDE, 0], [[0, 3 * WIDE], [0, 0]]),
        Ising(np.array([WIDE, 0]), np.array([[0, 3 * WIDE], [0, 0]], dtype=object)),
        Ising([WIDE, 0.0], scipy.sparse.csr_array(np.array([[0, 3 * WIDE], [0, 0]]))),
        Ising.from_dict({(0, 1): np.int64(3 * WIDE)}, {0: WIDE}),
        Ising.from_matrix([[WIDE, WIDE], [2 * WIDE, 0]]),
        Ising.from_entries(2, [0, 0], [0, 1], [WIDE, 3 * WIDE]),
        Ising.from_entries(2, [0, 0], [0, 1], np.array([WIDE, 3 * WIDE], dtype=np.uint64)),
        Ising.from_networkx(nx.Graph([(0, 1, {"weight": 3 * WIDE})])),
    ],
)
def test_integers_beyond_float64_are_held(model):
    assert model.exact.couplings == (3 * WIDE,)
    assert model.exact.fields in {(WIDE, 0), (0, 0)}
    assert model.exact.exponent == 0


def test_qubos_of_integers_beyond_float64_are_held():
    exact = Ising.from_qubo({(0, 1): 4 * WIDE, (0, 0): -2 * WIDE}).exact
    assert (exact.fields, exact.couplings, exact.offset) == ((0, WIDE), (WIDE,), 0)


def test_terms_without_value_have_exponent_zero():
    terms = ExactTerms.collect(2, [], [], Fraction(0))
    assert (terms.fields, terms.couplings, terms.offset, terms.exponent) == ((0, 0), (), 0, 0)


def test_binary_terms_that_overflow_are_refused():
    model = Ising([0, 0], {(0, 1): 8e307})
    with pytest.raises(InputError):
        model.exact.to_binary()
