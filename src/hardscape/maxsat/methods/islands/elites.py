"""Exchange of elites: which walks take over whose assignment."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Exchange = Literal["winners", "cellular", "none"]
EXCHANGES: tuple[str, ...] = get_args(Exchange)
#: Share of the walks whose best assignments the others take over.
SHARE = 0.4

#: Walks of an island, on a side.
SIDE = 4
ISLAND = SIDE * SIDE
#: Share of the walks on an island's rim whose neighbour across it is that of the island beyond.
DIFFUSION = 0.05


def elites(exchange: Exchange, walks: int, seed: int, stream: int) -> Winners | Cellular | None:
    """The rule of that name; `seed` and `stream` key its random numbers.

    From the fewest violated clauses of each walk since the last exchange, the ``sources`` of a rule say whose
    assignment each walk takes over, -1 for none.
    """
    if exchange == "cellular":
        return Cellular(walks, seed, stream)
    return Winners() if exchange == "winners" else None


class Winners:
    """Go with the winners: the best walks go on, and the others from their best assignments, by turns."""

    def sources(self, best: NDArray[np.integer]) -> NDArray[np.int32]:
        """Of walks that are equal the first ones go on."""
        order = np.argsort(best, kind="stable").astype(np.int32)
        kept = max(1, int(SHARE * len(order)))
        source = np.full(len(order), -1, dtype=np.int32)
        source[order[kept:]] = np.resize(order[:kept], len(order) - kept)
        return source


class Cellular:
    """Who takes over whose assignment, as in the cellular genetic algorithm.

    Walks stand on islands of 4 x 4, each of them a torus, and islands on a torus of their own. A walk has
    four neighbours; those across the rim of its island are on the other side of the same island or, as
    rarely as diffusion has it, on the next one. Where an island is not full, the cells that are missing
    are nobody's neighbour.
    """

    def __init__(self, walks: int, seed: int, stream: int) -> None:
        self._random = np.random.Philox(key=np.array([seed, stream], dtype=np.uint64))
        islands = -(-walks // ISLAND)
        columns = math.isqrt(islands)
        while islands % columns:
            columns -= 1
        self._columns, self._rows = columns, islands // columns
        self._walks = walks
        self._last = np.full(walks, np.iinfo(np.int64).max)

    def sources(self, best: NDArray[np.integer]) -> NDArray[np.int32]:
        """The best neighbour, where that is better and the walk no better than before the last exchange."""
        own = best.astype(np.int64)
        stays = own < self._last
        self._last = own
        source = np.full(self._walks, -1, dtype=np.int32)
        least = own.copy()
        for neighbour in self._neighbours():
            known = neighbour < self._walks
            there = np.where(known, own[np.where(known, neighbour, 0)], np.iinfo(np.int64).max)
            better = there < least
            source[better], least[better] = neighbour[better], there[better]
        source[stays] = -1
        return source

    def _neighbours(self) -> list[NDArray[np.int64]]:
        """East, west, south and north of each walk, beyond the last walk where a cell is missing."""
        walk = np.arange(self._walks)
        island, cell = divmod(walk, ISLAND)
        place = [
            island % self._columns * SIDE + cell % SIDE,
            island // self._columns * SIDE + cell // SIDE,
        ]
        wide = [self._columns * SIDE, self._rows * SIDE]
        found = []
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            moved = list(place)
            across = self._random.random_raw(self._walks) >> np.uint64(11)
            far = (place[axis] + step) % wide[axis]
            home = place[axis] // SIDE * SIDE + (place[axis] + step) % SIDE
            beyond = across.astype(np.float64) * 2.0**-53 < DIFFUSION
            moved[axis] = np.where(beyond, far, home)
            x, y = moved
            found.append(
                (y // SIDE * self._columns + x // SIDE) * ISLAND + y % SIDE * SIDE + x % SIDE
            )
        return found
