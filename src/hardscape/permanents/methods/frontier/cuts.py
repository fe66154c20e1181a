r"""Parts of a frontier program that know nothing of one another, so that many share the work.

A permanent is linear in each column, so with the rows that touch a column in two groups, those behind and
those ahead of some layer, it is the sum of two permanents: in one the column is used behind the layer, in
the other ahead of it. States of the layer are divided among the two programs, each of which has the column in
its frontier for a part of the way only. k columns divide it into 2^k parts. Where first and last rows of the
columns are far apart, as in the orders of random sparse matrices, parts have about :math:`2^{-k}` of the
products and of the states each, and hardly anything is done twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardscape.permanents.methods.frontier.order import FrontierOrder, described

#: Columns that are tried, those longest in the frontier, and parts at most.
_TRIED, _MOST_PARTS = 12, 256
#: How much may be done twice.
_TWICE = 1.15


@dataclass(frozen=True)
class Cut:
    """A column whose entries are divided among two parts."""

    column: int
    behind: tuple[
        int, ...
    ]  #: rows whose entries in it the first part has; the second has the others

    def kept(self, row: int, mask: int, ahead: bool) -> int:
        """The columns of a row that a part has."""
        return mask if (row in self.behind) != ahead else mask & ~(1 << self.column)


@dataclass(frozen=True)
class Cuts:
    """Some cuts of an order; a part is numbered by the bits of its sides."""

    cuts: tuple[Cut, ...] = ()

    @property
    def parts(self) -> int:
        """Number of parts."""
        return 1 << len(self.cuts)

    def order(self, order: FrontierOrder, part: int) -> FrontierOrder:
        """The order of a part: the same rows with fewer entries."""
        if not self.cuts:
            return order
        masks = _masks(order)
        for k, cut in enumerate(self.cuts):
            masks = _restricted(masks, cut, bool(part >> k & 1))
        found = described(masks, order.rows)
        assert found is not None  # its frontiers are those of the whole order, or narrower
        return found

    def orders(self, order: FrontierOrder) -> list[FrontierOrder]:
        """Those of all parts."""
        return [self.order(order, part) for part in range(self.parts)]


#: The program in one part.
UNCUT = Cuts()


def cut_up(order: FrontierOrder, seconds: float, part_seconds: float, peak: float) -> Cuts | None:
    """Cuts into parts of about `part_seconds` of `seconds`, as long as little is done twice.

    Parts of more than `peak` states are cut further, whatever that costs; None if that does not help.
    """
    cuts: list[Cut] = []
    parts = [order]
    while True:
        worst = max(parts, key=lambda part: (part.peak, part.transitions))
        products = sum(part.transitions for part in parts)
        too_large = worst.peak > peak
        enough = seconds * worst.transitions <= part_seconds * order.transitions
        if not too_large and (enough or products > _TWICE * order.transitions):
            return Cuts(tuple(cuts))
        found = None if 2 * len(parts) > _MOST_PARTS else _best(worst)
        if found is None:
            return None if too_large else Cuts(tuple(cuts))
        more = Cuts((*cuts, found)).orders(order)
        if not too_large and sum(part.transitions for part in more) > _TWICE * order.transitions:
            return Cuts(tuple(cuts))
        cuts.append(found)
        parts = more


def _best(order: FrontierOrder) -> Cut | None:
    """The cut of an order after which least is done twice, and parts are most equal."""
    masks = _masks(order)
    found: tuple[float, Cut] | None = None
    for cut in _candidates(order):
        sides = [described(_restricted(masks, cut, ahead), order.rows) for ahead in (False, True)]
        both = [side.transitions for side in sides if side is not None]
        if len(both) < 2 or max(both) >= order.transitions:
            continue
        cost = sum(both) * max(both) / order.transitions**2
        if found is None or cost < found[0]:
            found = cost, cut
    return None if found is None else found[1]


def _candidates(order: FrontierOrder) -> Iterator[Cut]:
    rows: dict[int, list[int]] = {}
    places: dict[int, list[int]] = {}
    for k, (row, slots) in enumerate(zip(order.rows, order.slots, strict=True)):
        for column, _ in slots:
            rows.setdefault(column, []).append(row)
            places.setdefault(column, []).append(k)
    longest = sorted(places, key=lambda j: (places[j][0] - places[j][-1], j))
    for column in longest[:_TRIED]:
        gaps = [b - a for a, b in zip(places[column], places[column][1:], strict=False)]
        # Rows that are far apart are divided.
        for at in sorted(range(len(gaps)), key=lambda i: -gaps[i])[:2]:
            yield Cut(column, tuple(rows[column][: at + 1]))


def _masks(order: FrontierOrder) -> list[int]:
    masks = [0] * len(order.rows)
    for row, slots in zip(order.rows, order.slots, strict=True):
        masks[row] = sum(1 << column for column, _ in slots)
    return masks


def _restricted(masks: Sequence[int], cut: Cut, ahead: bool) -> list[int]:
    return [cut.kept(row, mask, ahead) for row, mask in enumerate(masks)]
