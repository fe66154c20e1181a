"""A prover that lives on between calls, and what it has learnt with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.start import started
from hardscape.maxsat.methods.talk import Pipe, lines_of

#: Seconds that a prover has to end a call; one that takes longer is ended, and another one begins anew.
_PATIENCE = 1.0


class Talker:
    """A process that listens and speaks."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines = lines_of(process)
        self.pipe = Pipe(process)


class Keeper:
    """The process of a `Solver`, started when it is needed, and the number of clauses that it knows."""

    def __init__(self) -> None:
        self._talker: Talker | None = None
        self._owner = 0
        self._known = 0

    def __reduce__(self) -> tuple[type[Keeper], tuple[()]]:
        return Keeper, ()  # a copy starts a process of its own

    @contextmanager
    def call(self, call: Call) -> Iterator[Talker]:
        """Talk about a formula whose first clauses are those of the last call."""
        talker = self._started()
        f, first = call.formula, self._known
        offsets, literals = f.offsets.tolist(), f.literals.tolist()
        talker.pipe.say(
            variables=f.num_variables,
            clauses=[literals[offsets[c] : offsets[c + 1]] for c in range(first, f.num_clauses)],
            hard=f.hard[first:].tolist(),
            weights=call.weights.tolist(),
            assumed=list(call.assumed),
        )
        self._known = f.num_clauses
        try:
            talker.pipe.push(wait=True)
            yield talker
        except BaseException:
            self.close()
            raise
        self._end(talker)

    def _started(self) -> Talker:
        talker = self._talker
        if talker is not None and self._owner != os.getpid():  # it is another process's
            talker.process.returncode = 0
            talker = None
        if talker is None or talker.process.poll() is not None:
            self.close()
            self._owner, self._known = os.getpid(), 0
            talker = self._talker = Talker(_outliving())
            weakref.finalize(self, _kill, talker.process, self._owner)
        return talker

    def _end(self, talker: Talker) -> None:
        talker.process.send_signal(signal.SIGCONT)
        talker.pipe.say(stop=True)
        end = time.monotonic() + _PATIENCE
        for line in talker.lines:
            talker.pipe.push()
            if b'"idle"' in line:
                return
            if time.monotonic() > end:
                break
        self.close()

    def close(self) -> None:
        """End the process; a later call starts another one."""
        if self._talker is not None:
            _kill(self._talker.process, self._owner)
        self._talker = None


def _outliving() -> subprocess.Popen[bytes]:
    """The process, as the child of a thread that lives as long: a system may end children with their thread."""
    found: list[subprocess.Popen[bytes]] = []
    there = threading.Event()

    def wait() -> None:
        try:
            found.append(started())
        finally:
            there.set()
        found[0].wait()

    threading.Thread(target=wait, daemon=True).start()
    there.wait()
    return found[0]


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process, unless it is the child of another process of which this one is a copy."""
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


@dataclass(frozen=True)
class Call:
    """What a `Solver` asks: all clauses, what each soft one of them weighs now, and what is assumed."""

    keeper: Keeper
    formula: Formula
    weights: NDArray[np.int64]
    assumed: Sequence[int]


@dataclass(frozen=True, eq=False)
class GrownFormula(Formula):
    """A formula of a `Solver` in a call, as a formula like others, and as what has been added."""

    call: Call | None = None
