"""The work of a prover, beside or in turns with local search."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hardscape.engine import Context, Cuda, Partial, Shard, ShardResult, Work, split
from hardscape.errors import BudgetError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact.dialogue import Dialogue, told
from hardscape.maxsat.methods.exact.keeper import Call, Talker
from hardscape.maxsat.methods.exact.near import (
    begins_here,
    has_a_moment,
    proven_at_once,
    settled_here,
)
from hardscape.maxsat.methods.exact.pace import Pace, opening
from hardscape.maxsat.methods.exact.packed import file_of
from hardscape.maxsat.methods.exact.prospects import Prospects
from hardscape.maxsat.methods.exact.sharing import SHARE, Sharing, Turns
from hardscape.maxsat.methods.exact.start import started
from hardscape.maxsat.methods.walkers.local import LocalSearch, Walker

#: Seconds of search while a process is started, and after which other provers than the first begin.
_MEANWHILE, _LATER = 0.03, 1.0


@dataclass(frozen=True, eq=False)
class Proof(Work[Partial]):
    """A prover of a presolved formula, until it ends or its lower bound meets the incumbent.

    The first shards are `provers`, of which all but the first begin as walkers; the others are the walkers of
    `local`, and on GPUs the `islands`, that go on `beside` them until one ends. Where the prover has the only
    thread, a walker has it `in_turns`. A partial holds
    ``proven`` (1 if the incumbent is optimal), ``unsatisfiable`` (1 if the hard clauses contradict one
    another), ``lower`` (lower bound on the cost of `formula`, two words, high first) and ``flips``. Any
    assignment of `formula` costs `constant` more in the original one.
    """

    name = "maxsat.exact"
    revision = 3
    unit = "searches"

    formula: Formula
    constant: int
    incumbent: Incumbent
    local: LocalSearch | None = None
    beside: int = 0
    islands: Work[Partial] | None = None
    provers: int = 1
    in_turns: bool = False
    check: bool = False  # whether a second solver confirms what the first refutes
    share: float = SHARE  # of the walker at first, where it takes turns with the prover
    ends: float = math.inf  # when the time is up, by the monotonic clock
    pace: Pace | None = field(default=None, repr=False)  # of the walker before
    call: Call | None = (
        None  # where the first prover is kept for later calls, of a formula not presolved
    )
    moment: float = math.inf  # seconds of a proof that begins and ends in this process
    begun: bool = False  # whether one did, in vain
    #: Set where a prover has ended.
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def digest(self) -> str:
        """Digest of the formula."""
        return self.formula.digest

    def shards(self) -> Sequence[Shard]:
        """The provers, then the walkers."""
        count = self.provers + self.beside
        return split(count, count)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """What the provers know, and the flips of all."""
        known = {name: np.maximum(left[name], right[name]) for name in ("proven", "unsatisfiable")}
        lower = max(left["lower"], right["lower"], key=np.ndarray.tolist)
        return {**known, "lower": lower, "flips": left["flips"] + right["flips"]}

    def finished(self, partial: Partial) -> bool:
        """Whether a prover has ended."""
        return bool(partial["proven"][0] or partial["unsatisfiable"][0])

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run a prover and listen to it, or let a walker go."""
        flips = 0
        if shard.index and self.islands is not None and isinstance(context.device, Cuda):
            on_gpu = Shard(shard.index - 1, shard.start - 1, shard.stop - 1)
            try:
                walked = self.islands.run(on_gpu, context)
            except BudgetError as error:  # others have the GPU's memory
                warnings.warn(f"the CPU searches alone: {error}", RuntimeWarning, stacklevel=2)
                return ShardResult(told(), complete=True)
            return ShardResult(told(flips=int(walked.partial["flips"][0])), walked.complete)
        if shard.index and self.local is not None:
            walker = self.local.walker(shard.index - 1, context)
            proves = shard.index < self.provers
            complete = walker.walk(_LATER if proves else math.inf)
            flips = walker.new_flips
            if not proves or complete or self.incumbent.halt[0] or context.stopped():
                return ShardResult(told(flips=flips), complete)
        alone = not (shard.index or self.check or self.call)
        turns: Turns | None = None
        here = not self.begun and begins_here(self.formula, self.ends - time.monotonic())
        if alone and self.in_turns and self.local is not None and here:
            turns = self.turns(self.local.walker(0, context), self.constant)
            found = self._here(turns, context)
            if found is not None:
                return found
            flips = turns.walker.new_flips
        elif (
            alone
            and has_a_moment(self.formula, self.ends - time.monotonic())
            and proven_at_once(self.formula, self.constant, self.incumbent, context)
        ):
            assert self.incumbent.best is not None
            self.ended.set()
            lower = self.incumbent.best.cost - self.constant
            return ShardResult(told(lower, proven=1))
        if self.moment < math.inf:
            if turns is not None and self.local is not None and self.local.kept is not None:
                self.local.kept[0] = turns.walker  # goes on beside the next proof
            return ShardResult(told(0 if turns is None else turns.lower, flips=flips))
        if self.call is not None and not shard.index:
            with self.call.keeper.call(self.call) as talker:
                return self._listen(talker, context, flips, None, whole=True)
        with (
            file_of(self.formula, check=self.check) as file,
            started(file.fileno(), shard.index, check=self.check) as process,
        ):
            try:
                return self._listen(Talker(process), context, flips, turns)
            finally:
                process.kill()

    def _listen(
        self,
        talker: Talker,
        context: Context,
        flips: int,
        turns: Turns | None,
        *,
        whole: bool = False,
    ) -> ShardResult:
        """Have a process prove, in turns with a walker where it has the only thread."""
        if turns is None and self.in_turns and self.local is not None:
            walker = self.local.walker(0, context)
            leads = self._opening() > 0 and not walker.able
            if self.incumbent.feasible and not leads:  # else one step may take seconds
                began, before = time.monotonic(), self.incumbent.best
                walker.walk(_MEANWHILE)  # a process needs a moment to begin
                if self.pace is not None:
                    seconds = time.monotonic() - began
                    self.pace.walked(seconds, before, self.incumbent.best)
            turns = self.turns(walker, 0 if whole else self.constant)
        how = self.incumbent, context, self.ended, self.constant
        return Dialogue(talker, *how, flips=flips, whole=whole, turns=turns).result()

    def turns(self, walker: Walker, constant: int) -> Turns:
        """Of a walker, on the thread of a prover whose costs leave out a constant."""
        prospects = Prospects.of(self.formula, self.ends - time.monotonic())
        best = self.incumbent.best
        sharing = Sharing(self.share, best, constant, self.pace, self.ends, prospects)
        return Turns(walker, self.incumbent, self.share, sharing)

    def _opening(self) -> float:
        return opening(self.formula, self.ends - time.monotonic())

    def _here(self, turns: Turns, context: Context) -> ShardResult | None:
        """Prove a formula in this process, with a walker: to start one takes longer than many proofs.

        None where it takes longer, too.
        """
        formula, constant, incumbent = self.formula, self.constant, self.incumbent
        complete = settled_here(formula, constant, incumbent, context, turns, self.moment)
        if complete is None:
            return None
        lower, known = turns.lower, {}
        if complete:
            self.ended.set()
            best = incumbent.best
            if best is None or best.hard_violations:
                known["unsatisfiable"] = 1
            else:
                known["proven"], lower = 1, best.cost - constant
        return ShardResult(told(lower, flips=turns.walker.new_flips, **known), complete)
