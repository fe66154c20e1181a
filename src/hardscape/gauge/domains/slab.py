"""The slab of one rank: what each rank does when the first one asks all of them.

A slab holds its own timeslices and one more at each side, and where there are many ranks its own rows of them
and one more at each side, whose g are copies of the neighbours'. These rest in sweeps and are brought up to
date after each colour: what the neighbours need of it moves first, and is on its way while the others move. An
update depends on neighbours of other colours alone and random numbers are those of the site's number in the
whole lattice, so that g is the same bit for bit however many slabs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arrays import to_device
from hardscape.engine import Team, team
from hardscape.gauge.boundary import live
from hardscape.gauge.domains.messages import Line, Messages, Swap
from hardscape.gauge.domains.transform import Columns
from hardscape.gauge.groups import Group, group
from hardscape.gauge.methods.fourier import FourierSteps
from hardscape.gauge.options import FixOptions

#: Native numbers of a window's sites: all, those that neighbours have copies of, the others.
ALL, SIDES, INNER = range(3)
#: Parts that the others move in, with a look at the messages after each; and slices that one has at least.
PIECES, _THICK = 4, 2
#: What is at one side of a slab: of a direction, counted from x, at a coordinate.
Face = Callable[[int, int], Any]
Put = Callable[[int, int, Any], None]


class Slab(Messages):
    """One rank's part. Each public method is called on all ranks at once, arguments the same."""

    def __init__(self, comm: Any) -> None:
        super().__init__(comm)
        self._lattices: dict[int, Any] = {}
        self._stack = ExitStack()
        self._team: Team

    def begin(self, shape: tuple[int, ...], options: FixOptions, threads: int) -> None:
        """Take the links, shape (T, Z, Y, X, 4, Nc, Nc), of the slices that are held."""
        self.end()
        self._team = self._stack.enter_context(team(threads))
        self._options = options
        self.share(shape[:-3])
        self._sites = len(self.rows.held), *shape[2:-3]
        self._links = np.empty((len(self.time.held), *self._sites, *shape[-3:]), np.complex128)
        self.deal(self._links)

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
            **self.window,
        )

    @property
    def window(self) -> dict[str, int]:
        """Which part of the lattice is held, as native lattices and chains are told."""
        time = {"first": self.time.held[0], "slices": self.time.cut.slices}
        if not self.cut_rows:
            return time
        return time | {"first_row": self.rows.held[0], "rows": self.rows.cut.slices}

    # -- what moves g --------------------------------------------------------------------------

    def sweep(
        self, key: int, method: int, row: tuple[float, ...], seed: int, number: int, active: bytes
    ) -> None:
        """Visit the sites of the active timeslices, one byte each, once: colour by colour."""
        lattice = self._lattices[key]
        never, step = np.zeros(1, dtype=np.uint8), np.array(row)

        def visit(color: int, sides: int, moving: NDArray[np.uint8]) -> None:
            size = self._team.size
            together = native.vector.gauge.Sweeps(
                lattice, method, step, seed, number, 1, moving, size, never, color, sides
            )
            self._team.run(together.run)

        moving = self.moving(active)
        for color in range(lattice.colors):
            lines = self._neighbours()
            if not lines:
                visit(color, ALL, moving)
                continue
            visit(color, SIDES, moving)
            swaps = [self._swap(line, mu, lattice.face) for line, mu in lines]
            for some in self._pieces(moving):
                visit(color, INNER, some)
                for swap in swaps:
                    swap.progress()
            for swap, (line, mu) in zip(swaps, lines, strict=True):
                self._take(swap, line, mu, lattice.set_face)

    def sweeps(
        self,
        key: int,
        method: int,
        row: tuple[float, ...],
        seed: int,
        first: int,
        count: int,
        active: bytes,
    ) -> None:
        """So many sweeps, one after the other."""
        for number in range(first, first + count):
            self.sweep(key, method, row, seed, number, active)

    def _pieces(self, moving: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
        """The active slices by parts."""
        for some in np.array_split(np.arange(len(moving)), min(PIECES, len(moving) // _THICK)):
            piece = np.zeros_like(moving)
            piece[some] = moving[some]
            if piece.any():
                yield piece

    @property
    def group(self) -> Group:
        """That of the links."""
        return group(self._links.shape[-1])

    def moving(self, active: bytes) -> NDArray[np.uint8]:
        """Which of the slices that are held move, of active ones of the lattice."""
        found = np.zeros(len(self.time.held), dtype=np.uint8)
        found[1:-1] = np.frombuffer(active, dtype=np.uint8)[self._own_slices]
        return found

    def randomize(self, key: int, seed: int) -> None:
        """Set g from the Haar measure."""
        self._lattices[key].randomize(seed)

    def set_transformation(self, key: int) -> None:
        """Set g to the first rank's `whole`."""
        nc = self._links.shape[-1]
        g = np.empty((len(self.time.held), *self._sites, nc, nc), dtype=np.complex128)
        self.deal(g)
        self._lattices[key].set_transformation(g)

    def accelerate(self, key: int) -> None:
        """Begin the Fourier-accelerated conjugate gradient."""
        slab = _Own(self, key, live(self._options.boundary, self.time.cut.slices)[self._own_slices])
        self._steps = FourierSteps(slab, self._options, Columns(self))

    def advance(self, key: int, active: bytes) -> None:
        """Do one of its iterations on the active timeslices, one byte each."""
        mine = np.frombuffer(active, dtype=np.uint8)[self._own_slices]
        self._steps.advance(mine[None].astype(bool))

    @property
    def _own_slices(self) -> slice:
        return slice(self.time.own.start, self.time.own.stop)

    def move(self, key: int, components: int, step: bytes) -> None:
        """Set g to exp(step[t] direction) g: steps of float64, the direction the first rank's `whole`."""
        shape = len(self.time.own), len(self.rows.own), *self._sites[1:], components
        along = np.empty(shape, dtype=np.complex128)
        self.deal(along, sides=False)
        steps = np.frombuffer(step)[None, self._own_slices]
        self.slab_move(key, np.moveaxis(along, -1, 0)[None], steps)

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self, key: int) -> NDArray[np.float64] | None:
        """Of each row the sums of functional and theta and the largest theta, (3, T, Z)."""
        lattice = self._lattices[key]
        rows = len(self.time.held), len(self.rows.held)
        heights, thetas = np.empty((2, *rows, int(np.prod(self._sites[1:]))))
        self._team.run(lambda rank: lattice.measure(heights, thetas, rank, self._team.size))
        mine = native.vector.gauge.row_sums(heights, thetas)
        return self.gathered_rows(mine[(slice(None), *self.inner)])

    def gradient(self, key: int) -> None:
        """Gather Delta, packed, shape (T, Z, ..., X, components), in the first rank's `whole`."""
        self.gather(np.moveaxis(to_device(self.slab_gradient(key), "cpu")[0], 0, -1))

    def transformation(self, key: int) -> None:
        """Gather g, shape (T, Z, Y, X, Nc, Nc), in the first rank's `whole`."""
        self.gather(self._lattices[key].transformation()[self.inner])

    def slab_gradient(self, key: int) -> Any:
        """Delta on the own slices, packed, shape (1, components, slices, ...)."""
        shape = self.group.components, len(self.time.held), *self._sites
        delta = np.empty(shape, dtype=np.complex128)
        lattice = self._lattices[key]
        self._team.run(lambda rank: lattice.gradient(delta, rank, self._team.size))
        return np.ascontiguousarray(delta[(None, slice(None), *self.inner)])

    def slab_move(self, key: int, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g on the own slices."""
        lattice = self._lattices[key]
        packed = np.zeros((direction.shape[1], len(self.time.held), *self._sites), np.complex128)
        packed[(slice(None), *self.inner)] = direction[0]
        steps = np.zeros(len(self.time.held))
        steps[1:-1] = step[0]
        self._team.run(lambda rank: lattice.move(packed, steps, rank, self._team.size))
        lines = self._neighbours()
        for swap, (line, mu) in [(self._swap(*to, lattice.face), to) for to in lines]:
            self._take(swap, line, mu, lattice.set_face)

    # -- from rank to rank ---------------------------------------------------------------------

    def _neighbours(self) -> list[tuple[Line, int]]:
        """Where there are sites that sweeps ask for, and in which direction, counted from x.

        Slices of Coulomb gauge know no neighbours in time.
        """
        time = len(self._sites)
        found = [] if self._options.sliced else [(self.time, time)]
        return found + [(self.rows, time - 1)] * self.cut_rows

    def _swap(self, line: Line, mu: int, face: Face) -> Swap:
        """Send what is at the sides of a direction."""
        return Swap(line, face(mu, 1), face(mu, len(line.own)))

    def _take(self, swap: Swap, line: Line, mu: int, put: Put) -> None:
        """Bring the sites beside up to date."""
        below, above = swap.sides()
        put(mu, 0, below)
        put(mu, len(line.own) + 1, above)


class _Own:
    """The own slices of a transformation of a slab, as the conjugate gradient moves them."""

    def __init__(self, slab: Slab, key: int, live: NDArray[np.bool_]) -> None:
        self.group = slab.group
        self.live = live
        self._slab, self._key = slab, key

    def gradient(self) -> Any:
        """See `Moved.gradient`."""
        return self._slab.slab_gradient(self._key)

    def move(self, direction: Any, step: Any) -> None:
        """See `Moved.move`."""
        self._slab.slab_move(self._key, direction, step)
