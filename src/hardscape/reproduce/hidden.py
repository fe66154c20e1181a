"""Footnote 1 of Bernaschi et al. (2021): a change of the problem after which linear algebra is of no use.

An equation a + b + c = p modulo 2 is four clauses of three literals, each of which forbids one wrong
assignment. Seen from a solution, one of them has no false literal and three have two. Clauses drawn one by
one, from triples of their own, as often of these kinds, are no equations any more. Their linear and quadratic
terms still cancel in the mean, so that nothing points to the solution: W. Barthel, A. K. Hartmann, M. Leone,
F. Ricci-Tersenghi, M. Weigt, R. Zecchina, Phys. Rev. Lett. 88, 188701 (2002). Where the seven kinds come
equally often, most clauses of a variable pull it to its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.figures import COLORS, finish
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.solve import solve
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request
from hardscape.reproduce.xorsat import PAPER
from hardscape.xorsat.generators import random_regular
from hardscape.xorsat.studies.population import growth_of, population_of
from hardscape.xorsat.system import XorSystem

#: Chances of a clause with 0, 1, 2 literals that are false in the solution.
HIDDEN, PLANTED = (0.25, 0.0, 0.75), (1 / 7, 3 / 7, 3 / 7)
#: Clauses a variable: above the threshold of random 3-SAT, so that hardly another solution is there.
_RATIO = 5.0
_KINDS = ("equations, as clauses", "hidden solution, not linear", "planted solution, with a pull")
_MOST_FLIPS = 20_000_000
#: N and how many instances of each, in small and in full.
_SIZES = {False: ((36, 48, 60, 72), 24), True: ((48, 60, 72, 84, 96), 40)}


def clauses_of(system: XorSystem) -> Formula:
    """The equations of three variables as four clauses each."""
    triples = system.variables.reshape(-1, 3).astype(np.int64) + 1
    values = np.arange(8)[:, None] >> np.arange(3) & 1
    parity = values.sum(axis=1) % 2
    lines = []
    for wrong in (0, 1):  # equations whose sum must not be this
        rows = triples[np.asarray(system.parity, dtype=int) != wrong]
        forbidden = 1 - 2 * values[parity == wrong]
        lines.append((rows[:, None] * forbidden).reshape(-1, 3))
    return _formula(np.concatenate(lines), system.num_variables)


def drawn(
    n: int, kinds: tuple[float, float, float], seed: list[int]
) -> tuple[Formula, NDArray[Any]]:
    """Random clauses, and a solution of them, a sign for each variable."""
    random = np.random.default_rng(seed)
    count = round(_RATIO * n)
    triples = np.argsort(random.random((count, n)), axis=1)[:, :3]
    wrong = random.choice(3, size=count, p=kinds)
    place = np.argsort(random.random((count, 3)), axis=1)
    solution = random.choice([-1, 1], n)
    signs = solution[triples] * np.where(place < wrong[:, None], -1, 1)
    return _formula((triples + 1) * signs, n), solution


def _formula(literals: NDArray[Any], n: int) -> Formula:
    return Formula.from_clauses(literals.tolist(), num_variables=n)


def _instance(kind: str, n: int, number: int, seed: int) -> Formula:
    if kind == _KINDS[0]:
        own = int(np.random.SeedSequence([seed, n, number]).generate_state(1)[0])
        return clauses_of(random_regular(n, seed=own))
    return drawn(n, HIDDEN if kind == _KINDS[1] else PLANTED, [seed, n, number])[0]


def _growth(request: Request) -> Findings:
    sizes, instances = _SIZES[request.full]
    rows: list[tuple[Any, ...]] = []
    quantities = []
    for kind in _KINDS:
        runs = {}
        for n in sizes:
            request.tell(f"{kind}, N = {n}")
            starts = np.random.default_rng([request.seed, n]).random((instances, n)) < 0.5
            found = [
                solve(_instance(kind, n, number, request.seed), method="weighting", target=0, initial=start,
                      max_flips=_MOST_FLIPS, seed=request.seed + number, **request.run)
                for number, start in enumerate(starts)
            ]  # fmt: skip
            solved = np.array([float(one.cost == 0) for one in found])
            runs[n] = solved, np.array([max(one.flips, 1.0) for one in found])
            law = population_of(*runs[n])
            rows.append((kind, n, law.solved, instances, law.median, law.error))
        quantities.append(Quantity(f"a, flips ~ exp(a N), {kind}", *growth_of(runs)[:2]))
    text = (
        "Flips of clause weighting from random assignments until all clauses hold, one run of each of "
        f"{instances} instances, at most {_MOST_FLIPS:.0e} flips: medians of a lognormal law of the mean among "
        f"instances, in which stopped runs count; {_RATIO:g} clauses a variable, equations one a variable. The "
        "paper has no numbers of its own for this; it says that the change keeps the physics and leaves "
        "elimination nothing to do."
    )
    columns = ("kind", "N", "solved", "instances", "flips of the median instance", "error")
    return Findings(columns, rows, quantities, text)


def _draw(data: dict[str, list[Any]], ax: Any) -> Any:
    kind, n, _, _, flips, error = (np.array(column) for column in data.values())
    for i, name in enumerate(_KINDS):
        mine = kind == name
        style = {"color": COLORS[i], "label": name}
        ax.errorbar(n[mine], flips[mine], error[mine], fmt="os^"[i] + "-", **style)
    ax.set_yscale("log")
    return finish(ax, "Local search, with and without equations", "variables $N$", "flips",
                  whole="x", legend=True)  # fmt: skip


FIGURES = (
    Figure("xorsat-hidden", f"{PAPER}, footnote 1", "Local search where elimination is of no use",
           _growth, _draw),
)  # fmt: skip
