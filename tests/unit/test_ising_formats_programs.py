"""Ising files of other programs: energies as those define them."""

import itertools
import json

import numpy as np
import pytest

from hardscape.errors import FormatError, InputError
from hardscape.ising import formats
from hardscape.ising.model import Ising
from helpers.instances import energies
from helpers.readers import readers


def test_hercules_halves_the_matrix(file):
    model = formats.read(file("a.qubo", "3\n0 0 4\n0 1 -6\n2 1 1\n2 0.5\n"))
    # 2 x0 - 3 x0 x1 + x1 x2 / 2 + x2 / 2
    assert energies(model) == [0, 0.5, 0, 1, 2, 2.5, -1, 0]
    formats.write(model, path := file("b.hercules", ""))
    assert formats.read(path) == model
    with pytest.raises(InputError):
        formats.write(Ising([], {}, 1.0), path)
    with pytest.raises(FormatError):
        formats.read(file("c.qubo", "3\n0 3 1\n"))


def test_mqlib_maximises_what_biqmac_minimises(file):
    # MQLib's own example, whose best value is 6, of 1 0 1
    text = "# Input matrix Q:\n# [ 5 -6  0\n3 5\n1 1 5\n2 2 3\n3 3 1\n1 2 -6\n2 3 -1\n"
    model = formats.read(file("sample.qubo", text))
    assert energies(model) == [0, -1, -3, -2, -5, -6, 4, 5]
    assert energies(formats.read(file("sample.txt", text), format="mqlib")) == energies(model)
    other = formats.read(file("sample.txt", text))
    assert energies(other) == [-x for x in energies(model)]


def test_the_or_library_maximises_and_has_several_problems_in_a_file(file):
    # 5 x1 - 6 x1 x2 - 2 x3, and 4 x1 + 2 x1 x2, both to be maximised
    text = "2\n3 3\n1 1 5\n2 1 -3\n3 3 -2\n2 2\n1 1 4\n1 2 1\n"
    path = file("bqp.txt", text)
    assert formats.detect(path) == "orlib"
    first = formats.read(path, problem=1)
    assert energies(first) == [0, 2, 0, 2, -5, -3, 1, 3]
    assert energies(formats.read(path, problem=2)) == [0, 0, -4, -6]
    alone = file("one.txt", "1\n3 3\n1 1 5\n1 2 -3\n3 3 -2\n")
    assert formats.read(alone) == formats.read(alone, problem=1) == first
    for wrong in (None, 0, 3):
        with pytest.raises(InputError):
            formats.read(path, problem=wrong)
    with pytest.raises(InputError):
        formats.read(file("a.sparse", "1 1\n1 1 3\n"), problem=1)
    for cut in (text[:-6], text.replace("2 1 -3", "2 4 -3"), "2\n1 1\n1 1 3\n"):
        with pytest.raises(FormatError):
            formats.read(file("b.txt", cut), format="orlib", problem=2 if "4 -3" not in cut else 1)


def test_bqpjson_scales_what_it_shifts(file):
    document = {
        "version": "1.0.0",
        "id": 2,
        "metadata": {},
        "scale": 2.0,
        "offset": 0.5,
        "variable_domain": "boolean",
        "variable_ids": [1, 3],
        "linear_terms": [{"id": 3, "coeff": -1.0}],
        "quadratic_terms": [{"id_head": 1, "id_tail": 3, "coeff": 4.0}],
    }
    model = formats.read(file("a.json", json.dumps(document)))
    assert model.labels == (1, 3)
    assert energies(model) == [1, -1, 1, 7]
    formats.write(model, path := file("b.bqpjson", ""))
    assert energies(formats.read(path)) == [1, -1, 1, 7]
    for key, value in (("variable_ids", [1]), ("scale", "2"), ("variable_domain", "real")):
        with pytest.raises(FormatError):
            formats.read(file("c.json", json.dumps(document | {key: value})))


def test_the_comments_of_qubo_files_scale_and_shift(file):
    text = "c scale : 2.0\nc offset : 0.5\np qubo 0 2 1 1\n0 0 -1\n0 1 4\n"
    assert energies(formats.read(file("a.qubo", text))) == [1, 1, -1, 7]
    with pytest.raises(FormatError):
        formats.read(file("b.qubo", "c scale : 1\n" + text))


def test_qubist_counts_sites_and_lines(file):
    model = formats.read(file("a.qh", "4 2\n1 1 0.5\n1 3 -1\n"))
    assert (model.num_spins, model.h[1], model.J[1, 3]) == (4, 0.5, -1)
    with pytest.raises(FormatError):
        formats.read(file("b.qh", "4 3\n1 1 0.5\n1 3 -1\n"))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        # -(2 x1 x1 - 1.5 x1 x2 + 2 x3 + 0.25)
        ("qplib", [-0.25, -2.25, -0.25, -2.25, -2.25, -4.25, -0.75, -2.75]),
        # 2 x + x y - z
        ("lp", [0, -1, 0, -1, 2, 1, 3, 2]),
        # 2 (x1 - 0.5 x3 - 2 x1 x2 + 1.5 x2 x3 + 0.5)
        ("qubin", [1, 0, 1, 3, 3, 2, -1, 1]),
    ],
)
def test_programs_that_are_qubos(file, name, values):
    path = file("a.bin", readers()[f"ising-{name}"].corpus[0])
    model = formats.read(path, format=name)
    order = sorted(range(3), key=lambda i: str(model.labels[i]))
    states = np.array(list(itertools.product((-1, 1), repeat=3)))
    assert model.energy(states[:, np.argsort(order)]).tolist() == values
    with pytest.raises(InputError):
        formats.write(model, path, format=name)


def test_programs_that_are_none(file):
    rule = b"Minimize\n obj: x\nSubject To\n c: x + y <= 1\nBinary\n x y\nEnd\n"
    whole = b"Minimize\n obj: x\nGeneral\n x\nEnd\n"
    mixed = readers()["ising-qplib"].corpus[0].replace(b"QBN", b"QMN")
    for name, content in (("a.lp", rule), ("b.lp", whole), ("c.qplib", mixed), ("d.lp", "nan\0")):
        with pytest.raises(FormatError, match=name):
            formats.read(file(name, content))
