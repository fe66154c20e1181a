"""A search and what it came to, for all of a model or a part of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape import memory
from hardscape.engine import RunOptions, solve
from hardscape.ising.methods.exhaustive.blocks import Found, Wanted
from hardscape.ising.methods.lowest import LowestMethod, Whole


@dataclass(frozen=True)
class Searched:
    """What a search came to."""

    method: str
    found: Found  #: the best so far where it was stopped
    complete: bool
    bound: int | None  #: no state has a lower energy
    stopped: str  #: what cut it short
    signum: int
    answered: bool  #: whether any of it was done
    states: int  #: accounted for
    resumed: int  #: of those, before this call
    seconds: float
    resumed_shards: int
    facts: Mapping[str, Any]
    bounds: tuple[
        tuple[float, float, float], ...
    ]  #: when (`time.perf_counter`), best, and what no energy lies below
    needed: float | None  #: seconds that are left, roughly


def searched(
    row: LowestMethod[Any],
    wanted: Wanted,
    options: RunOptions,
    given: NDArray[np.int8],
    listed: bool = True,
    whole: Whole | None = None,
) -> Searched:
    """Search with a method; if `listed`, there will be as many states as are wanted, which must have room."""
    work = replace(row.work(wanted, options, given), whole=whole)
    if listed:
        memory.require(work.memory_bytes(1), f"a list of {wanted.count - 1} states")
    began = time.perf_counter()
    with work.running():
        outcome = solve(work, options)
    found = outcome.answer if outcome.complete else work.best_so_far(outcome.partial)
    assert found is not None
    needed = outcome.needed
    if outcome.cut and needed is None:
        needed = row.foreseen(work, options)
        if needed is not None and needed <= outcome.seconds:
            needed = None  # it took longer than was foreseen of all of it, with no unit done
        if found.share:
            needed = outcome.seconds * (1 - found.share) / found.share
    return Searched(
        work.proved_by(row.name, found),
        found,
        outcome.complete,
        work.lower_bound(outcome.done, found),
        outcome.cut,
        outcome.signum,
        outcome.answer is not None,
        work.states_searched(outcome.units_done),
        work.states_searched(outcome.resumed_units),
        outcome.seconds,
        outcome.resumed_shards,
        found.counters,
        tuple((began + seconds, best, bound) for seconds, best, bound in outcome.bounds),
        needed,
    )
