"""Files of formulas: both generations of WCNF, CNF as SATLIB has it, and refusals with their line."""

import bz2
import gzip
import itertools
import lzma
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysat.formula import WCNF, WCNFPlus
from pysat.solvers import Solver

from hardscape.errors import FormatError, InputError
from hardscape.maxsat import Formula, solve
from hardscape.maxsat.formats import FormatWarning
from helpers.maxsat_strategies import formulas

SATLIB = Path(__file__).resolve().parents[3] / "shared" / "data" / "satlib"


def written(tmp_path, content, name="f.wcnf"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_lists(formula):
    literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
    return [
        ("h" if firm else weight, literals[a:b])
        for a, b, firm, weight in zip(
            offsets, offsets[1:], formula.hard.tolist(), formula.weights.tolist(), strict=False
        )
    ]


GOOD = {
    "cnf": ("p cnf 3 2\n1 -2 0\n3 0\n", 3, [(1, [1, -2]), (1, [3])]),
    "cnf over lines, comments inside": (
        "c a\np cnf 3 3\n1\nc b\n -2 0 3\n0 -3\t1 0",
        3,
        [(1, [1, -2]), (1, [3]), (1, [-3, 1])],
    ),
    "cnf satlib tail": ("p cnf 2 1\n 1 2 0\n%\n0\n\n", 2, [(1, [1, 2])]),
    "cnf empty clause, repeated literals, tautology": (
        "p cnf 2 3\n0\n1 1 0\n2 -2 0\n",
        2,
        [(1, []), (1, [1, 1]), (1, [2, -2])],
    ),
    "cnf nothing": ("p cnf 4 0\n", 4, []),
    "windows line ends": ("p cnf 2 1\r\n1 2 0\r\n", 2, [(1, [1, 2])]),
    "old": ("p wcnf 3 3 10\n10 1 0\n4 -2 3 0\n9 0\n", 3, [("h", [1]), (4, [-2, 3]), (9, [])]),
    "old without top": ("p wcnf 2 2\n10 1 0\n4 -2 0\n", 2, [(10, [1]), (4, [-2])]),
    "old, top beyond 64 bits": (
        "p wcnf 1 2 18446744073709551616\n18446744073709551616 1 0\n3 -1 0\n",
        1,
        [("h", [1]), (3, [-1])],
    ),
    "old over lines": ("p wcnf 2 1 9\n4\n1\n2 0\n", 2, [(4, [1, 2])]),
    "in parts": (
        "p pwcnf 3 3 10 2\n1 10 1 0\n2 4 -2 3 0\n2 9 0\n",
        3,
        [("h", [1]), (4, [-2, 3]), (9, [])],
    ),
    "new": ("c x\nh 1 2 0\n5 -1 0\nh 0\n7 0\n", 2, [("h", [1, 2]), (5, [-1]), ("h", []), (7, [])]),
    "new, more variables than occur": ("c variables 7\r\n3 -1 2 0\n", 7, [(3, [-1, 2])]),
    "new, fewer variables told": ("c variables 1\n3 -2 0\n", 2, [(3, [-2])]),
    "new, a comment of others": ("c variables 7 clauses 1\n3 -2 0\n", 2, [(3, [-2])]),
    "new, a number that is none": ("c variables 7e3\n3 -2 0\n", 2, [(3, [-2])]),
    "new, too many variables told": ("c variables 2147483648\n3 -2 0\n", 2, [(3, [-2])]),
    "new, told later": ("c x\nc variables 7\n3 -2 0\n", 2, [(3, [-2])]),
    "old, the header counts": ("c variables 7\np wcnf 3 1 10\n4 -2 0\n", 3, [(4, [-2])]),
    "a comment after a clause": ("h 1 2 0 c both\n5 -1 0 cheap\n", 2, [("h", [1, 2]), (5, [-1])]),
    "a comment after a clause of a CNF file": (
        "p cnf 2 2\n1 2 0 c 7 0\n-1 0\n",
        2,
        [(1, [1, 2]), (1, [-1])],
    ),
    "new, largest weight": ("9223372036854775807 1 0\n", 1, [(2**63 - 1, [1])]),
}


@pytest.mark.parametrize("name", GOOD)
def test_read(name, tmp_path):
    text, variables, clauses = GOOD[name]
    formula = Formula.from_file(written(tmp_path, text))
    assert formula.num_variables == variables
    assert as_lists(formula) == clauses


BAD = {
    "empty": ("", None),
    "comments alone": ("c x\n", None),
    "other kind": ('{"a": 1}\n', 1),
    "qubo": ("0 0 1.5\n", 1),
    "binary": (bytes(range(1, 256)), None),
    "header word": ("p sat 3 2\n1 0\n", 1),
    "header byte": (b"p cn\xff 3 2\n1 0\n", 1),
    "header number": ("p cnf x 2\n", 1),
    "header short": ("c\np cnf 3\n", 2),
    "header long": ("p cnf 3 2 7\n", 1),
    "header twice": ("p cnf 1 1\n1 0\np cnf 1 1\n", 3),
    "too many variables": ("p cnf 2147483648 0\n", 1),
    "literal": ("p cnf 2 1\n1 2x 0\n", 2),
    "XOR clause": ("p cnf 2 1\nx1 2 0\n", 2),
    "literal float": ("p cnf 2 1\n1 2.0 0\n", 2),
    "minus zero": ("p cnf 2 1\n1 -0\n", 2),
    "literal large": ("p cnf 2 1\n1 2147483648 0\n", 2),
    "cut off": ("p cnf 2 1\n1 2\n", 2),
    "cut off new": ("h 1 0\n3 1", 2),
    "new over lines": ("3 1\n2 0\n", 1),
    "zero inside": ("3 1 0 2 0\n", 1),
    "weight zero": ("h 1 0\n0 1 0\n", 2),
    "weight negative": ("h 1 0\n-3 1 0\n", 2),
    "weight large": ("9223372036854775808 1 0\n", 1),
    "weight beyond 64 bits, top above it": (
        "p wcnf 1 1 36893488147419103232\n18446744073709551616 1 0\n",
        2,
    ),
    "a comment inside a clause": ("h 1 c both\n", 1),
    "weight float": ("p wcnf 1 1 9\n1.5 1 0\n", 2),
    "weight zero, top zero": ("p wcnf 1 1 0\n0 1 0\n", 2),
    "h in the old format": ("p wcnf 1 1 9\nh 1 0\n", 2),
    "part zero": ("p pwcnf 1 1 9 2\n0 4 1 0\n", 2),
    "part too large": ("p pwcnf 1 1 9 2\n3 4 1 0\n", 2),
    "part and no weight": ("p pwcnf 1 1 9 2\n1\n", 2),
    "parts that are not announced": ("p pwcnf 1 1 9\n1 4 1 0\n", 1),
    "limit that is soft": ("h 1 0\n3 1 2 <= 1\n", 2),
    "limit of nothing": ("h <= 1\n", 1),
    "limit without a number": ("h 1 2 <=\n", 1),
    "limit of variable 0": ("h 1 0 2 <= 1\n", 1),
    "limit of a variable too large": ("h w 1*2147483648 >= 1\n", 1),
    "limit with a coefficient but no w": ("h 2*1 2 <= 1\n", 1),
    "limit with w and no coefficient": ("h w 2*1 2 <= 1\n", 1),
    "limit and 0": ("h 1 2 <= 1 0\n", 1),
    "limit in a CNF file": ("p cnf 2 1\n1 2 <= 1\n", 2),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(name, tmp_path):
    text, line = BAD[name]
    with pytest.raises(FormatError) as caught:
        Formula.from_file(written(tmp_path, text))
    assert caught.value.line == line or (name == "binary" and caught.value.line)


def test_missing_damaged_and_no_path(tmp_path):
    for path in (tmp_path / "none.cnf", tmp_path):
        with pytest.raises(FormatError):
            Formula.from_file(path)
    cut = gzip.compress(b"p cnf 1 1\n1 0\n" * 100)[:-12]
    for name in ("a.cnf.gz", "a.cnf.xz"):
        with pytest.raises(FormatError):
            Formula.from_file(written(tmp_path, cut, name))
    with pytest.raises(InputError):
        Formula.from_file(3)


@st.composite
def limited(draw):
    """Clauses and limits on four variables, as lines, and what each demands of an assignment."""
    literal = st.sampled_from([-4, -3, -2, -1, 1, 2, 3, 4])
    lines, demands = [], []
    for _ in range(draw(st.integers(1, 3))):
        literals = draw(st.lists(literal, min_size=1, max_size=4))
        weights = draw(st.lists(st.integers(-2, 3), min_size=len(literals), max_size=len(literals)))
        weighted, most = draw(st.booleans()), draw(st.booleans())
        bound = draw(st.integers(-3, 5))
        shown = [f"{w}*{x}" if weighted else f"{x}" for w, x in zip(weights, literals, strict=True)]
        mark = "w " if weighted else ""
        lines.append(f"h {mark}{' '.join(shown)} {'<=' if most else '>='} {bound}")
        demands.append((weights if weighted else [1] * len(literals), literals, most, bound))
    return lines, demands


def met(demand, assignment):
    weights, literals, most, bound = demand
    true = [assignment[abs(x) - 1] == (x > 0) for x in literals]
    total = sum(w for w, holds in zip(weights, true, strict=True) if holds)
    return total <= bound if most else total >= bound


@settings(max_examples=60, deadline=None)
@given(limited())
def test_limits_of_wcnfplus(tmp_path_factory, given):
    """An assignment can be completed if and only if it keeps every limit; its cost is that of the clauses."""
    lines, demands = given
    text = "\n".join(["3 1 2 0", *lines, "h 3 4 0", "2 -1 0", ""])
    formula = Formula.from_file(written(tmp_path_factory.mktemp("f"), text, "f.wcnf+"))
    for bits in itertools.product((0, 1), repeat=4):
        fixed = [[v if x else -v] for v, x in enumerate(bits, 1)]
        clauses = as_lists(formula)
        hard = fixed + [clause for mark, clause in clauses if mark == "h"]
        with Solver(bootstrap_with=[clause for clause in hard if clause]) as solver:
            possible = all(hard) and solver.solve()
        assert possible == (bool(bits[2] or bits[3]) and all(met(x, bits) for x in demands))
    soft = [clause for clause in as_lists(formula) if clause[0] != "h"]
    assert soft == [(3, [1, 2]), (2, [-1])]


def test_wcnfplus_of_pysat(tmp_path):
    theirs = WCNFPlus(
        from_string="p wcnf+ 7 3 10\n10 1 -2 3 5 -7 <= 3\n10 4 5 6 -7 >= 2\n5 3 5 7 0\n"
    )
    theirs.to_file(str(tmp_path / "new.wcnf"))
    theirs.to_file(str(tmp_path / "old.wcnf+"), format="legacy")
    ours = Formula.from_pysat(theirs)
    for name in ("new.wcnf", "old.wcnf+"):
        assert as_lists(Formula.from_file(tmp_path / name)) == as_lists(ours)


@pytest.mark.parametrize("header", ["p cnf 3 5", "p cnf 1 2"])
def test_a_wrong_header_warns_and_the_clauses_count(header, tmp_path):
    path = written(tmp_path, f"c x\n{header}\n1 -2 0\n3 0\n")
    with pytest.warns(FormatWarning, match=":2: "):
        formula = Formula.from_file(path)
    assert (formula.num_variables, formula.num_clauses) == (3, 2)


def test_compressed(tmp_path):
    text = b"h 1 0\n3 -1 2 0\n"
    named = {"f.wcnf.gz": gzip, "f.wcnf.XZ": lzma, "f.bz2": bz2, "gz": gzip, "xz": lzma, "bz": bz2}
    for name, packer in named.items():
        data = packer.compress(text)
        assert Formula.from_file(written(tmp_path, data, name)).num_clauses == 2


@settings(max_examples=40)
@given(formulas(max_weight=2**63 - 1), st.sampled_from(["f.wcnf", "f.wcnf.gz", "f.wcnf.xz"]))
def test_round_trip(tmp_path_factory, lists, name):
    path = tmp_path_factory.mktemp("round") / name
    formula = lists.formula()
    formula.to_file(path)
    again = Formula.from_file(path)
    assert as_lists(again) == as_lists(formula)
    assert again.num_variables == formula.num_variables
    if name == "f.wcnf":
        peer = WCNF(from_file=str(path))
        assert (peer.hard, peer.soft, peer.wght) == (lists.hard, lists.soft, lists.weights)


@pytest.mark.parametrize("name", ["f.wcnf", "f.wcnf.gz", "f.cnf", "f.opb"])
@pytest.mark.parametrize("variables", [0, 3])
def test_round_trip_without_clauses(name, variables, tmp_path):
    formula = Formula.from_clauses([], num_variables=variables)
    formula.to_file(tmp_path / name)
    assert Formula.from_file(tmp_path / name).digest == formula.digest
    assert solve(tmp_path / name).status == "OPTIMUM FOUND"


def test_round_trip_cnf(tmp_path):
    formula = Formula.from_clauses([[1, -3], [], [2]], num_variables=9)
    formula.to_file(tmp_path / "f.cnf")
    again = Formula.from_file(tmp_path / "f.cnf")
    assert again.digest == formula.digest


def test_a_cnf_file_without_a_header_is_refused_where_it_may_be_either(tmp_path):
    either = written(tmp_path, "c no header\n1 -2 0\n2 3 0\n", "f.cnf")
    with pytest.raises(FormatError):
        Formula.from_file(either)
    weighted = Formula.from_file(either, format="wcnf")
    assert as_lists(weighted) == [(1, [-2]), (2, [3])]
    hard = written(tmp_path, "h 1 2 0\n3 -1 0\n", "g.cnf")
    assert Formula.from_file(hard).num_hard == 1


def test_refused_writes(tmp_path):
    weighted = Formula.from_clauses([[1]], [2])
    kept = written(tmp_path, "p cnf 1 1\n1 0\n", "f.cnf")
    for path in (kept, tmp_path / "f.txt", tmp_path / "none" / "f.wcnf", tmp_path):
        with pytest.raises(InputError):
            weighted.to_file(path)
    assert kept.read_text() == "p cnf 1 1\n1 0\n"
    assert [x.name for x in tmp_path.iterdir()] == ["f.cnf"]


@pytest.mark.skipif(not SATLIB.is_dir(), reason="the SATLIB files are not here")
def test_satlib():
    for path in sorted(SATLIB.glob("*.cnf")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            formula = Formula.from_file(path)
        assert formula.num_variables == int(path.name[2:5])
        assert set(formula.offsets[1:] - formula.offsets[:-1]) == {3}
