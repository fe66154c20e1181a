"""The density of states: how many states have each energy, exactly."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardscape import memory
from hardscape.arrays import as_float64
from hardscape.engine import Device, RunArguments, RunOptions, solve
from hardscape.engine.device import describe
from hardscape.engine.estimates.pace import pace
from hardscape.errors import BudgetError, DeviceError, HardscapeError, InputError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.ising.methods.counting import CountingMethod, CountingWork, LevelTerms
from hardscape.ising.methods.frontier.frontier import Frontier
from hardscape.ising.methods.histogram.histogram import Histogram
from hardscape.ising.model import Ising
from hardscape.ising.plots import draw_density
from hardscape.ising.result import Informed
from hardscape.ising.spectrum import spectrum

#: The methods; the cheapest answers.
METHODS: tuple[CountingMethod, ...] = (Frontier(), Histogram())
Method = Literal["auto", "frontier", "exhaustive"]

#: Seconds above which a run here must be asked for by a time limit or a checkpoint.
_LONG_RUN = 86400.0
#: Share of these up to which no machine that is slower than said takes them.
_SURELY = 0.1
#: Most spins whose states are listed, a second's work, where their energies are on no axis of levels.
_LISTED = 20

_log = logging.getLogger("hardscape.ising")


@dataclass(frozen=True, eq=False)
class DensityOfStates(Informed):
    r"""The number of states g(E) of every energy level, and the thermodynamics that follows.

    Temperatures are in units of energy: :math:`\beta = 1 / (k_B T)` with :math:`k_B = 1`.

    Attributes
    ----------
    energies : float64, shape (L,)
        Levels that have states, ascending; exact values, rounded once.
    counts : tuple of int, length L
        States of each level; they add up to ``2**num_spins``.
    num_spins : int
    info : mapping
        Facts about the computation: ``method``, ``explanation``, ``device``, ``seconds``; where states were
        counted, not listed, ``shards``.

    Examples
    --------
    >>> from hardscape.ising import density_of_states
    >>> found = density_of_states({(0, 1): 1, (1, 2): 1, (0, 2): 1})
    >>> found.energies.tolist(), list(found.counts)
    ([-1.0, 3.0], [6, 2])
    >>> round(float(found.mean_energy(1.0)), 6)
    -0.975727
    """

    COLUMNS: ClassVar[str] = "energies counts"

    energies: NDArray[np.float64]
    counts: tuple[int, ...]
    num_spins: int
    info: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def num_levels(self) -> int:
        """Number of levels L."""
        return len(self.counts)

    @property
    def ground_energy(self) -> float:
        """The lowest level."""
        return float(self.energies[0])

    @property
    def ground_degeneracy(self) -> int:
        """States of the lowest level."""
        return self.counts[0]

    @cached_property
    def log_counts(self) -> NDArray[np.float64]:
        """Natural logarithm of the counts: the microcanonical entropy, shape (L,)."""
        return np.array([math.log(count) for count in self.counts])

    def log_partition(self, beta: ArrayLike) -> NDArray[np.float64]:
        r"""Logarithm of the partition function, :math:`\ln Z = \ln \sum_E g(E) e^{-\beta E}`.

        Parameters
        ----------
        beta : array-like of float, any shape
            Inverse temperatures; negative ones are allowed, and 0 gives N ln 2.

        Returns
        -------
        float64, the shape of `beta`
            The largest term is factored out, so nothing overflows; the relative error of Z is about
            1e-16 times the largest of :math:`|\ln g|` and :math:`|\beta E|`.

        Raises
        ------
        InputError
            If some beta is not a finite number, or so large that ``beta * E`` overflows float64.
        """
        return self._thermal(beta, lambda b, log_z, _: log_z)

    def mean_energy(self, beta: ArrayLike) -> NDArray[np.float64]:
        r"""Thermal mean :math:`\langle E \rangle = -\partial \ln Z / \partial \beta`.

        Parameters, shape and errors are those of :meth:`log_partition`.
        """
        return self._thermal(beta, lambda b, _, p: p @ self.energies)

    def heat_capacity(self, beta: ArrayLike) -> NDArray[np.float64]:
        r"""Heat capacity :math:`C = \beta^2 (\langle E^2 \rangle - \langle E \rangle^2)`.

        With :math:`k_B = 1`. The variance is summed around the mean, so it is never negative.
        Parameters, shape and errors are those of :meth:`log_partition`.
        """

        def capacity(b: float, _: float, p: NDArray[np.float64]) -> float:
            # The root first: far levels have p = 0 and deviations whose squares may overflow.
            deviation = np.sqrt(p) * (b * (self.energies - p @ self.energies))
            return float(deviation @ deviation)

        return self._thermal(beta, capacity)

    def entropy(self, beta: ArrayLike) -> NDArray[np.float64]:
        r"""Entropy :math:`S = \ln Z + \beta \langle E \rangle`, with :math:`k_B = 1`.

        Parameters, shape and errors are those of :meth:`log_partition`.
        """
        return self._thermal(beta, lambda b, log_z, p: float(log_z + b * (p @ self.energies)))

    def _thermal(
        self, beta: ArrayLike, value: Callable[[float, float, NDArray[np.float64]], Any]
    ) -> NDArray[np.float64]:
        """Evaluate `value(beta, ln Z, probabilities of the levels)` for each beta."""
        betas = as_float64(beta, "beta")
        largest = float(np.abs(self.energies).max())
        result = np.empty(betas.shape)
        for where, b in np.ndenumerate(betas):
            if not math.isfinite(float(b) * 2 * largest):
                raise InputError(f"beta={b} times an energy of {largest} overflows float64")
            exponents = self.log_counts - b * self.energies
            top = exponents.max()
            weights = np.exp(exponents - top)
            total = weights.sum()
            result[where] = value(float(b), float(top + math.log(total)), weights / total)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes."""
        told = {
            key: self.info.get(key)
            for key in ("method", "explanation", "seconds", "device", "stopped")
        }
        return self.listed("num_spins num_levels energies counts") | told

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of states of each energy; see `hardscape.ising.plots.draw_density`."""
        return draw_density(self, ax)

    def __repr__(self) -> str:
        return (
            f"<DensityOfStates: {self.num_spins} spins, {self.num_levels} levels, "
            f"E0={self.ground_energy!r} (x{self.ground_degeneracy})>"
        )


@interruptible
def density_of_states(
    model: Any,
    *,
    method: Method = "auto",
    **run: Unpack[RunArguments],
) -> DensityOfStates:
    r"""Count the states of every energy level of an Ising model, exactly.

    For coefficients that are multiples of a common unit: integers, half-integers, any real numbers
    with few enough levels. Up to 20 spins may have any coefficients: all states are listed.

    Parameters
    ----------
    model
        An :class:`Ising` model or anything that :meth:`Ising.from_any` takes.
    method : {"auto", "frontier", "exhaustive"}
        "frontier" sums the spins away one by one along an order that keeps few of them open, as a
        transfer matrix does: for sparse or narrow models, of hundreds of spins. "exhaustive"
        counts all states, several in one step: for dense models of up to about 40 spins.
        "auto" takes what is cheaper.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. It runs on CPU threads alone, and
        `seed` has no effect: nothing is drawn.

    Returns
    -------
    DensityOfStates
        The same for every number of threads, method and executor.

    Raises
    ------
    InputError
        If a model of more than 20 spins may have more than 2**26 levels, or an argument makes no sense.
    DeviceError
        If `device` is a GPU.
    BudgetError
        If the work would take more than a day here and none of `time_limit`, `checkpoint` and
        `executor` says to run it anyway; if the method asked for cannot hold the model; or if the
        time limit came first.
    CheckpointError
        If the checkpoint is unreadable, in use, or belongs to something else.
    Interrupted
        On Ctrl-C and SIGTERM; what is in the checkpoint is kept.

    Notes
    -----
    Cost of "frontier": about :math:`L \sum_t 2^{f_t}` additions for L levels and :math:`f_t` open
    spins at step t (a w x l lattice: w open spins, twice that if it is periodic both ways), after
    K. Binder, Physica 62, 508 (1972). Cost of "exhaustive": :math:`2^{N-k}` increments, k the spins
    left out, 0 to 8: the smaller the integers, the more. A model without fields costs half. Memory
    is at most about 0.6 GB and 80 bytes a possible level, for each thread.

    Examples
    --------
    >>> from hardscape.ising import density_of_states
    >>> ring = density_of_states({(i, (i + 1) % 6): -1 for i in range(6)})
    >>> ring.energies
    array([-6., -2.,  2.,  6.])
    >>> ring.counts
    (2, 30, 30, 2)
    """
    ising = Ising.from_any(model)
    options = RunOptions.checked(**run)
    try:
        work, name = cheapest(ising, method, options.devices)
    except InputError:
        if ising.num_spins > _LISTED or method not in ("auto", "exhaustive"):
            raise
        return _listed(ising, **run)
    seconds = _unasked(work, options)
    if seconds is not None:
        raise BudgetError(
            f"the cheapest way for these {ising.num_spins} spins ({work.explanation}) takes about "
            f"{seconds / 3600:.3g} hours on {len(options.devices)} threads; pass time_limit=, "
            "checkpoint= or executor= to run it anyway"
        )
    lanes = min(len(options.devices), len(work.shards()))
    options.takes(lambda: seconds_here(work, lanes))
    memory.require(lanes * work.memory_bytes, f"counting up to {work.terms.num_levels} levels")
    outcome = solve(work, options)
    found = outcome.whole()
    if sum(found.counts) != 1 << ising.num_spins:
        raise HardscapeError(
            f"the counts add up to {sum(found.counts)} instead of 2**{ising.num_spins}; "
            "a checkpoint or the installation is damaged"
        )
    info = {
        "method": name,
        "explanation": work.explanation,
        "device": describe(options.devices),
        "seconds": outcome.seconds,
        "shards": outcome.shards_total,
        "resumed_shards": outcome.resumed_shards,
        "stopped": outcome.cut,
    }
    energies = ising.exact.floats(found.energies)
    return DensityOfStates(energies, found.counts, ising.num_spins, MappingProxyType(info))


def _listed(ising: Ising, **run: Unpack[RunArguments]) -> DensityOfStates:
    """The levels of a list of all states, whose energies may be any numbers."""
    try:
        found = spectrum(ising, 1 << ising.num_spins, method="exhaustive", **run)
    except Interrupted as stop:
        raise Interrupted(stop.signum) from None
    if not found.certified:
        raise BudgetError("the time limit came before all states were listed; allow more")
    kept = ("device", "seconds", "resumed_shards", "stopped")
    info = {"method": "exhaustive", "explanation": "all states listed"}
    info |= {name: found.info[name] for name in kept}
    energies = np.array([level.energy for level in found.levels])
    counts = tuple(level.count for level in found.levels)
    return DensityOfStates(energies, counts, ising.num_spins, MappingProxyType(info))


def _unasked(work: CountingWork, options: RunOptions) -> float | None:
    """Seconds here of what takes a day or more and nobody asked for; None where it may run."""
    lanes = min(len(options.devices), len(work.shards()))
    if options.asked_for or work.core_seconds <= _SURELY * _LONG_RUN * lanes:
        return None
    seconds = seconds_here(work, lanes)
    return seconds if seconds > _LONG_RUN else None


def seconds_here(work: CountingWork, lanes: int) -> float:
    """Expected time of counting on so many threads of this machine."""
    return work.core_seconds / lanes * pace(work.name, lambda: _probe(type(work)), lanes)


def _probe(kind: type[CountingWork]) -> tuple[CountingWork, float]:
    """Some milliseconds of a way of counting, and what they are said to take."""
    random, side = np.random.default_rng(1), 9
    sites = np.arange(side * side).reshape(side, side)
    across = [*zip(sites[:, :-1].flat, sites[:, 1:].flat, strict=True)]
    down = [*zip(sites[:-1].flat, sites[1:].flat, strict=True)]
    strip = Ising.from_any({(int(i), int(j)): random.choice([-1, 1]) for i, j in across + down})
    dense = Ising(np.zeros(27), np.triu(random.choice([-1.0, 1.0], (27, 27)), 1))
    for row in METHODS:
        for model in (strip, dense):
            work = row.work(LevelTerms.of(model.exact))
            if type(work) is kind and 1e-3 < work.core_seconds < 0.1:
                return work, work.core_seconds
    raise AssertionError(kind)


def cheapest(ising: Ising, method: str, devices: tuple[Device, ...]) -> tuple[CountingWork, str]:
    """The quickest way to count of those asked for that run on these devices, and its name."""
    accepted = ("auto", *(row.name for row in METHODS))
    if method not in accepted:
        raise InputError(f"method={method!r}; {', '.join(map(repr, accepted))} are accepted")
    rows = [row for row in METHODS if method in ("auto", row.name)]
    able = [row for row in rows if all(isinstance(device, row.devices) for device in devices)]
    if not able:
        raise DeviceError(f"the density of states does not run on {devices[0]}; use device='cpu'")
    plans: list[tuple[CountingWork, str]] = []
    refused = []
    terms = LevelTerms.of(ising.exact)
    for row in able:
        plan = row.work(terms)
        if isinstance(plan, str):
            _log.debug("density of states: %s", plan)
            refused.append(plan)
        else:
            _log.debug("density of states: %s, %.3g s", plan.explanation, plan.core_seconds)
            plans.append((plan, row.name))
    if not plans:
        raise BudgetError(
            f"{ising.num_spins} spins are too many for method={method!r}: {'; '.join(refused)}"
        )
    return min(plans, key=lambda plan: plan[0].core_seconds)
