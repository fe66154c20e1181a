"""What every computation of hardscape is made of: a `Work`, cut into shards.

A `Work` is a frozen, picklable description of a computation. It lists its shards (plain integer
ranges of work units), runs one of them on one device, and merges two partial answers. It never
knows who runs its shards: threads, GPUs, processes, a Dask cluster and MPI ranks are the engine's
affair, as are checkpoints, time limits, signals and progress.
"""

from __future__ import annotations

import hashlib
import math
import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from hardscape.engine.device import Device
from hardscape.errors import InputError

#: What a work computes.
Answer = TypeVar("Answer")

Partial = Mapping[str, NDArray[Any]]
"""A partial answer: plain named arrays, no object dtype, so that a ledger stores it without pickle.

Examples
--------
>>> import numpy as np
>>> from hardscape.engine import Cpu, Context, Partial
>>> from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
>>> work = CpuGlynnWork(np.ones((8, 8)))
>>> context = Context(Cpu(), None, np.zeros(1, dtype=np.uint8))
>>> part: Partial = work.run(work.shards()[0], context).partial
>>> all(array.dtype != object for array in part.values())
True
"""


@dataclass(frozen=True, slots=True)
class Shard:
    """The half-open range ``start <= unit < stop`` of work units, and its place in the order.

    Examples
    --------
    >>> from hardscape.engine import Shard
    >>> shard = Shard(0, 4, 8)
    >>> len(shard), shard.start, shard.stop
    (4, 4, 8)
    """

    index: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


class _Split(Sequence[Shard]):
    """Shards computed when they are asked for."""

    __slots__ = ("_count", "_units")

    def __init__(self, units: int, count: int) -> None:
        self._units = units
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Shard: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Shard]: ...
    def __getitem__(self, index: int | slice) -> Shard | Sequence[Shard]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._count)))
        position = operator.index(index)
        if position < 0:
            position += self._count
        if not 0 <= position < self._count:
            # The sequence protocol asks for IndexError: iteration ends with it.
            raise IndexError(f"shard {index} of {self._count}")
        start = position * self._units // self._count
        stop = (position + 1) * self._units // self._count
        return Shard(position, start, stop)

    def __repr__(self) -> str:
        return f"split({self._units}, {self._count})"


def split(units: int, count: int) -> Sequence[Shard]:
    """Cut `units` work units into `count` shards whose sizes differ by at most one.

    The sequence holds two integers and computes a shard when it is asked for, so `units` may be
    2**64 or more and `count` may be millions.

    Parameters
    ----------
    units : int
        Number of work units, 0 or more.
    count : int
        Number of shards, 1 or more; no shard is empty, so no more than `units` come back.

    Raises
    ------
    InputError
        If `units` is negative or `count` is below 1.

    Examples
    --------
    >>> from hardscape.engine import split
    >>> [(shard.start, shard.stop) for shard in split(8, 4)]
    [(0, 2), (2, 4), (4, 6), (6, 8)]
    """
    if units < 0:
        raise InputError(f"units={units}; 0 or more is accepted")
    if count < 1:
        raise InputError(f"count={count}; at least 1 shard is accepted")
    return _Split(units, min(units, count))


@dataclass(frozen=True)
class Context:
    """What a shard is run with.

    Attributes
    ----------
    device : Device
        Where to run. A CPU shard runs on the calling thread alone.
    incumbent : Partial or None
        What `Work.hint` tells of the shards that are done; None when there is nothing to tell. A
        hint: it may save time, never change the answer.
    stop : uint8 array, shape (1,)
        Becomes 1 when the shard should return what it has (time limit, signal). Native code polls
        it.
    until : float
        ``time.monotonic()`` from which on the same holds, where nobody is there to set `stop`.
    seconds : float
        Seconds after which `run`, given several shards as one, leaves those that it has not begun; it does so
        too when `stop` becomes 2, as others have nothing to do (see `Work.joined`).
    shared : uint64 array or None
        What `Work.shared` made, for all shards that run on this host: they read and write it meanwhile, with
        atomic operations. A hint, as `incumbent`.
    told : callable or None
        Where the answer will be given by this process: see `tell`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import Context, Cpu
    >>> Context(Cpu(0), None, np.zeros(1, dtype=np.uint8)).stopped()
    False
    """

    device: Device
    incumbent: Partial | None
    stop: NDArray[np.uint8]
    until: float = math.inf
    seconds: float = math.inf
    shared: NDArray[np.uint64] | None = None
    told: Callable[[Partial], None] | None = None

    def tell(self, partial: Partial) -> None:
        """Say what is known so far, for `Work.bounds`: at times in shards that take long."""
        if self.told is not None:
            self.told(partial)

    def stopped(self) -> bool:
        """Whether the shard should return what it has, for code that is not compiled."""
        return bool(self.stop[0]) or time.monotonic() >= self.until


@dataclass(frozen=True)
class ShardResult:
    """What came out of a shard.

    Attributes
    ----------
    partial : Partial
        The shard's answer.
    complete : bool
        False when the shard returned early because `Context.stop` was set: its partial then counts
        for the best so far, and is never written to a ledger.
    left : int or None
        Of several shards that were run as one, the index of the first that was left, with all after it.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.engine import ShardResult
    >>> ShardResult({"sum": np.ones(1)}, complete=True).complete
    True
    """

    partial: Partial
    complete: bool = True
    left: int | None = None


@dataclass(frozen=True)
class Identity:
    """What a ledger knows its owner by.

    Attributes
    ----------
    name : str
        What is computed.
    revision : int
        Number of the algorithm.
    digest : str
        SHA-256 of both, of the problem, and of everything that shapes the answer.
    shards : int
        Number of shards; 0 for a chain.

    Examples
    --------
    >>> from hardscape.engine import Identity
    >>> Identity("sums", 1, "digest", 8).shards
    8
    """

    name: str
    revision: int
    digest: str
    shards: int

    @classmethod
    def of(cls, name: str, revision: int, digest: str, shards: int) -> Identity:
        """The identity of what has this digest of its own."""
        whole = hashlib.sha256(f"{name}\n{revision}\n{digest}".encode()).hexdigest()
        return cls(name, revision, whole, shards)


class Recorded(Protocol):
    """What can own a ledger."""

    def identity(self) -> Identity:
        """What the ledger knows it by."""
        ...


class Work(ABC, Generic[Answer]):
    """A computation that can be cut into shards. Subclasses are frozen dataclasses that pickle.

    The answer is the fold of `merge` over the partials of all shards along a fixed binary tree
    (``engine/fold.py``), whatever ran them and in whatever order they finished, so it is the
    same bit for bit for any number of workers.

    Attributes
    ----------
    name : str
        What is computed, for people and ledgers, for example "ising.spectrum".
    revision : int
        Number of the algorithm: raised when partials come to mean something else, so that what an
        older one left in a ledger is not continued.
    unit : str
        What a work unit is, in the plural, for progress.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from hardscape.engine import RunOptions, ShardResult, Work, solve, split
    >>> @dataclass(frozen=True)
    ... class Squares(Work):
    ...     count: int
    ...     name, revision, unit = "squares", 1, "numbers"
    ...     def digest(self):
    ...         return str(self.count)
    ...     def shards(self):
    ...         return split(self.count, 4)
    ...     def run(self, shard, context):
    ...         numbers = range(shard.start, shard.stop)
    ...         return ShardResult({"sum": np.array(sum(i * i for i in numbers))})
    ...     def merge(self, left, right):
    ...         return {"sum": left["sum"] + right["sum"]}
    ...     def result(self, partial):
    ...         return int(partial["sum"])
    >>> solve(Squares(10), RunOptions.checked(device="cpu")).whole()
    285
    """

    name: ClassVar[str]
    revision: ClassVar[int]
    #: Fields and cached properties that belong to this process: another one has the class's default.
    here: ClassVar[tuple[str, ...]] = ()
    unit: ClassVar[str] = "units"

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process."""
        return {name: value for name, value in vars(self).items() if name not in self.here}

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of the problem and of everything that shapes the shards or the answer.

        The algorithm's `revision` is added by :meth:`identity`.
        """

    def identity(self) -> Identity:
        """What a ledger knows this work by."""
        return Identity.of(self.name, self.revision, self.digest(), len(self.shards()))

    @abstractmethod
    def shards(self) -> Sequence[Shard]:
        """All shards: ``shards()[i].index == i``, each range starts where the last one stopped."""

    @abstractmethod
    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Compute one shard on `context.device`. Called from several threads at once."""

    @abstractmethod
    def merge(self, left: Partial, right: Partial) -> Partial:
        """Combine two partial answers, `left` from lower shards. Must not modify either."""

    def result(self, partial: Partial) -> Answer:
        """The answer from the fold of all shards, or the best so far from that of some.

        By default the fold itself, for a ``Work[Partial]``.
        """
        return cast(Answer, partial)

    def brief(self, device: Device) -> bool:
        """Whether a shard on `device` is over in milliseconds, or asks `Context.stopped` itself.

        A single lane then is the calling thread: to start one would take longer.
        """
        return False

    def expected(self, device: Device, incumbent: Partial | None) -> NDArray[np.float64] | None:
        """How long equal parts of the units are expected to take, in any unit; None where it is the same.

        For progress alone, once a run on `device` has taken a while; `incumbent` as in `Context`.
        """
        return None

    def bounds(
        self, parts: Sequence[Partial], done: Sequence[tuple[int, int]]
    ) -> tuple[float, float] | None:
        """The lowest value met and one that none lies below, as far as is known; None where nothing is.

        For people alone, a few times in a run: `parts` are as in `hint`, and those that shards told while they
        run (`Context.tell`); `done` are the ranges of units of those that are complete.
        """
        return None

    def joined(self) -> int:
        """How many shards `run` takes as one that covers them: one, or all.

        All only where `merge` is exact and can be done in any order, and a range in which there is little to
        find is quick. `run` leaves what it has not begun when it is asked to (`Context.seconds`), so that
        nobody has to know beforehand which shards are hard.
        """
        return 1

    def hint(self, known: Partial | None, parts: Sequence[Partial]) -> Partial | None:
        """What shards that are still to run profit from: what is `known`, or more.

        Parameters
        ----------
        known : Partial or None
            What this returned before, here or elsewhere.
        parts : sequence of Partial
            Merges of shards that are done; no shard is in two of them, and some may be in none.
        """
        return None

    def shared(self) -> NDArray[np.uint64] | None:
        """Words by which shards tell one another what they find while they run, as they are at first.

        On each host there is one copy of them. A worker that is killed may leave them in any state, and shards
        may run twice: neither may ever change an answer.
        """
        return None

    def finished(self, partial: Partial) -> bool:
        """Whether `partial` settles the answer, so that no further shard is needed.

        A merge does if one of its shards does by itself. The answer is then that of shards 0, 1, ..., k,
        the first that does, also when a later one was the first to be found. What `hint` tells must
        not decide what this returns.
        """
        return False
