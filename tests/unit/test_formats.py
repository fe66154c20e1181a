"""The registry of formats: the same compression, standard streams and sniffing in every family."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardscape import native
from hardscape.errors import BudgetError, FormatError, InputError
from hardscape.files import Source, load
from hardscape.gauge import GaugeField
from hardscape.ising import Ising
from hardscape.maxsat import Formula
from hardscape.xorsat import XorSystem

TEXT = ("coo", "qubo", "bqm-json", "xcnf", "wcnf", "cnf")
FAMILIES = ("gauge", "ising", "maxsat", "permanents", "xorsat")
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def formats_of(family: str) -> Any:
    return import_module(f"hardscape.{family}.formats")


@dataclass(frozen=True)
class Case:
    """A problem of a family, where it can be written to, and how two of them are compared."""

    family: str
    format: str
    problem: Any
    key: Callable[[Any], Any] = lambda problem: problem

    @property
    def suffix(self) -> str:
        return formats_of(self.family).FORMATS[self.format].SUFFIXES[0]

    def content(self) -> bytes:
        written = formats_of(self.family).FORMATS[self.format].write(self.problem)
        return written if isinstance(written, bytes) else b"".join(map(bytes, written))

    def read(self, path: str | Path, **options: Any) -> Any:
        return self.key(formats_of(self.family).read(path, **options))


def links(field: GaugeField) -> list[complex]:
    return field.links.ravel().tolist()


def clauses(formula: Formula) -> tuple[Any, ...]:
    arrays = (formula.literals, formula.offsets, formula.weights, formula.hard)
    return tuple(tuple(array.tolist()) for array in arrays)


MODEL = Ising([1, 0, -2], {(0, 1): 1, (1, 2): -3})
SYSTEM = XorSystem.from_clauses([[0, 1, 2], [1, 2, 3]], [0, 1], num_variables=4)
FORMULA = Formula.from_clauses([[1, -2], [2, 3]], [3, 4], hard=[[1, 2]])
FIELD = GaugeField.random((2, 2, 2, 2), 2, seed=1, dtype=np.complex64)
DOUBLE = GaugeField.random((2, 2, 2, 4), 3, seed=1)

CASES = [
    *(Case("ising", name, MODEL) for name in ("coo", "qubo", "bqm-json", "npz")),
    *(Case("xorsat", name, SYSTEM) for name in ("xcnf", "npz")),
    Case("maxsat", "wcnf", FORMULA, clauses),
    Case("maxsat", "cnf", Formula.from_clauses([[1, -2], [2]]), clauses),
    *(Case("gauge", name, FIELD, links) for name in ("nersc", "ildg", "milc", "npz")),
    *(Case("gauge", name, DOUBLE, links) for name in ("openqcd", "hirep")),
]
MATRIX = np.array([[1.5, 2.0], [3.0, 4.0]])
MATRICES = {
    ".mtx": b"%%MatrixMarket matrix array real general\n2 2\n1.5\n3\n2\n4\n",
    ".csv": b"1.5,2\n3,4\n",
}


@pytest.fixture(params=CASES, ids=lambda case: f"{case.family}-{case.format}")
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.mark.parametrize("packed", PACK)
def test_compression_by_suffix(case: Case, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"problem{case.suffix}{packed}"
    case_formats = formats_of(case.family)
    case_formats.write(case.problem, path)
    assert case.read(path) == case.key(case.problem)
    plain = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress}
    assert plain[packed](path.read_bytes()) == case.content()


@pytest.mark.parametrize("packed", PACK)
def test_the_content_tells_compression_and_format(case: Case, packed: str, tmp_path: Path) -> None:
    path = tmp_path / "problem"
    path.write_bytes(PACK[packed](case.content()))
    assert case.read(path) == case.key(case.problem)


@pytest.mark.parametrize("packed", PACK)
def test_standard_input(case: Case, packed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = PACK[packed](case.content())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert case.read("-") == case.key(case.problem)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert case.read(Path("-"), format=case.format) == case.key(case.problem)


def test_standard_output(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written, flush=lambda: None))
    formats_of(case.family).write(case.problem, "-", format=case.format)
    assert written.getvalue() == case.content()
    with pytest.raises(InputError):
        formats_of(case.family).write(case.problem, "-")


@pytest.mark.parametrize("case", [x for x in CASES if x.format in TEXT], ids=lambda x: x.format)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_text_as_other_systems_write_it(
    case: Case, mark: bytes, end: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "problem"
    path.write_bytes(mark + case.content().replace(b"\n", end))
    assert case.read(path) == case.key(case.problem)
    assert case.read(path, format=case.format) == case.key(case.problem)


@pytest.mark.parametrize("case", [x for x in CASES if x.format in TEXT], ids=lambda x: x.format)
@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
def test_text_of_sixteen_bits(case: Case, code: str, tmp_path: Path) -> None:
    path = tmp_path / "problem"
    path.write_bytes(("\ufeff" + case.content().decode().replace("\n", "\r\n")).encode(code))
    assert case.read(path) == case.key(case.problem)
    path.write_bytes(path.read_bytes() + b"1")
    with pytest.raises(FormatError):
        case.read(path, format=case.format)


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices_as_other_systems_write_them(
    name: str, mark: bytes, end: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "matrix"
    path.write_bytes(mark + MATRICES[name].replace(b"\n", end))
    assert np.array_equal(formats_of("permanents").read(path), MATRIX)


@pytest.mark.parametrize(
    ("family", "content"),
    [
        ("ising", b"# caf\xe9\n0 1 1\n"),
        ("xorsat", b"c caf\xe9\np cnf 2 1\nx1 2 0\n"),
        ("maxsat", b"c caf\xe9\np cnf 2 1\n1 2 0\n"),
        ("permanents", b"# caf\xe9\n1,2\n3,4\n"),
        ("permanents", b"%%MatrixMarket matrix array real general\n% \xe9\n1 1\n2\n"),
    ],
)
def test_comments_of_any_encoding(family: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(content)
    formats_of(family).read(tmp_path / "old")


@pytest.mark.parametrize(
    ("family", "content"),
    [
        ("maxsat", b"p cnf 100000000 1\n1 0\n"),
        ("maxsat", b"1 2000000000 0\n"),
        ("xorsat", b"p cnf 100000000 1\nx1 0\n"),
        ("xorsat", b"# hardscape variables=99999999 clauses=1\n"),
    ],
)
def test_few_bytes_announce_no_memory(family: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(content)
    with pytest.raises(FormatError):
        formats_of(family).read(tmp_path / "small")


def test_a_lattice_larger_than_memory_is_refused(tmp_path: Path) -> None:
    size = 4 * 4 * 4 * 4 * 4 * 9 * 16
    formats = formats_of("gauge")
    formats.write(GaugeField.identity((4, 4, 4, 4)), path := tmp_path / "u.nersc")
    head = path.read_bytes()[:-size]
    for axis, extent in enumerate((256, 256, 128, 128), start=1):
        head = head.replace(b"DIMENSION_%d = 4" % axis, b"DIMENSION_%d = %d" % (axis, extent))
    path.write_bytes(head)
    os.truncate(path, len(head) + size // 256 * 2**30)  # holes
    with pytest.raises(BudgetError):
        formats.read(path)


LIMITED = """
import resource, sys
from hardscape.errors import BudgetError
from hardscape.ising import Ising
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
try:
    Ising.from_file(sys.argv[1])
except BudgetError as error:
    print(error)
"""


def test_a_text_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.coo"
    path.write_bytes(b"1 2 3\n" * 10**7)
    command = [sys.executable, "-c", LIMITED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(path) in done.stdout


def refused_document(content: bytes) -> None:
    with pytest.raises(FormatError):
        formats_of("ising").FORMATS["bqm-json"].read(Source("large", content))


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (native.core.maxsat.parse_wcnf, b"1 2 3 0\n" * 8_000_000),
        (refused_document, b'{"pad": [' + b"1," * 10**6 + b"1]}"),
    ],
    ids=["wcnf", "bqm-json"],
)
def test_signals_are_heard_while_a_large_file_is_read(
    read: Callable[[bytes], object], content: bytes
) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        read(content)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(heard) > 5  # not once, at the end


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("suffix", [".mtx", ".csv", ".npy", ".npz"])
def test_matrices(suffix: str, packed: str, tmp_path: Path) -> None:
    file = io.BytesIO()
    if suffix in (".npy", ".npz"):
        (np.save if suffix == ".npy" else np.savez)(file, MATRIX)
    content = PACK[packed](MATRICES.get(suffix, file.getvalue()))
    for name in (f"a{suffix}{packed}", "a"):
        (tmp_path / name).write_bytes(content)
        assert np.array_equal(formats_of("permanents").read(tmp_path / name), MATRIX)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\x00\x01\x02\xff hello\n", b"\x1f\x8b\x08\x00"]
)
def test_content_of_no_format(family: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "strange"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        formats_of(family).read(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("magic", "packer"),
    [(b"\x28\xb5\x2f\xfd", "zstd"), (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"PK\x03\x04", "zip")],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_nobody_here_unpacks_is_named(
    family: str, magic: bytes, packer: str, tmp_path: Path
) -> None:
    path = tmp_path / "packed"
    path.write_bytes(magic + bytes(100))
    with pytest.raises(FormatError) as refused:
        formats_of(family).read(path)
    assert packer in refused.value.reason
    np.savez(path.with_suffix(".npz"), matrix=np.eye(2))
    with path.with_suffix(".npz").open("rb") as file:
        assert load(file.name).data == file.read()


@pytest.mark.parametrize("family", FAMILIES)
def test_names_of_no_format(family: str, tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"1")
    with pytest.raises(InputError, match="docx") as caught:
        formats_of(family).read(path, format="docx")
    assert not isinstance(caught.value, FormatError)
    with pytest.raises(FormatError):
        formats_of(family).read(tmp_path)
    with pytest.raises(FormatError):
        formats_of(family).read(tmp_path / "missing")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_module_of_a_format_is_complete(family: str) -> None:
    formats = formats_of(family).FORMATS
    assert formats
    for name, module in formats.items():
        assert name == module.NAME
        assert isinstance(module.SUFFIXES, tuple)
        assert all(suffix.startswith(".") and suffix.islower() for suffix in module.SUFFIXES)
        assert "\n" not in module.DESCRIPTION.strip()
        assert module.DESCRIPTION
        assert callable(module.read)
        assert module.SUFFIXES == () or family == "permanents" or callable(module.write)
        read = module.SUFFIXES + getattr(module, "READS", ())
        shared = [x for x in formats.values() if {*read} & {*getattr(x, "READS", ())}]
        assert len(shared) < 2 or all(hasattr(x, "sniff") for x in shared)
        by_say_so = not module.SUFFIXES or (family, name) == ("permanents", "coo")
        assert by_say_so or hasattr(module, "MAGIC") or callable(module.sniff)
        assert module.__doc__
    assert len(set(formats.suffixes)) == len(formats.suffixes)


NEW_FORMAT = '''"""Chains: the couplings of neighbours, a line each."""

from hardscape.ising.model import Ising

NAME = "chain"
SUFFIXES = (".chain",)
DESCRIPTION = "an open chain: 'chain', then a coupling a line"
MAGIC = b"chain"


def read(source):
    couplings = [float(line) for line in source.data.split()[1:]]
    pairs = {(i, i + 1): value for i, value in enumerate(couplings)}
    return Ising([0] * (len(couplings) + 1), pairs)


def write(model):
    _, _, values = model.couplings
    return ("chain\\n" + "".join(f"{value}\\n" for value in values)).encode()
'''
USE = """
import sys
from hardscape.cli import main
from hardscape.ising import Ising, formats
formats.__path__.append(sys.argv[1])
model = Ising.from_file(sys.argv[2])
formats.write(model, sys.argv[2] + ".npz")
formats.write(model, sys.argv[2] + ".again.chain.xz")
assert Ising.from_file(sys.argv[2] + ".again.chain.xz") == model
main(["spectrum", sys.argv[2], "--num-states", "1", "--json"])
main(["spectrum", "--help"])
"""


def test_a_new_ising_format_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "chain.py").write_text(NEW_FORMAT)
    problem = tmp_path / "problem"
    problem.write_text("chain\n1\n-2\n")
    done = subprocess.run(
        [sys.executable, "-c", USE, str(folder), str(problem)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert '"energies": [-3.0]' in done.stdout
    assert "an open chain" in " ".join(done.stdout.replace("│", " ").split())


def test_a_choice_that_a_format_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text("0 1 1\n")
    with pytest.raises(InputError) as caught:
        Ising.from_file(path, problem=2)
    assert "None" not in str(caught.value)  # which no command line says
