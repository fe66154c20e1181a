"""Islands of walks as work for the engine: a shard is what one device runs at once."""

from __future__ import annotations

import hashlib
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Cuda, Partial, Shard, ShardResult, Work, split
from hardscape.engine.cuda import CudaDevice, cuda_device
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.islands.batch import CpuWalks, WalkBatch
from hardscape.maxsat.methods.islands.cuda import CudaWalks
from hardscape.maxsat.methods.islands.elites import ISLAND, Exchange, elites
from hardscape.maxsat.methods.islands.tables import WalkTables
from hardscape.maxsat.methods.islands.weighing.tables import INFEASIBLE, WeighingTables
from hardscape.maxsat.methods.islands.weighing.weighing import CpuWeighers, CudaWeighers
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.methods.weighting.searches import Weighing

#: Steps of each walk in the first launch, and seconds that the later ones aim at.
_FIRST_STEPS, _LAUNCH_SECONDS = 512, 0.02
#: Time between two offers of assignments, in times that an offer takes.
_BETWEEN_OFFERS = 4
#: Fewest and most steps of a walk before the first exchange, and how many times as many come before the next.
_FIRST_EXCHANGE, _LAST_FIRST, _EXCHANGE_GROWTH = 128, 2**17, 1.5
#: First assignments of clause-weighting walks at most, literals that are decimated for them, and one walk
#: in so many that goes on from what others found.
_INITIALS, _DECIMATED, _GUESTS = 16, 2_000_000, 8
#: Without a limit, walks end after this many steps a variable without improvement, or as many as there
#: were before it.
_PATIENCE = 100
#: A launch counts its steps with 32 bits.
_MOST_STEPS = 2**31
#: Streams of a shard: more walks than a GPU holds.
_STREAMS = 2**32


def _better(
    known: tuple[NDArray[np.uint8], int] | None, batch: WalkBatch
) -> tuple[NDArray[np.uint8], int]:
    """The known assignment and what it violates, or the winner's, if that is better."""
    winner = batch.winner()
    violated = int(batch.status["best"][winner])
    return (batch.best_of(winner), violated) if known is None or violated < known[1] else known


class _Telling:
    """Offers better assignments, which takes a while: not every time, then."""

    def __init__(self, offer: Callable[[NDArray[np.uint8]], object] | None) -> None:
        self._offer = offer
        self._fewest = math.inf  # violated by what was offered last
        self._at = 0.0

    def look(self, fewest: int, batch: WalkBatch) -> None:
        """Offer the winner's assignment if nothing so good was offered and it is time."""
        began = time.perf_counter()
        if self._offer is None or fewest >= self._fewest or began < self._at:
            return
        winner = batch.winner()
        self.end(batch.best_of(winner), int(batch.status["best"][winner]))
        ended = time.perf_counter()
        self._at = ended + _BETWEEN_OFFERS * (ended - began)

    def end(self, assignment: NDArray[np.uint8], violated: int) -> None:
        """Offer an assignment if it is better than those before."""
        if self._offer is not None and violated < self._fewest:
            self._fewest = violated
            self._offer(assignment)


@dataclass(frozen=True, eq=False)
class Islands(Work[Partial]):
    """Many walks at once on a presolved formula, which may exchange their elites.

    Walks of the same number take the same steps on every device. The first one to come to the target, by
    its number of steps, gives the answer; where none does and `max_steps` ends the search, the first of
    the best ones at an exchange or at the end. However the launches were cut, it is the same.

    A partial holds the best ``assignment`` (uint8, shape (n,)), what it ``violated``, as walks count it,
    and the ``flips`` of all walks (int64, shape (1,)).

    `max_steps` are those of each walk; without, walks go on until the target is reached, or until nothing
    improves for long, unless `endless`.
    """

    revision = 1
    unit = "devices"
    #: Steps a variable before the first exchange.
    first_exchange: ClassVar[float]

    formula: Formula
    seed: int
    devices: int = 1  # shards
    #: Of a device; by default as many as a GPU runs at once, and one island on a CPU thread.
    walks: int | None = None
    target: int = 0  # what is violated when the search ends
    exchange: Exchange = "winners"
    max_steps: int | None = None
    endless: bool = False
    #: Called with each better assignment, in this process.
    offer: Callable[[NDArray[np.uint8]], object] | None = field(default=None, repr=False)
    #: Becomes 1 when another search has found what is wanted.
    halt: NDArray[np.uint8] | None = field(default=None, repr=False)
    #: What others know, from which some walks go on at an exchange where `max_steps` is not given.
    incumbent: Incumbent | None = field(default=None, repr=False)

    def digest(self) -> str:
        """Hash of the formula and of everything that shapes a walk."""
        facts = (self.seed, self.devices, self.walks, self.target, self.exchange, self.max_steps)
        return hashlib.sha256(f"{self.formula.digest}{facts}{self.shape()}".encode()).hexdigest()

    @abstractmethod
    def shape(self) -> object:
        """What else shapes a walk."""

    def shards(self) -> Sequence[Shard]:
        """One for each device."""
        return split(self.devices, self.devices)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Let the walks of one device go."""
        first = shard.start * _STREAMS
        if not isinstance(context.device, Cuda):
            return self._search(self.on_cpu(first, context.stop), first, context.stop)
        with cuda_device(context.device.ordinal) as device:
            return self._search(self.on_gpu(first, device), first, context.stop)

    @abstractmethod
    def on_cpu(self, first: int, stop: NDArray[np.uint8]) -> WalkBatch:
        """The walks from that stream on, on a CPU thread."""

    @abstractmethod
    def on_gpu(self, first: int, device: CudaDevice) -> WalkBatch:
        """The walks from that stream on, on a GPU."""

    @abstractmethod
    def counted(self, assignment: NDArray[np.uint8]) -> int:
        """What an assignment violates, as the walks count it."""

    def _search(self, batch: WalkBatch, first: int, stop: NDArray[np.uint8]) -> ShardResult:
        # The best at exchanges and at the end: moments that no launch depends on.
        answer = _better(None, batch)
        fewest = answer[1]
        telling = _Telling(self.offer)
        telling.look(fewest, batch)
        rule = elites(self.exchange, batch.walks, self.seed, first)
        exchange: float = math.inf
        if rule is not None:
            some = int(self.first_exchange * self.formula.num_variables)
            exchange = min(max(some, _FIRST_EXCHANGE), _LAST_FIRST)
        steps = _FIRST_STEPS
        done = improved_at = 0
        while not self._over(fewest, done, improved_at):
            if rule is not None and done == exchange:
                answer = _better(answer, batch)
                self._exchange(batch, rule.sources(batch.status["best"]), fewest)
                exchange = int(exchange * _EXCHANGE_GROWTH)
            most = int(min(steps, exchange - done, _MOST_STEPS))
            if self.max_steps is not None:
                most = min(most, self.max_steps - done)
            began = time.perf_counter()
            batch.run(most, self.target, race=True)
            seconds = time.perf_counter() - began
            # No walk depends on how the launches are cut.
            steps = int(most * min(8.0, _LAUNCH_SECONDS / max(seconds, 1e-6))) + 1
            # While no walk is at the target, all do as many steps.
            done += most
            least = int(batch.status["best"].min())
            if least < fewest:
                fewest, improved_at = least, done
            telling.look(fewest, batch)
            halted = stop[0] or (self.halt is not None and self.halt[0])
            if fewest > self.target and halted:
                break
        answer = _better(answer, batch)
        telling.end(*answer)
        return ShardResult(self._partial(batch, *answer), self._over(fewest, done, improved_at))

    def _exchange(self, batch: WalkBatch, sources: NDArray[np.int32], fewest: int) -> None:
        guest = self._guest(fewest)
        if guest is not None:
            worst_first = np.argsort(batch.status["best"], kind="stable")[::-1]
            sources[worst_first[::_GUESTS]] = batch.walks
        batch.adopt(sources, guest)

    def _guest(self, fewest: int) -> NDArray[np.uint8] | None:
        """What others found, if it is better than all that these walks have."""
        known = None if self.incumbent is None else self.incumbent.best
        if self.incumbent is None or known is None or self.max_steps is not None:
            return None
        assignment = self.incumbent.restrict(known)
        return assignment if self.counted(assignment) < fewest else None

    def _over(self, fewest: int, done: int, improved_at: int) -> bool:
        if fewest <= self.target:
            return True
        if self.max_steps is not None:
            return done >= self.max_steps
        patience = max(_PATIENCE * self.formula.num_variables, improved_at)
        return not self.endless and done - improved_at > patience

    def _partial(self, batch: WalkBatch, best: NDArray[np.uint8], fewest: int) -> Partial:
        return {
            "assignment": best,
            "violated": np.array([fewest], dtype=np.int64),
            "flips": np.array([batch.status["flips"].sum()], dtype=np.int64),
        }

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The better one, `left` where they are equal."""
        better = right if right["violated"][0] < left["violated"][0] else left
        return {**better, "flips": left["flips"] + right["flips"]}

    def finished(self, partial: Partial) -> bool:
        """Whether the target is reached."""
        return int(partial["violated"][0]) <= self.target


@dataclass(frozen=True, eq=False)
class WalkIslands(Islands):
    """Focused random walks, in steps of up to eight flips; they count violated clauses.

    They exchange their assignments after 0.2 steps a variable, half as many more, and so on.
    """

    name = "maxsat.walks"
    revision = 2
    here = ("tables", "offer", "halt", "incumbent")
    first_exchange = 0.2

    def shape(self) -> object:
        """See `Islands.shape`: nothing."""
        return ""

    @cached_property
    def tables(self) -> WalkTables:
        """The formula, one that `fits`, as the kernels read it."""
        return WalkTables.of(self.formula)

    def on_cpu(self, first: int, stop: NDArray[np.uint8]) -> CpuWalks:
        """See `Islands.on_cpu`."""
        return CpuWalks(self.tables, self.seed, first, self.walks or ISLAND, stop)

    def on_gpu(self, first: int, device: CudaDevice) -> CudaWalks:
        """See `Islands.on_gpu`."""
        return CudaWalks(self.tables, self.seed, first, self.walks, device)

    def counted(self, assignment: NDArray[np.uint8]) -> int:
        """See `Islands.counted`."""
        return self.formula.num_clauses - self.formula.evaluate(assignment)[2]


@dataclass(frozen=True, eq=False)
class WeighingIslands(Islands):
    """Clause-weighting walks, a flip a step; they count `INFEASIBLE` and a hard clause each, else costs.

    They begin with assignments by decimation, some with `initial`, and exchange them after 16 steps a
    variable, half as many more, and so on.
    """

    name = "maxsat.weighing"
    here = ("tables", "offer", "halt", "incumbent")
    first_exchange = 16.0

    options: WeightingOptions = field(default_factory=WeightingOptions)
    initial: NDArray[np.uint8] | None = None

    def shape(self) -> object:
        """See `Islands.shape`."""
        return self.options, None if self.initial is None else self.initial.tobytes()

    @cached_property
    def tables(self) -> WeighingTables:
        """The formula, one that `weighs`, as the kernels read it."""
        return WeighingTables.of(self.formula, self.options)

    def on_cpu(self, first: int, stop: NDArray[np.uint8]) -> CpuWeighers:
        """See `Islands.on_cpu`."""
        initials = self._initials(first, stop)
        return CpuWeighers(self.tables, initials, self.seed, first, self.walks or ISLAND, stop)

    def on_gpu(self, first: int, device: CudaDevice) -> CudaWeighers:
        """See `Islands.on_gpu`."""
        initials = self._initials(first, np.zeros(1, dtype=np.uint8))
        return CudaWeighers(self.tables, initials, self.seed, first, self.walks, device)

    def _initials(self, first: int, stop: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Assignments by decimation, and the one that is known; that alone of large formulas."""
        found = [] if self.initial is None else [self.initial]
        many = min(_INITIALS, _DECIMATED // len(self.formula.literals))
        guest = self._guest(INFEASIBLE)
        if guest is None:
            many = max(many, 1)
        else:
            found.append(guest)
        for stream in range(first, first + many):
            search = Weighing(self.formula, self.options, 0, self.seed, stream, None, stop)
            search.run(1, stop)
            found.append(search.best())
        return np.array(found, dtype=np.uint8)

    def counted(self, assignment: NDArray[np.uint8]) -> int:
        """See `Islands.counted`."""
        hard, cost, _ = self.formula.evaluate(assignment)
        return INFEASIBLE + hard if hard else cost
