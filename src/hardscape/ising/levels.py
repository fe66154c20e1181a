"""Energy levels of a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

#: Levels that are shown.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Level:
    """One energy level.

    Attributes
    ----------
    energy : float
    count : int
        States listed.
    complete : bool
        Whether these are all states of the level; False when the list is cut inside it, or when the
        search is not certified.

    Examples
    --------
    >>> import hardscape
    >>> level = hardscape.spectrum({(0, 1): -1.0}, 2).levels[0]
    >>> level.energy, level.count, level.complete
    (-1.0, 2, True)
    """

    energy: float
    count: int
    complete: bool


class Levels(Sequence[Level]):
    """Levels in order of energy, each made when it is looked at: a list of states may have millions.

    Parameters
    ----------
    energies : float64, shape (L,)
    counts : int64, shape (L,)
    complete : bool, shape (L,)
    """

    __slots__ = ("_columns",)

    def __init__(
        self, energies: NDArray[np.float64], counts: NDArray[np.int64], complete: NDArray[np.bool_]
    ) -> None:
        self._columns = (energies, counts, complete)

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> Level: ...
    @overload
    def __getitem__(self, index: slice) -> Levels: ...
    def __getitem__(self, index: int | slice) -> Level | Levels:
        energies, counts, complete = self._columns
        if isinstance(index, slice):
            return Levels(energies[index], counts[index], complete[index])
        return Level(float(energies[index]), int(counts[index]), bool(complete[index]))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Levels):
            pairs = zip(self._columns, other._columns, strict=True)
            return all(np.array_equal(mine, theirs) for mine, theirs in pairs)
        return NotImplemented if not isinstance(other, tuple) else tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:_SHOWN]))
        left = len(self) - _SHOWN
        return f"({shown}{f', and {left} more' if left > 0 else ''}{',' if len(self) == 1 else ''})"
