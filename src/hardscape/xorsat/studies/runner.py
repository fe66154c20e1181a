"""Many runs of the quasi-greedy search on one system, which is planned and compiled only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numpy.typing import ArrayLike

from hardscape.arguments import MAX_SEED, integer, seconds
from hardscape.engine import Deadline, Device, RunOptions, solve
from hardscape.engine.device import device_names
from hardscape.errors import Interrupted
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, Best, Schedule
from hardscape.xorsat.methods.quasi_greedy.search import suits_gpu
from hardscape.xorsat.methods.quasi_greedy.work import SIDES, QuasiGreedyWork
from hardscape.xorsat.system import XorSystem, checked_system


class QuasiGreedyRunner:
    """Searches for a solution of one system on all of its devices, a new seed each time.

    Parameters
    ----------
    system, w1, dynamics, clones, restart, device, threads
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
        system: XorSystem | str | Path,
        *,
        w1: ArrayLike | None = None,
        dynamics: Dynamics = "quasi-greedy",
        clones: int | None = None,
        restart: int | None = None,
        device: str | Device | Sequence[str | Device] = "auto",
        threads: int | None = None,
    ) -> None:
        system = checked_system(system)
        gains = suits_gpu(system)
        self._options = RunOptions.checked(device=device, threads=threads, big_enough=gains)
        schedule = Schedule(w1, clones, restart, anytime=False, dynamics=dynamics)
        first = self._options.devices[0]
        self._rounds = schedule.rounds(system, 0, SIDES[type(first)], first)
        self.clones = self._rounds.groups * GROUP
        self.device = device_names(self._options.devices)

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

        Raises
        ------
        Interrupted
            On Ctrl-C or SIGTERM.
        """
        rounds = self._rounds.seeded(integer(seed, "seed", 0, MAX_SEED))
        work = QuasiGreedyWork(rounds)
        deadline = Deadline(seconds(timeout, "timeout"))
        outcome = solve(work, replace(self._options, deadline=deadline))
        if outcome.signum:
            raise Interrupted(outcome.signum)
        partial = outcome.partial
        if partial is None:
            return False, 0, outcome.seconds
        if work.finished(partial):
            best = Best(*partial["improvements"][-1].tolist())
            return True, rounds.sweeps_until(best), outcome.seconds
        return False, int(partial["group_sweeps"][0]) // rounds.groups, outcome.seconds
