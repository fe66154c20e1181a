"""Weighted partial formulas of many families, beside python-sat's RC2.

``python -m hardscape.benchmarks.maxsat.families tenth``, ``... proofs`` and ``... programs``. Of each family
some formulas are made, from a first seed on. What counts is processor time on both sides, the whole call on
ours: on a shared machine wall-clock times cannot be compared.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from pathlib import Path
from typing import Any

import cyclopts

from hardscape.benchmarks.maxsat.formulas import FAMILIES, Lists
from hardscape.benchmarks.maxsat.solvers import Answer, formula_of, highs, ours, rc2
from hardscape.benchmarks.tables import Table

app = cyclopts.App(help=__doc__, result_action="return_value")

#: What a proof may take beside 1.5 times RC2's time, in seconds: the start of a process.
_START = 0.05


#: What RC2 and what we answered.
Pair = tuple[Answer, Answer]


def answers(
    instances: int, first: int, limit: float, *, prove: bool, most: float = math.inf
) -> dict[str, list[Pair]]:
    """By family, the formulas that RC2 solves, in no more than so many seconds of the processor.

    Ours is to prove the cost, or else to reach that of RC2. What is imported late counts on neither side.
    """
    for late in ("highspy", "pysat.formula", "pysat.solvers"):
        importlib.import_module(late)  # RC2's clock begins after its imports, too
    rows: dict[str, list[Pair]] = {name: [] for name in FAMILIES}
    for (name, make), seed in itertools.product(FAMILIES.items(), range(first, first + instances)):
        lists = make(seed)
        peer = rc2(lists, limit)
        if peer.cost is None or peer.cpu > most:
            continue
        how = {"time_limit": 60.0} if prove else {"time_limit": limit, "target": peer.cost}
        mine = ours(lists, threads=1, seed=1, device="cpu", **how)
        assert mine.cost is None or mine.cost >= peer.cost
        if prove and mine.cost != peer.cost:
            print(f"not proven: {name}, seed {seed}", file=sys.stderr)
        rows[name].append((peer, mine))
    return rows


def milliseconds(answers: list[Answer]) -> list[float] | None:
    """Processor time of each."""
    return [1e3 * x.cpu for x in answers] or None


@app.command
def tenth(
    *, instances: int = 8, first: int = 0, limit: float = 30.0, save: Path | None = None
) -> None:
    """RC2's cost in a tenth of its time.

    Parameters
    ----------
    instances
        Formulas of each family.
    first
        Seed of the first.
    limit
        Seconds for RC2.
    save
        Folder for the table.
    """
    names = ["family", "RC2 solves", "its CPU ms", "equal cost in a tenth", "later", "our CPU ms"]
    table = Table.begun("maxsat-tenth", names, "python-sat")
    rows = answers(instances, first, limit, prove=False)

    def add(name: str, pairs: list[Pair]) -> None:
        equal = [(peer, mine) for peer, mine in pairs if mine.cost == peer.cost]
        early = sum(mine.cpu <= peer.cpu / 10 for peer, mine in equal)
        share = f" ({early / max(1, len(pairs)):.0%})" if name.startswith("all") else ""
        cells = len(pairs), milliseconds([x for x, _ in pairs])
        told = f"{early} of {len(pairs)}{share}", len(equal) - early
        table.add(name, *cells, *told, milliseconds([x for _, x in equal]))

    for name, pairs in rows.items():
        add(name, pairs)
    every = [pair for pairs in rows.values() for pair in pairs]
    for least in (0.0, 0.2, 1.0):
        more = f" that RC2 needs {least} s for" if least else ""
        add(f"all{more}", [pair for pair in every if pair[0].cpu >= least])
    if save:
        table.save(save)


@app.command
def proofs(
    *,
    instances: int = 4,
    first: int = 0,
    most: float = 1.0,
    limit: float = 30.0,
    save: Path | None = None,
) -> None:
    """Time to proof where RC2 needs less than a second.

    Parameters
    ----------
    instances
        Formulas of each family.
    first
        Seed of the first.
    most
        Seconds of RC2's processor time up to which formulas are tried.
    limit
        Seconds by the clock for RC2.
    save
        Folder for the table.
    """
    names = [
        "family",
        "formulas",
        "RC2's CPU ms",
        "our CPU ms to the proof",
        "within 1.5 times RC2's and 50 ms",
    ]
    table = Table.begun("maxsat-proofs", names, "python-sat")
    rows = answers(instances, first, limit, prove=True, most=most)
    rows["all"] = [pair for pairs in rows.values() for pair in pairs]
    for name, pairs in rows.items():
        within = sum(
            mine.cost == peer.cost and mine.cpu <= 1.5 * peer.cpu + _START for peer, mine in pairs
        )
        cells = (milliseconds([pair[i] for pair in pairs]) for i in (0, 1))
        table.add(name, len(pairs), *cells, f"{within} of {len(pairs)}")
    if save:
        table.save(save)


def told_by_program(lists: Lists) -> float:
    """The bound of the linear program that a proof begins with, in units of weight."""
    from hardscape.maxsat.methods.exact.near import lists_of
    from hardscape.maxsat.methods.exact.prover.board import Board
    from hardscape.maxsat.methods.exact.prover.costs import Costs
    from hardscape.maxsat.methods.exact.prover.relaxation import Relaxation
    from hardscape.maxsat.presolve import presolve

    class Silent(Board):
        def tell(self, **message: Any) -> None:
            pass

    presolved = presolve(formula_of(lists))
    relaxation = Relaxation(Costs.of(lists_of(presolved.formula), Silent()), {})
    solved = relaxation.solve(20.0)
    return presolved.constant + relaxation.reduced()[0] / relaxation.scale if solved else math.nan


@app.command
def programs(
    *, instances: int = 2, first: int = 0, limit: float = 10.0, save: Path | None = None
) -> None:
    """What linear and integer programs are worth.

    Parameters
    ----------
    instances
        Formulas of each family.
    first
        Seed of the first.
    limit
        Seconds by the clock for RC2 and HiGHS, and for ours.
    save
        Folder for the table.
    """
    names = ["family", "best", "bound of the program", "RC2, CPU s", "HiGHS, CPU s", "ours, CPU s"]
    table = Table.begun("maxsat-programs", names, "python-sat", "highspy")
    for (name, make), seed in itertools.product(FAMILIES.items(), range(first, first + instances)):
        lists = make(seed)
        peers = [peer(lists, limit) for peer in (rc2, highs)]
        mine = ours(lists, threads=1, seed=1, device="cpu", time_limit=limit)
        assert mine.cost is not None
        best = min(x.cost for x in (mine, *peers) if x.cost is not None)
        bound = max(0.0, told_by_program(lists))
        ended = (x.cost == best and x.seconds < limit for x in (*peers, mine))
        seconds = (x.cpu if e else None for e, x in zip(ended, (*peers, mine), strict=True))
        table.add(f"{name}, seed {seed}", best, round(bound, 1), *seconds)
    if save:
        table.save(save)


if __name__ == "__main__":
    app()
