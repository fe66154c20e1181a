"""The Markov chain of the Wilson action over ranks of MPI.

Links of one colour and direction move at the same time, and see staples that reach one site farther. After
each such step the ranks exchange the links in that direction at their sides, so that the field is the same bit
for bit however many ranks there are. Those move first, and are on their way while the others move; where rows
are cut too, timeslices follow the rows, and take along what came of them, for staples reach around corners.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import team
from hardscape.gauge.domains.slab import INNER, PIECES, SIDES, Slab


class ChainSlab(Slab):
    """A slab whose links move. Each public method is called on all ranks at once, arguments the same."""

    def begin_chain(
        self, shape: tuple[int, ...], ends: bool, fixed: int, xi: float, threads: int
    ) -> None:
        """Take the links, shape (T, ..., Nd, Nc, Nc), of the slices that are held."""
        links = self.take_links(shape, threads)
        self._chain: Any = native.vector.gauge.WilsonChain(links, ends, fixed, xi, **self.window)

    def take_links(self, shape: tuple[int, ...], threads: int) -> NDArray[np.complex128]:
        """The links of the slices that are held, for so many threads."""
        self.end()
        self._team = self._stack.enter_context(team(threads))
        self._links_shape = shape
        self.take_up()
        links = np.empty((len(self.time.held), *self._sites, *shape[-3:]), dtype=np.complex128)
        self.deal(links)
        return links

    def take_up(self) -> None:
        """Share the chain's lattice again: the ranks may have fixed another one meanwhile."""
        shape = self._links_shape
        self.share(shape[:-3])
        self._sites = len(self.rows.held), *shape[2:-3]
        self._directions = shape[-3]

    def sweep_links(
        self, beta: float, overrelax: int, seed: int, number: int
    ) -> NDArray[np.float64] | None:
        """Do one sweep; returns on the first rank the traces of plaquettes that start in each row, (T, Z)."""
        self.take_up()
        chain, size = self._chain, self._team.size
        sweep = native.vector.gauge.WilsonSweeps(chain, beta, overrelax, seed, number, 1, size)
        for kind in range(overrelax + 1):
            for color in range(chain.colors):
                for mu in range(self._directions):
                    self._step(sweep, kind == 0, color, mu)
        traces = np.empty((len(self.time.held), *self._sites))
        self._team.run(lambda rank: chain.site_traces(traces, rank, size))
        of_rows = traces.reshape(*traces.shape[:2], -1)[self.inner]
        return self.gathered_rows(np.ascontiguousarray(of_rows).sum(axis=2))

    def gather_links(self) -> None:
        """Gather the links in the first rank's `whole`."""
        self.take_up()
        self.gather(self._chain.links()[self.inner])

    def _step(self, sweep: Any, heat: bool, color: int, mu: int) -> None:
        """Move the links of a colour and direction, and exchange them."""
        size, chain = self._team.size, self._chain
        time = len(self._sites)
        lines = [(self.rows, time - 1)] * self.cut_rows + [(self.time, time)]

        def move(sides: int, part: int = 0, parts: int = 1) -> None:
            self._team.run(
                lambda rank: sweep.step(heat, color, mu, sides, part * size + rank, parts * size)
            )

        def face(nu: int, at: int) -> Any:
            return chain.face(nu, at, mu)

        def put(nu: int, at: int, links: Any) -> None:
            chain.set_face(nu, at, mu, links)

        move(SIDES)
        for line, nu in lines:
            swap = self._swap(line, nu, face)
            if line is lines[0][0]:
                for part in range(PIECES):
                    move(INNER, part, PIECES)
                    swap.progress()
            self._take(swap, line, nu, put)
