"""Many runs of the quasi-greedy search on one system, which is planned and compiled only once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from hardscape.engine import Device, resolve, run
from hardscape.errors import Interrupted
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP
from hardscape.xorsat.methods.quasi_greedy.search import schedule, suits_gpu
from hardscape.xorsat.methods.quasi_greedy.work import QuasiGreedyWork, run_on_cpu
from hardscape.xorsat.system import XorSystem

__all__ = ["QuasiGreedyRunner"]

#: Spin updates of a round after which it is early enough to look at the clock: milliseconds.
_SHORT_ROUND = 2e9


class QuasiGreedyRunner:
    """Searches for a solution of one system, a new seed each time; what `measure` runs.

    Parameters
    ----------
    system, w, clones, restart, device, threads
        As :func:`hardscape.xorsat.quasi_greedy` takes them.

    Attributes
    ----------
    clones : int
        Clones of a round.
    device : str

    Examples
    --------
    >>> from hardscape.xorsat import QuasiGreedyRunner, random_regular
    >>> runner = QuasiGreedyRunner(random_regular(24, seed=1), device="cpu", threads=1)
    >>> solved, sweeps, seconds = runner(seed=1, timeout=10.0)
    >>> solved
    True
    """

    def __init__(
        self,
        system: XorSystem,
        *,
        w: ArrayLike | None = None,
        clones: int | None = None,
        restart: int | None = None,
        device: str | Device | Sequence[str | Device] = "auto",
        threads: int | None = None,
    ) -> None:
        self._devices = resolve(device, threads=threads, big_enough=suits_gpu(system))
        self._work = schedule(
            system, self._devices, w=w, clones=clones, restart=restart, anytime=False
        )
        self.clones = self._work.groups * GROUP
        updates = self.clones * self._work.restart * self._work.plan.updates
        single = len(self._devices) == 1
        self._alone = single and (self._devices[0].kind == "cuda" or updates < _SHORT_ROUND)
        self.device = ", ".join(map(str, self._devices))

    def __call__(self, seed: int, timeout: float) -> tuple[bool, int, float]:
        """Search once.

        Parameters
        ----------
        seed : int
        timeout : float
            Seconds after which the search is stopped.

        Returns
        -------
        solved : bool
        sweeps : int
            Of each clone, until the solution or the stop.
        seconds : float
            Wall-clock time.
        """
        work = replace(self._work, seed=seed)
        if self._alone:
            return _alone(work, self._devices[0], timeout)
        outcome = run(work, devices=self._devices, time_limit=timeout)
        if outcome.signum:
            raise Interrupted(outcome.signum)
        partial = outcome.partial
        if partial is None:
            return False, 0, outcome.seconds
        if work.finished(partial):
            _, number, sweep, _ = partial["improvements"][-1].tolist()
            return True, number * work.restart + sweep, outcome.seconds
        return False, int(partial["group_sweeps"][0]) // work.groups, outcome.seconds


def _alone(work: QuasiGreedyWork, device: Device, timeout: float) -> tuple[bool, int, float]:
    """Without the engine, whose threads take longer to start than small systems to be solved."""
    began = time.perf_counter()
    never = np.zeros(1, dtype=np.uint8)
    number = sweeps = 0
    while True:
        if device.kind == "cuda":
            late = lambda: time.perf_counter() - began > timeout  # noqa: E731
            found = work.cuda.run(work, number, device.ordinal, late)
        else:
            found = run_on_cpu(work, number, never)
        if found.improvements and found.improvements[-1].violated == 0:
            sweeps = number * work.restart + found.improvements[-1].sweep
            return True, sweeps, time.perf_counter() - began
        sweeps += found.group_sweeps // work.groups
        if not found.complete or time.perf_counter() - began > timeout:
            return False, sweeps, time.perf_counter() - began
        number += 1
