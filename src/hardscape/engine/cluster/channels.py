"""Stops that travel to workers of other hosts by the engine that runs them: Dask, or MPI."""

from __future__ import annotations

import atexit
import itertools
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hardscape.engine.cluster.worker import Channel

#: Seconds of one question.
_ASKED = 0.25
#: Tag of messages about stops.
_TAG = 20_011
_runs = itertools.count()


@dataclass(frozen=True)
class DaskChannel:
    """A variable that the scheduler keeps."""

    name: str = field(default_factory=lambda: f"hardscape-stop-{uuid.uuid4().hex}")

    def tell(self, executor: Any, first: int) -> None:
        """See `Channel`. Nobody waits for a scheduler that may be gone."""

        def tell() -> None:
            with suppress(Exception):
                _variable(self.name, executor).set(first, timeout=_ASKED)

        threading.Thread(target=tell, name="hardscape-tell", daemon=True).start()

    def listen(self) -> Callable[[], int | None]:
        """See `Channel`."""
        from distributed import get_client

        variable = _variable(self.name, get_client())

        def told() -> int | None:
            with suppress(Exception):  # nothing was told yet, or the scheduler is not there
                return int(variable.get(timeout=_ASKED))
            return None

        return told


def _variable(name: str, client: Any) -> Any:
    import distributed

    made: Any = distributed.Variable
    return made(name, client=client)


@dataclass(frozen=True)
class MpiChannel:
    """Messages from rank 0, which asks, to those of the others that said that they listen."""

    run: int = field(default_factory=lambda: next(_runs))

    def tell(self, executor: Any, first: int) -> None:
        """See `Channel`."""
        _receive()
        for rank in _listening:
            _send((self.run, first), rank)

    def listen(self) -> Callable[[], int | None]:
        """See `Channel`."""
        world = _world()
        if not _listening:
            _listening.add(world.Get_rank())
            _send((world.Get_rank(), None), 0)

        def told() -> int | None:
            _receive()
            return _heard.get(self.run)

        return told


#: Messages on their way, which must not be forgotten before they have arrived.
_sent: list[Any] = []
#: What this process was told, by run; and the ranks that listen, or this one if it does.
_heard: dict[int, int] = {}
_listening: set[int] = set()


@cache
def _world() -> Any:
    from mpi4py import MPI

    atexit.register(_receive)  # MPI must not end with messages that nobody took
    return MPI.COMM_WORLD


def _send(message: tuple[int, int | None], rank: int) -> None:
    _sent.append(_world().isend(message, dest=rank, tag=_TAG))


def _receive() -> None:
    world = _world()
    while world.iprobe(tag=_TAG):
        run_or_rank, first = world.recv(tag=_TAG)
        if first is None:
            _listening.add(run_or_rank)
        else:
            _heard[run_or_rank] = first


def channel_of(executor: Any) -> Channel | None:
    """The channel that an executor's workers can hear, if there is one."""
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed" and hasattr(executor, "get_executor"):
        return DaskChannel()
    if package == "mpi4py":
        from mpi4py import MPI

        threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        if threads and _world().Get_rank() == 0 and _world().Get_size() > 1:
            return MpiChannel()
    return None
