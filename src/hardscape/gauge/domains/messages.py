"""What ranks tell each other of timeslices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.gauge.domains.together import Cut

_UP, _DOWN, _DEALT, _GATHERED = range(4)


class Messages:
    """One rank of those that hold a lattice together.

    What has the size of the lattice is given and returned by the first rank alone, in ``whole``.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.whole: Any = None
        self.rank, self.ranks = comm.Get_rank(), comm.Get_size()
        self.share(self.ranks)

    def share(self, slices: int) -> None:
        """Take a share of so many timeslices: those in `own`, and `held` with one more at each side."""
        self.cut = Cut(slices, self.ranks)
        self.own, self.held = self.cut.own(self.rank), self.cut.held(self.rank)

    def swapped(self, first: NDArray[Any], last: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give the own first and last slice to the ranks beside; returns theirs, before and after."""
        up, down = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
        below, above = np.empty_like(first), np.empty_like(first)
        self.comm.Sendrecv(last, up, _UP, below, down, _UP)
        self.comm.Sendrecv(first, down, _DOWN, above, up, _DOWN)
        return below, above

    def deal(self, mine: NDArray[Any], *, sides: bool = True) -> None:
        """Fill `mine` with this rank's slices of `whole`, shape (T, ...), with those at the sides or not."""
        if self.rank:
            for part in mine:
                self.comm.Recv(part, 0, _DEALT)
            return
        for rank in reversed(range(self.ranks)):
            for i, t in enumerate(self.cut.held(rank) if sides else self.cut.own(rank)):
                if rank:
                    self.comm.Send(
                        np.ascontiguousarray(self.whole[t], dtype=mine.dtype), rank, _DEALT
                    )
                else:
                    mine[i] = self.whole[t]

    def gather(self, mine: NDArray[Any]) -> None:
        """Put every rank's own slices together in the first rank's `whole`."""
        if self.rank:
            for part in mine:
                self.comm.Send(part, 0, _GATHERED)
            return
        self.whole = np.empty((self.cut.slices, *mine.shape[1:]), dtype=mine.dtype)
        self.whole[: len(mine)] = mine
        for rank in range(1, self.ranks):
            for t in self.cut.own(rank):
                self.comm.Recv(self.whole[t], rank, _GATHERED)
