"""Methods that walk blocks, as rows of the table of `spectrum`; the one that visits all of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, RunOptions
from hardscape.ising.methods.exhaustive.blocks import BlockSearch, Walk, Wanted
from hardscape.ising.methods.exhaustive.sample import Sample
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.lowest import LowestMethod

#: Spins whose states can all be visited.
_MOST_VISITED = 64


class BlockMethod(LowestMethod[BlockWork]):
    """A method that walks blocks in its way, under floors."""

    walk: ClassVar[Walk]

    def floors(self, search: BlockSearch, options: RunOptions) -> tuple[int, ...]:
        """Floors raised before the search; none by default."""
        return ()

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> BlockWork:
        """The work that answers, with all hints that its shards profit from, and the states given."""
        work = BlockWork.around_low_state(wanted, self.walk, options).knowing(given)
        if work.search.tiny:
            return work
        return work.with_hints(self.floors(work.search, options), options)

    def sample(self, work: BlockWork, device: Device, allowed: float) -> float:
        """Seconds of the whole search on one lane."""
        return Sample(work, device).seconds(allowed)


class Exhaustive(BlockMethod):
    """Every block is filtered: 2**N states at some 1e10 a second and core, 1e13 a second and GPU."""

    name: ClassVar[str] = "exhaustive"
    walk: ClassVar[Walk] = Walk(prune=False, mid=10, most_chunks=None)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """Where there are more states than anybody visits."""
        if wanted.terms.num_spins <= _MOST_VISITED:
            return ""
        return f"all states of more than {_MOST_VISITED} spins are too many to visit"
