"""A first assignment by a SAT solver, while this process imports what it searches with."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable

from hardscape.maxsat.methods.exact.start import started

#: The number of a prover that ends with the first assignment.
_FIRST = -1


def has_a_core() -> bool:
    """Whether there is a core for such a process; on the search's own it would only be late."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1
    return (os.cpu_count() or 1) > 1


class Ahead:
    """A process that looks for an assignment under which the hard clauses hold, until it `end`s.

    `formula` is what such a process reads. `hear` takes the assignment, as 0 and 1, from a thread of its own.
    """

    def __init__(self, formula: bytes, hear: Callable[[str], object]) -> None:
        with tempfile.TemporaryFile() as file:
            file.write(formula)
            file.seek(0)
            self._process = started(file.fileno(), _FIRST)
        self._listener = threading.Thread(target=self._listen, args=(hear,), daemon=True)
        self._listener.start()

    def _listen(self, hear: Callable[[str], object]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "model" in message:
                hear(message["model"])
                return

    def end(self, patience: float = 0.0) -> None:
        """Hear no more, after so many seconds unless it has ended by itself."""
        self._listener.join(patience)
        self._process.kill()
        self._listener.join()
        self._process.communicate()
