"""NumPy files: archives of h, row, col, value, offset, and everything exact; or one matrix.

Arrays ``h`` (N,), ``value`` (couplings,) and ``offset`` () are float64, ``row < col`` (couplings,)
int64. A model with coefficients that are not float64 values, as conversions from QUBO can make, has
in ``h``, ``value`` and ``offset`` integers as decimal text (dtype S), in units of ``2**exponent``,
and ``exponent`` () as int64. ``labels`` () is JSON text, there where the spins have names other
than 0 to N-1.

A file ``.npy`` is read as the matrix that :meth:`hardscape.ising.Ising.from_matrix` takes: couplings, fields
on the diagonal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import archives
from hardscape.files import Source
from hardscape.ising.exact import MIN_EXPONENT, ExactTerms, dyadic
from hardscape.ising.formats.dimod.labels import from_json, to_json
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.intake import Convention
from hardscape.ising.model import Ising

NAME = "npz"
SUFFIXES = (".npz",)
DESCRIPTION = "hardscape's own archive, exact for every model, labels included; or a matrix in .npy"
READS = (".npy",)
MAGIC = (archives.MAGIC_NPZ, archives.MAGIC_NPY)
_REQUIRED = {"h", "row", "col", "value", "offset"}
_OPTIONAL = {"exponent", "labels"}
_INTEGER = re.compile(r"-?[0-9]{1,1000}")


def read(source: Source, *, convention: Convention = "dimod") -> Ising:
    """Read an archive, or a matrix of that convention; nothing in it is unpickled."""
    if source.data[:6] == archives.MAGIC_NPY:
        return _of_matrix(source, convention)
    if convention != "dimod":
        raise source.error(None, "is an archive, whose convention is 'dimod'")
    with archives.reading(source, "archive of a model"):
        arrays = archives.arrays(source, "fiSU")
        if not _REQUIRED <= arrays.keys() <= _REQUIRED | _OPTIONAL:
            raise ValueError(f"its arrays are {', '.join(arrays):.200}")
        return _model(arrays)


def _of_matrix(source: Source, convention: Convention) -> Ising:
    with archives.reading(source, "square matrix of couplings"):
        matrix = archives.array(source.data, "biuf")
        if len(matrix) > MAX_SPINS:
            raise ValueError(f"{len(matrix)} spins; at most {MAX_SPINS} are read")
        return Ising.from_matrix(matrix, convention=convention)


def _model(arrays: dict[str, NDArray[Any]]) -> Ising:
    row, col = (_checked(arrays, name, "i", 1).tolist() for name in ("row", "col"))
    exponent = int(_checked(arrays, "exponent", "i", 0)) if "exponent" in arrays else None
    h = _coefficients(arrays, "h", 1, exponent)
    value = _coefficients(arrays, "value", 1, exponent)
    offset = _coefficients(arrays, "offset", 0, exponent)[0]
    n = len(h)
    if n > MAX_SPINS:
        raise ValueError(f"{n} spins; at most {MAX_SPINS} are read")
    if not len(row) == len(col) == len(value):
        raise ValueError(f"row, col and value have {len(row)}, {len(col)} and {len(value)} members")
    for i, j in zip(row, col, strict=True):
        if not 0 <= i < j < n:
            raise ValueError(
                f"row and col hold the pair ({i}, {j}); 0 <= row < col < {n} is needed"
            )
    terms = ExactTerms.collect(n, enumerate(h), zip(row, col, value, strict=True), offset)
    return Ising.from_exact(terms, _labels(arrays))


def _checked(arrays: dict[str, NDArray[Any]], name: str, kind: str, ndim: int) -> NDArray[Any]:
    array = arrays[name]
    if array.dtype.kind != kind or array.ndim != ndim:
        raise ValueError(
            f"{name} has dtype {array.dtype} and {array.ndim} axes, not {kind}, {ndim}"
        )
    return array


def _coefficients(
    arrays: dict[str, NDArray[Any]], name: str, ndim: int, exponent: int | None
) -> list[Fraction]:
    if exponent is None:
        numbers = np.atleast_1d(_checked(arrays, name, "f", ndim)).tolist()
        return [dyadic(x, f"{name}[{k}]") for k, x in enumerate(numbers)]
    if not MIN_EXPONENT <= exponent <= 1023:
        raise ValueError(f"exponent is {exponent}; {MIN_EXPONENT} to 1023 are accepted")
    texts = [x.decode("ascii") for x in np.atleast_1d(_checked(arrays, name, "S", ndim)).tolist()]
    for k, text in enumerate(texts):
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"{name}[{k}] is {text!r:.40}, which is no integer")
    unit = Fraction(2) ** exponent
    return [int(text) * unit for text in texts]


def _labels(arrays: dict[str, NDArray[Any]]) -> list[Hashable] | None:
    if "labels" not in arrays:
        return None
    labels = json.loads(str(_checked(arrays, "labels", "U", 0)[()]))
    if not isinstance(labels, list):
        raise ValueError("labels are no JSON list")
    return [from_json(label) for label in labels]


def write(model: Ising) -> bytes:
    """Write any model whose labels are numbers, strings and tuples of them."""
    terms = model.exact
    exact = [*terms.fields, *terms.couplings, terms.offset]
    unit = Fraction(2) ** terms.exponent
    arrays: dict[str, Any] = {"row": terms.row, "col": terms.col}
    if all(Fraction(float(x * unit)) == x * unit for x in exact):
        arrays |= {"h": model.h, "value": model.couplings[2], "offset": np.float64(model.offset)}
    else:
        arrays |= {
            "h": np.array([str(x) for x in terms.fields], dtype=np.bytes_),
            "value": np.array([str(x) for x in terms.couplings], dtype=np.bytes_),
            "offset": np.array(str(terms.offset), dtype=np.bytes_),
            "exponent": np.int64(terms.exponent),
        }
    if model.labels != tuple(range(model.num_spins)):
        arrays["labels"] = np.array(json.dumps([to_json(label) for label in model.labels]))
    return archives.packed(**arrays)
