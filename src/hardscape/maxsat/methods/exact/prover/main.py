"""Turns at cores and at better assignments, and the process that takes them."""

from __future__ import annotations

import array
import itertools
import json
import os
import signal
import sys
import threading
import time
from typing import Any, BinaryIO

from .board import Board, Settled, say
from .cores import Cores
from .costs import Costs
from .linear import Linear
from .oracle import FEW_CONFLICTS, Oracle

#: PR_SET_PDEATHSIG of Linux.
_DEATH_SIGNAL = 1
#: Seconds after which the process may be stopped: short proofs need not prepare for that.
_GRACE = 0.05
#: Processor time of the first turn, of the last, and their ratio, in seconds.
_FIRST, _LONGEST, _GROWTH = 0.3, 20.0, 1.5
#: The same before the clauses are simplified, at least and for each literal: twice what that takes.
_BEFORE, _BEFORE_EACH = 0.05, 3e-6
#: Solvers of the provers by number.
_SOLVERS = ("g4", "g4", "m22", "mcm")
#: Where the cores raised the lower bound by at least such a share of what is left, they go on at once.
_PACE = 0.5
#: Tries of few conflicts for a first assignment, before a long one of half as many in all.
_TRIES = 10


def begin(costs: Costs) -> None:
    """Have an assignment, by short tries of one solver; long ones of another prove where there is none."""
    costs.board.look()
    if costs.board.cost is not None:
        return
    quick = Oracle(costs.clauses, costs.board, solver="m22")
    quick.prefer(list(costs.weight))
    tries = _TRIES
    while costs.board.cost is None:
        rounds = [(quick, FEW_CONFLICTS)] * tries + [(costs.oracle, tries * FEW_CONFLICTS // 2)]
        for oracle, conflicts in rounds:
            answer = oracle.ask([], conflicts)
            if answer is False:
                raise Settled
            if answer:
                costs.offer(oracle.model())
            if costs.board.cost is not None:
                break
        tries *= 2
    quick.delete()


def prove(formula: dict[str, Any], board: Board, number: int = 0) -> None:
    """Prove and improve until `Settled`, in the way that a number stands for."""
    if number:
        import random

        names = ("clauses", "weights", "hard")
        rows = list(zip(*(formula[name] for name in names), strict=True))
        random.Random(number).shuffle(rows)
        formula = formula | dict(zip(names, zip(*rows, strict=True), strict=True))
    costs = Costs(formula, board, _SOLVERS[number % len(_SOLVERS)])
    begin(costs)
    cores = Cores(costs)
    linear = Linear(costs, cores)
    turn = _FIRST
    if not board.check:
        cores.turn(time.process_time() + max(_BEFORE, _BEFORE_EACH * sum(map(len, costs.clauses))))
        costs.simplify()
    while True:
        before = board.lower
        cores.turn(time.process_time() + turn)
        if number % 2 == 0 and board.lower - before < _PACE * board.gap:
            linear.turn(time.process_time() + turn)
        turn = min(_LONGEST, _GROWTH * turn)


def read(file: BinaryIO) -> dict[str, Any]:
    """The formula of a file."""
    sizes: dict[str, Any] = json.loads(file.readline())
    arrays = {}
    for name, code in (("literals", "i"), ("offsets", "q"), ("weights", "Q"), ("hard", "B")):
        arrays[name] = array.array(code)
        arrays[name].frombytes(file.read(sizes[name] * arrays[name].itemsize))
    literals = arrays["literals"].tolist()
    clauses = [literals[a:b] for a, b in itertools.pairwise(arrays["offsets"].tolist())]
    return sizes | {"clauses": clauses, "weights": arrays["weights"], "hard": arrays["hard"]}


def _end_with(parent: int) -> None:
    """End with the parent, also while this process is stopped between its turns; then it may be."""
    time.sleep(_GRACE)
    if sys.platform == "linux":
        import ctypes  # takes milliseconds

        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    say(ready=True)
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    """Prove the formula behind a file descriptor, in the way of a number, as long as a process lives."""
    descriptor, number, check, parent = map(int, sys.argv[1:])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with os.fdopen(descriptor, "rb") as file:
        formula = read(file)
    try:
        prove(formula, Board(sys.stdin, check=bool(check)), number)
    except Settled:
        say(settled=True)
