"""What is said between the process of a prover and who waits for it."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context, Partial, ShardResult
from hardscape.errors import HardscapeError
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact.keeper import Talker
from hardscape.maxsat.methods.exact.sharing import Turns
from hardscape.maxsat.result import Improvement

#: Seconds between two assignments that the prover is told.
_BETWEEN = 0.1


class Dialogue:
    """What a prover says, what it is told, and a walker that has its thread in between.

    `ended` is set where that is over. An assignment of the presolved formula costs `constant` more in the whole
    one, of which a prover talks that is kept.
    """

    def __init__(
        self,
        talker: Talker,
        incumbent: Incumbent,
        context: Context,
        ended: threading.Event,
        constant: int,
        *,
        flips: int = 0,
        whole: bool = False,
        turns: Turns | None = None,
    ) -> None:
        self._talker, self._context = talker, context
        self._process, self._pipe = talker.process, talker.pipe
        self._incumbent, self._ended, self._flips = incumbent, ended, flips
        # A prover that is kept knows the whole formula, and another one what presolve has left of it.
        self._whole, self._constant, self._left = whole, 0 if whole else constant, constant
        self._lower = 0 if turns is None else turns.lower
        self._ready = False
        self._told: Improvement | None = None
        self._tell_at = 0.0
        self._turns = turns

    def result(self) -> ShardResult:
        """Listen until the prover ends, the bounds meet, or something says stop."""
        for line in self._talker.lines:
            if line:
                message = json.loads(line)
                if "settled" in message:
                    return self._settled()
                self._hear(message)
            if self._incumbent.proven or self._ended.is_set():
                return self._partial(proven=self._incumbent.proven)
            if self._context.stopped() or self._incumbent.halt[0]:
                return ShardResult(self._partial().partial, complete=False)
            now = time.monotonic()
            self._tell(now)
            if self._turns is not None and self._ready and self._turns.due:
                self._walk(self._turns)
        raise HardscapeError(f"the prover ended without an answer: {_last_words(self._process)}")

    def _walk(self, turns: Turns) -> None:
        """Let the walker have its turn, while the prover rests."""
        self._process.send_signal(signal.SIGSTOP)
        turns.walk(self._lower)
        self._process.send_signal(signal.SIGCONT)
        self._flips = turns.walker.new_flips

    def _hear(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready = True
        elif "model" in message:
            values = _values(message["model"])
            if self._whole:
                self._incumbent.offer(values)
                values = self._incumbent.restricted(values)
            self._incumbent.suggest(values)
            best = self._incumbent.best
            assert best is not None
            if (best.hard_violations, best.cost - self._constant) > (0, int(message["cost"])):
                raise HardscapeError("the prover's assignment does not cost what it says")
        else:
            self._lower = max(self._lower, int(message["lower"]))
            self._incumbent.bound(self._lower + self._constant)

    def _tell(self, now: float) -> None:
        """Tell the prover of a better assignment, unless it was told something just before."""
        best = self._incumbent.best
        known = best is None or best is self._told or best.hard_violations
        if best is not None and not known and self._pipe.free and now >= self._tell_at:
            self._told, self._tell_at = best, now + _BETWEEN
            values = best.assignment if self._whole else self._incumbent.restrict(best)
            model = "".join(map(str, values.tolist()))
            self._pipe.say(cost=best.cost - self._constant, model=model)
        self._pipe.push()

    def _settled(self) -> ShardResult:
        self._ended.set()
        best = self._incumbent.best
        if best is None or best.hard_violations:
            return self._partial(unsatisfiable=True)
        self._lower = best.cost - self._constant
        return self._partial(proven=True)

    def _partial(self, **known: int) -> ShardResult:
        lower = max(0, self._lower + self._constant - self._left)
        return ShardResult(told(lower, flips=self._flips, **known))


def _values(model: str) -> NDArray[np.uint8]:
    return np.frombuffer(model.encode(), dtype=np.uint8) - ord("0")


def told(lower: int = 0, **known: int) -> Partial:
    """What is known, as a partial; the rest is 0."""
    names = ("proven", "unsatisfiable", "flips")
    words = np.array(divmod(lower, 2**64), dtype=np.uint64)
    return {"lower": words} | {name: np.array([known.get(name, 0)]) for name in names}


def _last_words(process: subprocess.Popen[bytes]) -> str:
    process.kill()
    said = process.stderr.read() if process.stderr is not None else b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {process.wait()}"
