"""Proofs and improvements by a SAT solver in a process of its own, beside or in turns with local search."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arguments import MAX_SEED
from hardscape.engine import Context, Cpu, Cuda, Partial, Shard, ShardResult, Work, resolve, split
from hardscape.errors import BudgetError, HardscapeError, MissingDependencyError
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.elimination.elimination import Tables
from hardscape.maxsat.methods.exact.keeper import Call, GrownFormula, Talker
from hardscape.maxsat.methods.exact.near import proven_at_once, settled_here
from hardscape.maxsat.methods.exact.pace import (
    Pace,
    asks_in_vain,
    first_ones,
    opening,
    programs_first,
    promising,
    proof_pays,
    proof_waits,
)
from hardscape.maxsat.methods.exact.packed import file_of
from hardscape.maxsat.methods.exact.sharing import (
    SHARE,
    TURN_SHARE,
    Sharing,
    Turns,
    first_share,
    shown,
)
from hardscape.maxsat.methods.exact.start import started
from hardscape.maxsat.methods.installed import can_prove
from hardscape.maxsat.methods.walkers.local import LocalSearch, LocalWalks, Walker
from hardscape.maxsat.methods.weighting.searches import looks_random
from hardscape.maxsat.result import Improvement
from hardscape.maxsat.task import SMALL, Method, Task, Walks

#: Seconds between two assignments that the prover is told.
_BETWEEN = 0.1
#: Seconds of processor time that are searched before a prover is asked, and where a target is all that is
#: wanted; seconds of search while one is started.
_BEFORE, _BEFORE_TARGET, _MEANWHILE = 0.04, 0.1, 0.03
#: The same before tables are thought of, which take long to plan for what is found at once.
_BEFORE_TABLES = 0.01
#: The same on one thread as long as hard clauses stay violated that a solver is asked about; and the share of
#: the time limit where counters prevail, whose proof begins with linear programs and not with an assignment.
_BEFORE_FEASIBLE, _FEASIBLE_SHARE = 0.3, 0.4
#: Share of the time limit, and most seconds, that is searched before the proof where the search is not the
#: prover's neighbour: on a GPU, by an executor, or with a given number of flips.
_FIRST_SHARE, _FIRST_SECONDS = 0.2, 2.0
#: Threads for each prover but the first, most provers, literals above which there is one, and seconds after
#: which the others begin.
_THREADS, _MOST_PROVERS, _SHARED, _LATER = 4, 6, 1_000_000, 1.0
#: Seconds that "auto" tries to prove where no time limit is given.
_UNASKED_SECONDS = 10.0
#: Literals above which "auto" does not try to prove anything; for formulas that look random it is `SMALL`.
_PROVABLE = 5_000_000


def require_prover() -> None:
    """Raise `MissingDependencyError` if python-sat or rustsat is not installed."""
    if not can_prove():
        raise MissingDependencyError("python-sat and rustsat", "sat", "method='exact'")


@dataclass(frozen=True, eq=False)
class Proof(Work[Partial]):
    """A prover of a presolved formula, until it ends or its lower bound meets the incumbent.

    The first shards are `provers`, of which all but the first begin as walkers; the others are the walkers of
    `local`, and on GPUs the `islands`, that go on `beside` them until one ends. Where the prover has the only
    thread, a walker has it `in_turns`. A partial holds
    ``proven`` (1 if the incumbent is optimal), ``unsatisfiable`` (1 if the hard clauses contradict one
    another), ``lower`` (lower bound on the cost of `formula`, two words, high first) and ``flips``. Any
    assignment of `formula` costs `constant` more in the original one.
    """

    name = "maxsat.exact"
    revision = 3
    unit = "searches"

    formula: Formula
    constant: int
    incumbent: Incumbent
    local: LocalSearch | None = None
    beside: int = 0
    islands: Work[Partial] | None = None
    provers: int = 1
    in_turns: bool = False
    check: bool = False  # whether a second solver confirms what the first refutes
    share: float = SHARE  # of the walker at first, where it takes turns with the prover
    ends: float = math.inf  # when the time is up, by the monotonic clock
    pace: Pace | None = field(default=None, repr=False)  # of the walker before
    call: Call | None = (
        None  # where the first prover is kept for later calls, of a formula not presolved
    )
    #: Set where a prover has ended.
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def digest(self) -> str:
        """Digest of the formula."""
        return self.formula.digest

    def shards(self) -> Sequence[Shard]:
        """The provers, then the walkers."""
        count = self.provers + self.beside
        return split(count, count)

    def merge(self, left: Partial, right: Partial) -> Partial:
        """What the provers know, and the flips of all."""
        known = {name: np.maximum(left[name], right[name]) for name in ("proven", "unsatisfiable")}
        lower = max(left["lower"], right["lower"], key=np.ndarray.tolist)
        return {**known, "lower": lower, "flips": left["flips"] + right["flips"]}

    def finished(self, partial: Partial) -> bool:
        """Whether a prover has ended."""
        return bool(partial["proven"][0] or partial["unsatisfiable"][0])

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Run a prover and listen to it, or let a walker go."""
        flips = 0
        if shard.index and self.islands is not None and isinstance(context.device, Cuda):
            on_gpu = Shard(shard.index - 1, shard.start - 1, shard.stop - 1)
            try:
                walked = self.islands.run(on_gpu, context)
            except BudgetError as error:  # others have the GPU's memory
                warnings.warn(f"the CPU searches alone: {error}", RuntimeWarning, stacklevel=2)
                return ShardResult(_partial(), complete=True)
            return ShardResult(_partial(flips=int(walked.partial["flips"][0])), walked.complete)
        if shard.index and self.local is not None:
            walker = self.local.walker(shard.index - 1, context)
            proves = shard.index < self.provers
            complete = walker.walk(_LATER if proves else math.inf)
            flips = walker.new_flips
            if not proves or complete or self.incumbent.halt[0] or context.stopped():
                return ShardResult(_partial(flips=flips), complete)
        alone = not (shard.index or self.check or self.call)
        turns: Turns | None = None
        small = len(self.formula.literals) <= SMALL
        if alone and self.in_turns and self.local is not None and small:
            turns = self.turns(self.local.walker(0, context), self.constant)
            found = self._here(turns, context)
            if found is not None:
                return found
            flips = turns.walker.new_flips
        elif alone and proven_at_once(self.formula, self.constant, self.incumbent, context):
            assert self.incumbent.best is not None
            self.ended.set()
            lower = self.incumbent.best.cost - self.constant
            return ShardResult(_partial(lower, proven=1))
        if self.call is not None and not shard.index:
            with self.call.keeper.call(self.call) as talker:
                return _Talk(self, talker, context, flips, whole=True).result()
        with (
            file_of(self.formula, asymmetric=not self.check) as file,
            started(file.fileno(), shard.index, check=self.check) as process,
        ):
            try:
                return _Talk(self, Talker(process), context, flips, turns=turns).result()
            finally:
                process.kill()

    def turns(self, walker: Walker, constant: int) -> Turns:
        """Of a walker, on the thread of a prover whose costs leave out a constant."""
        sharing = Sharing(
            self.share,
            self.incumbent.best,
            constant,
            self.pace,
            self.ends,
            hard=self.formula.num_hard > 0,
            counted=programs_first(self.formula),
            opening=opening(self.formula),
            first_ones=first_ones(self.formula),
            promising=promising(self.formula, self.incumbent),
            shown=shown(self.formula),
        )
        return Turns(walker, self.incumbent, self.share, sharing)

    def _here(self, turns: Turns, context: Context) -> ShardResult | None:
        """Prove a small formula in this process, with a walker: to start one takes longer than many proofs.

        None where it takes longer, too.
        """
        formula, constant, incumbent = self.formula, self.constant, self.incumbent
        complete = settled_here(formula, constant, incumbent, context, turns)
        if complete is None:
            return None
        lower, known = turns.lower, {}
        if complete:
            self.ended.set()
            best = incumbent.best
            if best is None or best.hard_violations:
                known["unsatisfiable"] = 1
            else:
                known["proven"], lower = 1, best.cost - constant
        return ShardResult(_partial(lower, flips=turns.walker.new_flips, **known), complete)


class _Talk:
    """What a prover says, what it is told, and a walker that has its thread in between."""

    def __init__(
        self,
        work: Proof,
        talker: Talker,
        context: Context,
        flips: int,
        *,
        whole: bool = False,
        turns: Turns | None = None,
    ) -> None:
        self._work, self._talker, self._context = work, talker, context
        self._process, self._pipe = talker.process, talker.pipe
        # A prover that is kept knows the whole formula, and another one what presolve has left of it.
        self._whole, self._constant = whole, 0 if whole else work.constant
        self._incumbent = work.incumbent
        self._lower = 0 if turns is None else turns.lower
        self._ready = False
        self._told: Improvement | None = None
        self._tell_at = 0.0
        self._flips = flips
        if turns is None and work.in_turns and work.local is not None:
            walker = work.local.walker(0, context)
            walker.walk(_MEANWHILE)  # a process needs a moment to begin
            turns = work.turns(walker, self._constant)
        self._turns = turns

    def result(self) -> ShardResult:
        """Listen until the prover ends, the bounds meet, or something says stop."""
        for line in self._talker.lines:
            if line:
                message = json.loads(line)
                if "settled" in message:
                    return self._settled()
                self._hear(message)
            if self._incumbent.proven or self._work.ended.is_set():
                return self._partial(proven=self._incumbent.proven)
            if self._context.stopped() or self._incumbent.halt[0]:
                return ShardResult(self._partial().partial, complete=False)
            now = time.monotonic()
            self._tell(now)
            if self._turns is not None and self._ready and self._turns.due:
                self._walk(self._turns)
        raise HardscapeError(f"the prover ended without an answer: {_last_words(self._process)}")

    def _walk(self, turns: Turns) -> None:
        """Let the walker have its turn, while the prover rests."""
        self._process.send_signal(signal.SIGSTOP)
        turns.walk(self._lower)
        self._process.send_signal(signal.SIGCONT)
        self._flips = turns.walker.new_flips

    def _hear(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready = True
        elif "model" in message:
            values = _values(message["model"])
            if self._whole:
                self._incumbent.offer(values)
                values = self._incumbent.restricted(values)
            self._incumbent.suggest(values)
            best = self._incumbent.best
            assert best is not None
            if (best.hard_violations, best.cost - self._constant) > (0, int(message["cost"])):
                raise HardscapeError("the prover's assignment does not cost what it says")
        else:
            self._lower = max(self._lower, int(message["lower"]))
            self._incumbent.bound(self._lower + self._constant)

    def _tell(self, now: float) -> None:
        """Tell the prover of a better assignment, unless it was told something just before."""
        best = self._incumbent.best
        known = best is None or best is self._told or best.hard_violations
        if best is not None and not known and self._pipe.free and now >= self._tell_at:
            self._told, self._tell_at = best, now + _BETWEEN
            values = best.assignment if self._whole else self._incumbent.restrict(best)
            model = "".join(map(str, values.tolist()))
            self._pipe.say(cost=best.cost - self._constant, model=model)
        self._pipe.push()

    def _settled(self) -> ShardResult:
        self._work.ended.set()
        best = self._incumbent.best
        if best is None or best.hard_violations:
            return self._partial(unsatisfiable=True)
        self._lower = best.cost - self._constant
        return self._partial(proven=True)

    def _partial(self, **known: int) -> ShardResult:
        lower = max(0, self._lower + self._constant - self._work.constant)
        return ShardResult(_partial(lower, flips=self._flips, **known))


def _values(model: str) -> NDArray[np.uint8]:
    return np.frombuffer(model.encode(), dtype=np.uint8) - ord("0")


def _partial(lower: int = 0, **known: int) -> Partial:
    """What is known; the rest is 0."""
    names = ("proven", "unsatisfiable", "flips")
    words = np.array(divmod(lower, 2**64), dtype=np.uint64)
    return {"lower": words} | {name: np.array([known.get(name, 0)]) for name in names}


def _last_words(process: subprocess.Popen[bytes]) -> str:
    process.kill()
    said = process.stderr.read() if process.stderr is not None else b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {process.wait()}"


class Exact(Method):
    """A prover, in turns with local search on one thread, and beside it on more and on GPUs.

    The first of `walks` that takes the task searches before where it cannot search on with the prover; `beside`
    does so on CPU threads.
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
        if not can_prove():
            return "python-sat and rustsat are not installed"
        return "" if _provable(task.presolved.formula) else "a proof would take ages"

    def search(self, task: Task) -> None:
        """See `Method.search`."""
        walking = self._walking(task)
        assert walking is not None
        options = task.options
        together = options.executor is None and task.max_flips is None
        before = _BEFORE if task.target is None else _BEFORE_TARGET
        first, left = (before if together else _FIRST_SECONDS), options.deadline.left
        if left is not None:
            first = min(first, _FIRST_SHARE * left)
        local, pace = None, Pace()
        if together:  # the same walkers go on beside the prover
            local = replace(self._beside.work(task, endless=False), busy=True, kept={})
            self._walk_first(task, local, pace, first)
        else:
            walking.walk(task, options.within(first), walking.work(task, endless=False))
            if task.stopped == "time_limit":  # of the first part alone
                task.stopped = ""
            self._eliminate(task)
        if not task.over:
            self._prove(task, local, pace)

    def _walk_first(self, task: Task, local: LocalSearch, pace: Pace, first: float) -> None:
        """Search before the proof; on one thread up to a short limit as long as the search gets on."""
        options = task.options.on_cpu()

        def walk(turn: float) -> None:
            if turn > 0 and not task.over:
                began, before = time.monotonic(), task.incumbent.best
                self._beside.walk(task, options, replace(local, turn=turn))
                # Some steps are longer than a short turn.
                pace.walked(time.monotonic() - began, before, task.incumbent.best)

        walk(_BEFORE_TABLES)
        self._eliminate(task)
        walk(first - _BEFORE_TABLES)
        left = options.deadline.left
        here = len(task.presolved.formula.literals) <= SMALL  # is where the proof begins, at once
        if len(options.devices) > 1 or task.narrowed or here:
            return
        local = replace(local, endless=True)  # one that ends begins anew
        until = _BEFORE_FEASIBLE
        if left is not None and programs_first(task.presolved.formula):
            until = max(until, _FEASIBLE_SHARE * left)
        while not task.over and pace.seconds < until and asks_in_vain(task):
            walk(_BEFORE)
        if left is None or not proof_waits(task):
            return

        def able() -> bool:
            return any(walker.able for walker in (local.kept or {}).values())

        while not task.over and not proof_pays(task, pace, left, able=able()):
            walk(max(_BEFORE_TABLES, TURN_SHARE * pace.seconds))

    def _eliminate(self, task: Task) -> None:
        """Have the least cost by tables, where that takes little time and is not stopped."""
        if task.check or task.incumbent.reached or task.stopped:
            return
        tables = Tables.of(task.presolved.formula)
        if tables is None:
            return
        with task.options.deadline.watched() as stop:
            found = tables.solve(stop)
        if found is None:
            return
        task.note("elimination", "cpu")
        least, assignment = found
        if assignment is None:
            task.unsatisfiable = True
            return
        task.incumbent.offer_reduced(assignment)
        task.incumbent.bound_reduced(least)

    def _prove(self, task: Task, local: LocalSearch | None, pace: Pace) -> None:
        presolved = task.presolved
        unasked = task.method == "auto" and task.options.deadline.left is None
        # The proof is this machine's CPU's.
        options = replace(task.options.on_cpu(), executor=None)
        options = options.within(_UNASKED_SECONDS if unasked else None)
        if task.narrowed:
            options = options.on(resolve("cpu"))
        islands, provers, beside, in_turns = None, 1, 0, False
        walking, threads = self._walking(task), len(options.devices)
        if local is not None and walking is not None and walking is not self._beside:
            islands = walking.work(task, endless=True)
            options = options.on([*options.devices, *task.options.devices])
        if task.max_flips is None:
            if local is None:
                local = self._beside.work(task, endless=True)
                local = replace(local, seed=(options.seed + 1) % (MAX_SEED + 1))
            local = replace(local, endless=True, turn=math.inf, busy=False)
            if len(presolved.formula.literals) <= _SHARED:
                provers = min(_MOST_PROVERS, 1 + threads // _THREADS)
            beside = len(options.devices) - provers
            in_turns = threads == provers
        call, left = None, options.deadline.left
        if isinstance(task.formula, GrownFormula) and not task.check:
            call = task.formula.call
        proof = Proof(
            presolved.formula,
            presolved.constant,
            task.incumbent,
            local,
            beside,
            islands,
            provers,
            in_turns,
            task.check,
            first_share(presolved.formula, left),
            math.inf if left is None else time.monotonic() + left,
            pace,
            call,
        )
        found = task.do(f"{self.name}{', checked' * task.check}", proof, options).answer
        if found is not None:
            high, low = found["lower"].tolist()
            task.incumbent.bound((high << 64) + low + presolved.constant)
            task.unsatisfiable = bool(found["unsatisfiable"][0])
            task.flips += int(found["flips"][0])


def _provable(formula: Formula) -> bool:
    """Whether the prover may prove the optimum of a presolved formula in less than ages."""
    return len(formula.literals) <= (SMALL if looks_random(formula) else _PROVABLE)
