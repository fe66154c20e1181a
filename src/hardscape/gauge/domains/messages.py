"""What ranks tell each other of the sites at their sides, and of whole fields."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace
from hardscape.gauge.domains.together import Cut, grid_of

_UP, _DOWN, _DEALT, _GATHERED = range(4)


@dataclass
class Line:
    """The ranks that cut a direction, of which this is one: what it moves, and holds beside."""

    comm: Any
    cut: Cut

    def __post_init__(self) -> None:
        self.part: int = self.comm.Get_rank()
        self.own = self.cut.own(self.part)
        self.held = self.cut.held(self.part)


class Swap:
    """Sites of both sides on their way to the ranks beside, and theirs on the way here, or `into` arrays."""

    def __init__(
        self, line: Line, first: Any, last: Any, into: tuple[Any, Any] | None = None
    ) -> None:
        comm, parts = line.comm, line.cut.parts
        up, down = (line.part + 1) % parts, (line.part - 1) % parts
        xp = array_namespace(first)
        self._sides = into or (xp.empty_like(first), xp.empty_like(last))
        self._kept = first, last
        self._asked = [
            comm.Irecv(self._sides[0], down, _UP),
            comm.Irecv(self._sides[1], up, _DOWN),
            comm.Isend(last, up, _UP),
            comm.Isend(first, down, _DOWN),
        ]

    def progress(self) -> None:
        """Let what is on its way go on: without a thread of its own MPI moves inside calls alone."""
        for one in self._asked:
            one.Test()

    def sides(self) -> tuple[Any, Any]:
        """Those of the ranks before and after."""
        for one in self._asked:
            one.Wait()
        return self._sides


def takes_gpu_memory(comm: Any) -> bool:
    """Whether ranks may send each other what lies on GPUs: what the MPI library says of itself.

    By its memory kinds (MPI 4.1), or, as Open MPI and older libraries, when it is asked.
    """
    kinds = comm.Get_info().get("mpi_memory_alloc_kinds", "") or ""
    if any(kind.split(":")[0] == "cuda" for kind in kinds.split(",")):
        return True
    module = sys.modules.get("mpi4py.MPI")
    library = None if module is None else ctypes.CDLL(module.__file__)
    asked = getattr(library, "MPIX_Query_cuda_support", None)
    return asked is not None and bool(asked())


class Messages:
    """One rank of those that hold a lattice together.

    What has the size of the lattice is given and returned by the first rank alone, in ``whole``.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.whole: Any = None
        self.rank, self.ranks = comm.Get_rank(), comm.Get_size()
        self._lines: dict[tuple[int, int], tuple[Any, Any]] = {}

    def share(self, extents: Sequence[int]) -> None:
        """Take a share of a lattice (T, Z, ...): timeslices and rows to move, and one more at each side.

        Rows that are not cut are all here, without more.
        """
        slices, rows = extents[:2]
        grid = self.grid_for(extents)
        if grid not in self._lines:
            t, z = divmod(self.rank, grid[1])
            self._lines[grid] = self.comm.Split(z, t), self.comm.Split(t, z)
        in_time, in_rows = self._lines[grid]
        self.time = Line(in_time, Cut(slices, grid[0]))
        self.rows = Line(in_rows, Cut(rows, grid[1]))
        self.grid = grid
        if not self.cut_rows:
            self.rows.held = list(self.rows.own)
        self.inner = slice(1, -1), slice(1, -1) if self.cut_rows else slice(None)

    def grid_for(self, extents: Sequence[int]) -> tuple[int, int]:
        """Into how many parts the ranks cut timeslices and rows of a lattice (T, Z, ...)."""
        return grid_of(self.ranks, extents[0], extents[1])

    @property
    def cut_rows(self) -> bool:
        """Whether rows are cut."""
        return self.grid[1] > 1

    def _of(self, rank: int, *, sides: bool) -> tuple[list[int], list[int]]:
        """The slices and rows of a rank, with those at the sides or not."""
        t, z = divmod(rank, self.grid[1])
        time, rows = self.time.cut, self.rows.cut
        if not sides:
            return list(time.own(t)), list(rows.own(z))
        return time.held(t), rows.held(z) if self.cut_rows else list(rows.own(z))

    def deal(self, mine: NDArray[Any], *, sides: bool = True) -> None:
        """Fill `mine` with this rank's part of `whole`, shape (T, Z, ...), with the sides or not."""
        if self.rank:
            for part in mine:
                self.comm.Recv(part, 0, _DEALT)
            return
        for rank in reversed(range(self.ranks)):
            slices, rows = self._of(rank, sides=sides)
            for i, t in enumerate(slices):
                part = self.whole[t][rows] if self.cut_rows else self.whole[t]
                if rank:
                    self.comm.Send(np.ascontiguousarray(part, dtype=mine.dtype), rank, _DEALT)
                else:
                    mine[i] = part

    def gather(self, mine: NDArray[Any]) -> None:
        """Put every rank's own sites, shape (slices, rows, ...), together in the first rank's `whole`."""
        if self.rank:
            for part in mine:
                self.comm.Send(np.ascontiguousarray(part), 0, _GATHERED)
            return
        extents = self.time.cut.slices, self.rows.cut.slices
        self.whole = np.empty((*extents, *mine.shape[2:]), dtype=mine.dtype)
        self.whole[: len(self.time.own), : len(self.rows.own)] = mine
        for rank in range(1, self.ranks):
            slices, rows = self._of(rank, sides=False)
            part = np.empty((len(rows), *mine.shape[2:]), dtype=mine.dtype)
            for t in slices:
                self.comm.Recv(part, rank, _GATHERED)
                self.whole[t, rows[0] : rows[-1] + 1] = part

    def gathered_rows(self, mine: NDArray[Any]) -> NDArray[Any] | None:
        """On the first rank numbers of every row, shape (..., T, Z), from those of the rows moved here."""
        parts = self.comm.gather(mine, root=0)
        if parts is None:
            return None
        across = self.grid[1]
        lines = [
            np.concatenate(parts[i : i + across], axis=-1) for i in range(0, len(parts), across)
        ]
        return np.concatenate(lines, axis=-2)
