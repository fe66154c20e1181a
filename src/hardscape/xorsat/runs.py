"""Many runs of the quasi-greedy search: on one system, and at several w1."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hardscape.engine import Device
from hardscape.errors import InputError
from hardscape.xorsat.plan import RUN_W1
from hardscape.xorsat.quasi_greedy import quasi_greedy
from hardscape.xorsat.scans import W1Scan, fit_w1
from hardscape.xorsat.system import XorSystem
from hardscape.xorsat.time_to_solution import Runner, TimeToSolution, measure

__all__ = ["QuasiGreedyRunner", "scan_w1", "time_to_solution"]


class QuasiGreedyRunner:
    """The quasi-greedy search on one system, compiled once: a `Runner`.

    Parameters
    ----------
    system : XorSystem
    **options
        `w`, `clones`, `restart`, `device` and `threads` of :func:`hardscape.xorsat.quasi_greedy`.
    """

    def __init__(self, system: XorSystem, **options: Any) -> None:
        self._system = system
        self._options = options
        # One sweep, so that no run waits for a compiler.
        first = quasi_greedy(system, seed=0, max_sweeps=1, **options)
        self._clones, self._device = first.clones, first.device

    @property
    def clones(self) -> int:
        """Clones side by side."""
        return self._clones

    @property
    def device(self) -> str:
        """Where it runs."""
        return self._device

    def __call__(self, seed: int, timeout: float) -> tuple[bool, int, float]:
        """Search once for a solution."""
        found = quasi_greedy(
            self._system, seed=seed, time_limit=timeout, anytime=False, **self._options
        )
        sweeps = found.sweeps
        if not found.reached:  # what was done, which is what the time went into
            sweeps = -(-found.spin_updates // max(self._clones * self._updates, 1))
        return found.reached, sweeps, found.seconds

    @property
    def _updates(self) -> int:
        """Updates of a sweep: variables that are in a clause."""
        return int(np.count_nonzero(self._system.degrees))


def time_to_solution(
    system: XorSystem,
    runs: int = 100,
    timeout: float = 10.0,
    *,
    w: float | Sequence[float] | None = None,
    clones: int | None = None,
    restart: int | None = None,
    device: str | Device | Sequence[str | Device] = "auto",
    threads: int | None = None,
    seed: int | None = None,
    runner: Runner | None = None,
) -> TimeToSolution:
    """Measure how long the quasi-greedy search takes to solve a system.

    Parameters
    ----------
    system : XorSystem
        A satisfiable one, else no run ends before its timeout.
    runs : int
        Runs, each from new random spins.
    timeout : float
        Seconds after which a run is stopped. It may be far below tau: stopped runs count, and a few
        solved ones tell tau as well as long runs would.
    w, clones, restart, device, threads
        Of :func:`hardscape.xorsat.quasi_greedy`.
    seed : int, optional
        Seeds of the runs follow from it.
    runner : Runner, optional
        Another search to measure: it is called as ``runner(seed, timeout)``. The options of the
        search are its own then.

    Returns
    -------
    TimeToSolution

    Raises
    ------
    InputError
    Interrupted
        On Ctrl-C or SIGTERM.

    Notes
    -----
    Seconds are those of each search, without the kernel's compilation. On several threads rounds of
    clones run side by side; sweeps are counted as if one followed the other.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> found = time_to_solution(random_regular(24, seed=1), 5, device="cpu", threads=1, seed=0)
    >>> found.num_solved, found.tau > 0
    (5, True)
    """
    options = {"w": w, "clones": clones, "restart": restart, "threads": threads}
    if runner is None:
        runner = QuasiGreedyRunner(system, device=device, **options)
    elif device != "auto" or any(value is not None for value in options.values()):
        raise InputError(
            "w, clones, restart, device and threads are the runner's own; leave them out"
        )
    chosen = secrets.randbits(63) if seed is None else seed
    return measure(system, runner, runs, timeout, w1=_w1(w), seed=chosen)


def scan_w1(
    system: XorSystem,
    values: ArrayLike = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08),
    runs: int = 100,
    timeout: float = 10.0,
    *,
    seed: int | None = None,
    **options: Any,
) -> W1Scan:
    r"""Measure the time to solution at several w1, and fit a parabola to :math:`\ln \tau`.

    Parameters
    ----------
    system : XorSystem
    values : array-like, shape (points,)
        w1 of each point, 0 to 1. The search rounds them to 256ths.
    runs, timeout
        Of each point, as for :func:`time_to_solution`.
    seed : int, optional
    **options
        `clones`, `restart`, `device` and `threads` of :func:`time_to_solution`.

    Returns
    -------
    W1Scan
        `optimum` is the w1 of least sweeps; the paper has 0.054(1) for N = 256.
    """
    points = np.asarray(values, dtype=np.float64)
    if points.ndim != 1 or not len(points):
        raise InputError(
            f"values have shape {points.shape}; one axis, one value or more is accepted"
        )
    chosen = secrets.randbits(63) if seed is None else seed
    seeds = np.random.SeedSequence(chosen).generate_state(len(points), np.uint64)
    # What the coins can say: probabilities in 256ths.
    used = np.round(points * 256) / 256
    results = [
        time_to_solution(system, runs, timeout, w=float(w1), seed=int(own), **options)
        for w1, own in zip(used, seeds, strict=True)
    ]
    return fit_w1(used, results)


def _w1(w: float | Sequence[float] | None) -> float:
    if w is None:
        return RUN_W1
    table = np.atleast_1d(np.asarray(w, dtype=np.float64))
    return float(table[min(len(table) - 1, 1)])
