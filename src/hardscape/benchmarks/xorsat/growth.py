"""Times to solution against N from the runs of many days, kept in one file.

``python -m hardscape.benchmarks.xorsat.growth measure RUNS 320 --instances 8`` adds runs to the file
``RUNS``, in seconds or days: each of them begins anew, stopped ones count, and what a session adds is
written after every round. ``... growth gather RUNS FILE...`` adds those of other files, and
``... growth law RUNS`` says what all of them together tell. Instances are random regular systems of full
rank, numbered for each N.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import cyclopts
import numpy as np
from numpy.typing import NDArray

from hardscape.benchmarks.machine import facts
from hardscape.benchmarks.tables import Cell, Table
from hardscape.errors import InputError
from hardscape.xorsat import XorSystem, random_regular, times_to_solution
from hardscape.xorsat.studies.population import growth_of, population_of
from hardscape.xorsat.studies.posterior import TauPosterior
from hardscape.xorsat.studies.scans import least_w1, pooled_times
from hardscape.xorsat.studies.theory import free_energy_barrier, run_temperature

app = cyclopts.App(help=__doc__, result_action="return_value")

#: A row is what one session found for one instance; sweeps are those of each clone in all runs.
_COLUMNS = [
    "N",
    "instance",
    "256 w1",
    "clones",
    "runs",
    "solved",
    "sweeps",
    "seconds",
    "device",
    "date",
]
_COMMAND = "python -m hardscape.benchmarks.xorsat.growth measure, on many days, a row each"
#: w1 of the law, in 256ths; TTS99 is this many times tau.
_W1, _TTS99 = 14, -math.log(0.01)
#: Solutions of a size below which its instances are taken together.
_FEW = 10


@dataclass(frozen=True)
class Seen:
    """What is known of the instances of one size, by w1: solved runs, and sweeps of one clone of all runs.

    Attributes
    ----------
    w1 : list of int
        In 256ths.
    solved, totals : float64, shape (instances, w1)
    """

    w1: list[int]
    solved: NDArray[np.float64]
    totals: NDArray[np.float64]

    def at(self, w1: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solved runs and totals at one w1, of the instances that were run there."""
        if w1 not in self.w1:
            return np.zeros(0), np.zeros(0)
        column = self.w1.index(w1)
        used = self.totals[:, column] > 0
        return self.solved[used, column], self.totals[used, column]


def runs_of(path: Path) -> Table:
    """The runs in a file, none if there is no such file."""
    return Table.read(path) if path.exists() else Table(path.stem, list(_COLUMNS))


def _numbers(row: list[Cell]) -> list[int]:
    """N, instance, w1, clones, runs, solved and sweeps of a row."""
    return [int(str(cell)) for cell in row[:7]]


def seen(runs: Table, n: int) -> Seen:
    """All runs of a size."""
    rows = [row for row in map(_numbers, runs.rows) if row[0] == n]
    values = sorted({row[2] for row in rows})
    numbers = sorted({row[1] for row in rows})
    solved = np.zeros((len(numbers), len(values)))
    totals = np.zeros_like(solved)
    for _, number, w1, clones, _, some, sweeps in rows:
        place = numbers.index(number), values.index(w1)
        solved[place] += some
        totals[place] += float(sweeps) * clones
    return Seen(values, solved, totals)


def instance(n: int, number: int) -> XorSystem:
    """One of the systems of a size."""
    return random_regular(n, seed=int(np.random.SeedSequence([1, n, number]).generate_state(1)[0]))


@app.command
def measure(
    runs: Path,
    n: int,
    *,
    first: int = 0,
    instances: int = 8,
    w1: int = _W1,
    timeout: float = 10.0,
    seconds: float = 60.0,
    rounds: int | None = None,
    clones: int | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> None:
    """Add runs of some instances to a file, in rounds of one run each and GPU, until time is up.

    Parameters
    ----------
    runs
        The file; it is made where there is none.
    n
        Variables.
    first, instances
        The number of the first instance, and how many.
    w1
        In 256ths.
    timeout
        Seconds after which a run is stopped.
    seconds
        For how long; a round is only begun if it can end by then, as the longest so far would.
    rounds
        Most of them.
    clones
        Of each run; by default as many as a device runs at once.
    """
    table = runs_of(runs)
    numbers = range(first, first + instances)
    systems = [instance(n, number) for number in numbers]
    mine: dict[int, list[Cell]] = {}
    began, longest = time.monotonic(), 0.0
    for _ in count() if rounds is None else range(rounds):
        if seconds - (time.monotonic() - began) <= longest:
            break
        done = sum(row[4] for row in map(_numbers, table.rows) if row[0] == n)
        seed = int(np.random.SeedSequence([2, n, done, first]).generate_state(1)[0])
        start = time.monotonic()
        # No time limit: runs that it cut would not count, and these are rather unsolved ones.
        found = times_to_solution(
            systems,
            1,
            timeout,
            w1=w1 / 256,
            clones=clones,
            seed=seed,
            device=device,
            threads=threads,
        )
        here = facts()
        table.measured = {**here, "command": _COMMAND}
        for number, one in zip(numbers, found, strict=True):
            on = here["gpus"][0] if one.device.startswith("cuda") else here["cpu"]
            if not one.runs:
                continue
            if number not in mine:
                mine[number] = [n, number, w1, one.clones, 0, 0, 0, 0.0, on, here["date"]]
                table.rows.append(mine[number])
            row, more = mine[number], (one.runs, one.num_solved, int(one.sweeps.sum()))
            row[4:7] = [int(str(old)) + new for old, new in zip(row[4:7], more, strict=True)]
            row[7] = round(float(str(row[7])) + float(one.seconds.sum()), 3)
        table.save(runs.parent)
        longest = max(longest, time.monotonic() - start)
        solved = sum(one.num_solved for one in found)
        print(f"N = {n}: {solved} of {sum(one.runs for one in found)} solved", flush=True)


@app.command
def gather(runs: Path, *others: Path) -> None:
    """Add the runs of other files, those of GPUs side by side, to a file.

    Parameters
    ----------
    runs
        The file that grows; a row that it has already is not added again.
    others
        Files of `measure`.
    """
    table = runs_of(runs)
    for other in others:
        found = Table.read(other)
        if found.columns != table.columns:
            raise InputError(f"{other} has no runs; a file that `measure` wrote is accepted")
        table.rows += [row for row in found.rows if row not in table.rows]
        table.measured = found.measured
    table.save(runs.parent)
    print(f"{sum(_numbers(row)[4] for row in table.rows)} runs in {runs}")


@app.command
def law(runs: Path, *, save: Path | None = None) -> None:
    """What the runs in a file tell: medians of TTS99 by N, its exponent, and the best w1.

    Parameters
    ----------
    save
        Folder for the tables as JSON.
    """
    table = runs_of(runs)
    known = {n: seen(table, n) for n in sorted({_numbers(row)[0] for row in table.rows})}
    measured = {"command": f"python -m hardscape.benchmarks.xorsat.growth law {runs.name}"}
    for one in (_medians(known), _exponents(known), _best_w1(known)):
        one.measured = {**table.measured, **measured}
        print("\n" + "\n".join(one.markdown()))
        if save is not None:
            one.save(save)


def _medians(known: dict[int, Seen]) -> Table:
    columns = ["N", "instances", "solved runs", "TTS99 of the median instance, sweeps of one clone",
               "error of its logarithm", "scatter of ln tau"]  # fmt: skip
    table = Table("xorsat-growth", columns)
    for n, one in known.items():
        solved, totals = one.at(_W1)
        if 0 < solved.sum() < _FEW:  # nothing is known of their scatter
            tau = TauPosterior(int(solved.sum()), float(totals.sum()))
            span = f"{_TTS99 * tau.low:.2g} to {_TTS99 * tau.high:.2g}, all as one"
            table.rows.append([n, len(totals), tau.solved, _TTS99 * tau.mode, span, None])
        elif solved.sum():
            found = population_of(solved, totals)
            errors = [_rounded(found.log_error, 3), _rounded(found.scatter, 2)]
            table.rows.append([n, found.instances, found.solved, found.tts(), *errors])
        elif len(
            totals
        ):  # with a tau below this one would have been solved, of 20 such files in 19
            least = f"above {_TTS99 * totals.sum() / math.log(20):.2g}"
            table.rows.append([n, len(totals), 0, least, None, None])
    return table


def _exponents(known: dict[int, Seen]) -> Table:
    """a of TTS ~ exp(a N) from the sizes from some N on."""
    barrier = free_energy_barrier(run_temperature(_W1 / 256)).height
    columns = ["from N", "to N", "a", "its error", "barrier of the theory", "published",
               "TTS99 of the largest by it", "error of its logarithm"]  # fmt: skip
    table = Table("xorsat-exponent", columns)
    runs = {n: one.at(_W1) for n, one in known.items()}
    for least in (96, 128, 160):
        chosen = {n: pair for n, pair in runs.items() if n >= least and len(pair[1])}
        if sum(pair[0].sum() > 0 for pair in chosen.values()) >= 2:
            found = growth_of(chosen)
            a, error = _rounded(found.exponent, 5), _rounded(found.error, 5)
            row: list[Cell] = [least, max(chosen), a, error, _rounded(barrier, 4), "0.0786(4)"]
            row += [float(f"{_TTS99 * found.median:.4g}"), _rounded(found.log_error, 2)]
            table.rows.append(row)
    return table


def _best_w1(known: dict[int, Seen]) -> Table:
    """Several w1 on the same instances."""
    columns = ["N", "$256\\,w_1$", "solved runs", "sweeps of one clone", "error of the logarithm",
               "over the least"]  # fmt: skip
    table = Table("xorsat-best-w1", columns)
    for n, one in known.items():
        several = (one.totals > 0).sum(axis=1) > 1
        if len(one.w1) < 3 or not one.solved[several].sum():
            continue
        solved = one.solved[several]
        log, errors = pooled_times(solved, one.totals[several])
        fine = np.isfinite(log)
        least = float(log[fine].min())
        for w1, some, y, error in zip(one.w1, solved.sum(axis=0), log, errors, strict=True):
            if math.isfinite(y):
                row = [math.exp(y), _rounded(error, 2), _rounded(math.exp(y - least), 2)]
                table.rows.append([n, w1, int(some), *row])
        best, away = least_w1(np.array(one.w1)[fine] / 256, log[fine], errors[fine])
        if math.isfinite(best):
            table.rows.append([n, f"least at {256 * best:.1f}({256 * away:.1f})", *[None] * 4])
    return table


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}f}")


if __name__ == "__main__":
    app()
