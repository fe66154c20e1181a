"""Files of XOR systems: round trips, the challenge's own instances, and what is refused where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hardscape.errors import FormatError, InputError
from hardscape.xorsat import XorSystem, random_regular
from hardscape.xorsat.formats import FORMATS, qh
from helpers.xorsat_oracle import all_assignments, systems

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "xorsat"


def read(folder: Path, text: str | bytes, name: str = "x.cnf") -> XorSystem:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("latin-1"))
    return XorSystem.from_file(path)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(systems())
def test_round_trips(tmp_path: Path, system: XorSystem) -> None:
    for name in ("x.cnf", "x.xcnf.gz", "x.npz", "x.npz.xz"):
        system.to_file(tmp_path / name)
        assert XorSystem.from_file(tmp_path / name) == system
    if (system.lengths > 0).all():
        system.to_file(tmp_path / "plain", format="cnf")
        again = XorSystem.from_file(tmp_path / "plain", format="cnf")
        # Groups over the same variables come back side by side.
        assert sorted(zip(again.clauses(), again.parity.tolist(), strict=True)) == sorted(
            zip(system.clauses(), system.parity.tolist(), strict=True)
        )
        states = all_assignments(system.num_variables)
        assert (again.violated(states) == system.violated(states)).all()


def test_constants_round_trip(tmp_path: Path) -> None:
    system = XorSystem(2, [0, 0, 0, 1], [1], [1, 0, 1])
    for name in ("x.cnf", "x.npz"):
        system.to_file(tmp_path / name)
        assert XorSystem.from_file(tmp_path / name) == system
    with pytest.raises(InputError):
        system.to_file(tmp_path / "x", format="cnf")
    with pytest.raises(InputError):
        XorSystem(0, [0, 0], [], [1]).to_file(tmp_path / "x.cnf")


@pytest.mark.parametrize("n", [3, 12, 48])
def test_two_body_round_trip(tmp_path: Path, n: int) -> None:
    system = random_regular(n, seed=n, full_rank=False)
    system.to_file(tmp_path / "x.qh")
    assert XorSystem.from_file(tmp_path / "x.qh") == system
    loose = XorSystem.from_clauses([[0, 2, 5], [2, 3, 4]], [1, 0], num_variables=9)
    for other in (loose, XorSystem(0, [0], [], [])):
        other.to_file(tmp_path / "y.qh")
        assert XorSystem.from_file(tmp_path / "y.qh") == other


def test_dimacs(tmp_path: Path) -> None:
    text = """c a comment with \xe9
p cnf 4 8
x1 2 -3 0
 x -4 0
1 -2
 3 0 -1 2 3 0
1 2 -3 0
-1 -2 -3 0
x 1 1 2 0
-3 0
%
0
"""
    system = read(tmp_path, text)
    assert system.clauses() == [(0, 1, 2), (3,), (0, 1, 2), (1,), (2,)]
    # The third is excluded where an odd number is 1: the XOR of 1, 2 and 3 is ...
    assert system.parity.tolist() == [0, 0, 0, 1, 0]
    assert system.cancelled_pairs == 1


def test_few_clauses_of_many_variables(tmp_path: Path) -> None:
    assert read(tmp_path, "p cnf 1000000 1\nx1 1000000 0\n").num_variables == 1_000_000
    with pytest.raises(FormatError):
        read(tmp_path, "# hardscape variables=9999999999 clauses=0\n", "x.qh")


def test_both_parities_are_two_clauses(tmp_path: Path) -> None:
    system = read(tmp_path, "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n")
    assert system.clauses() == [(0, 1), (0, 1)]
    assert system.parity.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (None, "c nothing\n"),
        (1, "1 2 0\n"),
        (1, "p cnf 2\n"),
        (1, "p sat 2 1\nx1 0\n"),
        (1, "p cnf 2 2\nx1 0\n"),
        (1, "p cnf -2 1\nx1 0\n"),
        (1, "p cnf 99999999999 1\nx1 0\n"),
        (1, "p cnf 2000000000 1\nx1 0\n"),
        (2, "p cnf 2 1\nx1 3 0\n"),
        (2, "p cnf 2 1\nx1 2\n"),
        (2, "p cnf 2 1\nx1 2.5 0\n"),
        (2, "p cnf 2 1\nx0\n"),
        (2, "p cnf 2 1\nx\n"),
        (3, "p cnf 2 1\n1 2\n"[:-1] + "\n0 0\n"),
        (2, "p cnf 2 1\n1 2\n"),
        (3, "p cnf 2 2\n1 2\nx1 0\n"),
        (2, "p cnf 2 1\n1 2 0\n"),
        (3, "p cnf 3 5\nx1 0\n1 2 3 0\n-1 -2 3 0\n-1 2 -3 0\n1 2 -3 0\n"),
        (2, "p cnf 2 1\n1 1 0\n"),
        (3, "p cnf 2 1\nx1 0\np cnf 2 1\n"),
    ],
)
def test_refused_dimacs(tmp_path: Path, line: int | None, text: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert caught.value.line == line


def two_body_lines() -> list[str]:
    return qh.write(random_regular(4, seed=0, full_rank=False)).decode().splitlines()


def test_refused_two_body(tmp_path: Path) -> None:
    lines = two_body_lines()
    read(tmp_path, "\n".join(lines), "x.qh")
    for number, line in enumerate(lines, start=1):
        i, j, value = line.split()
        wrong = [
            f"{i} {j} {float(value) * 3}",
            f"{i} {j} x",
            f"{i} 0 {value}",
            f"{i} {j}",
            f"{i} {j} inf",
        ]
        for replacement in wrong:
            text = "\n".join([*lines[: number - 1], replacement, *lines[number:]])
            with pytest.raises(FormatError) as caught:
                read(tmp_path, text, "x.qh")
            assert caught.value.line == number
        with pytest.raises(FormatError):
            read(tmp_path, "\n".join(lines[: number - 1] + lines[number:]), "x.qh")
    for extra, where in (("1 1 1", True), ("5 6 1", True), ("9 9 1", False)):
        with pytest.raises(FormatError) as caught:
            read(tmp_path, "\n".join([*lines, extra]), "x.qh")
        assert (caught.value.line == len(lines) + 1) == where
    for header in (
        "variables=4 clauses=3",
        "variables=3 clauses=5",
        "variables=4 clauses=999999999",
    ):
        with pytest.raises(FormatError):
            read(tmp_path, "\n".join([f"# hardscape {header}", *lines]), "x.qh")
    with pytest.raises(InputError):
        XorSystem.from_clauses([[0, 1]]).to_file(tmp_path / "x.qh")


def test_refused_archives(tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        read(tmp_path, b"PK\x03\x04 nothing", "x.npz")
    with pytest.raises(FormatError):
        read(tmp_path, b"text", "x.npz")
    good = {"num_variables": 2, "offsets": [0, 2], "variables": [0, 1], "parity": [1]}
    for change in (
        {"variables": [0, 2]},
        {"variables": np.array([0.0, 1.0])},
        {"parity": [2]},
        {"offsets": [0, 3]},
        {"offsets": [[0, 2]]},
        {"num_variables": [2]},
        {"num_variables": -1},
        {"parity": np.array([{}], dtype=object)},
    ):
        np.savez(tmp_path / "y.npz", **(good | change))
        with pytest.raises(FormatError):
            XorSystem.from_file(tmp_path / "y.npz")
    np.savez(tmp_path / "y.npz", **{k: v for k, v in good.items() if k != "parity"})
    with pytest.raises(FormatError):
        XorSystem.from_file(tmp_path / "y.npz")


def test_names(tmp_path: Path) -> None:
    system = XorSystem.from_clauses([[0, 1]])
    with pytest.raises(InputError):
        system.to_file(tmp_path / "x.txt")
    with pytest.raises(InputError):
        system.to_file(tmp_path / "x.cnf", format="other")
    with pytest.raises(FormatError):
        XorSystem.from_file(tmp_path / "missing.cnf")
    assert set(FORMATS) == {"xcnf", "cnf", "qh", "npz"}


@pytest.mark.skipif(
    not DATA.is_dir(), reason="the challenge's instances are not beside the repository"
)
def test_challenge_instances(tmp_path: Path) -> None:
    files = sorted(DATA.glob("*.qh"))
    assert len(files) == 11
    for file in files:
        system = XorSystem.from_file(file)
        n = int(file.name.partition("_n")[2].split("_")[0]) // 2
        assert (system.num_variables, system.num_clauses, system.rank()) == (n, n, n)
        assert (system.lengths == 3).all()
        assert (system.degrees == 3).all()
        system.to_file(tmp_path / "again.qh")
        assert XorSystem.from_file(tmp_path / "again.qh") == system
