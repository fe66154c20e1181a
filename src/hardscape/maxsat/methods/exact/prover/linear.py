"""The upper side: a search for what costs less than the best assignment."""

from __future__ import annotations

from typing import Any

from .board import Settled
from .cores import Cores
from .costs import Costs
from .oracle import BETWEEN_LOOKS, Oracle

#: Longest core of which the linear search has every count.
_COUNTED = 64
#: Clauses, about, of the first constraint on the cost; each finer one may have so many times more, up to the
#: most.
_CLAUSES, _FINER, _MOST_CLAUSES = 50_000, 5, 1_000_000
#: MiniSat as its authors' repository has it: whatever it decides has the value that it was told. Others take
#: those for the values of their last decisions, which the next conflicts replace.
_SOLVER = "mgh"


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
        self._board.look()
        if self._board.cost is None:
            return
        if self._oracle is None or self._costs.paid > self._lower + self._gap() // 8:
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
                    model = self._costs.offer(self._oracle.model())
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
        return self._costs.above(self._costs.paid if self._lower < 0 else self._lower)

    def _begin(self) -> bool:
        """Encode the constraint with as much precision as it may have clauses; False if nothing fits."""
        from rustsat import Lit, VarManager
        from rustsat.encodings.pb import DynamicPolyWatchdog, GeneralizedTotalizer

        if self._oracle is not None:
            self._oracle.delete()
            self._oracle = None
        self._cores.count_waiting()
        self._costs.harden()
        self._lower = self._costs.paid
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
        self._oracle = Oracle(self._costs.clauses, self._board, _SOLVER)
        self._oracle.begin(self._board, (), self._costs.names)
        self._oracle.guided = True
        clauses = self._encoding.encode_ub(0, self._most, VarManager(self._costs.top))
        for i, clause in enumerate(clauses):
            if i % BETWEEN_LOOKS == 0:
                self._board.look()
            self._oracle.add([x.to_ipasir() for x in clause])
        return True

    def _whole(self) -> dict[int, int]:
        """Weights of the wishes, with those of all counts that are not wishes yet."""
        weights = dict(self._costs.weight)
        for count in self._cores.counts:
            if count.size <= _COUNTED:
                for i in range(1, count.size):
                    hidden = count.hidden(i)
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
