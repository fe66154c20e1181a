"""Walks on GPUs as work for the engine: a shard is what one GPU holds at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.engine.cuda import cuda_device
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.walkers.batch import WalkBatch
from hardscape.maxsat.walkers.tables import WalkTables

__all__ = ["CudaWalks"]

#: Flips of each walk in the first launch, and seconds that the later ones aim at.
_FIRST_FLIPS, _LAUNCH_SECONDS = 256, 0.02
#: Without a limit, walks end after this many flips a variable without improvement, or as many as there
#: were before it.
_PATIENCE = 300
#: Flips of a launch are a 32-bit number.
_MOST_FLIPS = 2**31
#: Streams of a shard: more walks than a GPU holds.
_STREAMS = 2**32


@dataclass(frozen=True, eq=False)
class CudaWalks(Work):
    """Focused random walks on a presolved formula of clauses of up to three literals.

    Every walk takes the same steps as the walk of its stream on the CPU. The first one to satisfy all
    clauses, by its number of flips, gives the answer, however the launches were cut.

    A partial holds the best ``assignment`` (uint8, shape (n,)), its number of ``violated`` clauses, and
    the ``flips`` of all walks (int64, shape (1,)).

    Attributes
    ----------
    formula : Formula
        For which :func:`~hardscape.maxsat.walkers.tables.fits` holds.
    seed : int
    gpus : int
        Shards.
    walks : int or None
        Walks of a GPU; by default as many as it holds.
    target : int
        Violated clauses at which the search ends.
    max_flips : int or None
        Flips of each walk. None: until the target is reached, or until nothing improves for long, unless
        `endless`.
    endless : bool
        Go on when nothing improves.
    offer : callable or None
        Called with each better assignment, in this process.
    halt : uint8 array of shape (1,) or None
        Becomes 1 when another search has found what is wanted.
    """

    name = "maxsat.walks"
    unit = "GPUs"

    formula: Formula
    seed: int
    gpus: int = 1
    walks: int | None = None
    target: int = 0
    max_flips: int | None = None
    endless: bool = False
    offer: Callable[[NDArray[np.uint8]], object] | None = field(default=None, repr=False)
    halt: NDArray[np.uint8] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process."""
        state = {key: value for key, value in self.__dict__.items() if key != "tables"}
        return {**state, "offer": None, "halt": None}

    def digest(self) -> str:
        """Hash of the formula and of everything that shapes a walk."""
        facts = (self.seed, self.gpus, self.walks, self.target, self.max_flips)
        return hashlib.sha256(f"{self.formula.digest()}{facts}".encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One for each GPU."""
        return split(self.gpus, self.gpus)

    @cached_property
    def tables(self) -> WalkTables:
        """The formula as the kernels read it."""
        return WalkTables.of(self.formula)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Let the walks of one GPU go."""
        with cuda_device(context.device.ordinal) as device:
            batch = WalkBatch(self.tables, self.seed, shard.start * _STREAMS, self.walks, device)
            best = batch.improvement()
            assert best is not None  # the first look always brings one
            self._tell(best)
            flips, improved_at, complete = _FIRST_FLIPS, 0, True
            while not self._over(batch, improved_at):
                if context.stop[0] or (self.halt is not None and self.halt[0]):
                    complete = False
                    break
                began = time.perf_counter()
                batch.run(self._turn(batch, flips), self.target)
                seconds = time.perf_counter() - began
                # No walk depends on how the launches are cut.
                flips = int(flips * min(4.0, max(0.25, _LAUNCH_SECONDS / max(seconds, 1e-6)))) + 1
                better = batch.improvement()
                if better is not None:
                    best, improved_at = better, int(batch.status["flips"].max())
                    self._tell(best)
            return ShardResult(self._partial(batch, best), complete)

    def _tell(self, assignment: NDArray[np.uint8]) -> None:
        if self.offer is not None:
            self.offer(assignment)

    def _over(self, batch: WalkBatch, improved_at: int) -> bool:
        status = batch.status
        if int(status["best"].min()) <= self.target:
            return True
        # No walk has reached the target, so all have done as many flips.
        done = int(status["flips"].min())
        if self.max_flips is not None:
            return done >= self.max_flips
        patience = max(_PATIENCE * self.formula.num_variables, improved_at)
        return not self.endless and done - improved_at > patience

    def _turn(self, batch: WalkBatch, flips: int) -> int:
        if self.max_flips is None:
            return min(flips, _MOST_FLIPS)
        return min(flips, _MOST_FLIPS, self.max_flips - int(batch.status["flips"].min()))

    def _partial(self, batch: WalkBatch, best: NDArray[np.uint8]) -> Partial:
        status = batch.status
        return {
            "assignment": best,
            "violated": np.array([status["best"].min()], dtype=np.int64),
            "flips": np.array([status["flips"].sum()], dtype=np.int64),
        }

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The better one, `left` where they are equal."""
        better = right if right["violated"][0] < left["violated"][0] else left
        return {**better, "flips": left["flips"] + right["flips"]}

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        return int(partial["violated"][0]) <= self.target
