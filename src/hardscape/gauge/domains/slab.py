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
from hardscape.arrays import to_device
from hardscape.engine import Team, team
from hardscape.gauge.boundary import live
from hardscape.gauge.domains.messages import Messages
from hardscape.gauge.domains.transform import Columns
from hardscape.gauge.groups import Group, group
from hardscape.gauge.methods.fourier import FourierSteps
from hardscape.gauge.options import FixOptions


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
        self.share(shape[0])
        self._sites = shape[1:-3]
        self._links = np.empty((len(self.held), *shape[1:]), dtype=np.complex128)
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
            self.held[0],
            self.cut.slices,
        )

    # -- what moves g --------------------------------------------------------------------------

    def sweep(
        self, key: int, method: int, row: tuple[float, ...], seed: int, number: int, active: bytes
    ) -> None:
        """Visit the sites of the active timeslices, one byte each, once: colour by colour."""
        lattice = self._lattices[key]
        moving = self.moving(active)
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

    @property
    def group(self) -> Group:
        """That of the links."""
        return group(self._links.shape[-1])

    def moving(self, active: bytes) -> NDArray[np.uint8]:
        """Which of the slices that are held move, of active ones of the lattice."""
        found = np.zeros(len(self.held), dtype=np.uint8)
        found[1:-1] = np.frombuffer(active, dtype=np.uint8)[self.own.start : self.own.stop]
        return found

    def randomize(self, key: int, seed: int) -> None:
        """Set g from the Haar measure."""
        self._lattices[key].randomize(seed)

    def set_transformation(self, key: int) -> None:
        """Set g to the first rank's `whole`."""
        nc = self._links.shape[-1]
        g = np.empty((len(self.held), *self._sites, nc, nc), dtype=np.complex128)
        self.deal(g)
        self._lattices[key].set_transformation(g)

    def accelerate(self, key: int) -> None:
        """Begin the Fourier-accelerated conjugate gradient."""
        slab = _Own(self, key, live(self._options.boundary, self.cut.slices)[self._own_slices])
        self._steps = FourierSteps(slab, self._options, Columns(self))

    def advance(self, key: int, active: bytes) -> None:
        """Do one of its iterations on the active timeslices, one byte each."""
        mine = np.frombuffer(active, dtype=np.uint8)[self._own_slices]
        self._steps.advance(mine[None].astype(bool))

    @property
    def _own_slices(self) -> slice:
        return slice(self.own.start, self.own.stop)

    def move(self, key: int, components: int, step: bytes) -> None:
        """Set g to exp(step[t] direction) g: steps of float64, the direction the first rank's `whole`."""
        along = np.empty((len(self.own), components, *self._sites), dtype=np.complex128)
        self.deal(along, sides=False)
        self.slab_move(key, along.swapaxes(0, 1)[None], np.frombuffer(step)[None, self._own_slices])

    # -- what is told of g ---------------------------------------------------------------------

    def measure(self, key: int) -> NDArray[np.float64] | None:
        """Of each timeslice the sums of functional and theta and the largest theta, (3, T)."""
        lattice = self._lattices[key]
        sites = int(np.prod(self._sites))
        heights, thetas = np.empty((2, len(self.held), sites))
        self._team.run(lambda rank: lattice.measure(heights, thetas, rank, self._team.size))
        mine = native.vector.gauge.slice_sums(heights[1:-1], thetas[1:-1])
        sums = self.comm.gather(mine, root=0)
        return None if sums is None else np.concatenate(sums, axis=1)

    def gradient(self, key: int) -> None:
        """Gather Delta, packed, shape (T, components, Z, Y, X), in the first rank's `whole`."""
        delta = to_device(self.slab_gradient(key), "cpu")[0]
        self.gather(np.ascontiguousarray(delta.swapaxes(0, 1)))

    def transformation(self, key: int) -> None:
        """Gather g, shape (T, Z, Y, X, Nc, Nc), in the first rank's `whole`."""
        lattice = self._lattices[key]
        self.gather(np.stack([lattice.slice(i + 1) for i in range(len(self.own))]))

    def slab_gradient(self, key: int) -> Any:
        """Delta on the own slices, packed, shape (1, components, slices, ...)."""
        components = self.group.components
        delta = np.empty((components, len(self.held), *self._sites), dtype=np.complex128)
        lattice = self._lattices[key]
        self._team.run(lambda rank: lattice.gradient(delta, rank, self._team.size))
        return np.ascontiguousarray(delta[None, :, 1:-1])

    def slab_move(self, key: int, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g on the own slices."""
        lattice = self._lattices[key]
        packed = np.zeros((direction.shape[1], len(self.held), *self._sites), np.complex128)
        packed[:, 1:-1] = direction[0]
        steps = np.zeros(len(self.held))
        steps[1:-1] = step[0]
        self._team.run(lambda rank: lattice.move(packed, steps, rank, self._team.size))
        self._exchange(lattice)

    def _exchange(self, lattice: Any) -> None:
        """Bring the slices at the sides up to date. Slices of Coulomb gauge know no neighbours."""
        if self._options.sliced:
            return
        last = len(self.own)
        below, above = self.swapped(lattice.slice(1), lattice.slice(last))
        lattice.set_slice(0, below)
        lattice.set_slice(last + 1, above)


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
