"""Every reader of files with files that it takes, made by our own generators: what fuzzers begin from."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import dimod
import h5py
import numpy as np
import scipy.io
import scipy.sparse

from hardscape.errors import BudgetError, CheckpointError, FormatError, HardscapeError
from hardscape.gauge import GaugeField
from hardscape.ising import Ising
from hardscape.maxsat import Formula
from hardscape.maxsat.formats import FormatWarning
from hardscape.xorsat import XorSystem, random_regular
from helpers.running import on_one_thread
from helpers.works import HarmonicSum

#: What text formats are made of, and what upsets their readers.
TOKENS = (
    *b"- + . e 0 1 2 9 # % c p h x j / ( ) 1e999 -0 nan inf 1_0 0x1 9007199254740993".split(),
    *b'999999999999999999 hardscape = num_spins " [ ] { } , : null true NaN Infinity'.split(),
    *(b" ", b"\n", b"\t", b"\r\n", b"\xc2\xa0", b"\xef\xbb\xbf", b"\0", b"\xff", b"\n1 2 3\n"),
)
FAMILIES = ("gauge", "ising", "maxsat", "permanents", "xorsat")
LEDGER_WORK = HarmonicSum(units=12, count=3)


@dataclass(frozen=True)
class Reader:
    """A reader, files that it takes, and the error that is its way to refuse others."""

    corpus: tuple[bytes, ...]
    read: Callable[[Path], object]
    refusal: tuple[type[HardscapeError], ...] = (FormatError, BudgetError)

    def takes(self, data: bytes, path: Path) -> bool:
        """Whether the reader takes these bytes; any error but its own goes through."""
        path.write_bytes(data)
        refusal = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", FormatWarning)  # a header that counts wrongly
            try:
                self.read(path)
            except self.refusal as error:
                refusal = error
        assert refusal is None or str(path) in str(refusal)
        return refusal is None


@cache
def readers() -> Mapping[str, Reader]:
    """The readers by name: a format of a family, what tells its formats, compressions, the ledger."""
    found = {
        f"{family}-{name}": Reader(_corpus(family, module), partial(_read, family, name))
        for family in FAMILIES
        for name, module in import_module(f"hardscape.{family}.formats").FORMATS.items()
    }
    for family in FAMILIES:
        files = [x for name in found if name.startswith(family) for x in found[name].corpus]
        found[family] = Reader(tuple(files), partial(_read, family, None))
    text = found["ising-coo"].corpus[0]
    for name, pack in (("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)):
        found[name] = Reader((pack(text),), partial(_read, "ising", "coo"))
    found["ledger"] = Reader((_ledger(),), _resume, (CheckpointError,))
    return found


#: What files of links do not say themselves.
_SAID: Mapping[str, dict[str, Any]] = {
    "bridge": {"shape": (2, 2, 2, 2)},
    "raw": {"shape": (2, 2, 2, 2), "layout": "t z y x mu a b", "skip": 0},
}


def _read(family: str, name: str | None, path: Path) -> object:
    formats = import_module(f"hardscape.{family}.formats")
    if family == "gauge":
        # A wrong checksum is no damaged file to it.
        return formats.inspect(path, format=name, **_SAID.get(name or "", {}))
    return formats.read(path, format=name)


def _resume(path: Path) -> object:
    for aside in path.parent.glob(f"{path.name}-*"):  # SQLite's, of a ledger that was here before
        aside.unlink()
    return on_one_thread(LEDGER_WORK, checkpoint=path)


def _corpus(family: str, module: Any) -> tuple[bytes, ...]:
    if family == "permanents":
        return _MATRICES[module.NAME]()
    if not hasattr(module, "write"):
        return _READ_ONLY[module.NAME]()
    written = [module.write(problem) for problem in _PROBLEMS[family](module.NAME)]
    return tuple(x if isinstance(x, bytes) else b"".join(map(bytes, x)) for x in written)


def _models(format: str) -> list[Ising]:
    random = np.random.default_rng(1)
    couplings = np.triu(random.integers(-2, 3, (5, 5)), 1)
    plain = Ising(np.zeros(5), couplings, offset=-couplings.sum())
    if format == "rudy":
        return [plain]
    third = Ising.from_qubo({(0, 1): 0.1, (0, 0): 3.0, (1, 2): -1e-300})
    named = Ising([1, 0.5], {(0, 1): -1}, labels=["a", ("b", 7)])
    return [plain, *({"npz": [third, named], "bqm-json": [named]}.get(format, []))]


def _systems(format: str) -> list[XorSystem]:
    system = random_regular(6, seed=1)
    return [system, XorSystem.from_clauses([[0, 1], [0, 1, 2, 3]], [1, 0])][: 1 + (format != "qh")]


def _formulas(format: str) -> list[Formula]:
    signs = np.random.default_rng(1).choice([-1, 1], (6, 3))
    soft = Formula.from_clauses((signs * [1, 2, 3]).tolist())
    firm = Formula.from_clauses([[1, -2], [3]], [2**62, 4], hard=[[1, 2, -3]])
    spared = replace(Formula.from_clauses([[1], [-2]], [3, 4], hard=[[1, 2]]), offset=-3)
    return {"cnf": [soft], "opb": [soft, firm, spared]}.get(format, [soft, firm])


def _fields(format: str) -> list[GaugeField]:
    single = np.complex64 if format == "milc" else np.complex128
    colours = (3,) if format == "bmw" else (2, 3)
    return [GaugeField.random((2, 2, 2, 2), nc, seed=1, dtype=single) for nc in colours]


_PROBLEMS: Mapping[str, Callable[[str], list[Any]]] = {
    "gauge": _fields,
    "ising": _models,
    "maxsat": _formulas,
    "xorsat": _systems,
}


def _saved(save: Callable[..., None]) -> tuple[bytes, ...]:
    found = []
    for dtype in (np.float64, np.complex64, np.int8):
        save(file := io.BytesIO(), np.arange(6, dtype=dtype).reshape(2, 3))
        found.append(file.getvalue())
    return tuple(found)


def _sparse() -> tuple[bytes, ...]:
    found = []
    for kind in ("csr", "csc", "coo"):
        matrix = scipy.sparse.coo_array(np.arange(6.0).reshape(2, 3)).asformat(kind)
        scipy.sparse.save_npz(file := io.BytesIO(), matrix, compressed=False)
        found.append(file.getvalue())
    return tuple(found)


def _qubin() -> tuple[bytes, ...]:
    with h5py.File(file := io.BytesIO(), "w") as held:
        form = held.create_group("model/form")
        held["model/variables"] = [2, 3, 5]
        held["model/metadata"] = "{}"
        form["dimension"], form["scale"], form["offset"] = 3, 2.0, 0.5
        form["sense"], form["domain"] = "min", "bool"
        form["linear/i"], form["linear/v"] = [1, 3], [1.0, -0.5]
        form["quadratic/i"], form["quadratic/j"], form["quadratic/v"] = [1, 2], [2, 3], [-2.0, 1.5]
    return (file.getvalue(),)


_QUADRATIC = b"2 # quadratic terms\n1 1 4.0\n2 1 -1.5\n"
_PROGRAM = (
    b"QPLIB_9999 # name\nQBN # problem type\nmaximize # sense\n3 # variables\n"
    + _QUADRATIC
    + b"""\
0.0 # default linear coefficient
1 # others
3 2.0
0.25 # constant
1.0E+30 # infinity
0.0
0
0.0
0
0
"""
)


def mat_file(**variables: Any) -> bytes:
    """What SciPy writes for MATLAB."""
    scipy.io.savemat(file := io.BytesIO(), variables)
    return file.getvalue()


def _mats(*more: Any) -> tuple[bytes, ...]:
    matrices = (np.array([[0.5, -2], [3, 1]]), np.eye(3, dtype=np.int8), scipy.sparse.eye(4), *more)
    return tuple(mat_file(a=matrix, n=2, name="x") for matrix in matrices)


def bqm_file(bqm: dimod.BinaryQuadraticModel, **how: Any) -> bytes:
    """What dimod writes of a model."""
    with bqm.to_file(**how) as file:
        return bytes(file.read())


def _bqm() -> tuple[bytes, ...]:
    named = dimod.BinaryQuadraticModel({"a": 1.5, "b": 2}, {("a", "b"): -1}, 0.25, "SPIN")
    ring = dimod.BinaryQuadraticModel({}, {(0, 1): 1, (1, 2): -2, (0, 2): 3}, 0, "BINARY")
    return (*(bqm_file(named, version=x) for x in (1, 2)), bqm_file(ring))


#: Formats of Ising models that are not written.
_READ_ONLY: Mapping[str, Callable[[], tuple[bytes, ...]]] = {
    "bqm": _bqm,
    "csv": lambda: (b"# J\n0,1,-2\n1,0.5,0\n-2,0,0\n", b"1e0 2e-1\n3e0 4e0\n"),
    "lp": lambda: (b"Minimize\n obj: 2 x - z + [ 2 x * y ] / 2\nBinary\n x y z\nEnd\n",),
    "mat": _mats,
    "mqlib": lambda: (b"3 3\n1 1 5\n1 2 -3\n3 3 -2\n", b"# x\n2 1\n1 2 0.5\n"),
    "orlib": lambda: (b"1\n3 3\n1 1 5\n1 2 -3\n3 3 -2\n", b"1\n2 0\n"),
    "qplib": lambda: (_PROGRAM, _PROGRAM.replace(b"QBN", b"LBB").replace(_QUADRATIC, b"")),
    "qubin": _qubin,
}
_MATRICES: Mapping[str, Callable[[], tuple[bytes, ...]]] = {
    "coo": lambda: (b"2 3 2\n1 1 0.5\n2 3 -1e3\n", b"0 1\n1 0\n", b"1 1 0 1\n2 2 .5 -1\n"),
    "csv": lambda: (
        b"# a\n1,-2/3\n5,70\n",
        b" (1.000e+00+2.000e+00j) (0.000e+00-1.500e-01j)\n",
        b"1-2j,3j\n0,1\n",
    ),
    "mat": lambda: _mats(np.array([[1j, 2]])),
    "mtx": lambda: (
        b"%%MatrixMarket matrix coordinate complex hermitian\n% a\n2 2 2\n1 1 1 0\n2 1 .5 -2\n",
        b"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n-2\n3\n",
        b"%%MatrixMarket matrix coordinate pattern general\n2 3 1\n2 3\n",
    ),
    "npy": lambda: _saved(np.save),
    "npz": lambda: (*_saved(np.savez), *_saved(np.savez_compressed), *_sparse()),
}


def _ledger() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger")
        on_one_thread(LEDGER_WORK, checkpoint=path)
        return path.read_bytes()
