"""Linear constraints over Booleans as clauses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hardscape.errors import InputError, needed

#: Longest list of which at most one may hold that is written pair by pair.
_PAIRWISE = 6
#: Terms times bound up to which a sum of unlike coefficients is a totalizer, which propagates all.
_TOTALIZED = 5_000
#: Largest weight of one clause, and largest sum of the coefficients of one constraint that rustsat counts.
_MOST = 2**63 - 1

#: A coefficient, and the literal that it counts for where that is true.
Term = tuple[int, int]


@dataclass
class Clauses:
    """Hard and soft clauses on their way to a formula; variables of our own come after the others.

    Attributes
    ----------
    num_variables : int
        The last variable in use.
    hard, soft : list of lists of int
    weights : list of int
        Of the soft clauses.
    offset : int
        What the objective is above the weight of the violated soft clauses.
    """

    num_variables: int
    hard: list[list[int]] = field(default_factory=list)
    soft: list[list[int]] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    offset: int = 0

    def new(self) -> int:
        """A new variable."""
        self.num_variables += 1
        return self.num_variables

    def minimise(self, terms: Iterable[Term], constant: int = 0) -> None:
        """Add a linear function to the objective; what is too much for one clause is spread over several."""
        given = list(terms)
        least, positive = _positive(given)
        self.offset += constant + least
        for weight, literal in positive:
            parts = min(len(given), -(-weight // _MOST))  # no more than terms were given
            self.soft += [[-literal]] * parts
            self.weights += [(weight + i) // parts for i in range(parts)]

    def at_least(self, terms: Iterable[Term], bound: int, unless: Sequence[int] = ()) -> None:
        r"""Demand :math:`\sum_i w_i l_i \ge b`, or that one of the literals `unless` holds.

        An assignment that obeys it can be completed by values of the new variables, and no other one can.

        Notes
        -----
        Coefficients become positive by :math:`-w l = w \bar l - w`, at most the bound, and without a
        common divisor; a literal without which the others do not suffice is a clause. What is left is one
        clause where each literal suffices; for equal coefficients pairs or a ladder where all but one
        literal must hold, else a totalizer (Bailleux, Boufkhad, CP 2003); for others a generalized
        totalizer (Joshi, Martins, Manquinho, CP 2015) or, where that is large, a dynamic polynomial
        watchdog (Paxian, Reimer, Becker, SAT 2018).
        """
        least, positive = _positive(terms)
        bound -= least
        if bound > 0 and unless:
            least, positive = _positive([*positive, *((bound, literal) for literal in unless)])
            bound -= least
        positive = [(min(weight, bound), literal) for weight, literal in positive]
        slack = sum(weight for weight, _ in positive) - bound
        if bound <= 0:
            return
        if slack < 0:
            self.hard.append([])
            return
        self.hard += [[literal] for weight, literal in positive if weight > slack]
        bound -= sum(weight for weight, _ in positive if weight > slack)
        rest = [(weight, literal) for weight, literal in positive if weight <= slack]
        if bound > 0:
            divisor = math.gcd(*(min(weight, bound) for weight, _ in rest))
            small = [(min(weight, bound) // divisor, literal) for weight, literal in rest]
            self._demand(small, -(-bound // divisor))

    def at_most(self, literals: Iterable[int], bound: int) -> None:
        """Demand that no more than so many of the literals hold."""
        self.at_least(((-1, literal) for literal in literals), -bound)

    def prefer(self, demands: Sequence[tuple[Sequence[Term], int]], weight: int) -> int:
        """Let it cost so much unless all demands `at_least` are met; a literal that holds where it costs."""
        price = self.new()
        for terms, bound in demands:
            self.at_least(terms, bound, unless=[price])
        self.soft.append([-price])
        self.weights.append(weight)
        return price

    def odd(self, literals: Sequence[int], unless: Sequence[int] = ()) -> None:
        """Demand that an odd number of the literals holds, or one of `unless`."""
        left = list(literals)
        while len(left) > 3:
            a, b, *left = left
            differ = self.new()
            self.hard += [[-a, -b, -differ], [a, b, -differ], [a, -b, differ], [-a, b, differ]]
            left.append(differ)
        for signs in itertools.product((1, -1), repeat=len(left)):
            if math.prod(signs) == 1:  # forbids an even number
                self.hard.append([*(s * x for s, x in zip(signs, left, strict=True)), *unless])

    def _demand(self, terms: list[Term], bound: int) -> None:
        """`at_least` of positive coefficients of which none is needed, and none more than enough."""
        literals = [literal for _, literal in terms]
        spare = sum(weight for weight, _ in terms) - bound
        if all(weight == bound for weight, _ in terms):
            self.hard.append(literals)
        elif any(weight > 1 for weight, _ in terms):
            self._weigh([(weight, -literal) for weight, literal in terms], spare)
        elif spare > 1:
            self._count(literals, bound, spare)
        elif len(terms) <= _PAIRWISE:
            self.hard += [list(pair) for pair in itertools.combinations(literals, 2)]
        else:
            rustsat = _rustsat("am1")
            ladder = rustsat.encodings.am1.Ladder([rustsat.Lit(-x) for x in literals])
            self._encode(rustsat, ladder.encode)

    def _count(self, literals: list[int], bound: int, spare: int) -> None:
        rustsat = _rustsat("card")
        kind = rustsat.encodings.card.Totalizer
        if bound <= spare:
            total = kind([rustsat.Lit(x) for x in literals])
            self._encode(rustsat, total.encode_lb, bound, bound)
            self.hard += [[x.to_ipasir()] for x in total.enforce_lb(bound)]
        else:
            total = kind([rustsat.Lit(-x) for x in literals])
            self._encode(rustsat, total.encode_ub, spare, spare)
            self.hard += [[x.to_ipasir()] for x in total.enforce_ub(spare)]

    def _weigh(self, terms: list[Term], most: int) -> None:
        """Demand that the literals that hold weigh no more than so much."""
        if sum(weight for weight, _ in terms) > _MOST:
            raise InputError(
                f"the coefficients of a linear constraint add up to "
                f"{sum(weight for weight, _ in terms)}; up to {_MOST} is accepted"
            )
        rustsat = _rustsat("pb")
        pb = rustsat.encodings.pb
        small = len(terms) * most <= _TOTALIZED
        kind = pb.GeneralizedTotalizer if small else pb.DynamicPolyWatchdog
        total = kind([(rustsat.Lit(literal), weight) for weight, literal in terms])
        self._encode(rustsat, total.encode_ub, most, most)
        self.hard += [[x.to_ipasir()] for x in total.enforce_ub(most)]

    def _encode(self, rustsat: Any, encode: Any, *bounds: int) -> None:
        variables = rustsat.VarManager(self.num_variables)
        for clause in encode(*bounds, variables):
            self.hard.append([x.to_ipasir() for x in clause])
        self.num_variables = variables.n_used()


def _rustsat(encoding: str) -> Any:
    needed(f"rustsat.encodings.{encoding}", "rustsat", "sat", "a linear constraint")
    return needed("rustsat", "rustsat", "sat", "a linear constraint")


def _positive(terms: Iterable[Term]) -> tuple[int, list[Term]]:
    """The same function with each variable once and positive coefficients: constant, and terms."""
    constant, of = 0, dict[int, int]()
    for weight, literal in terms:
        if literal < 0:
            constant += weight
            weight = -weight
        of[abs(literal)] = of.get(abs(literal), 0) + weight
    constant += sum(weight for weight in of.values() if weight < 0)
    return constant, [(abs(w), v if w > 0 else -v) for v, w in of.items() if w]
