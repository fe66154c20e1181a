"""Runs of a search that are made together, each by a team of threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, kernel
from hardscape.errors import BudgetError
from hardscape.ising.methods.walkers.model import FlipModel
from hardscape.ising.methods.walkers.place import Place, take

#: States of an elite: ``kElites`` of lists.cuh.
ELITES = 10
#: An energy that no state has: ``kHighest`` of team.cuh.
_HIGHEST = {False: 2**31 - 1, True: 1e300}
#: Share of a GPU's free memory that runs may take.
_MEMORY = 0.8
#: How far doubles may be from one another, in units of the sum of all coefficients, that are the same energy.
_DRIFT = 1e-6


def _status(number: str) -> np.dtype[Any]:
    """``Status`` of walker.cuh."""
    wide = [(x, "<i8") for x in ("moves", "most", "move", "last", "sweeps")]
    words = [(x, "<u8") for x in ("random", "hash")]
    doubles = [(x, "<f8") for x in ("hot", "temperature")]
    numbers = [(x, number) for x in ("energy", "best", "limit")]
    names = ("stage", "searching", "given", "elites", "pair", "fruitless", "from", "to", "count")
    short = [(x, "<i4") for x in (*names, "highest")]
    fields = [*wide, *words, *doubles, *numbers, *short, ("offered", "<u4")]
    return np.dtype(fields, align=True)


@dataclass(frozen=True)
class Effort:
    """How a batch searches: its first run, of each its moves and the sweeps of an annealing, and numbers."""

    seed: int
    first: int
    moves: NDArray[np.int64]
    sweeps: NDArray[np.int64]
    wanted: int
    given: NDArray[np.int8]
    numbers: dict[str, float]


class Teams(ABC):
    """How teams of threads hold a model: what kernels are compiled for, and the layout of a state's bits."""

    #: Folder and name of the source, which is that of its kernels, too, and number of its random streams.
    source: ClassVar[str]
    name: ClassVar[str]
    purpose: ClassVar[int]

    def __init__(self, model: FlipModel) -> None:
        self.model = model
        self.spins = len(model.fields)
        self.real = not model.integers
        self.number = "<f8" if self.real else "<i4"

    #: Warps of a team, spins of a thread, 32-bit words that hold them, and bytes of a coupling.
    warps: int
    slots: int
    words: int
    bytes: int

    @property
    def threads(self) -> int:
        """Threads of a team."""
        return 32 * self.warps

    @property
    def together(self) -> int:
        """Teams of a block."""
        return 4 if self.warps == 1 else 1

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block of teams that search, beside what is in the source."""
        return 0

    @property
    @abstractmethod
    def couplings_bytes(self) -> int:
        """Bytes of the couplings."""

    @abstractmethod
    def couplings(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint64]]:
        """Rows, or neighbours, twice the couplings to them, and where each spin's begin."""

    @abstractmethod
    def bits(self, states: NDArray[np.int8]) -> NDArray[np.uint32]:
        """Words of states, shape (k, words, threads)."""

    @abstractmethod
    def states(self, bits: NDArray[np.uint32]) -> NDArray[np.int8]:
        """States, shape (k, N), of words."""

    def constants(self) -> dict[str, bool | int | float]:
        """What the kernels are compiled for."""
        return {
            "kReal": self.real,
            "kWarps": self.warps,
            "kTogether": self.together,
            "kBytes": self.bytes,
            "kPurpose": self.purpose,
        }

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels that begin runs and move them on, as data."""
        return {
            name: kernel(
                self.source,
                f"{self.name}_{name}",
                constants=self.constants(),
                options=("-fmad=false",),
            )
            for name in ("start", "run")
        }

    def up(self) -> tuple[NDArray[Any], float]:
        """Gains of all spins up, and the energy: sums in the order in which the CPU adds them."""
        model, n = self.model, self.spins
        row = np.repeat(np.arange(n), np.diff(model.starts))
        gains = model.fields.copy()
        np.add.at(gains, row, model.values)
        later = model.columns > row
        order = np.concatenate([np.arange(n), row[later]]).argsort(kind="stable")
        terms = np.concatenate([model.fields, model.values[later]])[order]
        return gains.astype(self.number), float(np.add.accumulate(terms)[-1])


class Batch:
    """Runs of consecutive numbers at one place."""

    def __init__(self, teams: Teams, effort: Effort, place: Place) -> None:
        self._teams, self._place = teams, place
        runs, n, wanted = len(effort.moves), teams.spins, effort.wanted
        self.runs, self._wanted = runs, wanted
        self.over = False  #: whether all runs are
        state = (teams.words, teams.threads)
        gains, energy = teams.up()
        given = teams.bits(effort.given)
        slots = teams.threads * teams.slots
        self._lowest = {
            "energies": place.array(
                np.full((runs, wanted), _HIGHEST[teams.real], dtype=teams.number)
            ),
            "hashes": place.empty((runs, wanted), "<u8"),
            "orders": place.empty((runs, wanted), "<u4"),
            "states": place.empty((runs * wanted, *state), "<u4"),
        }
        self._statuses = place.empty((runs * _status(teams.number).itemsize,), np.uint8)
        self._keep = [
            *(place.array(array) for array in teams.couplings()),
            place.array(gains),
            place.array(np.append(given.ravel(), np.uint32(0))),
            self._statuses,
            place.empty((runs * slots,), teams.number),
            place.empty((runs * slots,), "<i4"),
            place.empty((runs, *state), "<u4"),
            place.empty((runs, *state), "<u4"),
            place.empty((runs, ELITES), teams.number),
            place.empty((runs, ELITES), "<i4"),
            place.empty((runs, ELITES, *state), "<u4"),
            *self._lowest.values(),
            place.empty((runs, n), "<i4"),
        ]
        whole = [n, slots, runs, wanted, len(given)]
        whole += [int(effort.numbers.get(x, 0)) for x in ("tenure", "spread", "patience")]
        whole += [int(not teams.model.fields.any())]
        doubles = [energy, *(effort.numbers.get(x, 0.0) for x in ("hot", "warm", "cold"))]
        addresses = np.array([place.address(x) for x in self._keep], dtype=np.uint64)
        self._problem = place.array(
            np.concatenate(
                [
                    addresses,
                    np.array(whole, dtype=np.int64).view(np.uint64),
                    np.array(doubles, dtype=np.float64).view(np.uint64),
                ]
            )
        )
        self._start(effort)

    def _start(self, effort: Effort) -> None:
        seed, first = np.uint64(effort.seed), np.uint64(effort.first)
        self._most = int(effort.moves.max())
        each = (self._place.array(x) for x in (effort.moves, effort.sweeps))
        self._launch("start", seed, first, *each, shared=0)

    def run(self, moves: int) -> None:
        """Move every run on until it has made so many moves in all, or is over."""
        self._launch("run", np.int64(moves), shared=self._teams.shared)
        self._place.wait()
        self.over = moves >= self._most

    def _launch(self, name: str, *args: Any, shared: int) -> None:
        teams = self._teams
        grid = -(-self.runs // teams.together)
        threads = teams.together * teams.threads
        kernel = teams.kernels[name]
        self._place.launch(kernel, grid, threads, self._problem, *args, shared=shared)

    def moves(self) -> NDArray[np.int64]:
        """That the runs have made."""
        found: NDArray[np.int64] = self.status()["moves"]
        return found

    def status(self) -> NDArray[Any]:
        """What is known of the runs: ``Status`` of walker.cuh."""
        return self._place.host(self._statuses).view(_status(self._teams.number))

    @property
    def least(self) -> float:
        """The lowest energy met, as the kernels count it."""
        return float(self._place.host(self._lowest["energies"].min().reshape(1))[0])

    def lowest_of(self, run: int) -> NDArray[np.int8]:
        """The lowest states that a run has met, int8 of shape (k, N)."""
        held, wanted = self.status()["count"][run], self._wanted
        rows = np.arange(run * wanted, run * wanted + held)
        return self._teams.states(take(self._place, self._lowest["states"], rows))

    def lowest(self, count: int) -> NDArray[np.int8]:
        """Distinct states met, among them the `count` lowest, int8 of shape (k, N)."""
        energies = self._place.host(self._lowest["energies"]).ravel()
        hashes = self._place.host(self._lowest["hashes"]).ravel()
        met = np.flatnonzero(energies < _HIGHEST[self._teams.real])
        order = met[np.argsort(energies[met], kind="stable")]
        _, first = np.unique(hashes[order], return_index=True)
        order = order[np.sort(first)]
        highest = energies[order[min(count, len(order)) - 1]]
        if self._teams.real:
            highest += _DRIFT * float(np.abs(self._teams.model.values).sum() + abs(highest))
        rows = order[energies[order] <= highest]
        return self._teams.states(take(self._place, self._lowest["states"], rows))


def batches(teams: Teams, effort: Effort, place: Place) -> Iterator[Effort]:
    """Parts of the runs that a place has room for, one after the other.

    Raises
    ------
    BudgetError
        If there is no room for a single run.
    """
    state = 4 * teams.words * teams.threads
    own = (ELITES + 3) * state + 12 * teams.threads * teams.slots + 4 * teams.spins + 400
    own += effort.wanted * (state + 24)
    room = int(_MEMORY * place.free()) - teams.couplings_bytes
    if room < own:
        raise BudgetError(
            f"a run of {teams.spins} spins that lists {effort.wanted} states needs "
            f"{(own + teams.couplings_bytes) / 1e9:.3g} GB of the GPU's memory; "
            f"{place.free() / 1e9:.3g} GB are free"
        )
    for at in range(0, len(effort.moves), room // own):
        here = slice(at, at + room // own)
        part = replace(
            effort, first=effort.first + at, moves=effort.moves[here], sweeps=effort.sweeps[here]
        )
        yield part if at == 0 else replace(part, given=effort.given[:0])
