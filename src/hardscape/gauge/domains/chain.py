"""The Markov chain of the Wilson action over ranks of MPI.

Links of one colour and direction move at the same time, and see staples that reach one timeslice farther.
After each such step the ranks exchange the links in that direction of the slices at their sides, so that
the field is the same bit for bit however many ranks there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import team
from hardscape.gauge.domains.slab import Slab


class ChainSlab(Slab):
    """A slab whose links move. Each public method is called on all ranks at once, arguments the same."""

    def begin_chain(
        self, shape: tuple[int, ...], ends: bool, fixed: int, xi: float, threads: int
    ) -> None:
        """Take the links, shape (T, ..., Nd, Nc, Nc), of the slices that are held."""
        links = self.take_links(shape, threads)
        self._chain: Any = native.vector.gauge.WilsonChain(
            links, ends, fixed, xi, self.held[0], self.cut.slices
        )

    def take_links(self, shape: tuple[int, ...], threads: int) -> NDArray[np.complex128]:
        """The links of the slices that are held, for so many threads."""
        self.end()
        self._team = self._stack.enter_context(team(threads))
        self.share(shape[0])
        links = np.empty((len(self.held), *shape[1:]), dtype=np.complex128)
        self.deal(links)
        self._directions = shape[-3]
        return links

    def sweep_links(
        self, beta: float, overrelax: int, seed: int, number: int
    ) -> NDArray[np.float64] | None:
        """Do one sweep; returns on the first rank what `slice_traces` says of each timeslice."""
        chain, size = self._chain, self._team.size
        sweep = native.vector.gauge.WilsonSweeps(chain, beta, overrelax, seed, number, 1, size)
        for kind in range(overrelax + 1):
            for color in range(chain.colors):
                for mu in range(self._directions):
                    self._step(sweep, kind == 0, color, mu)
        sums = self.comm.gather(chain.slice_traces()[1:-1], root=0)
        return None if sums is None else np.concatenate(sums)

    def gather_links(self) -> None:
        """Gather the links in the first rank's `whole`."""
        self.gather(self._chain.links()[1:-1])

    def _step(self, sweep: Any, heat: bool, color: int, mu: int) -> None:
        """Move the links of a colour and direction, and exchange them."""
        size = self._team.size
        self._team.run(lambda rank: sweep.step(heat, color, mu, rank, size))
        last = len(self.own)
        below, above = self.swapped(self._chain.slice(1, mu), self._chain.slice(last, mu))
        self._chain.set_slice(0, mu, below)
        self._chain.set_slice(last + 1, mu, above)
