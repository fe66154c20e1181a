"""The exact search: python-sat's RC2 in a process of its own, closed by the best assignment known."""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import numpy as np

from hardscape.arguments import MAX_SEED
from hardscape.engine import Context, Cpu, Cuda, Partial, Shard, ShardResult, Work, split
from hardscape.errors import HardscapeError, MissingDependencyError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.weighting.local import LocalSearch, LocalWalks
from hardscape.maxsat.task import SMALL, Method, Task, Walks

#: Seconds between two looks at the stop flag.
_POLL = 0.005
#: Share of the time limit that is searched before the proof, and most seconds: on one thread, and where
#: other threads search on beside the proof.
_FIRST_SHARE, _FIRST_SECONDS, _FIRST_SECONDS_BESIDE = 0.2, 2.0, 0.5
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Literals above which "auto" does not try to prove anything; where all clauses have the same length of
#: 3 or more, which looks like a random formula, it is `SMALL`.
_PROVABLE = 2_000_000


def has_rc2() -> bool:
    """Whether python-sat is installed; it is not imported."""
    return importlib.util.find_spec("pysat") is not None


def require_rc2() -> None:
    """Raise `MissingDependencyError` if python-sat is not installed."""
    if not has_rc2():
        raise MissingDependencyError("python-sat", "sat", "method='exact'")


@dataclass(frozen=True, eq=False)
class ExactSearch(Work[Partial]):
    """RC2 on a presolved formula, until it ends or its lower bound meets the incumbent.

    The first shard is RC2; the others are walkers of `local`, which go on until RC2 ends. A partial holds
    ``proven`` (1 if the incumbent is optimal), ``unsatisfiable`` (1 if the hard clauses contradict one
    another), ``lower`` (lower bound on the cost of `formula`, two words, high first) and ``flips``. Any
    assignment of `formula` costs `constant` more in the original one; `initial` is the solver's guess.
    """

    name = "maxsat.exact"
    revision = 1
    unit = "searches"

    formula: Formula
    constant: int
    initial: Any
    incumbent: Incumbent
    local: LocalSearch | None = None

    def digest(self) -> str:
        """Digest of the formula."""
        return self.formula.digest

    def shards(self) -> Sequence[Shard]:
        """RC2, then the walkers."""
        count = 1 if self.local is None else 1 + self.local.walkers
        return split(count, count)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """What RC2 knows, and the flips of all."""
        first = max(left, right, key=lambda partial: int(partial["rank"][0]))
        return {**first, "flips": left["flips"] + right["flips"]}

    def finished(self, partial: Partial) -> bool:
        """Whether RC2 has ended."""
        return bool(partial["proven"][0] or partial["unsatisfiable"][0])

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run RC2 and listen to it, or let a walker go."""
        if shard.index and self.local is not None:
            found = self.local.run(Shard(shard.index - 1, shard.start - 1, shard.stop - 1), context)
            flips = int(found.partial["flips"][0])
            return ShardResult(_partial(flips=flips), found.complete)
        with (
            self._archive() as archive,
            subprocess.Popen(
                [sys.executable, "-m", "hardscape.maxsat.methods.exact.rc2_process"],
                stdin=archive,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # A signal of the terminal is for this process, which then ends the other.
                start_new_session=True,
            ) as process,
        ):
            try:
                return self._follow(process, context)
            finally:
                process.kill()

    def _archive(self) -> IO[bytes]:
        """The formula in a file without a name, ready to be read."""
        import tempfile

        archive = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        np.savez(
            archive,
            variables=self.formula.num_variables,
            literals=self.formula.literals,
            offsets=self.formula.offsets,
            weights=self.formula.weights,
            hard=self.formula.hard,
            initial=self.initial,
        )
        archive.seek(0)
        return archive

    def _follow(self, process: subprocess.Popen[bytes], context: Context) -> ShardResult:
        lower = 0
        for line in _lines(process):
            if line:
                message = json.loads(line)
                if "model" in message:
                    return self._ended(message["model"])
                lower = max(lower, int(message["lower"]))
                self.incumbent.bound(lower + self.constant)
            if self.incumbent.proven:
                return ShardResult(_partial(lower, rank=1, proven=True))
            if context.stopped():
                return ShardResult(_partial(lower, rank=1), complete=False)
        raise HardscapeError(f"RC2 ended without an answer: {_last_words(process)}")

    def _ended(self, model: str | None) -> ShardResult:
        if model is None:
            return ShardResult(_partial(rank=1, unsatisfiable=True))
        values = np.frombuffer(model.encode(), dtype=np.uint8) - ord("0")
        self.incumbent.offer_reduced(values)
        return ShardResult(_partial(self.formula.cost(values), rank=1, proven=True))


def _partial(lower: int = 0, **known: int) -> Partial:
    """What is known; the rest is 0."""
    names = ("rank", "proven", "unsatisfiable", "flips")
    words = np.array(divmod(lower, 2**64), dtype=np.uint64)
    return {"lower": words} | {name: np.array([known.get(name, 0)]) for name in names}


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes | bytearray]:
    """What the process says, line by line, and an empty line where it has been silent for a moment."""
    assert process.stdout is not None
    said = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(_POLL):
                yield b""
                continue
            more = os.read(process.stdout.fileno(), 2**16)
            if not more:
                return
            said += more
            if b"\n" in more:
                *lines, said = said.split(b"\n")
                yield from lines


def _last_words(process: subprocess.Popen[bytes]) -> str:
    process.kill()
    said = process.stderr.read() if process.stderr is not None else b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {process.wait()}"


class Exact(Method):
    """RC2 of python-sat, started from what a short search found.

    The first of `walks` that takes the task searches before; `beside` searches on while RC2 works.
    """

    name = "exact"
    asked = ("auto", "exact")
    devices = (Cpu, Cuda)

    def __init__(self, walks: Sequence[Walks], beside: LocalWalks) -> None:
        self._walks = walks
        self._beside = beside

    def _walking(self, task: Task) -> Walks | None:
        return next((row for row in self._walks if not row.refusal(task)), None)

    def unfit(self, task: Task) -> str:
        """See `Method.unfit`."""
        if self._walking(task) is None:
            return "nothing searches first on that device"
        if task.method == "exact":
            return ""
        if not has_rc2():
            return "python-sat is not installed"
        return "" if _provable(task.presolved.formula) else "a proof would take ages"

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        walking = self._walking(task)
        assert walking is not None
        left = task.options.deadline.left
        beside = len(task.options.devices) > 1 and task.max_flips is None
        first = _FIRST_SECONDS_BESIDE if beside else _FIRST_SECONDS
        if left is not None:
            first = min(first, _FIRST_SHARE * left)
        walking.walk(task, task.options.within(first), endless=False)
        if task.stopped == "time_limit":  # of the first part alone
            task.stopped = ""
        if not (task.incumbent.reached or task.stopped):
            self._prove(task)

    def _prove(self, task: Task) -> None:
        best, presolved = task.incumbent.best, task.presolved
        unasked = task.method == "auto" and task.options.deadline.left is None
        # The proof is this machine's CPU's.
        options = replace(task.options.on_cpu(), executor=None)
        options = options.within(_UNASKED_SECONDS if unasked else None)
        local = None
        if len(options.devices) > 1 and task.max_flips is None:
            local = replace(
                self._beside.work(task, endless=True),
                walkers=len(options.devices) - 1,
                seed=(options.seed + 1) % (MAX_SEED + 1),
            )
        initial = presolved.restrict(
            np.zeros(task.formula.num_variables) if best is None else best.assignment
        )
        work = ExactSearch(presolved.formula, presolved.constant, initial, task.incumbent, local)
        found = task.do(self.name, work, options).answer
        if found is not None:
            high, low = found["lower"].tolist()
            task.incumbent.bound((high << 64) + low + presolved.constant)
            task.unsatisfiable = bool(found["unsatisfiable"][0])
            task.flips += int(found["flips"][0])


def _provable(formula: Formula) -> bool:
    """Whether RC2 may prove the optimum of a presolved formula in less than ages."""
    sizes = np.diff(formula.offsets)
    random_like = len(sizes) > 0 and sizes[0] >= 3 and (sizes == sizes[0]).all()
    return len(formula.literals) <= (SMALL if random_like else _PROVABLE)
