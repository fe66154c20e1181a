"""The table of anytime solvers: what they say is evaluated, and nothing runs twice."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import pytest
from pysat.solvers import Cadical153

from hardscape.benchmarks.maxsat import families, formulas, large, parts, solvers
from hardscape.benchmarks.maxsat.structured import answered, structured, unpacked
from hardscape.benchmarks.tables import Table

NEW = "h 1 2 0\nh -2 3 0\n5 -1 0\n3 -2 0\n2 -3 0\n"
OLD = "c a\np wcnf 3 5 11\n11 1 2 0\n11 -2 3 0\n5 -1 0\n3 -2 0\n2 -3 0\n"

#: Says that a cost is 0, whatever the assignment's is, and counts its calls.
PEER = """
import pathlib, sys
counter = pathlib.Path(sys.argv[1])
counter.write_text(counter.read_text() + "x")
print("o 0\\ns SATISFIABLE\\nv " + sys.argv[2])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("cover-a.wcnf", NEW), ("cover-b.wcnf", OLD)):
        (tmp_path / "formulas").mkdir(exist_ok=True)
        (tmp_path / "formulas" / name).write_text(text)
    return tmp_path


def test_costs_by_the_definition(folder: Path) -> None:
    for path in sorted((folder / "formulas").iterdir()):
        instance = unpacked(path, folder, "cover")
        costs = [instance.cost(x) for x in ("011", "100", "111", "010", "000")]
        assert costs == [5, 5, 10, None, None]
        assert instance.old.read_text().startswith("p wcnf 3 5 11\n11 1 2 0")


def test_literals_and_bits() -> None:
    said = [
        (0.1, "c hello"),
        (0.2, "o 7"),
        (0.3, "o 5"),
        (0.4, "v -1 2 3"),
        (0.5, "s OPTIMUM FOUND"),
    ]
    assert answered(said) == ("011", True, 0.2, 5)
    assert answered([(0.1, "v 011")]) == ("011", False, None, None)
    assert answered([]) == ("", False, None, None)


def test_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counter, peer, results = folder / "count", folder / "peer.py", folder / "runs.jsonl"
    counter.write_text("")
    peer.write_text(PEER)
    command = f"{sys.executable} {peer} {counter}"
    for again in range(2):
        structured(
            folder / "formulas",
            seconds=(3.0,),
            seeds=2,
            ours=f"{command} 011 {{seed}}",
            peer=(f"worse={command} 111", f"wrong={command} 000"),
            results=results,
            save=folder / "saved",
        )
        table = capsys.readouterr().out
        assert "| all (2) | 1.000 | 0.545 | 0.000 |" in table, again
        assert "| cover (2) | 1.000 | 0.545 | 0.000 |" in table
    assert len(counter.read_text()) == 2 * (2 + 1 + 1)
    costs = {json.loads(line)["cost"] for line in results.read_text().splitlines()}
    assert costs == {5, 10, None}
    saved = Table.read(folder / "saved" / "maxsat-structured-3.json")
    assert saved.columns[2:] == ["hardscape", "worse", "wrong"]
    *rows, scores, proven, together = saved.rows
    assert together[3] == 0
    assert len(rows) == 2
    for _, best, ours, worse, wrong in rows:
        assert (best, wrong) == (5, "none")
        assert {ours.removesuffix(" proven"), worse.removesuffix(" proven")} == {"5", "10"}
    assert scores[2:] == ["1.0000 of 2", "0.5455 of 2", "0.0000 of 2"]
    assert len(proven) == 5


def test_parts(folder: Path) -> None:
    """What ran is not run again; of parts that find the optimum none is behind."""
    results, best = folder / "parts.jsonl", folder / "best.txt"
    best.write_text("".join(f"{path.stem} 5\n" for path in (folder / "formulas").iterdir()))
    how = {"seconds": (0.5,), "seeds": 1, "proofs": 1, "best": best, "results": results}
    parts.parts(folder / "formulas", save=folder, **how)
    ran = results.read_text()
    assert len(ran.splitlines()) == 2 * 3
    parts.parts(folder / "formulas", **how)
    assert results.read_text() == ran
    *rows, behind, _, _ = Table.read(folder / "maxsat-parts.json").rows
    assert [row[1:] for row in rows] == [[5, "5: 0"]] * 2
    assert behind == ["behind", None, "0 of 2"]


def ran(part: str, costs: list[int | None], limit: float = 5.0) -> list[parts.Run]:
    return [
        parts.Run("f", part, limit, seed, {f"{limit:g}": cost}) for seed, cost in enumerate(costs)
    ]


def test_a_difference_of_parts_is_told_apart_from_chance() -> None:
    same = dict(enumerate([110, 100, 100]))
    assert parts.difference(same, same, 100) == (0.0, 0.0)
    by, error = parts.difference(same, dict(enumerate([100, 110, 100])), 100)
    assert by == pytest.approx(0.0)
    assert error == pytest.approx((1 - 101 / 111) / 3**0.5)
    assert not parts.behind(by, error)
    other = {7: 100, 8: 100}  # of other seeds
    by, error = parts.difference({0: 120, 1: 120, 2: None}, other, 100)
    assert by == pytest.approx(2 / 3 * 101 / 121 - 1)
    assert error == pytest.approx(101 / 121 / 3)
    assert not parts.behind(by, error)  # of three runs one had nothing, which may be chance
    assert parts.behind(*parts.difference({0: 102, 1: 102}, other, 100))
    assert not parts.behind(*parts.difference({0: 101, 1: 101}, other, 100))
    assert parts.middle(dict(enumerate([None, 3, 2]))) == parts.middle({0: None, 1: 3}) == 3


def test_the_better_part_is_what_auto_is_held_against() -> None:
    runs = [*ran("auto", [120] * 3), *ran("weighting", [130] * 3), *ran("prover", [100] * 2)]
    rows = parts.compared(runs, [5.0], {"f": 100}).rows
    assert rows[0][2] == "120: -0.1653(0.0000) (prover) **behind**"
    assert rows[1][2] == "1 of 1"
    assert rows[2][2].startswith("+0.0637")
    # A part's run tells its costs at all limits, and one of `auto` at its own alone.
    long = [parts.Run("f", part, 20.0, 9, {"5": 1, "20": 0}) for part in ("auto", "weighting")]
    assert 9 not in parts.costs_at([*runs, *long], "f", "auto", 5.0)
    assert parts.costs_at([*runs, *long], "f", "weighting", 5.0)[9] == 1


def test_a_formula_without_any_assignment_is_behind_nothing() -> None:
    """Its row says so, and no least cost is made up."""
    runs = [*ran("auto", [None, None]), *ran("weighting", [None, None]), *ran("prover", [None])]
    rows = parts.compared(runs, [5.0], {}).rows
    assert rows[0] == ["f", None, "None: 0"]
    assert rows[1] == ["behind", None, "0 of 1"]


def test_plans_follow_the_moves() -> None:
    n, soft, weights, hard = large.blocks_world(4, 3, 20, 5)
    assert len(soft) == len(weights) == 20
    with Cadical153(bootstrap_with=hard) as solver:
        assert solver.solve()
        true = {x for x in solver.get_model() if x > 0}
    places = [
        (b, p) for b in range(4) for p in range(5) if p != b
    ]  # of blocks on places, per moment
    on = [
        {pair for i, pair in enumerate(places, 1 + t * len(places)) if i in true} for t in range(4)
    ]
    for before, after in itertools.pairwise(on):
        [(block, source)], [(same, target)] = before - after, after - before
        assert block == same
        assert block not in {p for _, p in before}  # nothing was on it
        assert target == 4 or target not in {p for _, p in before}
        assert source != target
    assert max(map(abs, itertools.chain(*hard))) <= n


def test_covers() -> None:
    _, _, _, lines = large.steiner_cover(3)
    pairs = [pair for line in lines for pair in itertools.combinations(sorted(line), 2)]
    assert sorted(pairs) == list(itertools.combinations(range(1, 28), 2))  # each pair in one triple
    edges, _, _, squares = large.hypercube_cover(4)
    assert (edges, len(squares)) == (32, 24)
    assert all(len(set(square)) == 4 for square in squares)
    assert {squares.count(square) for square in squares} == {1}
    assert {sum(e in square for square in squares) for e in range(1, 33)} == {3}


def test_files_of_larger_formulas(tmp_path: Path) -> None:
    large.generate(tmp_path, only="hypercube")
    [path] = tmp_path.iterdir()
    instance = unpacked(path, tmp_path, "")
    assert instance.cost("1" * 1024) == 1024
    assert instance.cost("0" * 1024) is None


def test_programs_and_proofs_say_the_same() -> None:
    pytest.importorskip("highspy")
    lists = formulas.set_cover(20, 30, 3, 1)
    least = solvers.ours(lists, threads=1, seed=1).cost
    assert solvers.highs(lists, 60.0).cost == least
    bound = families.told_by_program(lists)
    assert least is not None
    assert 0 < bound <= least
