"""Processes of this machine that talk as ranks of MPI do, by queues: for tests where MPI is not at hand."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from hardscape.arrays import to_device


class Asked:
    """What is to be received when it is waited for."""

    def __init__(self, receive: Callable[[], None] | None) -> None:
        self._receive = receive

    def Test(self) -> bool:
        return self._receive is None

    def Wait(self) -> None:
        if self._receive is not None:
            self._receive()


class QueueComm:
    """What of mpi4py's communicator ranks that hold a lattice together need."""

    def __init__(self, rank: int, queues: list[list[Any]], direct: bool = False) -> None:
        self._rank, self._queues, self._direct = rank, queues, direct

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return len(self._queues)

    def Send(self, part: Any, to: int, tag: int) -> None:
        self._queues[self._rank][to].put(np.array(to_device(part, "cpu")))

    def Recv(self, into: Any, source: int, tag: int) -> None:
        found = self._queues[source][self._rank].get(timeout=20)
        into[...] = found if isinstance(into, np.ndarray) else to_device(found, "cuda")

    def Sendrecv(self, part: Any, to: int, tag: int, into: Any, source: int, tag2: int) -> None:
        self.Send(part, to, tag)
        self.Recv(into, source, tag2)

    def Isend(self, part: Any, to: int, tag: int) -> Asked:
        self.Send(part, to, tag)
        return Asked(None)

    def Irecv(self, into: Any, source: int, tag: int) -> Asked:
        return Asked(lambda: self.Recv(into, source, tag))

    def Split(self, color: int, key: int) -> QueueComm:
        told = self.allgather((color, key))
        ranks = [r for _, r in sorted((k, r) for r, (c, k) in enumerate(told) if c == color)]
        queues = [[self._queues[a][b] for b in ranks] for a in ranks]
        return QueueComm(ranks.index(self._rank), queues, self._direct)

    def Get_info(self) -> dict[str, str]:
        return {"mpi_memory_alloc_kinds": "system,mpi" + ",cuda:device" * self._direct}

    def gather(self, value: Any, root: int = 0) -> Any:
        self._queues[self._rank][root].put(value)
        if self._rank != root:
            return None
        return [row[root].get(timeout=20) for row in self._queues]

    def bcast(self, value: Any, root: int = 0) -> Any:
        if self._rank == root:
            for queue in self._queues[root]:
                queue.put(value)
        return self._queues[root][self._rank].get(timeout=20)

    def allgather(self, value: Any) -> Any:
        return self.bcast(self.gather(value))

    def Abort(self, code: int) -> None:
        raise SystemExit(code)


def _ranked(
    rank: int, queues: list[list[Any]], direct: bool, work: Callable[[Any], Any], answers: Any
) -> None:
    try:
        found = work(QueueComm(rank, queues, direct))
    except BaseException:
        answers.put((rank, traceback.format_exc()))
        raise
    answers.put((rank, found))


def on_ranks(many: int, work: Callable[[Any], Any], direct: bool = False) -> Any:
    """Call a function of a module with the communicator of each of so many processes; the first's answer.

    A `direct` communicator says that it takes the memory of GPUs, and does.
    """
    context = multiprocessing.get_context("spawn")
    queues = [[context.Queue() for _ in range(many)] for _ in range(many)]
    answers = context.Queue()
    ranks = [
        context.Process(target=_ranked, args=(rank, queues, direct, work, answers))
        for rank in range(many)
    ]
    for process in ranks:
        process.start()
    found = dict(answers.get(timeout=60) for _ in ranks)
    for process in ranks:
        process.join(20)
    assert [process.exitcode for process in ranks] == [0] * many, str(found)
    return found[0]
