"""dimod's serialized binary quadratic models in JSON, schema 3.0.0, read without dimod.

Schema 2.0.0 differs in its bytes alone, so its plain lists are read too.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from hardscape.files import Source
from hardscape.ising.exact import ExactTerms, dyadic
from hardscape.ising.formats.dimod.labels import from_json, to_json
from hardscape.ising.formats.text import MAX_SPINS, exact_float, named_coefficients
from hardscape.ising.model import Ising

NAME = "bqm-json"
SUFFIXES = (".json",)
DESCRIPTION = "dimod's binary quadratic model as JSON, labels included"
MEMORY = 25

_KEYS = (
    "type",
    "variable_labels",
    "variable_type",
    "offset",
    "linear_biases",
    "quadratic_biases",
    "quadratic_head",
    "quadratic_tail",
)
_BIAS_TYPES = ("float64", "float32")
_INDEX_TYPES = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")


def sniff(source: Source) -> bool:
    """Whether an object begins, and it is none of bqpjson's."""
    return source.raw[:4096].lstrip().startswith(b"{") and b'"variable_domain"' not in source.data


def read(source: Source) -> Ising:
    """Read a model of either variable type, labels included.

    With ``use_bytes`` the vectors are base64 text of little-endian arrays.
    """
    return parsed(source, lambda document: _model(_checked(document)))


def parsed(source: Source, model: Callable[[Any], Ising]) -> Ising:
    """What `model` makes of a JSON document; its ValueErrors, and those of the text, name the file."""
    try:
        return model(
            json.loads(
                source.data.decode(),
                parse_constant=_refused,
                parse_float=_finite,
                parse_int=_whole,
            )
        )
    except RecursionError:
        raise source.error(None, "is nested too deeply for a binary quadratic model") from None
    except json.JSONDecodeError as error:
        raise source.error(error.lineno, f"is no JSON: {error.msg}") from None
    except ValueError as error:  # InputError and UnicodeDecodeError among them
        raise source.error(None, str(error)) from None


def _checked(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("holds no JSON object; dimod's BQM.to_serializable() makes one")
    for key in _KEYS:
        if key not in document:
            raise ValueError(f"the key {key!r} is missing from the binary quadratic model")
    kind = document["type"]
    if not isinstance(kind, str) or not kind.endswith(("BinaryQuadraticModel", "BQM")):
        raise ValueError(f"type is {kind!r}; 'BinaryQuadraticModel' is accepted")
    return document


def _refused(constant: str) -> float:
    raise ValueError(f"holds {constant}; finite numbers are accepted")


def _whole(digits: str) -> int:
    return int(digits)  # from Python, which hears a signal here


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is too large for float64")
    return value


def _model(document: dict[str, Any]) -> Ising:
    labels = document["variable_labels"]
    if not isinstance(labels, list):
        raise ValueError("variable_labels is not a list")
    names: list[Hashable] = [from_json(label) for label in labels]
    n = len(names)
    if n > MAX_SPINS:
        raise ValueError(f"{n} variables; at most {MAX_SPINS} are read")
    linear = _biases(document, "linear_biases")
    quadratic = _biases(document, "quadratic_biases")
    head, tail = _indices(document, "quadratic_head", n), _indices(document, "quadratic_tail", n)
    if len(linear) != n:
        raise ValueError(f"{len(linear)} linear_biases for {n} variable_labels")
    if not len(head) == len(tail) == len(quadratic):
        raise ValueError(
            f"quadratic_head, quadratic_tail and quadratic_biases have {len(head)}, {len(tail)} "
            f"and {len(quadratic)} members; they must have as many"
        )
    pairs = list(zip(head, tail, quadratic, strict=True))
    for i, j, _ in pairs:
        if i == j:
            raise ValueError(f"an interaction joins variable {i} to itself")
    offset = number(document["offset"], "offset")
    terms = ExactTerms.collect(n, enumerate(linear), pairs, offset)
    kind = document["variable_type"]
    if kind not in ("SPIN", "BINARY"):
        raise ValueError(f"variable_type is {kind!r}; 'SPIN' and 'BINARY' are accepted")
    return Ising.from_exact(terms.from_binary() if kind == "BINARY" else terms, names)


def number(value: Any, name: str) -> Fraction:
    """A number of a document, exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} is {value!r:.40}; a number is accepted")
    return dyadic(value, name)


def _biases(document: dict[str, Any], key: str) -> list[Fraction]:
    values = _vector(document, key, "bias_type", _BIAS_TYPES)
    return [number(value, f"{key}[{k}]") for k, value in enumerate(values)]


def _indices(document: dict[str, Any], key: str, n: int) -> list[int]:
    values = _vector(document, key, "index_type", _INDEX_TYPES)
    for k, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < n:
            raise ValueError(f"{key}[{k}] is {value!r:.40}; an integer from 0 to {n - 1} is needed")
    return values


def _vector(document: dict[str, Any], key: str, type_key: str, types: tuple[str, ...]) -> list[Any]:
    vector = document[key]
    if not document.get("use_bytes", False):
        if not isinstance(vector, list):
            raise ValueError(f"{key} is not a list")
        return vector
    kind = document.get(type_key)
    if kind not in types:
        raise ValueError(f"{type_key} is {kind!r:.40}; {', '.join(types)} are accepted")
    if not isinstance(vector, str):
        raise ValueError(f"use_bytes is set, and {key} is not base64 text")
    raw = base64.b64decode(vector, validate=True)
    values: list[Any] = np.frombuffer(raw, dtype=np.dtype(kind).newbyteorder("<")).tolist()
    return values


def write(model: Ising) -> bytes:
    """Write a document that ``dimod.BQM.from_serializable(json.load(file))`` takes."""
    fields, couplings, offset = named_coefficients(model.exact)
    document = {
        "type": "BinaryQuadraticModel",
        "version": {"bqm_schema": "3.0.0"},
        "use_bytes": False,
        "index_type": "int32",
        "bias_type": "float64",
        "num_variables": model.num_spins,
        "num_interactions": len(couplings),
        "variable_labels": [to_json(label) for label in model.labels],
        "variable_type": "SPIN",
        "offset": exact_float(offset, "offset", "bqm-json"),
        "info": {},
        "linear_biases": [exact_float(x, name, "bqm-json") for _, _, x, name in fields],
        "quadratic_biases": [exact_float(x, name, "bqm-json") for _, _, x, name in couplings],
        "quadratic_head": [i for i, _, _, _ in couplings],
        "quadratic_tail": [j for _, j, _, _ in couplings],
    }
    return (json.dumps(document) + "\n").encode()
