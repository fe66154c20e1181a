"""Models of QUBOTools and QUBOLib in HDF5; reading needs h5py: ``pip install 'hardscape[hdf5]'``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hardscape.errors import FormatError, needed
from hardscape.files import Source
from hardscape.ising.exact import ExactTerms, dyadic
from hardscape.ising.formats.text import MAX_SPINS
from hardscape.ising.model import Ising

NAME = "qubin"
SUFFIXES = ()
READS = (".qb", ".h5", ".hdf5")
MAGIC = b"\x89HDF\r\n\x1a\n"
DESCRIPTION = "a model of QUBOTools in HDF5 (needs h5py)"
MEMORY = 25


def read(source: Source) -> Ising:
    """Read scale (sum of terms + offset), minus it where it is to be maximised; variables are the labels."""
    h5py = needed("h5py", "h5py", "hdf5", "an HDF5 file of a QUBO")
    try:
        with h5py.File(source.file(), "r") as file:
            return _model(source, _held(source, file))
    except FormatError:
        raise
    except Exception as error:
        # h5py passes on what the C library says, as OSError, RuntimeError, KeyError and more.
        raise source.error(None, f"is no HDF5 file of a QUBO: {error}") from None


def _held(source: Source, file: Any) -> Any:
    """The group of the one model, in an archive of QUBOLib, too."""
    if "model" in file:
        return file["model"]
    instances = list(file.get("instances", ()))
    if len(instances) != 1:
        raise source.error(
            None,
            f"holds {len(instances)} models; a file of one is read (QUBOTools.write_model(path, model))",
        )
    return file["instances"][instances[0]]["model"]


def _model(source: Source, group: Any) -> Ising:
    form = group["form"]
    n = int(form["dimension"][()])
    if not 0 <= n <= MAX_SPINS:
        raise source.error(None, f"dimension is {n}; 0 to {MAX_SPINS} are read")
    scale, offset = (dyadic(float(form[x][()]), x) for x in ("scale", "offset"))
    words = [np.asarray(form[x][()]).item() for x in ("sense", "domain")]
    sense, domain = (x.decode() if isinstance(x, bytes) else str(x) for x in words)
    if sense.lower() not in ("min", "max") or domain.lower() not in ("bool", "spin"):
        raise source.error(None, f"sense {sense!r} and domain {domain!r}; min or max, bool or spin")
    if sense.lower() == "max":
        scale = -scale
    linear, quadratic = form["linear"], form["quadratic"]
    fields = list(zip(_spins(linear["i"], n), _values(linear["v"], scale), strict=True))
    ends = (_spins(quadratic[x], n) for x in "ij")
    pairs = list(zip(*ends, _values(quadratic["v"], scale), strict=True))
    if any(i == j for i, j, _ in pairs):
        raise source.error(None, "a quadratic term joins a variable to itself")
    terms = ExactTerms.collect(n, fields, pairs, scale * offset)
    labels = [int(x) for x in group["variables"][...].tolist()]
    return Ising.from_exact(terms.from_binary() if domain.lower() == "bool" else terms, labels)


def _spins(dataset: Any, n: int) -> list[int]:
    """Indices from 0 of those that count from 1."""
    indices: list[int] = (dataset[...] - 1).tolist()
    if not all(0 <= i < n for i in indices):
        raise ValueError(f"an index is out of range; the last of {n} variables is {n}")
    return indices


def _values(dataset: Any, scale: Fraction) -> list[Fraction]:
    return [scale * dyadic(x, "coefficient") for x in dataset[...].tolist()]
