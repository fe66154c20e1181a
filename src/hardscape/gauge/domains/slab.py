"""The timeslices of one rank: what each rank does when the first one asks all of them.

A slab holds its own slices and one more at each side, whose g are copies of the neighbours'. These rest
in sweeps and are brought up to date after each colour. An update depends on neighbours of other colours
alone and random numbers are those of the site's number in the whole lattice, so that g is the same bit
for bit however many slabs there are.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Team, team
from hardscape.gauge.domains.together import Cut
from hardscape.gauge.options import FixOptions

#: What a message holds.
_UP, _DOWN, _LINKS, _G, _DELTA = range(5)


class Slab:
    """One rank's part. Each public method is called on all ranks at once, arguments the same.

    What has the size of the lattice is given and returned by the first rank alone, in ``whole``.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.whole: Any = None
        self._rank, self._ranks = comm.Get_rank(), comm.Get_size()
        self._lattices: dict[int, Any] = {}
        self._stack = ExitStack()
        self._team: Team

    def begin(self, shape: tuple[int, ...], options: FixOptions, threads: int) -> None:
        """Take the links, shape (T, Z, Y, X, 4, Nc, Nc), of the slices that are held."""
        self.end()
        self._team = self._stack.enter_context(team(threads))
        self._options, self._cut = options, Cut(shape[0], self._ranks)
        self._own, self._held = self._cut.own(self._rank), self._cut.held(self._rank)
        self._sites = shape[1:-3]
        self._links = np.empty((len(self._held), *shape[1:]), dtype=np.complex128)
        self._dealt(self._links, _LINKS)

    def end(self) -> None:
        """Let go of links and threads."""
        self._lattices.clear()
        self._links = np.empty(0, dtype=np.complex128)
        self._stack.close()

    def open(self, key: int, single: bool) -> None:
        """Make a transformation g = 1 over the links, in single precision or not."""
        self._lattices[key] = native.vector.gauge.Lattice(
            self._links,
            self._options.scales,
            self._options.directions,
            self._options.gauge == "mag",
            single,
            self._held[0],
            self._cut.slices,
        )

    # -- what moves g --------------------------------------------------------------------------

    def sweep(
        self, key: int, method: int, row: tuple[float, ...], seed: int, number: int, active: bytes
    ) -> None:
        """Visit the sites of the active timeslices, one byte each, once: colour by colour."""
        lattice = self._lattices[key]
        moving = np.zeros(len(self._held), dtype=np.uint8)
        moving[1:-1] = np.frombuffer(active, dtype=np.uint8)[self._own.start : self._own.stop]
        never = np.zeros(1, dtype=np.uint8)
        for color in range(lattice.colors):
            together = native.vector.gauge.Sweeps(
                lattice,
                method,
                np.array(row),
                seed,
                number,
                1,
                moving,
                self._team.size,
                never,
                color,
            )
            self._team.run(together.run)
            self._exchange(lattice)

    def randomize(self, key: int, seed: int) -> None:
        """Set g from the Haar measure."""
        self._lattices[key].randomize(seed)

    def set_transformation(self, key: int) -> None:
        """Set g to the first rank's `whole`."""
        nc = self._links.shape[-1]
        g = np.empty((len(self._held), *self._sites, nc, nc), dtype=np.complex128)
        self._dealt(g, _G)
        self._lattices[key].set_transformation(g)

    def move(self, key: int, components: int, step: bytes) -> None:
        """Set g to exp(step[t] direction) g: steps of float64, the direction the first rank's `whole`."""
        lattice = self._lattices[key]
        along = np.zeros((len(self._held), components, *self._sites), dtype=np.complex128)
        self._dealt(along[1:-1], _DELTA, sides=False)
        steps = np.zeros(len(self._held))
        steps[1:-1] = np.frombuffer(step)[self._own.start : self._own.stop]
        packed = np.ascontiguousarray(along.swapaxes(0, 1))
        self._team.run(lambda rank: lattice.move(packed, steps, rank, self._team.size))
        self._exchange(lattice)

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self, key: int) -> NDArray[np.float64] | None:
        """Of each timeslice the sums of functional and theta and the largest theta, (3, T)."""
        lattice = self._lattices[key]
        sites = int(np.prod(self._sites))
        heights, thetas = np.empty((2, len(self._held), sites))
        self._team.run(lambda rank: lattice.measure(heights, thetas, rank, self._team.size))
        mine = native.vector.gauge.slice_sums(heights[1:-1], thetas[1:-1])
        sums = self.comm.gather(mine, root=0)
        return None if sums is None else np.concatenate(sums, axis=1)

    def gradient(self, key: int, components: int) -> None:
        """Gather Delta, packed, shape (T, components, Z, Y, X), in the first rank's `whole`."""
        lattice = self._lattices[key]
        delta = np.empty((components, len(self._held), *self._sites), dtype=np.complex128)
        self._team.run(lambda rank: lattice.gradient(delta, rank, self._team.size))
        self._gathered(np.ascontiguousarray(delta[:, 1:-1].swapaxes(0, 1)), _DELTA)

    def transformation(self, key: int) -> None:
        """Gather g, shape (T, Z, Y, X, Nc, Nc), in the first rank's `whole`."""
        lattice = self._lattices[key]
        self._gathered(np.stack([lattice.slice(i + 1) for i in range(len(self._own))]), _G)

    # -- messages ------------------------------------------------------------------------------

    def _exchange(self, lattice: Any) -> None:
        """Bring the slices at the sides up to date. Slices of Coulomb gauge know no neighbours."""
        if self._options.sliced:
            return
        last = len(self._own)
        up, down = (self._rank + 1) % self._ranks, (self._rank - 1) % self._ranks
        first_sent, last_sent = lattice.slice(1), lattice.slice(last)
        below, above = np.empty_like(first_sent), np.empty_like(first_sent)
        self.comm.Sendrecv(last_sent, up, _UP, below, down, _UP)
        self.comm.Sendrecv(first_sent, down, _DOWN, above, up, _DOWN)
        lattice.set_slice(0, below)
        lattice.set_slice(last + 1, above)

    def _dealt(self, mine: NDArray[Any], tag: int, *, sides: bool = True) -> None:
        """Fill `mine` with this rank's slices of `whole`, shape (T, ...), with those at the sides or not."""
        if self._rank:
            for part in mine:
                self.comm.Recv(part, 0, tag)
            return
        for rank in reversed(range(self._ranks)):
            for i, t in enumerate(self._cut.held(rank) if sides else self._cut.own(rank)):
                if rank:
                    self.comm.Send(np.ascontiguousarray(self.whole[t], dtype=mine.dtype), rank, tag)
                else:
                    mine[i] = self.whole[t]

    def _gathered(self, mine: NDArray[Any], tag: int) -> None:
        """Put every rank's own slices together in the first rank's `whole`."""
        if self._rank:
            for part in mine:
                self.comm.Send(part, 0, tag)
            return
        self.whole = np.empty((self._cut.slices, *mine.shape[1:]), dtype=mine.dtype)
        self.whole[: len(mine)] = mine
        for rank in range(1, self._ranks):
            for t in self._cut.own(rank):
                self.comm.Recv(self.whole[t], rank, tag)
