"""What the prover knows, and says."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

#: Share of the least cost by which what was found on this side may cost more, and be what guides.
_LITTLE_MORE = 0.05
#: Standard output, and held by the thread that says something.
_OUT = 1
_SAYING = threading.Lock()


class Settled(Exception):  # noqa: N818 - no error, but the end
    """Nothing better than the best assignment exists."""


class Stopped(Exception):  # noqa: N818 - no error either
    """Nobody waits for more."""


class ContradictionError(Exception):
    """One solver refutes what another one satisfies."""


class Board:
    """What is known on both sides, and the lines that say so."""

    #: Seconds for which nobody minds that nobody looks.
    patience = float("inf")

    def __init__(self, heard: Iterable[str] = (), *, check: bool = False) -> None:
        self.check = check
        self.cost: int | None = None
        self.model: Sequence[int] = ()  # literals
        self.lower = 0
        self.stopped = False
        self._own: int | None = None  # what the best one found on this side costs
        self._own_model: Sequence[int] = ()
        self._heard: list[str] = []
        if heard:
            self.listen(heard)

    @property
    def gap(self) -> float:
        """What lies between the bounds."""
        return float("inf") if self.cost is None else self.cost - self.lower

    def improves(self, cost: int) -> bool:
        """Whether that is less than all that was found on this side cost."""
        return self._own is None or cost < self._own

    @property
    def guide(self) -> Sequence[int]:
        """An assignment near which better ones are likely: what was found here, if it costs little more.

        It satisfies most of what cores have left, and one of somebody else may lie far from all that does.
        """
        if self._own is None or self.cost is None or self._own > (1 + _LITTLE_MORE) * self.cost:
            return self.model
        return self._own_model

    def listen(self, heard: Iterable[str]) -> threading.Thread:
        """Hear these lines, as they come."""
        listener = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        listener.start()
        return listener

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._heard.append(line)

    def look(self) -> None:
        """Take what others found; `Settled` if the bounds meet, `Stopped` if nobody waits."""
        if self.stopped:
            raise Stopped
        while self._heard:
            told = json.loads(self._heard.pop(0))
            if self.cost is None or told["cost"] < self.cost:
                bits = enumerate(told["model"], 1)
                self.cost, self.model = told["cost"], [v if x == "1" else -v for v, x in bits]
        if self.cost is not None and self.lower >= self.cost:
            raise Settled

    def over(self) -> bool:
        """Whether nobody waits for more, as far as that is known without a look."""
        return self.stopped

    def extend(self, seconds: float) -> None:
        """Wait so much longer, where the end is near."""

    def tell(self, **message: Any) -> None:
        """Tell whoever waits."""
        say(**message)

    def offer(self, cost: int, model: Sequence[int]) -> None:
        """Take the literals of an assignment if it is better."""
        if self.improves(cost):
            self._own, self._own_model = cost, model
        if self.cost is None or cost < self.cost:
            self.cost, self.model = cost, model
            self.tell(cost=cost, model="".join(["1" if x > 0 else "0" for x in model]))

    def raise_to(self, lower: int) -> None:
        """Take a lower bound if it is higher.

        What was proven of assignments better than the best one says of all others only that they cost as much.
        """
        if self.cost is not None:
            lower = min(lower, self.cost)
        if lower > self.lower:
            self.lower = lower
            self.tell(lower=lower)


def say(**message: Any) -> None:
    """Tell the parent.

    Unbuffered streams (PYTHONUNBUFFERED) lose what a pipe did not take before the process was stopped, so no
    stream is used.
    """
    line = memoryview((json.dumps(message) + "\n").encode())
    with _SAYING:
        while line:
            line = line[os.write(_OUT, line) :]
