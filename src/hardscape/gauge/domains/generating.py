"""A Markov chain over ranks of MPI, as the first of them has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.gauge.domains.ranks import Domains
from hardscape.gauge.lattice.cuda import require_even


class RankedChain:
    """A chain over all ranks, as the first of them has it."""

    def __init__(
        self, held: Domains, links: Any, ends: bool, fixed: int, xi: float, threads: int
    ) -> None:
        held.require(links.shape)
        if held.on_gpus:
            require_even(links.shape[:-3])
        self._held, self._shape = held, links.shape
        held.forget()
        self._number = held.chain = held.new_key()
        held.ask("begin_chain", links.shape, ends, fixed, xi, threads, whole=links)
        slices = links.shape[0] - (1 if ends else 0)
        directions = links.shape[-3]
        planes = directions * (directions - 1) // 2
        self._counted = slices * math.prod(links.shape[1:-3]) * planes * links.shape[-1]

    def links(self) -> Any:
        """The links of the moment, shape (T, ..., Nd, Nc, Nc)."""
        self._require()
        return self._held.whole("gather_links")

    def _require(self) -> None:
        if self._held.chain != self._number:
            raise InputError(
                "the ranks hold another chain since; one at a time is accepted there, and goes on as "
                "WilsonChain(field, ..., first_sweep=) from a field that was kept"
            )

    def run(
        self, beta: float, overrelax: int, seed: int, first: int, count: int
    ) -> NDArray[np.float64]:
        """Do sweeps; returns the plaquette after each."""
        self._require()
        return np.array(
            [
                self._held.ask("sweep_links", beta, overrelax, seed, first + n).sum()
                / self._counted
                for n in range(count)
            ]
        )
