"""The process."""

from __future__ import annotations

import array
import gc
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from .board import Board, Settled, say

#: PR_SET_PDEATHSIG of Linux.
_DEATH_SIGNAL = 1
#: Seconds after which a process that only looks for a first assignment may be stopped: most are over before
#: they would have prepared for that. Others prepare at once, since many calls let no other thread go on.
_GRACE = 0.05


def read(file: BinaryIO) -> dict[str, Any]:
    """The formula of a file."""
    sizes: dict[str, Any] = json.loads(file.readline())
    arrays = {}
    for name, code in (("literals", "i"), ("offsets", "q"), ("weights", "Q"), ("hard", "B")):
        arrays[name] = array.array(code)
        arrays[name].frombytes(file.read(sizes[name] * arrays[name].itemsize))
    literals = arrays["literals"].tolist()
    clauses = [literals[a:b] for a, b in itertools.pairwise(arrays["offsets"].tolist())]
    told = {"breaking": sizes.pop("breaking", []).copy}
    return sizes | told | {"clauses": clauses, **{x: arrays[x] for x in ("weights", "hard")}}


def _end_with(parent: int, grace: float) -> None:
    """End with the parent, also while this process is stopped between its turns; then it may be."""
    time.sleep(grace)
    if sys.platform == "linux":
        import ctypes  # takes milliseconds

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    say(ready=True)
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _until_stop(board: Board) -> Iterator[str]:
    """What is said in a call; then the board stops."""
    for line in sys.stdin:
        if "stop" in json.loads(line):
            break
        yield line
    board.stopped = True


def again_and_again() -> None:
    """Prove what standard input tells, call by call."""
    from .session import Session

    session = None
    while line := sys.stdin.readline():
        told = json.loads(line)
        session = session or Session(told["variables"])
        board = Board()
        listener = board.listen(_until_stop(board))
        session.call(told, board)
        listener.join()
        say(idle=True)


def main() -> None:
    """Prove the formula behind a file descriptor, in the way of a number, as long as a process lives.

    Without a descriptor, -1, formulas come by standard input.
    """
    gc.disable()  # hundreds of thousands of clauses are looked through again and again, in vain
    descriptor, number, check, parent = map(int, sys.argv[1:])
    grace = _GRACE if number < 0 else 0.0
    threading.Thread(target=_end_with, args=(parent, grace), daemon=True).start()
    if descriptor < 0:
        again_and_again()
        return
    with os.fdopen(descriptor, "rb") as file:
        formula = read(file)
    try:
        if number < 0:
            from .first import first  # without all else, which takes as long as many of its answers

            first(formula, Board())
        else:
            from .turns import prove

            prove(formula, Board(sys.stdin, check=bool(check)), number)
    except Settled:
        say(settled=True)
