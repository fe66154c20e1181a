"""Cuts beside semidefinite bounds, where it is open which of both is quicker: method="race" of `spectrum`.

Models of some two to four couplings a spin without many short loops, random graphs above all, are proven by
one or the other ten times sooner, and nothing that is known beforehand tells by which. Both search the same
states: the first that is done has the answer, and on one core both take at most twice the time of the quicker
one. Where cuts are the quicker one, no branch is needed; so they give up where one would be, and the rest of
the race costs nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cpu, Device, Partial, RunOptions, Shard, ShardResult
from hardscape.errors import HardscapeError
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.cliques.cliques import Cliques
from hardscape.ising.methods.cuts.cuts import Cuts, CutWork, short_loops, tables_take
from hardscape.ising.methods.exhaustive.blocks import Found, Wanted, partial
from hardscape.ising.methods.lowest import LowestMethod
from hardscape.ising.methods.semidefinite.semidefinite import Semidefinite, SemidefiniteWork

#: Couplings for each spin between which it is open, spins, most states listed, most short loops for each spin,
#: and seconds of tables above which it is tried.
_COUPLINGS, _SPINS, _STATES, _LOOPS, _SECONDS = (2.25, 4.0), (57, 200), 101, 2, 0.2
#: What stops a shard: see `Context.stop`.
_STOP = 1

_log = logging.getLogger("hardscape.ising")


class Rival:
    """A search of all states in a thread of its own."""

    def __init__(self, work: CutWork) -> None:
        self._work = work
        self._stop = np.zeros(1, dtype=np.uint8)
        self._lock = threading.Lock()
        self._listeners: list[Context] = []
        self.answer: Partial | None = None
        self.bound: int | None = None  #: no state has a lower energy

    @contextmanager
    def running(self) -> Iterator[None]:
        """Search as long as this is entered."""
        thread = threading.Thread(target=self._search, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop[0] = 1
            thread.join()

    @contextmanager
    def heard(self, context: Context) -> Iterator[None]:
        """Tell bounds there, and stop what runs once the answer is there; its flag is down again afterwards."""
        with self._lock:
            self._listeners.append(context)
            self._ask()
        try:
            yield
        finally:
            with self._lock:
                self._listeners = [x for x in self._listeners if x is not context]
            if self.answer is not None:
                context.stop[0] = 0

    def _ask(self) -> None:
        for context in self._listeners if self.answer is not None else ():
            context.stop[0] = _STOP

    def _search(self) -> None:
        context = Context(Cpu(), None, self._stop, told=self._told)
        try:
            result = self._work.run(self._work.shards()[0], context)
        except (HardscapeError, MemoryError) as error:
            _log.debug("spectrum: the rival ended with %s", error)
            return
        if result.complete:
            with self._lock:
                self.answer = result.partial
                self._ask()

    def _told(self, found: Partial) -> None:
        bounds = from_limbs(found["bound"])
        self.bound = max([*bounds, *([] if self.bound is None else [self.bound])], default=None)
        with self._lock:
            for context in self._listeners:
                context.tell(found)


@dataclass(frozen=True)
class RaceWork(SemidefiniteWork):
    """The semidefinite search, whose shards are done when its rival is."""

    name: ClassVar[str] = "ising.spectrum.race"
    revision: ClassVar[int] = 1
    counters: ClassVar[tuple[str, ...]] = (*SemidefiniteWork.counters, "shards_by_cuts")
    here: ClassVar[tuple[str, ...]] = ("core", "rival")

    rival: Rival | None = None

    def running(self) -> AbstractContextManager[None]:
        """See `LowestWork.running`."""
        return nullcontext() if self.rival is None else self.rival.running()

    def proved_by(self, name: str, found: Found) -> str:
        """See `LowestWork.proved_by`: what shards tell is in a ledger, too."""
        return Cuts.name if found.counters["shards_by_cuts"] else Semidefinite.name

    @property
    def _answer(self) -> Partial | None:
        return None if self.rival is None else self.rival.answer

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Search the states of some shards, unless the rival has all that are wanted."""
        if self.rival is None:
            return _counted(super().run(shard, context))
        found = None
        with self.rival.heard(context):
            if self._answer is None:
                found = _counted(super().run(shard, context))
        if (answer := self._answer) is None or (found is not None and found.complete):
            assert found is not None
            return found
        counters = (self.nothing() if found is None else found.partial)["counters"].tolist()
        return ShardResult(partial(answer["states"], answer["energies"], [*counters[:-1], 1]))

    def lower_bound(self, done: Sequence[tuple[int, int]], found: Found) -> int | None:
        """The higher of both bounds, but not above what was met."""
        bounds = [super().lower_bound(done, found)]
        if self.rival is not None and self.rival.bound is not None:
            bounds.append(min([self.rival.bound, *from_limbs(found.energies[:1])]))
        return max((x for x in bounds if x is not None), default=None)


def _counted(found: ShardResult) -> ShardResult:
    """The same as a shard that cuts did not answer."""
    counters = np.append(found.partial["counters"], np.uint64(0))
    return replace(found, partial={**found.partial, "counters": counters})


class Race(LowestMethod[SemidefiniteWork]):
    """Two bounds that profit from different models, side by side."""

    name: ClassVar[str] = "race"
    devices: ClassVar[tuple[type[Device], ...]] = (Cpu,)

    def refusal(self, wanted: Wanted, prune: bool) -> str:
        """It is refused where one of both is."""
        return Cuts().refusal(wanted, prune) or Semidefinite().refusal(wanted, prune)

    def pays(self, wanted: Wanted) -> bool:
        """Whether nothing tells which of both is quicker."""
        terms, n = wanted.terms, wanted.terms.num_spins
        least, most = (x * n for x in _COUPLINGS)
        between = least <= len(terms.row) <= most and _SPINS[0] <= n <= _SPINS[1]
        few = wanted.window is None and wanted.count <= (2 if any(terms.fields) else _STATES)
        if not (between and few and short_loops(terms) < _LOOPS * n):
            return False
        return tables_take(wanted, _SECONDS) and (terms.symmetric or not Cliques().outright(wanted))

    def work(
        self, wanted: Wanted, options: RunOptions, given: NDArray[np.int8] | None = None
    ) -> SemidefiniteWork:
        """The semidefinite search and its rival, which stays alone on an executor."""
        work = Semidefinite().work(wanted, options, given)
        alone = options.executor is not None
        cuts = replace(Cuts().work(wanted, options, given), branching=False)
        rival = None if alone else Rival(cuts)
        known = {field.name: getattr(work, field.name) for field in fields(work)}
        return RaceWork(**known, rival=rival)

    def sample(self, work: SemidefiniteWork, device: Device, allowed: float) -> float:
        """Twice the seconds of one that is sampled, which the other may spare."""
        return 2 * Semidefinite().sample(work, device, allowed)
