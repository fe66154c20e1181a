"""The cheapest assignments of a formula in one call."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import integer
from hardscape.engine import (
    Context,
    Partial,
    RunArguments,
    RunOptions,
    Shard,
    ShardResult,
    Work,
    solve,
    split,
)
from hardscape.errors import HardscapeError, Interrupted, needed
from hardscape.interrupts import interruptible
from hardscape.maxsat.formats.wcnf import write
from hardscape.maxsat.formula import Formula, checked_formula
from hardscape.maxsat.methods.listing.result import MaxsatListing
from hardscape.maxsat.methods.talk import lines_of
from hardscape.maxsat.result import MOST_COST

#: Most assignments that may be asked for.
_MOST = 2**40


@dataclass(frozen=True, eq=False)
class Listing(Work[Partial]):
    """Assignments from the cheapest on, until there are so many, or they cost too much.

    A partial holds ``assignments`` (uint8, shape (found, n)), of which the last one may be beyond what was
    asked for, and ``ended`` (1 if there are no others).
    """

    name = "maxsat.listing"
    revision = 1
    unit = "listings"

    formula: Formula
    count: int
    max_gap: int | None
    variables: tuple[int, ...]  # assignments that differ in none of these are one

    def digest(self) -> str:
        """Digest of the formula and of what was asked."""
        asked = (self.count, self.max_gap, self.variables)
        return hashlib.sha256(f"{self.formula.digest}{asked}".encode()).hexdigest()

    def shards(self) -> Sequence[Shard]:
        """One."""
        return split(1, 1)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """There is one shard."""
        return right

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Listen to the process until enough was named."""
        found: list[NDArray[np.uint8]] = []
        least = 0
        for line in self._lines():
            if line == b"end" or context.stopped():
                return ShardResult(self._partial(found, line == b"end"), complete=line == b"end")
            if line:
                found.append(np.frombuffer(line[1:], dtype=np.uint8) - ord("0"))
                cost = self.formula.evaluate(found[-1]).cost
                least = cost if len(found) == 1 else least
                if len(found) > self.count or (
                    self.max_gap is not None and cost > least + self.max_gap
                ):
                    return ShardResult(self._partial(found, False))
        raise HardscapeError("the process that lists assignments ended without a word")

    def _partial(self, found: list[NDArray[np.uint8]], ended: bool) -> Partial:
        every = np.array(found, dtype=np.uint8).reshape(len(found), self.formula.num_variables)
        return {"assignments": every, "ended": np.array([int(ended)])}

    def _file(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        head = f"{' '.join(map(str, self.variables))}\n{self.formula.num_variables}\n"
        file.write(head.encode() + write(self.formula).partition(b"\n")[2])
        file.seek(0)
        return file

    def _lines(self) -> Iterator[bytes | bytearray]:
        """What the process says, line by line, and an empty line where it has been silent for a moment."""
        with (
            self._file() as text,
            subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("lister.py"))],
                stdin=text,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a signal of the terminal is for this process
            ) as process,
        ):
            try:
                yield from lines_of(process)
            finally:
                process.kill()


@interruptible
def enumerate(
    formula: Formula | str | Path,
    num_assignments: int = 10,
    *,
    max_gap: int | None = None,
    distinct: Iterable[int] | None = None,
    **run: Unpack[RunArguments],
) -> MaxsatListing:
    """List the assignments that cost least, in order of their costs.

    Parameters
    ----------
    formula : Formula, or the path of a file of one
    num_assignments : int
        How many to list at most.
    max_gap : int, optional
        Lists those whose cost is at most so much above the least one; with 0, the optimal ones.
    distinct : iterable of int, optional
        Variables: assignments that agree on these are one, listed with the least of their costs; by default
        all. Of a formula with variables that constraints have made for themselves, those of the model.
    **run
        See :class:`hardscape.engine.RunArguments`; one CPU thread lists.

    Returns
    -------
    MaxsatListing
        Empty where the hard clauses contradict one another. If the time is up, what is listed until then.

    Raises
    ------
    InputError
        For arguments out of range.
    MissingDependencyError
        If python-sat is not installed.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is what was listed until then.

    Notes
    -----
    RC2 (Ignatiev, Morgado and Marques-Silva, JSAT 11, 53, 2019) proves each cost, and goes on with a clause
    that forbids the assignment just found: the first costs as much as a proof, one more of the same cost a call
    of the SAT solver. All costs are evaluated on the clauses as they were given.

    Examples
    --------
    >>> from hardscape import maxsat
    >>> formula = maxsat.Formula.from_clauses([[-1], [-2], [-3]], [2, 3, 4], hard=[[1, 2], [2, 3]])
    >>> found = maxsat.enumerate(formula, 3)
    >>> found.costs, found.assignment.tolist(), found.complete_below
    ((3, 5, 6), [[0, 1, 0], [1, 1, 0], [1, 0, 1]], 7)
    """
    formula = checked_formula(formula)
    needed("pysat", "python-sat", "sat", "enumerate")
    options = RunOptions.checked(**run).undivided("a listing").on_cpu()
    n = formula.num_variables
    chosen = range(1, n + 1) if distinct is None else distinct
    work = Listing(
        formula,
        integer(num_assignments, "num_assignments", 1, _MOST),
        None if max_gap is None else integer(max_gap, "max_gap", 0, MOST_COST),
        tuple(sorted({integer(v, "distinct", 1, n) for v in chosen})),
    )
    outcome = solve(work, options)
    seconds = time.monotonic() - options.deadline.began
    result = _listed(work, outcome.answer, seconds, outcome.cut)
    if outcome.signum:
        raise Interrupted(outcome.signum, result)
    return result


def _listed(work: Listing, found: Partial | None, seconds: float, stopped: str) -> MaxsatListing:
    n = work.formula.num_variables
    every = np.empty((0, n), dtype=np.uint8) if found is None else found["assignments"]
    costs = [work.formula.evaluate(row).cost for row in every]
    complete_below = None if found is not None and found["ended"][0] else max(costs, default=0)
    dearest = costs[0] + work.max_gap if costs and work.max_gap is not None else MOST_COST
    kept = [i for i in range(min(work.count, len(costs))) if costs[i] <= dearest]
    order = sorted(kept, key=lambda i: (costs[i], every[i].tobytes()))
    return MaxsatListing(
        tuple(costs[i] for i in order), every[order], complete_below, seconds, stopped
    )
