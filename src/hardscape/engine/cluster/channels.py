"""Stops that travel to workers of other hosts by the engine that runs them: Dask, or MPI."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hardscape.engine.cluster.worker import Channel

#: Seconds of one question.
_ASKED = 0.25
#: Tags of the messages that stop the shards of one run.
_FIRST_TAG, _TAGS = 20_000, 10_000
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
    """Messages from rank 0, which asks, to all others, which work."""

    tag: int = field(default_factory=lambda: _FIRST_TAG + next(_runs) % _TAGS)

    def tell(self, executor: Any, first: int) -> None:
        """See `Channel`. A rank that listens no more leaves the message where it is."""
        from mpi4py import MPI

        for rank in range(1, MPI.COMM_WORLD.Get_size()):
            _sent.append(MPI.COMM_WORLD.isend(first, dest=rank, tag=self.tag))

    def listen(self) -> Callable[[], int | None]:
        """See `Channel`."""
        from mpi4py import MPI

        def told() -> int | None:
            while MPI.COMM_WORLD.iprobe(source=0, tag=self.tag):
                _heard[self.tag] = MPI.COMM_WORLD.recv(source=0, tag=self.tag)
            return _heard.get(self.tag)

        return told


#: Messages on their way, which must not be forgotten before they have arrived.
_sent: list[Any] = []
#: What this process was told, by tag.
_heard: dict[int, int] = {}


def channel_of(executor: Any) -> Channel | None:
    """The channel that an executor's workers can hear, if there is one."""
    package = type(executor).__module__.partition(".")[0]
    if package == "distributed" and hasattr(executor, "get_executor"):
        return DaskChannel()
    if package == "mpi4py":
        from mpi4py import MPI

        threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        if threads and MPI.COMM_WORLD.Get_rank() == 0 and MPI.COMM_WORLD.Get_size() > 1:
            return MpiChannel()
    return None
