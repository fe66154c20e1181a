"""OPB and WBO files: linear constraints over Booleans with an objective, or with prices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hardscape.errors import FormatError, InputError
from hardscape.files import Source, shown
from hardscape.interrupts import signals_wait

if TYPE_CHECKING:  # the formats are known before NumPy is imported
    from hardscape.maxsat.formula import Formula
    from hardscape.maxsat.modelling.constraints import Clauses, Term

NAME = "opb"
SUFFIXES = (".opb", ".wbo")
DESCRIPTION = "OPB and WBO: 'min: 2 x1 -3 x2;', '1 x1 1 ~x3 >= 1;', softly '[5] 1 x2 >= 1;'"
MAGIC = b"* #variable="
MEMORY = 20

#: A variable or its negation, and an integer.
_LITERAL, _NUMBER = re.compile(r"(~?)x([1-9]\d{0,9})"), re.compile(r"[+-]?\d{1,4000}")
#: What stands between a sign and its number, and in old files between a number and its variable.
_SIGNED, _TIMES = re.compile(r"([+-])\s+(?=\d)"), re.compile(r"(?<=\d)\s*\*\s*(?=~?x)")
_PRICE, _RELATION = re.compile(r"\[\s*(\d{1,4000})\s*\]"), re.compile(r"[<>]?=")


def read(source: Source) -> Formula:
    """Read constraints and a linear objective as a formula whose `offset` makes its cost the objective.

    The variables of the file come first; those that clauses of constraints need, and products, follow.
    """
    with signals_wait():
        from hardscape.maxsat.modelling.constraints import Clauses

    statements = list(_statements(source))
    variables = max((_largest(text) for _, text in statements), default=0)
    announced = re.match(rb"\*\s*#variable=\s*(\d{1,9})\b", source.bytes(0, min(len(source), 80)))
    variables = max(variables, int(announced[1]) if announced else 0)
    source.believe(variables, "variables")
    reader = _Reader(source, Clauses(variables))
    for line, text in statements:
        try:
            reader.take(line, text)
        except FormatError:
            raise
        except InputError as error:
            raise source.error(line, str(error)) from None
    return reader.formula()


def _statements(source: Source) -> Iterator[tuple[int, str]]:
    """What stands before each semicolon, and the line where that begins."""
    begun, text = 0, ""
    for number, line in source.lines():
        if line.startswith("*") and not text:
            continue
        *ended, rest = line.split(";")
        for part in ended:
            yield begun or number, f"{text} {part}".strip()
            begun, text = 0, ""
        text = f"{text} {rest}".strip()
        begun = (begun or number) if text else 0
    if text:
        raise source.error(begun, f"{shown(text)} does not end with a semicolon")


def _largest(text: str) -> int:
    return max((int(number) for _, number in _LITERAL.findall(text)), default=0)


class _Reader:
    """Takes one statement after the other."""

    def __init__(self, source: Source, clauses: Clauses) -> None:
        self._source, self._clauses = source, clauses
        self._products: dict[tuple[int, ...], int] = {}
        self._prices: list[Term] = []
        self._limit: int | None = None

    def take(self, line: int, text: str) -> None:
        """Take an objective, a limit on all prices, or a constraint."""
        head, colon, body = text.partition(":")
        if colon and head.strip() in ("min", "max"):
            sign = 1 if head.strip() == "min" else -1
            self._clauses.minimise((sign * w, x) for w, x in self._terms(line, body))
        elif colon and head.strip() == "soft":
            self._limit = self._number(line, body.strip()) if body.strip() else None
        elif text:
            self._constraint(line, text)

    def formula(self) -> Formula:
        """The formula of all that was taken."""
        with signals_wait():
            from hardscape.maxsat.formula import Formula

        clauses = self._clauses
        if self._limit is not None:
            clauses.at_least([(-w, x) for w, x in self._prices], 1 - self._limit)
        try:
            return Formula.of(clauses)
        except InputError as error:
            raise self._source.error(None, str(error)) from None

    def _constraint(self, line: int, text: str) -> None:
        price = _PRICE.match(text)
        text = text[price.end() :] if price else text
        relation = _RELATION.search(text)
        if relation is None:
            raise self._source.error(line, f"{shown(text)} holds none of >=, = and <=")
        terms = self._terms(line, text[: relation.start()])
        bound = self._number(line, text[relation.end() :].strip())
        demands = []
        if relation[0] != "<=":
            demands.append((terms, bound))
        if relation[0] != ">=":
            demands.append(([(-weight, literal) for weight, literal in terms], -bound))
        if price is None:
            for each, least in demands:
                self._clauses.at_least(each, least)
        else:
            weight = int(price[1])
            if weight:
                self._prices.append((weight, self._clauses.prefer(demands, weight)))

    def _terms(self, line: int, text: str) -> list[Term]:
        found: list[Term] = []
        weight: int | None = None
        literals: list[int] = []
        for word in [*_TIMES.sub(" ", _SIGNED.sub(r"\1", text)).split(), ""]:
            literal = _LITERAL.fullmatch(word)
            if literal:
                literals.append(-int(literal[2]) if literal[1] else int(literal[2]))
                continue
            following = self._number(line, word) if word else None
            if literals:
                found.append((1 if weight is None else weight, self._product(literals)))
            elif weight is not None:
                raise self._source.error(line, f"the coefficient {weight} has no variable")
            weight, literals = following, []
        return found

    def _product(self, literals: list[int]) -> int:
        """A literal that holds where all of these do."""
        key = tuple(sorted(set(literals)))
        if len(key) > 1 and key not in self._products:
            both = self._products[key] = self._clauses.new()
            self._clauses.hard += [[-both, literal] for literal in key]
            self._clauses.hard.append([both, *(-literal for literal in key)])
        return self._products.get(key, key[0])

    def _number(self, line: int, word: str) -> int:
        if not _NUMBER.fullmatch(word):
            raise self._source.error(
                line, f"{shown(word)} is neither an integer nor a literal such as x1 or ~x1"
            )
        return int(word)


def write(formula: Formula) -> Iterator[bytes]:
    """Write clauses as constraints; a soft one of several literals has a new variable, which it costs.

    A constant is no part of a file's objective: the offset is 0, or minus the weight of the soft clauses of
    one literal that is plain, which then count as ``-w x``.
    """
    literals, bounds = formula.literals.tolist(), formula.offsets.tolist()
    (soft,) = (~formula.hard).nonzero()
    alone = soft[formula.offsets[soft + 1] - formula.offsets[soft] == 1]
    plain = alone[formula.literals[formula.offsets[alone]] > 0]
    saved = -sum(formula.weights[plain].tolist())
    if formula.offset not in (0, saved):
        raise InputError(
            f"the offset is {formula.offset}; format 'opb' holds formulas whose offset is 0, or here {saved}"
        )
    price, objective, constraints = formula.num_variables, [], []
    for c, weight in enumerate(formula.weights.tolist()):
        clause = literals[bounds[c] : bounds[c + 1]]
        if weight and len(clause) == 1:
            negated = formula.offset == 0 or clause[0] < 0
            objective.append(_term(weight, -clause[0]) if negated else _term(-weight, clause[0]))
            continue
        if weight:
            price += 1
            clause.append(price)
            objective.append(_term(weight, price))
        constraints.append(" ".join([*(_term(1, x) for x in clause), ">= 1 ;\n"]))
    yield f"* #variable= {price} #constraint= {len(constraints)}\n".encode()
    if objective:
        yield f"min: {' '.join(objective)} ;\n".encode()
    for text in constraints:
        yield text.encode()


def _term(weight: int, literal: int) -> str:
    return f"{weight:+} {'~' if literal < 0 else ''}x{abs(literal)}"
