"""What a call would take here: it is begun, and left as soon as its progress tells how long it goes on.

Each of L workers has done half of a part that is not counted yet, so that after t seconds of which the first
t1 passed until a part was done, D of N units say that all of them take about (t - t1 / 2) N / D.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from hardscape.engine.progress import NullProgress, ProgressEvent
from hardscape.errors import BudgetError
from hardscape.plain import Plain

#: Seconds for which a call is tried at least, so many units or so many seconds being over; and at most.
_LEAST, _UNITS, _LONGER, _PATIENCE = 0.5, 20, 5.0, 20.0
#: Times the first part, likewise.
_PARTS = 4


@dataclass(frozen=True, repr=False)
class Forecast(Plain):
    """What a call would take.

    Attributes
    ----------
    seconds : float or None
        Wall-clock time; None where no part of it was over in `tried_seconds`.
    tried_seconds : float
        For how long it was tried.
    share : float
        How much of it was done then; 1 if it was over.
    total : int
        Units of work; 0 where a cost that is known before tells the time.
    unit : str

    Examples
    --------
    >>> from hardscape import gauge
    >>> from hardscape.engine import forecast
    >>> told = forecast(gauge.generate, (4, 4, 4, 4), beta=6.0, sweeps=50, device="cpu")
    >>> told.total, told.unit
    (50, 'sweeps')
    """

    seconds: float | None
    tried_seconds: float
    share: float
    total: int
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.listed("seconds tried_seconds share total unit")


class _Known(BaseException):
    """Enough is known of a call; nothing on its way may take this for an error."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self.seconds = seconds


class Forecaster(NullProgress):
    """Ends a run when its progress has told how long it takes."""

    def __init__(self) -> None:
        self._began = self._entered = time.monotonic()
        self._first = 0.0
        self.last = ProgressEvent(0, 0, "", 0.0, None, 0.0)

    def __enter__(self) -> Self:
        self._entered = time.monotonic()
        return self

    def update(self, event: ProgressEvent) -> None:
        """Look whether that is enough."""
        self.last = event
        if not 0 < event.share < 1:
            return
        self._first = self._first or event.seconds
        enough = event.done >= _UNITS or event.seconds >= _LONGER
        if enough and event.seconds >= max(_LEAST, _PARTS * self._first):
            raise _Known(self.seconds)

    def known(self, seconds: float) -> None:
        """End the call, which by its cost takes so long."""
        raise _Known(seconds)

    @property
    def spent(self) -> float:
        """Seconds of the call so far."""
        return time.monotonic() - self._began

    @property
    def seconds(self) -> float | None:
        """What the whole call takes, by the last event."""
        if self.last.share == 1.0:
            return self.spent
        if not self.last.share:
            return None
        return self._entered - self._began + (self.last.seconds - self._first / 2) / self.last.share


def forecast(call: Callable[..., object], /, *arguments: object, **keywords: object) -> Forecast:
    """Say how long ``call(*arguments, **keywords)`` would take, of a function that takes ``progress=``.

    It is begun, on its devices or its executor, for half a second to twenty; time limit, checkpoint and shards
    that are given count for nothing.

    Parameters
    ----------
    call : callable
        What ends by itself: of a search for a solution only luck knows when. (:func:`hardscape.ising.estimate`
        and :func:`hardscape.permanents.plan` say more of spectra and permanents.)
    *arguments, **keywords
        As the call takes them.

    Returns
    -------
    Forecast
        Within 1.5 times in nine of ten cases, where parts take equally long.

    Examples
    --------
    >>> from hardscape.engine import forecast
    >>> from hardscape.gauge import generate
    >>> forecast(generate, (4, 4, 4, 8), 6.0, sweeps=1_000_000).unit
    'sweeps'
    """
    tried = Forecaster()
    given = {name: x for name, x in keywords.items() if name not in ("checkpoint", "shards")}
    seconds: float | None
    try:
        call(*arguments, **given | {"progress": tried, "time_limit": _PATIENCE})
    except _Known as known:
        seconds = known.seconds
    except BudgetError:
        if tried.spent < _PATIENCE:
            raise
        seconds = tried.seconds
    else:
        seconds = tried.seconds
    last = tried.last
    return Forecast(seconds, tried.spent, last.share, last.total, last.unit)
