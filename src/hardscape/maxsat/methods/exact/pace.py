"""How fast a walker still gets on."""

from __future__ import annotations

import math

from hardscape.maxsat.result import Improvement

#: A walker gets on where what it found in the last part of its time lowered the cost by such a share of it.
_PART, _GAIN = 0.4, 0.006


class Pace:
    """What a walker found, and when, in seconds of its own time.

    What lowers a cost by little in the last part of the time will lose little where there is less of it.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._gains: list[tuple[float, float]] = []  # logarithms of costs' ratios, and when

    def walked(self, seconds: float, before: Improvement | None, after: Improvement | None) -> None:
        """Take what was the best before and after so many more seconds."""
        self.seconds += seconds
        if after is None or after is before or after.hard_violations:
            return
        first = before is None or before.hard_violations
        gain = (
            math.inf if first or before is None else math.log((1 + before.cost) / (1 + after.cost))
        )
        self._gains.append((self.seconds, gain))

    @property
    def gets_on(self) -> bool:
        """Whether the last part of the time was worth it."""
        since = (1 - _PART) * self.seconds
        return sum(gain for at, gain in self._gains if at > since) >= _GAIN
