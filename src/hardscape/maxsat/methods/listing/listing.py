"""The cheapest assignments of a formula in one call."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
from hardscape.maxsat.methods.installed import can_prove
from hardscape.maxsat.methods.listing.result import MaxsatListing
from hardscape.maxsat.methods.talk import lines_of
from hardscape.maxsat.result import MOST_COST

#: Most assignments that may be asked for.
_MOST = 2**40
#: Seconds after which another process joins one that has named nothing yet.
_SILENCE = 1.0


@dataclass(frozen=True, eq=False)
class Listing(Work[Partial]):
    """Assignments from the cheapest on, until there are so many, or they cost too much.

    A partial holds ``assignments`` (uint8, shape (found, n)), of which the last one may be beyond what was
    asked for, ``ended`` (1 if there are no others) and ``whole`` (1 if no other costs as little as the last
    one).
    """

    name = "maxsat.listing"
    revision = 2
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
        """Listen to RC2, and where it is silent also to who proves by all that `solve` knows."""
        silent = time.monotonic() + _SILENCE
        with ExitStack() as processes:
            # One more than is asked for tells whether the list is complete, at the cost of a question.
            first = processes.enter_context(self._lister("lister.py", self.count + 1))
            listers = [first]
            while not context.stopped():
                for lister in listers:
                    lister.hear()
                    if lister.ended or lister.enough:
                        return ShardResult(lister.partial(), complete=True)
                if first.gone:
                    raise HardscapeError("the process that lists assignments ended without a word")
                waited = not first.found and time.monotonic() > silent
                if waited and len(listers) == 1 and can_prove():
                    listers.append(processes.enter_context(self._lister("proven.py", self.count)))
            most = max(listers, key=lambda lister: len(lister.found))
            return ShardResult(most.partial(), complete=False)

    def _file(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        head = f"{' '.join(map(str, self.variables))}\n{self.formula.num_variables}\n"
        file.write(head.encode() + write(self.formula).partition(b"\n")[2])
        file.seek(0)
        return file

    @contextmanager
    def _lister(self, program: str, count: int) -> Iterator[_Lister]:
        """A process of that program, for a while, of which so many assignments are wanted."""
        with (
            self._file() as text,
            subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name(program))],
                stdin=text,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a signal of the terminal is for this process
            ) as process,
        ):
            try:
                yield _Lister(self, process, count)
            finally:
                process.kill()


class _Lister:
    """A process that names assignments, and what it has named."""

    def __init__(self, listing: Listing, process: subprocess.Popen[bytes], count: int) -> None:
        self._listing, self._lines, self._count = listing, lines_of(process), count
        self.found: list[NDArray[np.uint8]] = []
        self._costs: list[int] = []
        self.ended = False  # there are no others
        self._whole = False  # none of the others costs as little as the last one
        self.gone = False

    def hear(self) -> None:
        """Take a line, or wait for a moment."""
        line = None if self.gone else next(self._lines, None)
        if line is None:
            self.gone = True
        elif line == b"end":
            self.ended = True
        elif line == b"whole":
            self._whole = True
        elif line:
            self.found.append(np.frombuffer(line[1:], dtype=np.uint8) - ord("0"))
            self._costs.append(self._listing.formula.evaluate(self.found[-1]).cost)

    @property
    def enough(self) -> bool:
        """Whether all was named that is asked for."""
        gap = self._listing.max_gap
        dear = self._costs and gap is not None and self._costs[-1] > self._costs[0] + gap
        return bool(len(self.found) >= self._count or dear or (self._whole and gap == 0))

    def partial(self) -> Partial:
        """What was named."""
        shape = len(self.found), self._listing.formula.num_variables
        return {
            "assignments": np.array(self.found, dtype=np.uint8).reshape(shape),
            "ended": np.array([int(self.ended)]),
            "whole": np.array([int(self._whole)]),
        }


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
        See :class:`hardscape.engine.RunArguments`; one CPU thread lists, and another one joins it where it
        has named nothing after a second.

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
    that forbids the assignment just found: the first costs as much as a proof, one more of the same cost a
    call of the SAT solver. Where it has named none after a second, a process beside it proves the least cost
    as :func:`solve` does, and names assignments of that cost, by a SAT solver under a constraint on it (a
    totalizer or a dynamic polynomial watchdog); the answer is the longer list. Which ones of the last cost are
    listed, where not all of them are, is then a matter of time. All costs are evaluated on the clauses as they
    were given.

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
    complete_below: int | None = max(costs, default=0)
    if found is not None:
        complete_below = (
            None if found["ended"][0] else max(costs, default=0) + int(found["whole"][0])
        )
    dearest = costs[0] + work.max_gap if costs and work.max_gap is not None else MOST_COST
    kept = [i for i in range(min(work.count, len(costs))) if costs[i] <= dearest]
    order = sorted(kept, key=lambda i: (costs[i], every[i].tobytes()))
    return MaxsatListing(
        tuple(costs[i] for i in order), every[order], complete_below, seconds, stopped
    )
