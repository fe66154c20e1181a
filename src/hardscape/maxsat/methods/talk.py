"""What a process that works for this one says."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections.abc import Iterator

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
