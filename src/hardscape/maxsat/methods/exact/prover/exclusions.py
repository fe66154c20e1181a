"""Wishes that exclude one another: of a clique of them at most one can hold."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from operator import neg

from .costs import Costs

#: Wishes that are looked through for pairs that exclude one another, those that are so whatever the time, and
#: pairs, each twice, up to which those that are left are counted anew.
_MOST_PAIRED, _FEW_PAIRED, _MOST_PAIRS = 5000, 1000, 100_000
#: Wishes between two looks at the board, which take as long as a short propagation.
_BETWEEN_LOOKS = 16


def exclusions(costs: Costs) -> dict[int, set[int]]:
    """Which wishes each one excludes, as far as unit propagation tells; those that cannot hold are paid for.

    One that relaxes a clause of several literals implies nothing by itself.
    """
    against: dict[int, set[int]] = {}
    if len(costs.weight) > _MOST_PAIRED:
        return against
    oracle, gained, wished = costs.oracle, 0, set(costs.weight)
    for i, wish in enumerate([wish for wish in costs.weight if not costs.relaxes(wish)]):
        if i % _BETWEEN_LOOKS == 0:
            costs.board.look()
        if oracle.late() and len(costs.weight) > _FEW_PAIRED:
            break
        possible, implied = oracle.follows(wish)
        if not possible:
            oracle.confirm([wish])
            costs.add([-wish])
            wished.remove(wish)
            paid = costs.weight[wish]
            costs.gain(wish, -paid)
            gained += paid
            continue
        if others := wished.intersection(map(neg, implied)):
            against[wish] = others
    for i, (wish, others) in enumerate(list(against.items())):
        if i % _BETWEEN_LOOKS == 0:
            costs.board.look()
        for other in [x for x in others if wish not in against.get(x, ())]:  # few
            against.setdefault(other, set()).add(wish)
    if gained:
        costs.raised(gained)
    return against


def pay_cliques(costs: Costs, against: dict[int, set[int]]) -> None:
    """Pay for all wishes of a clique but one; any one of them is wished."""
    weight = {wish: costs.weight.get(wish, 0) for wish in against}
    look = costs.board.look
    found = max((cliques(against, weight, sign, look) for sign in (1, -1)), key=gained)
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


def cliques(
    against: dict[int, set[int]], weight: dict[int, int], sign: int, look: Callable[[], object]
) -> list[tuple[list[int], int]]:
    """Wishes that exclude one another in pairs, and the weight of the least; of few pairs first, or of many.

    Among many pairs, those that are left are not counted anew.
    """
    left, found = dict(weight), []
    degree = {wish: len(others) for wish, others in against.items()}
    lively = sum(degree.values()) <= _MOST_PAIRS
    order = [(sign * d, wish) for wish, d in degree.items()]
    heapq.heapify(order)
    while order:
        d, wish = heapq.heappop(order)
        if d != sign * degree[wish] or not left[wish]:
            continue
        look()
        clique, common = [wish], against[wish]
        for other in sorted(common, key=degree.__getitem__, reverse=sign < 0):
            if other in common and left[other]:
                clique.append(other)
                common = common & against[other]
        if len(clique) == 1:
            continue
        paid = min(left[member] for member in clique)
        found.append((clique, paid))
        changed = {wish}
        for member in clique:
            left[member] -= paid
            if lively and not left[member]:
                for other in against[member]:
                    degree[other] -= 1
                changed |= against[member]
        for other in changed:
            if left[other]:
                heapq.heappush(order, (sign * degree[other], other))
    return found


def gained(found: list[tuple[list[int], int]]) -> int:
    """What cliques raise the lower bound by."""
    return sum(paid * (len(clique) - 1) for clique, paid in found)
