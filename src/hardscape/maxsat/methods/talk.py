"""What a process that works for this one says, and is told."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

#: Seconds of silence after which its listener is heard.
_POLL = 0.005


def lines_of(process: subprocess.Popen[bytes]) -> Iterator[bytes | bytearray]:
    """What the process says, line by line, and an empty line where it has been silent for a moment."""
    assert process.stdout is not None
    said = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(_POLL):
                yield b""
                continue
            more = os.read(process.stdout.fileno(), 2**16)
            if not more:
                return
            said += more
            if b"\n" in more:
                *lines, said = said.split(b"\n")
                yield from lines


class Pipe:
    """Lines for a process that may be too busy to listen."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        self._file = process.stdin.fileno()
        self._unsent = b""

    @property
    def free(self) -> bool:
        """Whether everything was sent."""
        return not self._unsent

    def say(self, **message: Any) -> None:
        """Have a line to send."""
        self._unsent += json.dumps(message).encode() + b"\n"

    def push(self, *, wait: bool = False) -> None:
        """Send as much as the process takes now, or all."""
        os.set_blocking(self._file, wait)
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._file, self._unsent) :]
