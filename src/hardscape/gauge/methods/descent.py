"""The way to the gauge: which sweeps follow which, until the gauge condition holds.

Nothing here knows a device. A `Lattices` holds one or more copies of a gauge transformation over one
field and moves them; what is decided here for a copy depends on that copy alone, so its way does not
depend on what it is computed beside.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Context
from hardscape.gauge.lattice.lattices import (
    MICROCANONICAL,
    Lattices,
    Measurement,
    Rules,
    Sweep,
    Turn,
    standings,
)
from hardscape.gauge.methods.fourier import FourierSteps
from hardscape.gauge.methods.relaxation import OmegaTuner, temperatures
from hardscape.gauge.methods.table import method_of
from hardscape.gauge.options import FLOORS, FixOptions

_LOG = logging.getLogger("hardscape.gauge")

#: Temperatures between which the clock is looked at.
_COOLED = 10
#: Overrelaxation that nearly keeps the functional, and sweeps with it in which a random start cools slowly: for
#: each site of the lattice's extent, and at most.
_SLOWLY, _COOLING = 1.95, (5, 40)
#: Sweeps between two measurements.
_CHECK = 10
#: Checks without progress, at a theta below this many floors, after which a precision is taken to be
#: exhausted. Above that theta may rest for long and fall again.
_PATIENCE, _EXHAUSTED = 6, 100
#: Part of theta below which a device ends by itself: it adds up in another order than the host.
_BELOW = 1 - 2.0**-40
#: Overrelaxation until then, and theta at which the conjugate gradient takes over from sweeps; where it
#: gave up, it is tried again at the next one.
_FAR, _HANDOVERS = 1.3, (1.0, 1e-1, 1e-3, 1e-5, 1e-7, 1e-9)
#: Sweeps by which it is seen that they stand still, and the measurements after them.
_LATELY = 100
_ROUNDS = _LATELY // _CHECK
#: Decades of theta that a sweep gains on the way from there to where the functional is quadratic.
_MIDWAY = 0.05
#: Sites of a lattice with fewer of which sweeps take less time to the end than its iterations, on CPUs as well.
_SMALL = 40_000
#: Its iterations between two measurements, the decades of theta that one is hoped to gain, and by how
#: much the functional rises where theta does not fall because a saddle is being left.
_BURST, _HOPED, _CLIMB = 2, 0.3, 1e-6


class Descent:
    """The state of some copies on their way; `context` says when to stop."""

    def __init__(self, options: FixOptions, seeds: NDArray[np.uint64], context: Context) -> None:
        self.options = options
        self.seeds = seeds
        self.context = context
        copies = len(seeds)
        self.sweeps = np.zeros(copies, dtype=np.int64)
        self.seconds = self.updates = 0.0
        self.history: list[list[tuple[float, float, float]]] = [[] for _ in range(copies)]
        self.omegas = np.full(copies, np.nan)
        self._method = method_of(options)
        self._gained = np.zeros(copies)  # decades of theta a sweep, lately
        self._random = False  # whether starts are

    def descend(self, lattices_in: Callable[[bool], Lattices], copies: int) -> Lattices:
        """Go from the start to the end; returns lattices in double precision.

        `lattices_in` makes those of these copies, in single precision or not, at g = 1. `copies` are
        those of the whole computation: one starts from g = 1, several start at random.
        """
        options = self.options
        double = options.precision == "double"
        lattices = lattices_in(not double)
        if copies > 1:
            self._random = True
            lattices.randomize(self.seeds)
            lattices.hold_fixed_slices()
        if self._method.anneals:
            self.anneal(lattices)
        if self._method.cools and (self._random or self._method.anneals):
            self.cool(lattices)
        if double:
            self.finish(lattices, options.theta)
            return lattices
        began = time.perf_counter()
        fine = lattices_in(False)
        self.seconds += time.perf_counter() - began  # a GPU still anneals meanwhile
        mixed = options.precision == "mixed"
        handed_over = max(options.theta, 10 * FLOORS["single"][options.reduction])
        self.finish(lattices, handed_over if mixed else options.theta)
        fine.adopt(lattices)
        if mixed:
            self.finish(fine, options.theta)
        return fine

    def finish(self, lattices: Lattices, target: float) -> None:
        """From where the copies are to theta below `target`, by the method of the options."""
        accelerates = self._method.accelerates
        if accelerates != "never" and self.options.gauge != "mag":
            dear = lattices.iteration_cost * _MIDWAY >= _HOPED or lattices.volume < _SMALL
            if accelerates != "always" and (dear or self._random):
                self._finish_by_sweeps(lattices, target)
                return
            self._finish_by_turns(lattices, target)
        self.relax(lattices, target)

    def _finish_by_turns(self, lattices: Lattices, target: float) -> None:
        """Sweeps, then the conjugate gradient, and again where it gives up."""
        for handover in _HANDOVERS:
            first = handover == _HANDOVERS[0] and self.options.omega is None
            self.relax(lattices, max(target, handover), _FAR if first else None)
            if first:
                self._gained[:] = _MIDWAY
            slow = lattices.iteration_cost * self._gained < _HOPED
            if self._method.accelerates == "always" or slow.any():
                self.accelerate(lattices, target)
            else:
                _LOG.debug("no conjugate gradient at theta %g: sweeps are faster", handover)

    def _finish_by_sweeps(self, lattices: Lattices, target: float) -> None:
        """Where iterations of the conjugate gradient are dear, or starts random: while sweeps stand still."""
        for _ in _HANDOVERS:
            since = [len(history) for history in self.history]

            def still(since: list[int] = since) -> bool:
                return bool(self._stands(lattices, target, since).any())

            self.relax(lattices, target, still=still)
            if self.context.stopped() or not still():
                return
            _LOG.debug("sweeps stand still: the conjugate gradient goes on")
            self.accelerate(lattices, target)
        self.relax(lattices, target)

    def _stands(self, lattices: Lattices, target: float, since: Sequence[int]) -> NDArray[np.bool_]:
        """Which copies gained so little lately, and since then, that the conjugate gradient will be sooner."""
        found = np.zeros(lattices.copies, dtype=bool)
        for copy, history in enumerate(self.history):
            lately = history[max(since[copy], len(history) - _ROUNDS - 1) :]
            if not lately or lately[-1][0] - lately[0][0] < _LATELY:
                continue
            theta, left = lately[-1][2], np.log10(lately[-1][2] / target)
            if theta <= max(target, _EXHAUSTED * lattices.floor(self.options)):
                continue
            pace = max(0.0, np.log10(lately[0][2] / theta)) / (lately[-1][0] - lately[0][0])
            cost = lattices.iteration_cost * (left / _HOPED + lattices.beginning_cost)
            spent = lately[-1][0] - history[since[copy]][0]
            # Most plateaus end by themselves: not before sweeps cost as much as the other way would.
            found[copy] = cost <= spent and cost * pace < left
            if found[copy]:
                self._gained[copy] = pace
        return found

    # -- stages ------------------------------------------------------------------------------

    def anneal(self, lattices: Lattices) -> None:
        """Heatbath sweeps at falling temperature, each followed by microcanonical ones."""
        options = self.options
        hot, cold = temperatures(options, lattices.group.nc)
        everywhere = np.tile(lattices.live, (lattices.copies, 1))
        for some in np.array_split(
            np.geomspace(hot, cold, options.annealing_sweeps),
            -(-options.annealing_sweeps // _COOLED),
        ):
            if self.context.stopped():
                return
            stages = [
                (sweep, count)
                for temperature in some.tolist()
                for sweep, count in (
                    (Sweep(2, temperature=temperature), 1),
                    (MICROCANONICAL, options.microcanonical),
                )
                if count
            ]
            self._sweep(lattices, stages, everywhere)

    def cool(self, lattices: Lattices) -> None:
        """Sweeps of overrelaxation near 2, which let the functional rise slowly: to a larger one in the end."""
        everywhere = np.tile(lattices.live, (lattices.copies, 1))
        sweep = self._method.sweep(self.options, _SLOWLY)
        a_site, most = _COOLING
        extent = lattices.volume ** (1 / self.options.dimensions)
        left = self.options.max_sweeps - int(self.sweeps.max())
        count = min(round(a_site * extent), most, left)
        if count > 0 and not self.context.stopped():
            self._sweep(lattices, [(sweep, count)], everywhere)

    def relax(
        self,
        lattices: Lattices,
        target: float,
        omega: float | None = None,
        still: Callable[[], bool] | None = None,
    ) -> None:
        """Sweep until every copy has theta below `target`, or rounding stops it, or `still` says so.

        It is asked after each `_LATELY` sweeps. `omega` is tuned if None.
        """
        options = self.options
        limit = options.max_sweeps
        violation = self._measured(lattices).violation(options).copy()
        tuners = [
            self._tuner(lattices, b) if omega is None else OmegaTuner(omega, fixed=True)
            for b in range(lattices.copies)
        ]
        best = violation.max(axis=1)
        waited = np.zeros(lattices.copies, dtype=int)
        rounds = self._go_ahead(lattices, target, tuners, violation, best, waited, still)
        if omega is None:
            self.omegas = np.array([tuner.omega for tuner in tuners])
        while True:
            going = (self.sweeps < limit) & (waited < _PATIENCE)
            active = (violation > target) & going[:, None] & lattices.live
            if not active.any() or self.context.stopped():
                return
            if still is not None and rounds and rounds % _ROUNDS == 0 and still():
                return
            steps = [self._method.sweep(options, tuner.omega) for tuner in tuners]
            count = int(min(_CHECK, (limit - self.sweeps[active.any(axis=1)]).min()))
            done = self._sweep(lattices, [(steps, count)], active)
            if not done:
                return
            rounds += 1
            before = violation
            measured = self._measured(lattices, np.asarray(active.any(axis=1)))
            violation = measured.violation(options)
            for b in range(lattices.copies):
                worst = float(violation[b].max())
                if active[b].any():
                    tuners[b].look(float(before[b].max()), worst, done)
                    self._gained[b] = max(0.0, np.log10(before[b].max() / worst)) / done
                waited[b] = 0 if worst < 0.9 * best[b] else waited[b] + 1
                best[b] = min(best[b], worst)
            waited[best > _EXHAUSTED * lattices.floor(options)] = 0
            if omega is None:
                self.omegas = np.array([tuner.omega for tuner in tuners])

    def _go_ahead(
        self,
        lattices: Lattices,
        target: float,
        tuners: Sequence[OmegaTuner],
        violation: NDArray[np.float64],
        best: NDArray[np.float64],
        waited: NDArray[np.int64],
        still: Callable[[], bool] | None,
    ) -> int:
        """Relax as far as the device decides by itself, and bring what is known of the copies up to date.

        Returns the number of rounds, of `_CHECK` sweeps.
        """
        options = self.options
        rules = Rules(
            target=target * _BELOW,
            noise=tuners[0].noise,
            exhausted=_EXHAUSTED * lattices.floor(options),
            patience=_PATIENCE,
            count=_CHECK,
            per_slice=options.per_slice,
            largest=options.reduction == "max",
            tuned=not tuners[0].fixed,
        )
        omegas = np.array([tuner.omega for tuner in tuners])
        standing, rounds = standings(omegas, violation.max(axis=1)), 0
        while True:
            going = standing["waited"] < _PATIENCE
            active = (violation > target) & going[:, None] & lattices.live
            moving = active.any(axis=1)
            most = int(((options.max_sweeps - self.sweeps[moving]) // _CHECK).min(initial=2**62))
            if not moving.any() or most < 1 or self.context.stopped():
                break
            some = most if still is None else min(most, _ROUNDS)
            began = int(self.sweeps[moving].max())
            self._go_some_way(lattices, rules, active, violation, standing, some)
            done = (int(self.sweeps[moving].max()) - began) // _CHECK
            rounds += done
            self._gained[moving] = standing["gained"][moving] if done else self._gained[moving]
            if still is None or done < _ROUNDS or still():
                break
        best[:], waited[:] = standing["best"], standing["waited"]
        for tuner, omega, floor in zip(tuners, standing["omega"], standing["floor"], strict=True):
            tuner.omega, tuner.floor = float(omega), float(floor)
        return rounds

    def _go_some_way(
        self,
        lattices: Lattices,
        rules: Rules,
        active: NDArray[np.bool_],
        violation: NDArray[np.float64],
        standing: NDArray[np.void],
        most: int,
    ) -> None:
        """Up to so many rounds of the device; `violation` and `standing` follow."""
        began = time.perf_counter()
        steps = [self._method.sweep(self.options, omega) for omega in standing["omega"].tolist()]
        turn = Turn(steps, self.seeds, self.sweeps.copy(), _CHECK, active, self.context.stop)
        for seen in lattices.rounds(turn, rules, standing, most, self.context.stopped):
            found = seen.measured.violation(self.options)
            heights, worst = seen.measured.whole_functional(), found.max(axis=1)
            for i in np.flatnonzero(seen.moved).tolist():
                one, b = divmod(i, lattices.copies)
                self.sweeps[b] += _CHECK
                self._note(b, heights[i], worst[i])
                violation[b], standing[b] = found[i], seen.standing[one, b]
            self.updates += _CHECK * float(seen.moved.sum()) * lattices.volume / lattices.slices
            self.seconds += time.perf_counter() - began
            began = time.perf_counter()

    def accelerate(self, lattices: Lattices, target: float) -> None:
        """Conjugate gradient steps while they gain more than the sweeps before did at their cost.

        Ends for a copy when theta is below `target`.
        """
        options = self.options
        measured = self._measured(lattices)
        violation = measured.violation(options)
        if (violation <= target).all():
            return
        slow = np.zeros(lattices.copies, dtype=int)
        steps = lattices.accelerator() or FourierSteps(lattices, options)
        while True:
            # One slow burst may be a line search that went astray; three in a row are not.
            going = (self.sweeps < options.max_sweeps) & (slow < 3)
            active = (violation > target) & going[:, None] & lattices.live
            if not active.any() or self.context.stopped():
                return
            began = time.perf_counter()
            for _ in range(_BURST):
                steps.advance(active)
            moving = np.asarray(active.any(axis=1))
            self.sweeps[moving] += _BURST
            self.seconds += time.perf_counter() - began
            self.updates += _BURST * float(active.mean(axis=1).sum()) * lattices.volume
            before, height = violation.max(axis=1), measured.whole_functional()
            measured = self._measured(lattices, moving)
            violation = measured.violation(options)
            gained = np.log10(before / violation.max(axis=1)) / _BURST
            climbs = measured.whole_functional() - height > _BURST * _CLIMB
            worth = gained > lattices.iteration_cost * self._gained
            slow = np.where(worth | climbs, 0, slow + 1)

    # -- parts -------------------------------------------------------------------------------

    def _tuner(self, lattices: Lattices, copy: int) -> OmegaTuner:
        options = self.options
        kept = self._method.omega if options.omega is None else options.omega
        if kept is not None:
            return OmegaTuner(kept, fixed=True)
        noise = 10 * lattices.floor(options)
        if not np.isnan(self.omegas[copy]):
            return OmegaTuner(float(self.omegas[copy]), fixed=False, noise=noise)
        extent = lattices.volume ** (1 / options.dimensions)
        return OmegaTuner(2 / (1 + 1.8 / extent), fixed=False, noise=noise)

    def _sweep(
        self,
        lattices: Lattices,
        stages: Sequence[tuple[Sweep | list[Sweep], int]],
        active: NDArray[np.bool_],
    ) -> int:
        """Do so many sweeps of each kind, one after the other; returns how many were done."""
        began = time.perf_counter()
        moving = active.any(axis=1)
        turns, first = [], self.sweeps.copy()
        for sweep, count in stages:
            steps = sweep if isinstance(sweep, list) else [sweep] * lattices.copies
            turns.append(Turn(steps, self.seeds, first.copy(), count, active, self.context.stop))
            first[moving] += count
        done = sum(lattices.sweep_in_turn(turns))
        self.seconds += time.perf_counter() - began
        self.updates += done * float(active.mean(axis=1).sum()) * lattices.volume
        self.sweeps[moving] += done
        return done

    def _measured(self, lattices: Lattices, moved: NDArray[np.bool_] | None = None) -> Measurement:
        began = time.perf_counter()
        measured = lattices.measure()
        self.seconds += time.perf_counter() - began  # sweeps may have been under way till now
        violation = measured.violation(self.options).max(axis=1)
        heights = measured.whole_functional()
        for b in range(lattices.copies):
            if moved is None or moved[b]:
                self._note(b, heights[b], violation[b])
        return measured

    def _note(self, copy: int, height: float, theta: float) -> None:
        """Put what was measured of a copy into its history."""
        history, row = self.history[copy], (float(self.sweeps[copy]), float(height), float(theta))
        if history and history[-1][0] == row[0]:
            history.pop()
        history.append(row)
