r"""Energy against time: how far local dynamics come down before they get stuck, at a constant w1 or annealed.

On random 3-regular systems of three-variable clauses any local dynamics stops at a threshold energy above the
ground state's -1 a variable: no higher than -0.958659, where metastable states begin to exist, and, it is
expected, no higher than -0.963594, where most of them are marginal (A. Montanari, F. Ricci-Tersenghi,
Eur. Phys. J. B 33, 339, 2003).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arguments import integer
from hardscape.engine import (
    Context,
    Cpu,
    Cuda,
    Device,
    Partial,
    RunArguments,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    solve,
    split,
)
from hardscape.engine.device import device_names
from hardscape.errors import InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.plain import Plain
from hardscape.xorsat.methods.quasi_greedy.cuda.energies import cuda_energies
from hardscape.xorsat.methods.quasi_greedy.plan import DYNAMICS, Dynamics, Plan, default_w1
from hardscape.xorsat.methods.quasi_greedy.rounds import GROUP, MAX_CLONES, MAX_SWEEPS
from hardscape.xorsat.studies.plots import draw_energies
from hardscape.xorsat.system import XorSystem, checked_system

#: Groups of clones that a thread takes as one shard, and shards at most.
_MOST_SHARDS = 64
#: Clones where nobody says how many.
_CLONES = 16 * GROUP
#: A GPU pays with so many clones, as each of its threads takes 32 through all updates, one after another.
_GPU_CLONES = 1 << 18


@dataclass(frozen=True, eq=False)
class EnergyTrace(Plain):
    """Mean energy of many clones against time.

    Attributes
    ----------
    num_variables, clones : int
    sweeps : int64, shape (points,)
        After which the clones were looked at; the first is 0.
    w1 : float64, shape (points,)
        Flip probability of the sweeps until then, at the start that of the first of them.
    energy : float64, shape (points,)
        Mean of H a variable, H = 2 violated - clauses, over all clones.
    error : float64, shape (points,)
        Its standard error, from the scatter of groups of 1024 clones, which share their coins; NaN for one
        group.
    lowest : float64, shape (points,)
        H a variable of the best clone.
    dynamics, device, stopped : str
    seed : int or None
    seconds : float

    Examples
    --------
    >>> from hardscape.xorsat import energy_trace, random_regular
    >>> system = random_regular(60, seed=1)
    >>> trace = energy_trace(system, 20, looks=4, clones=1024, device="cpu", seed=1)
    >>> trace.sweeps.tolist(), bool(trace.energy[-1] < trace.energy[0])
    ([0, 1, 3, 7, 20], True)
    """

    COLUMNS: ClassVar[str] = "sweeps w1 energy error lowest"

    num_variables: int
    clones: int
    sweeps: NDArray[np.int64]
    w1: NDArray[np.float64]
    energy: NDArray[np.float64]
    error: NDArray[np.float64]
    lowest: NDArray[np.float64]
    dynamics: str = "quasi-greedy"
    device: str = ""
    stopped: str = ""
    seed: int | None = None
    seconds: float = 0.0

    method: ClassVar[str] = "energy trace"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN is None."""
        names = "num_variables clones dynamics method device seed seconds stopped sweeps w1 energy lowest"
        error = [None if np.isnan(x) else x for x in self.error.tolist()]
        return self.listed(names) | {"error": error}

    def __repr__(self) -> str:
        return (
            f"<EnergyTrace: N={self.num_variables}, energy {self.energy[-1]:.5f} after "
            f"{self.sweeps[-1]} sweeps of {self.clones} clones, {self.dynamics}>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the energy against time; see `hardscape.xorsat.studies.plots.draw_energies`."""
        return draw_energies([self], ax=ax)


@dataclass(frozen=True, eq=False)
class EnergyWork(Work[Partial]):
    """Groups of clones, each through all stages.

    A partial holds ``totals`` (uint64, shape (points,)), violated clauses of all clones; ``squares``, the
    sum of squares of the groups' totals; ``fewest`` (uint32, shape (points,)), those of the best clone;
    ``groups``.
    """

    name = "xorsat.energy_trace"
    revision = 1
    unit = "groups"

    stages: tuple[tuple[Plan, int], ...]
    seed: int
    groups: int
    count: int  # shards

    def digest(self) -> str:
        """Hash of the stages, the seed and the number of groups."""
        text = repr(
            ([(plan.digest, sweeps) for plan, sweeps in self.stages], self.seed, self.groups)
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """Some groups each."""
        return split(self.groups, self.count)

    def brief(self, device: Device) -> bool:
        """Where it asks by itself whether to stop."""
        return isinstance(device, Cuda)

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run the groups; what was told to stop tells of the groups before."""
        if isinstance(context.device, Cuda):
            groups = (shard.start, len(shard))
            found = cuda_energies(self.stages, self.seed, *groups, context)
            if found is None:
                return ShardResult(self.nothing(), False)
            return ShardResult(self._partial(*found))
        partial = self.nothing()
        kernels = [plan.kernel for plan, _ in self.stages]
        sweeps = np.array([sweeps for _, sweeps in self.stages], dtype=np.int64)
        for group in range(shard.start, shard.stop):
            left = context.until - time.monotonic()
            totals, fewest = native.vector.xorsat.QuasiGreedy.energies(
                kernels, sweeps, self.seed, group, context.stop, left
            )
            if len(totals) <= len(sweeps):
                return ShardResult(partial, False)
            partial = self.merge(partial, self._partial(totals[:, None], fewest[:, None]))
        return ShardResult(partial)

    def _partial(self, totals: NDArray[np.uint64], fewest: NDArray[np.uint32]) -> Partial:
        """From violated clauses by stage and group."""
        return {
            "totals": totals.sum(axis=1, dtype=np.uint64),
            "squares": (totals * totals).sum(axis=1, dtype=np.uint64),
            "fewest": fewest.min(axis=1),
            "groups": np.array([totals.shape[1]], dtype=np.uint64),
        }

    def nothing(self) -> Partial:
        """The partial of no group."""
        points = len(self.stages) + 1
        return {
            "totals": np.zeros(points, np.uint64),
            "squares": np.zeros(points, np.uint64),
            "fewest": np.full(points, np.iinfo(np.uint32).max, np.uint32),
            "groups": np.zeros(1, np.uint64),
        }

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Sums, and the fewest of both."""
        merged = {name: left[name] + right[name] for name in ("totals", "squares", "groups")}
        return merged | {"fewest": np.minimum(left["fewest"], right["fewest"])}


@interruptible
def energy_trace(
    system: XorSystem | str | Path,
    sweeps: int = 1000,
    *,
    w1: float | None = None,
    until: float | None = None,
    dynamics: Dynamics = "quasi-greedy",
    looks: int = 40,
    clones: int | None = None,
    **run: Unpack[RunArguments],
) -> EnergyTrace:
    r"""Measure the mean energy of many clones against time, from random spins on.

    Parameters
    ----------
    system : XorSystem, or the path of a file of one
    sweeps : int
        Of each clone, 1 to 4194303.
    w1 : float, optional
        Probability of flipping a variable of one violated clause of three; by default the search's.
    until : float, optional
        w1 at the end: the temperature :math:`-2/\ln w_1` then falls linearly, in `looks` stages of as
        many sweeps. With ``dynamics="metropolis"`` that is simulated annealing.
    dynamics : {"quasi-greedy", "metropolis"}
    looks : int
        At the clones: equally spaced where w1 changes, else logarithmically.
    clones : int, optional
        Rounded up to a multiple of 1024; by default 16384.
    **run
        Device, threads, seed, limits and records: see :class:`hardscape.engine.RunArguments`.

    Returns
    -------
    EnergyTrace
        The same for every device and number of workers. Where a limit came first, that of the groups of 1024
        clones that were through.

    Raises
    ------
    InputError
    BudgetError
        If `time_limit` came before one group was through.
    Interrupted
        On Ctrl-C or SIGTERM.

    Notes
    -----
    On a GPU the clones go by tables, whatever the size of the system.

    Examples
    --------
    >>> from hardscape.xorsat import random_regular
    >>> system = random_regular(300, seed=1)
    >>> options = {"w1": 0.3, "until": 0.01, "dynamics": "metropolis", "clones": 1024}
    >>> fast, slow = (energy_trace(system, n, device="cpu", seed=1, **options) for n in (20, 500))
    >>> bool(slow.energy[-1] < fast.energy[-1] < -0.8)
    True
    """
    system = checked_system(system)
    if not system.num_variables:
        raise InputError("a system of no variables has no energy a variable")
    number = integer(sweeps, "sweeps", 1, MAX_SWEEPS)
    wanted = _CLONES if clones is None else integer(clones, "clones", 1, MAX_CLONES)
    groups = -(-wanted // GROUP)
    if dynamics not in DYNAMICS:
        raise InputError(f"dynamics={dynamics!r}; {', '.join(DYNAMICS)} are accepted")
    first = default_w1(system) if w1 is None else w1
    ends, used = _stages(number, first, until, integer(looks, "looks", 1, 10_000))
    plan = Plan.build(system, first, dynamics)
    plans = {p: plan if p == first else plan.flipping(p, dynamics) for p in dict.fromkeys(used)}
    lengths = np.diff([0, *ends])
    stages = tuple((plans[p], int(n)) for p, n in zip(used, lengths, strict=True))
    options = RunOptions.checked(big_enough=groups * GROUP >= _GPU_CLONES, **run)
    on_cpu = isinstance(options.devices[0], Cpu)
    count = min(groups, _MOST_SHARDS if on_cpu else len(options.devices))
    work = EnergyWork(stages, options.seed, groups, count)
    outcome = solve(work, options)
    known = outcome.answer or work.nothing()
    found = _trace(system, known, (0, *ends), (used[0], *used), dynamics, options, outcome)
    if outcome.signum:
        raise Interrupted(outcome.signum, found if found.clones else None)
    if not found.clones:
        outcome.whole()
    return found


def _stages(
    sweeps: int, w1: float, until: float | None, looks: int
) -> tuple[list[int], list[float]]:
    """Sweeps after each stage, and its w1."""
    if until is None:
        ends = np.unique(np.round(np.geomspace(1, sweeps, looks)).astype(int)).tolist()
        return ends, [w1] * len(ends)
    for name, value in (("w1", w1), ("until", until)):
        if not 0 < value < 1:
            raise InputError(f"{name}={value}; above 0 and below 1 is accepted where w1 changes")
    ends = np.unique(np.round(np.linspace(0, sweeps, looks + 1)).astype(int))[1:].tolist()
    temperatures = np.linspace(-2 / np.log(w1), -2 / np.log(until), len(ends))
    used = np.exp(-2 / temperatures).tolist()
    used[0] = w1
    return ends, used


def _trace(
    system: XorSystem,
    partial: Partial,
    sweeps: Sequence[int],
    w1: Sequence[float],
    dynamics: str,
    options: RunOptions,
    outcome: Any,
) -> EnergyTrace:
    n, m = system.num_variables, system.num_clauses
    groups = max(1, int(partial["groups"][0]))
    totals, squares = ([int(x) for x in partial[name]] for name in ("totals", "squares"))
    mean = np.array([total / (groups * GROUP) for total in totals])
    spread = [max(groups * s - t * t, 0) for s, t in zip(squares, totals, strict=True)]
    error = np.full(len(mean), np.nan)
    if groups > 1:
        error = np.sqrt(np.array(spread, dtype=np.float64) / (groups - 1)) / (groups * GROUP)
    return EnergyTrace(
        n,
        int(partial["groups"][0]) * GROUP,
        np.array(sweeps, dtype=np.int64),
        np.array(w1, dtype=np.float64),
        (2 * mean - m) / n,
        2 * error / n,
        (2.0 * partial["fewest"] - m) / n,
        dynamics,
        device_names(options.devices),
        outcome.cut,
        options.seed,
        outcome.seconds,
    )
