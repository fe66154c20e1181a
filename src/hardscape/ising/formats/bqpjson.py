"""Binary quadratic programs as bqpjson and QUBOTools write them, version 1.0.0."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from hardscape.files import Source
from hardscape.ising.exact import ExactTerms
from hardscape.ising.formats.dimod.bqm_json import number, parsed
from hardscape.ising.formats.text import MAX_SPINS, exact_float, named_coefficients
from hardscape.ising.model import Ising

NAME = "bqpjson"
SUFFIXES = (".bqpjson",)
READS = (".json",)
DESCRIPTION = "a binary quadratic program of bqpjson, its ids as labels"
MEMORY = 25

_KEYS = ("variable_ids", "variable_domain", "scale", "offset", "linear_terms", "quadratic_terms")


def sniff(source: Source) -> bool:
    """Whether an object begins that names a domain of variables."""
    return source.raw[:4096].lstrip().startswith(b"{") and b'"variable_domain"' in source.data


def read(source: Source) -> Ising:
    """Read scale (sum of terms + offset), of spins or of variables 0 and 1; the ids are the labels."""
    return parsed(source, _model)


def _model(document: Any) -> Ising:
    if not isinstance(document, dict):
        raise ValueError("holds no JSON object")
    for key in _KEYS:
        if key not in document:
            raise ValueError(f"the key {key!r} is missing from the binary quadratic program")
    ids = document["variable_ids"]
    if not isinstance(ids, list) or not all(type(x) is int for x in ids):
        raise ValueError("variable_ids is not a list of integers")
    if len(ids) > MAX_SPINS:
        raise ValueError(f"{len(ids)} variables; at most {MAX_SPINS} are read")
    index = {x: i for i, x in enumerate(ids)}
    scale = number(document["scale"], "scale")
    linear, pairs = [], []
    for (i,), value in _terms(document, "linear_terms", ("id",), index):
        linear.append((i, scale * value))
    for (i, j), value in _terms(document, "quadratic_terms", ("id_head", "id_tail"), index):
        if i == j:
            raise ValueError(f"a quadratic term joins variable {ids[i]} to itself")
        pairs.append((i, j, scale * value))
    offset = scale * number(document["offset"], "offset")
    terms = ExactTerms.collect(len(ids), linear, pairs, offset)
    domain = document["variable_domain"]
    if domain not in ("spin", "boolean"):
        raise ValueError(f"variable_domain is {domain!r:.40}; 'spin' and 'boolean' are accepted")
    return Ising.from_exact(terms.from_binary() if domain == "boolean" else terms, ids)


def _terms(
    document: dict[str, Any], key: str, ends: tuple[str, ...], index: dict[int, int]
) -> list[tuple[tuple[int, ...], Fraction]]:
    """The indices and the coefficient of each term."""
    found = []
    if not isinstance(document[key], list):
        raise ValueError(f"{key} is not a list")
    for k, term in enumerate(document[key]):
        if not isinstance(term, dict) or not {*ends, "coeff"} <= term.keys():
            raise ValueError(f"{key}[{k}] has not the keys {', '.join(ends)} and coeff")
        for end in ends:
            if type(term[end]) is not int or term[end] not in index:
                raise ValueError(f"{key}[{k}] has {end} {term[end]!r:.40}, none of variable_ids")
        value = number(term["coeff"], f"{key}[{k}]")
        found.append((tuple(index[term[end]] for end in ends), value))
    return found


def write(model: Ising) -> bytes:
    """Write the terms that are not zero, of spins; variables are numbered from 0."""
    fields, couplings, offset = named_coefficients(model.exact)
    document = {
        "version": "1.0.0",
        "id": 0,
        "metadata": {},
        "variable_ids": list(range(model.num_spins)),
        "variable_domain": "spin",
        "scale": 1.0,
        "offset": exact_float(offset, "offset", NAME),
        "linear_terms": [
            {"id": i, "coeff": exact_float(x, name, NAME)} for i, _, x, name in fields if x
        ],
        "quadratic_terms": [
            {"id_head": j, "id_tail": i, "coeff": exact_float(x, name, NAME)}
            for i, j, x, name in couplings
        ],
    }
    return (json.dumps(document) + "\n").encode()
