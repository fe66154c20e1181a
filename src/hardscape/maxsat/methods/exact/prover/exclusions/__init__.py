"""Wishes that exclude one another: of a clique of them at most one can hold."""

from __future__ import annotations

import itertools
from functools import cached_property

from hardscape import native

from ..costs import Costs

#: Wishes that are looked through for pairs that exclude one another, those that are so whatever the time, and
#: pairs after which no more are looked for.
_MOST_PAIRED, _FEW_PAIRED, _MOST_PAIRS = 5000, 1000, 500_000
#: Wishes between two looks at the board, which take as long as a short propagation.
_BETWEEN_LOOKS = 16
#: Cliques begin around wishes that exclude few others, or many, or as they are given.
_ORDERS = 1, -1, 0
#: What weighs more is in no clique.
_MOST = 2**64


class Exclusions:
    """Which wishes each one excludes, as far as unit propagation tells; those that cannot hold are paid for.

    One that relaxes a clause of several literals implies nothing by itself.
    """

    def __init__(self, costs: Costs) -> None:
        few = len(costs.weight) <= _MOST_PAIRED
        self._wishes = sorted(costs.weight, key=costs.relaxes) if few else []
        looked = sum(not costs.relaxes(wish) for wish in self._wishes)
        given = costs.clauses if looked else []
        self._found = native.core.maxsat.Exclusions(given, self._wishes, looked, costs.top)
        done = _BETWEEN_LOOKS
        while self._found.run(_BETWEEN_LOOKS) and self._found.pairs < _MOST_PAIRS:
            costs.board.look()
            if done > _FEW_PAIRED and costs.oracle.late():
                break
            done += _BETWEEN_LOOKS
        for wish in self._found.close():
            costs.oracle.confirm([wish])
            costs.add([-wish])
            paid = costs.weight[wish]
            costs.gain(wish, -paid)
            costs.raised(paid)

    @cached_property
    def against(self) -> dict[int, set[int]]:
        """Those that each one excludes."""
        found: dict[int, set[int]] = self._found.against()
        return found

    def pay(self, costs: Costs) -> None:
        """Pay for all wishes of a clique but one; any one of them is wished."""
        weights = [costs.weight.get(wish, 0) for wish in self._wishes]
        if not self._found.pairs or max(weights) >= _MOST:
            return
        found = max((self._found.cliques(weights, order) for order in _ORDERS), key=gained)
        for clique, paid in found:
            confirm_clique(costs, clique)
            for member in clique:
                costs.gain(member, -paid)
            wish_for_one(costs, clique, paid)
        if found:
            costs.raised(gained(found))


def confirm_clique(costs: Costs, clique: list[int]) -> None:
    """Have a second solver refute each pair, if that is wanted."""
    if costs.board.check:
        for pair in itertools.combinations(clique, 2):
            costs.oracle.confirm(pair)


def wish_for_one(costs: Costs, clique: list[int], weight: int) -> None:
    """Wish that some member of a clique holds."""
    none = costs.new()
    costs.add([*clique, none])
    costs.gain(-none, weight)


def gained(found: list[tuple[list[int], int]]) -> int:
    """What cliques raise the lower bound by."""
    return sum(paid * (len(clique) - 1) for clique, paid in found)
