"""Annealing, and after it one window of spins after another at its least energy, given all other spins.

A window is what lies around a spin; tables along an order of elimination tell its states of least energy, one
of which is taken at random where energies are integers. Flips that only together lower the energy, as of
domains of a lattice, are found where a window holds them. After F. Hamze, N. de Freitas, UAI 2004, 243, and
A. Selby, arXiv:1409.3934, whose subgraphs are trees, or nearly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.errors import DeviceError
from hardscape.ising.exact import ExactTerms
from hardscape.ising.methods.annealing.annealing import AnnealingWork
from hardscape.ising.methods.annealing.teams import AnnealingTeams
from hardscape.ising.methods.walkers.model import FlipModel
from hardscape.ising.result import code_words, pack, unpack

#: Spins of a window at first, entries of its tables at most, and by how much it shrinks where there are more.
_SIZE, _ENTRIES, _SHRINKS = 256, 2.0**21, 0.8
#: How often every spin has been in a window, in the mean, without a gain when a run ends.
_IDLE = 4.0
#: Bits of the energies in tables, and what sets these random numbers apart from others.
_BITS, _PURPOSE = 50, 6


@dataclass(frozen=True)
class WindowsWork(AnnealingWork):
    """Runs of annealing, each followed by windows."""

    revision: ClassVar[int] = 1

    def made(
        self, given: NDArray[np.int8], run: int, moves: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], bool, int]:
        """Make a run."""
        states, complete, made = super().made(given, run, moves, stop)
        lowest = self.partial(states, [1, made])
        if not complete or self.finished(lowest):
            return states, complete, made
        spins = unpack(lowest["states"][:1], self.terms.num_spins)[0].astype(np.float64)
        windows = _Windows(self.model, spins, np.random.default_rng([self.seed, run, _PURPOSE]))
        idle = 0.0
        while idle < _IDLE * len(spins) and not stop[0]:
            size, gained = windows.settle(stop)
            idle = 0.0 if gained else idle + size
        found = pack(windows.spins.astype(np.int8)[None, :])
        return np.concatenate([states, found]), not stop[0], made

    def teams(self) -> AnnealingTeams:
        """See `RunsWork.teams`."""
        raise DeviceError(self.unfit(self.terms))

    @staticmethod
    def unfit(terms: ExactTerms) -> str:
        """See `RunsWork.unfit`."""
        return "it is made for CPUs"


class _Windows:
    """A state, and windows of it."""

    def __init__(
        self, model: FlipModel, spins: NDArray[np.float64], random: np.random.Generator
    ) -> None:
        self.model, self.spins, self._random = model, spins, random
        self._size = min(_SIZE, len(spins))
        self._place = np.full(len(spins), -1, dtype=np.int64)

    def settle(self, stop: NDArray[np.uint8]) -> tuple[int, bool]:
        """Bring a window to its least energy: how many spins it has, and whether the energy is lower now."""
        window = self._around(int(self._random.integers(len(self.spins))))
        fields, row, col, values = self._inside(window)
        n, graph = len(window), (len(window), row, col)
        order = native.vector.ising.elimination_order(*graph, 1, 0, _ENTRIES, 1)
        if not len(order):
            self._size = max(1, int(_SHRINKS * self._size))
            return 0, False
        found = self._least(n, fields, row, col, values, order, stop)
        if found is None:
            return n, False
        here = self.spins[window]
        before, after = (float(fields @ s + values @ (s[row] * s[col])) for s in (here, found))
        if after > before:  # by rounding
            return n, False
        self.spins[window] = found
        return n, after < before

    def _around(self, root: int) -> NDArray[np.int64]:
        """The spins that are nearest to one."""
        starts, columns = self.model.starts, self.model.columns
        window, seen = [root], {root}
        for i in window:
            if len(window) >= self._size:
                break
            for j in columns[starts[i] : starts[i + 1]].tolist():
                if j not in seen:
                    seen.add(j)
                    window.append(j)
        return np.array(window[: self._size], dtype=np.int64)

    def _inside(
        self, window: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Fields on a window's spins, those of other spins included, and its couplings."""
        model, n = self.model, len(window)
        first, last = model.starts[window], model.starts[window + 1]
        owner = np.repeat(np.arange(n), last - first)
        ends = [np.arange(a, b) for a, b in zip(first, last, strict=True)]
        at = np.concatenate(ends).astype(np.int64)
        other, value = model.columns[at], model.values[at]
        self._place[window] = np.arange(n)
        near = self._place[other]
        self._place[window] = -1
        outer, pairs = near < 0, near > owner
        pull = value[outer] * self.spins[other[outer]]
        fields = model.fields[window] + np.bincount(owner[outer], pull, n)
        return fields, owner[pairs], near[pairs], value[pairs]

    def _least(
        self,
        n: int,
        fields: NDArray[np.float64],
        row: NDArray[np.int64],
        col: NDArray[np.int64],
        values: NDArray[np.float64],
        order: NDArray[np.int64],
        stop: NDArray[np.uint8],
    ) -> NDArray[np.float64] | None:
        """Spins of a state of least energy; None if stopped."""
        total = float(np.abs(fields).sum() + np.abs(values).sum())
        fine = math.ldexp(1.0, _BITS - int(np.frexp(total + 1)[1]))
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        # s = 2 q - 1; energies of integers differ by 2 or more, and what breaks ties adds up to less.
        linear = 2 * fields - 2 * (np.bincount(row, values, n) + np.bincount(col, values, n))
        linear = np.rint(fine * linear)
        if self.model.integers:
            linear += self._random.integers(-int(fine) // (2 * n), int(fine) // (2 * n) + 1, n)
        quadratic = _words(np.rint(4 * fine * values))
        tables = native.vector.ising.frontier_tables(n, place[row], place[col], quadratic, False)
        if not tables.fill(_words(linear[order]), stop):
            return None
        code = np.zeros(code_words(n), dtype=np.uint64)
        states, *_, complete = tables.lowest(1, None, order.astype(np.int64), code, stop)
        return unpack(states, n)[0].astype(np.float64) if complete else None


def _words(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    return values.astype(np.int64).view(np.uint64).reshape(-1, 1)
