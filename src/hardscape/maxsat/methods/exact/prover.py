"""A process that proves and improves, ``python -c "import prover; prover.main()" FD N C PID``, beside a search.

It takes turns at two things until they meet: cores of soft clauses that cannot all hold, which raise the lower
bound (OLL: Andres, Kaufmann, Matheis, Schaub, ICLP 2012; with the refinements of RC2: Ignatiev, Morgado,
Marques-Silva, JSAT 11, 53, 2019), and a search for assignments that cost less than the best one, which a
constraint on what the cores have left demands (core-boosted linear search: Berg, Demirovic, Stuckey, CPAIOR
2019), its weights coarse at first.

It lives apart because a call of a SAT solver can neither be interrupted at once nor share the interpreter, and
imports nothing of hardscape, so that it begins at once. The file descriptor FD is the formula: a line of JSON
with its sizes, then its arrays. Standard input takes lines ``{"cost": 3, "model": "0110"}`` whenever others
find a better assignment. Standard output gives the like, ``{"lower": 2}`` whenever the lower bound rises, and
at the end ``{"settled": true}``: no assignment is better than the best one said or heard, and without any, the
hard clauses contradict one another. The process ends with its parent PID. Of several, each number N but 0 has
an order and a solver of its own, and odd ones look for cores alone. With C = 1 a second solver, CaDiCaL, must
refute whatever the first one refutes.
"""

from __future__ import annotations

import array
import ctypes
import heapq
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from pysat.card import ITotalizer
from pysat.solvers import Solver

#: PR_SET_PDEATHSIG of Linux.
_DEATH_SIGNAL = 1
#: Processor time of the first turn, of the last, and their ratio, in seconds.
_FIRST, _LONGEST, _GROWTH = 0.3, 20.0, 1.5
#: Solvers of the provers by number.
_SOLVERS = ("g4", "g4", "m22", "mcm")
#: Where the cores raised the lower bound by at least such a share of what is left, they go on at once.
_PACE = 0.5
#: Conflicts between two looks at the clock, and those that a core is made smaller or stronger with.
_CONFLICTS, _FEW_CONFLICTS = 2000, 300
#: Tries of so few conflicts for a first assignment, before a long one of half as many in all.
_TRIES = 10
#: Longest core that is made smaller clause by clause, and failures after which that ends.
_LONG, _FAILURES = 300, 20
#: Wishes that are looked through for pairs that exclude one another.
_MOST_PAIRED = 5000
#: Wishes above which a restart of the solver costs more than all else.
_MANY = 20_000
#: Longest core of which the linear search has every count.
_COUNTED = 64
#: Clauses, about, of the first constraint on the cost; each finer one may have so many times more, up to the
#: most.
_CLAUSES, _FINER, _MOST_CLAUSES = 50_000, 5, 1_000_000


class Settled(Exception):  # noqa: N818 - no error, but the end
    """Nothing better than the best assignment exists."""


class ContradictionError(Exception):
    """One solver refutes what another one satisfies."""


class Board:
    """What is known on both sides, and the lines that say so."""

    def __init__(self, heard: Iterable[str] = (), *, check: bool = False) -> None:
        self.check = check
        self.cost: int | None = None
        self.values: Sequence[int] = ()
        self.lower = 0
        self._heard: list[str] = []
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()

    @property
    def gap(self) -> float:
        """What lies between the bounds."""
        return float("inf") if self.cost is None else self.cost - self.lower

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._heard.append(line)

    def look(self) -> None:
        """Take what others found; `Settled` if the bounds meet."""
        while self._heard:
            told = json.loads(self._heard.pop(0))
            if self.cost is None or told["cost"] < self.cost:
                self.cost, self.values = told["cost"], [int(x) for x in told["model"]]
        if self.cost is not None and self.lower >= self.cost:
            raise Settled

    def offer(self, cost: int, model: Sequence[int]) -> None:
        """Take the literals of an assignment if it is better."""
        if self.cost is None or cost < self.cost:
            self.cost, self.values = cost, [int(x > 0) for x in model]
            say(cost=cost, model="".join(map(str, self.values)))

    def raised(self, by: int) -> None:
        """Take a lower bound that is higher by so much.

        What was proven of assignments better than the best one says of all others only that they cost as much.
        """
        self.lower += by
        if self.cost is not None:
            self.lower = min(self.lower, self.cost)
        say(lower=self.lower)


def say(**message: Any) -> None:
    """Tell the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Oracle:
    """A SAT solver whose calls end at a moment, and the clauses that it was given."""

    def __init__(
        self, clauses: list[list[int]], board: Board, solver: str = "g4", *, many: bool = False
    ) -> None:
        # Glucose's incremental mode keeps what the assumptions imply when it restarts.
        mode = {"incr": True} if many and solver == "g4" else {}
        self._solver = Solver(name=solver, bootstrap_with=clauses, **mode)
        self._second = Solver(name="cd15", bootstrap_with=clauses) if board.check else None
        self._board = board
        self._like: Sequence[int] = ()
        self.until = 0.0

    def add(self, clause: list[int]) -> None:
        """Demand a clause from now on."""
        self._solver.add_clause(clause)
        if self._second is not None:
            self._second.add_clause(clause)

    def prefer(self, literals: Sequence[int]) -> None:
        """Try these literals first."""
        self._solver.set_phases(literals)

    def late(self) -> bool:
        """Whether the turn is over."""
        return time.process_time() >= self.until

    def ask(self, wishes: Sequence[int], conflicts: int | None = None) -> bool | None:
        """Whether the wishes can all hold; None where the turn or the conflicts are over."""
        while True:
            self._board.look()
            if (
                self._board.values is not self._like
            ):  # the better solutions are likely near the best
                self._like = self._board.values
                self.prefer([v if x else -v for v, x in enumerate(self._like, 1)])
            self._solver.conf_budget(conflicts or _CONFLICTS)
            answer: bool | None = self._solver.solve_limited(assumptions=wishes)
            if answer is False:
                self.confirm(self.core())
            if answer is not None or conflicts or self.late():
                return answer

    def confirm(self, literals: Sequence[int]) -> None:
        """Have a second solver refute them too, if that is wanted."""
        if self._second is not None and self._second.solve(assumptions=literals):
            raise ContradictionError(f"CaDiCaL satisfies what was refuted: {literals}")

    def core(self) -> list[int]:
        """The wishes that contradicted one another; none where the clauses alone do."""
        return self._solver.get_core() or []

    def model(self) -> list[int]:
        """The literals of the last solution."""
        return self._solver.get_model()  # type: ignore[no-any-return]

    def follows(self, wish: int) -> tuple[bool, list[int]]:
        """Whether a wish can hold as far as unit propagation tells, and what it implies."""
        return self._solver.propagate([wish])  # type: ignore[no-any-return]

    def delete(self) -> None:
        """Give the memory back."""
        self._solver.delete()
        if self._second is not None:
            self._second.delete()


class Costs:
    """The clauses, and the weight that each wish costs where it does not hold.

    A wish is a literal: of a soft clause of one literal itself, of another one a new variable that relaxes it.
    """

    def __init__(self, formula: dict[str, Any], board: Board, solver: str = "g4") -> None:
        self.board = board
        self.variables = self.top = int(formula["variables"])
        self.clauses: list[list[int]] = []
        self.weight: dict[int, int] = {}
        self._relaxed: dict[int, list[int]] = {}
        soft = []
        parts = zip(formula["clauses"], formula["weights"], formula["hard"], strict=True)
        for clause, weight, hard in parts:
            if hard:
                self.clauses.append(clause)
            elif len(clause) == 1:
                soft.append((clause[0], weight))
            else:
                wish = -self.new()
                self.clauses.append([*clause, -wish])
                self._relaxed[wish] = clause
                soft.append((wish, weight))
        constant = 0
        for wish, weight in soft:
            both = min(weight, self.weight.get(-wish, 0))
            constant += both
            self.gain(-wish, -both)
            self.gain(wish, weight - both)
        self._soft, self._constant = dict(self.weight), constant
        if constant:
            board.raised(constant)
        self.oracle = Oracle(self.clauses, board, solver, many=len(soft) > _MANY)

    def new(self) -> int:
        """A new variable."""
        self.top += 1
        return self.top

    def add(self, clause: list[int]) -> None:
        """Demand a clause from now on."""
        self.clauses.append(clause)
        self.oracle.add(clause)

    def gain(self, wish: int, weight: int) -> None:
        """Let a wish weigh more, or less."""
        if weight:
            self.weight[wish] = self.weight.get(wish, 0) + weight
            if not self.weight[wish]:
                del self.weight[wish]

    def offer(self, model: list[int]) -> None:
        """Offer a solution for what it costs."""
        model = model + [-v for v in range(len(model) + 1, self.top + 1)]
        cost = self._constant
        for wish, weight in self._soft.items():
            if model[abs(wish) - 1] != wish and all(
                model[abs(x) - 1] != x for x in self._relaxed.get(wish, ())
            ):
                cost += weight
        self.board.offer(cost, model[: self.variables])

    def harden(self) -> None:
        """Demand the wishes that nothing better than the best assignment can leave out."""
        if self.board.cost is None:
            return
        gap = self.board.cost - self.board.lower
        for wish in [wish for wish, weight in self.weight.items() if weight >= gap]:
            self.add([wish])
            del self.weight[wish]


class Count:
    """How many literals of a core are violated, as literals: output i says more than i. One is paid for."""

    def __init__(self, costs: Costs, violated: list[int], weight: int) -> None:
        self._costs = costs
        self.weight, self.size = weight, len(violated)
        self.shown: dict[int, int] = {}  # weight that output i has as a wish, those paid included
        self._bound = 1
        self._sum = ITotalizer(lits=violated, ubound=1, top_id=costs.top)
        self._take(self._sum.cnf.clauses)

    def _take(self, clauses: list[list[int]]) -> None:
        self._costs.top = max(self._costs.top, self._sum.top_id)
        for clause in clauses:
            self._costs.add(clause)

    def wish(self, i: int) -> int:
        """That no more than i are violated, i < size."""
        if i > self._bound:
            self._bound = min(self.size - 1, 2 * i)
            self._sum.increase(ubound=self._bound, top_id=self._costs.top)
            if self._sum.nof_new:
                self._take(self._sum.cnf.clauses[-self._sum.nof_new :])
        return -int(self._sum.rhs[i])


class Cores:
    """Raises the lower bound by cores, heavy wishes first."""

    def __init__(self, costs: Costs) -> None:
        self._costs, self._oracle = costs, costs.oracle
        self.counts: list[Count] = []
        self._place: dict[int, tuple[Count, int]] = {}  # of wishes that are counts
        self._waiting: list[tuple[list[int], int]] = []  # cores that are not counted yet
        self._level: int | None = None

    def turn(self, until: float) -> None:
        """Go on until a moment; `Settled` if that proves the best assignment."""
        self._oracle.until = until
        costs, board = self._costs, self._costs.board
        if self._level is None:
            self._exclude()
            self._level = self._next(max(costs.weight.values(), default=0) + 1)
        while not self._oracle.late():
            heavy = sorted(costs.weight.items(), key=lambda item: -item[1])
            answer = self._oracle.ask([wish for wish, w in heavy if w >= self._level])
            if answer is None:
                break
            if answer:
                costs.offer(self._oracle.model())
                waited = self._count()
                if not waited and self._level == 0:
                    raise Settled  # all that is left holds: the solution costs the lower bound
                if not waited:
                    self._level = self._next(self._level)
            else:
                core = self._oracle.core()
                if not core:
                    raise Settled
                self._pay(self._smaller(core))
            costs.harden()
            board.look()
        self._count()

    def _next(self, level: int) -> int:
        """The next level: as many wishes again, or twice as many of one weight; 0 for all."""
        below = sorted((w for w in self._costs.weight.values() if w < level), reverse=True)
        if not below:
            return 0
        wanted = max(1, (len(self._costs.weight) - len(below)) // 2)
        found = below[min(wanted, len(below)) - 1]
        return found if found > below[-1] else 0

    def _pay(self, core: list[int]) -> None:
        """Take from each wish of a core what the least of them weighs."""
        costs = self._costs
        paid = min(costs.weight[wish] for wish in core)
        for wish in core:
            costs.gain(wish, -paid)
            if wish in self._place:
                count, i = self._place[wish]
                self._show(count, i + 1, paid)
        if len(core) == 1:
            costs.add([-core[0]])
        else:
            costs.add([-wish for wish in core])
            self._waiting.append((core, paid))
        costs.board.raised(paid)

    def _show(self, count: Count, i: int, weight: int) -> None:
        """Wish that no more than i are violated."""
        if i < count.size:
            wish = count.wish(i)
            count.shown[i] = count.shown.get(i, 0) + weight
            self._place[wish] = count, i
            self._costs.gain(wish, weight)

    def _count(self) -> bool:
        """Count the violated wishes of the cores that wait; whether there were some."""
        waited, self._waiting = self._waiting, []
        for core, paid in waited:
            count = Count(self._costs, [-wish for wish in core], paid)
            self.counts.append(count)
            i = 1
            while i < count.size and len(core) <= _LONG and not self._oracle.late():
                wish = count.wish(i)
                answer = self._oracle.ask([wish], _FEW_CONFLICTS)
                if answer:
                    self._costs.offer(self._oracle.model())
                if answer is not False:
                    break
                count.shown[i] = paid
                self._costs.add([-wish])
                self._costs.board.raised(paid)
                i += 1
            self._show(count, i, paid)
        return bool(waited)

    def _smaller(self, core: list[int]) -> list[int]:
        """A part of a core that is one, too."""
        oracle = self._oracle
        for _ in range(3):
            if len(core) == 1 or oracle.ask(core, _CONFLICTS) is not False:
                break
            found = oracle.core()
            if not found or len(found) >= len(core):
                break
            core = found
        failures = 0
        for wish in sorted(core, key=self._costs.weight.__getitem__):
            if not 1 < len(core) <= _LONG or failures > _FAILURES or oracle.late():
                break
            rest = [other for other in core if other != wish]
            if len(rest) == len(core):
                continue
            answer = oracle.ask(rest, _FEW_CONFLICTS)
            if answer is False:
                core = oracle.core() or rest
            else:
                failures += 1
            if answer:
                self._costs.offer(oracle.model())
        return core

    def _exclude(self) -> None:
        """Wishes of which at most one can hold: all but one are paid for, and any one of them is wished."""
        costs = self._costs
        if len(costs.weight) > _MOST_PAIRED:
            return
        against: dict[int, set[int]] = {}
        for wish in list(costs.weight):
            if self._oracle.late():
                break
            possible, implied = self._oracle.follows(wish)
            if not possible:
                self._oracle.confirm([wish])
                costs.add([-wish])
                paid = costs.weight[wish]
                costs.gain(wish, -paid)
                costs.board.raised(paid)
                continue
            for literal in implied:
                if -literal in costs.weight and -literal != wish:
                    against.setdefault(wish, set()).add(-literal)
                    against.setdefault(-literal, set()).add(wish)
        weight = {wish: costs.weight.get(wish, 0) for wish in against}
        found = max((_cliques(against, weight, sign) for sign in (1, -1)), key=_gained)
        for clique, paid in found:
            for pair in itertools.combinations(clique, 2):
                self._oracle.confirm(pair)
            for member in clique:
                costs.gain(member, -paid)
            none = costs.new()
            costs.add([*clique, none])
            costs.gain(-none, paid)
            costs.board.raised(paid * (len(clique) - 1))


def _cliques(
    against: dict[int, set[int]], weight: dict[int, int], sign: int
) -> list[tuple[list[int], int]]:
    """Wishes that exclude one another in pairs, and the weight of the least; of few pairs first, or of many."""
    left, found = dict(weight), []
    degree = {wish: len(others) for wish, others in against.items()}
    order = [(sign * d, wish) for wish, d in degree.items()]
    heapq.heapify(order)
    while order:
        d, wish = heapq.heappop(order)
        if d != sign * degree[wish] or not left[wish]:
            continue
        clique = [wish]
        for other in sorted(against[wish], key=lambda other: sign * degree[other]):
            if left[other] and against[other].issuperset(clique):
                clique.append(other)
        if len(clique) == 1:
            continue
        paid = min(left[member] for member in clique)
        found.append((clique, paid))
        for member in clique:
            left[member] -= paid
            for other in () if left[member] else against[member]:
                degree[other] -= 1
                heapq.heappush(order, (sign * degree[other], other))
        if left[wish]:
            heapq.heappush(order, (sign * degree[wish], wish))
    return found


def _gained(cliques: list[tuple[list[int], int]]) -> int:
    """What they raise the lower bound by."""
    return sum(paid * (len(clique) - 1) for clique, paid in cliques)


class Linear:
    """Looks for assignments that cost less than the best one, coarse weights first."""

    def __init__(self, costs: Costs, cores: Cores) -> None:
        self._costs, self._cores, self._board = costs, cores, costs.board
        self._oracle: Oracle | None = None
        self._size = _CLAUSES
        self._lower = -1
        self._unit = 1
        self._weights: dict[int, int] = {}
        self._most = 0  # that the violated wishes may weigh, in units
        self._encoding: Any = None

    def turn(self, until: float) -> None:
        """Go on until a moment; `Settled` if that proves the best assignment."""
        if self._board.cost is None:
            return
        if self._oracle is None or self._board.lower > self._lower + self._gap() // 8:
            self._size = _CLAUSES
            if not self._begin():
                return
        assert self._oracle is not None
        self._oracle.until = until
        while not self._oracle.late():
            self._board.look()
            most = self._gap() // self._unit
            self._most = min(self._most, most)
            if self._most >= 0:
                wishes = [x.to_ipasir() for x in self._encoding.enforce_ub(self._most)]
                answer = self._oracle.ask(wishes)
                if answer is None:
                    return
                if answer:
                    model = self._oracle.model()
                    self._costs.offer(model)
                    held = sum(
                        w
                        for wish, w in self._weights.items()
                        if (model[abs(wish) - 1] > 0) != (wish > 0)
                    )
                    self._most = held - 1
                    continue
                if self._most == most:
                    raise Settled  # whatever costs less would satisfy this coarser constraint
            if self._unit == 1 or self._size >= _MOST_CLAUSES:
                self._most = most
                return
            self._size *= _FINER
            if not self._begin():
                return
            self._oracle.until = until

    def _gap(self) -> int:
        """What a better assignment may cost above the lower bound of the constraint."""
        assert self._board.cost is not None
        lower = self._board.lower if self._lower < 0 else self._lower
        return self._board.cost - 1 - lower

    def _begin(self) -> bool:
        """Encode the constraint with as much precision as it may have clauses; False if nothing fits."""
        from rustsat import Lit, VarManager
        from rustsat.encodings.pb import DynamicPolyWatchdog, GeneralizedTotalizer

        if self._oracle is not None:
            self._oracle.delete()
            self._oracle = None
        self._costs.harden()
        self._lower = self._board.lower
        weights = self._whole()
        while True:
            self._unit = 1
            while self._clauses(weights) > self._size:
                self._unit *= 2
            self._weights = {
                wish: w // self._unit for wish, w in weights.items() if w >= self._unit
            }
            if self._weights:
                break
            if self._unit == 1 or self._size >= _MOST_CLAUSES:
                return False
            self._size *= _FINER
        self._most = self._gap() // self._unit
        alike = len(set(self._weights.values())) == 1
        kind: Any = GeneralizedTotalizer if alike else DynamicPolyWatchdog
        self._encoding = kind([(Lit(-wish), w) for wish, w in self._weights.items()])
        self._oracle = Oracle(self._costs.clauses, self._board)
        for clause in self._encoding.encode_ub(0, self._most, VarManager(self._costs.top)):
            self._oracle.add([x.to_ipasir() for x in clause])
        return True

    def _whole(self) -> dict[int, int]:
        """Weights of the wishes, with those of all counts that are not wishes yet."""
        weights = dict(self._costs.weight)
        for count in self._cores.counts:
            if count.size <= _COUNTED:
                for i in range(1, count.size):
                    hidden = count.weight - count.shown.get(i, 0)
                    if hidden > 0:
                        wish = count.wish(i)
                        weights[wish] = weights.get(wish, 0) + hidden
        return weights

    def _clauses(self, weights: dict[int, int]) -> float:
        """About how many clauses the constraint takes."""
        left = [w // self._unit for w in weights.values() if w >= self._unit]
        return (
            len(left)
            * min(len(left), self._gap() // self._unit + 1)
            * (1 + max(left, default=1).bit_length() / 2)
        )


def begin(costs: Costs) -> None:
    """Have an assignment, by short tries of one solver; long ones of another prove where there is none."""
    quick = Oracle(costs.clauses, costs.board, solver="m22")
    quick.prefer(list(costs.weight))
    tries = _TRIES
    while costs.board.cost is None:
        rounds = [(quick, _FEW_CONFLICTS)] * tries + [(costs.oracle, tries * _FEW_CONFLICTS // 2)]
        for oracle, conflicts in rounds:
            answer = oracle.ask([], conflicts)
            if answer is False:
                raise Settled
            if answer:
                costs.offer(oracle.model())
            if costs.board.cost is not None:
                break
        tries *= 2
    quick.delete()


def prove(formula: dict[str, Any], board: Board, number: int = 0) -> None:
    """Prove and improve until `Settled`, in the way that a number stands for."""
    if number:
        names = ("clauses", "weights", "hard")
        rows = list(zip(*(formula[name] for name in names), strict=True))
        random.Random(number).shuffle(rows)
        formula = formula | dict(zip(names, zip(*rows, strict=True), strict=True))
    costs = Costs(formula, board, _SOLVERS[number % len(_SOLVERS)])
    begin(costs)
    cores = Cores(costs)
    linear = Linear(costs, cores)
    turn = _FIRST
    while True:
        before = board.lower
        cores.turn(time.process_time() + turn)
        if number % 2 == 0 and board.lower - before < _PACE * board.gap:
            linear.turn(time.process_time() + turn)
        turn = min(_LONGEST, _GROWTH * turn)


def read(file: BinaryIO) -> dict[str, Any]:
    """The formula of a file."""
    sizes: dict[str, Any] = json.loads(file.readline())
    arrays = {}
    for name, code in (("literals", "i"), ("offsets", "q"), ("weights", "Q"), ("hard", "B")):
        arrays[name] = array.array(code)
        arrays[name].frombytes(file.read(sizes[name] * arrays[name].itemsize))
    literals = arrays["literals"].tolist()
    clauses = [literals[a:b] for a, b in itertools.pairwise(arrays["offsets"].tolist())]
    return sizes | {"clauses": clauses, "weights": arrays["weights"], "hard": arrays["hard"]}


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    """Prove the formula behind a file descriptor, in the way of a number, as long as a process lives."""
    descriptor, number, check, parent = map(int, sys.argv[1:])
    if sys.platform == "linux":  # also while this process is stopped, between its turns
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    say(lower=0)  # from now on it may be stopped
    with os.fdopen(descriptor, "rb") as file:
        formula = read(file)
    try:
        prove(formula, Board(sys.stdin, check=bool(check)), number)
    except Settled:
        say(settled=True)
