"""CP-SAT models of OR-tools whose variables are Boolean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hardscape.errors import InputError, needed
from hardscape.maxsat.modelling.constraints import Clauses, Term

#: Ends of domains that stand for no limit, and the largest objective.
_LIMIT = _MOST_COST = 2**62


def clauses_of_cpsat(model: Any) -> Clauses:
    """Constraints and objective of a ``CpModel``, or of its ``CpModelProto``."""
    proto = model.Proto() if hasattr(model, "Proto") else model
    if not all(hasattr(proto, name) for name in ("variables", "constraints", "objective")):
        raise InputError(f"cp_model is a {type(model).__name__}; a CpModel of OR-tools is accepted")
    clauses = Clauses(len(proto.variables))
    for number, variable in enumerate(proto.variables, 1):
        domain = list(variable.domain)
        if not domain or domain[0] < 0 or domain[-1] > 1:
            raise InputError(
                f"variable {variable.name or number - 1!r} has domain {domain}; Booleans are accepted"
            )
        if domain[0] == domain[-1]:
            clauses.hard.append([number if domain[0] else -number])
    for position, constraint in enumerate(proto.constraints):
        _take(clauses, constraint, position)
    _minimise(clauses, proto)
    return clauses


def _literal(index: int) -> int:
    """Of a variable, counted from 0; -1 - i is the negation of i."""
    return index + 1 if index >= 0 else index


def _has(message: Any, name: str) -> bool:
    """Whether a message of a protocol buffer holds a part; OR-tools 9.15 has left Google's own class."""
    asked = getattr(message, f"has_{name}", None)
    return bool(message.HasField(name) if asked is None else asked())


def _take(clauses: Clauses, constraint: Any, position: int) -> None:
    unless = [-_literal(index) for index in constraint.enforcement_literal]
    for name, take in _KINDS.items():
        if _has(constraint, name):
            take(clauses, getattr(constraint, name), unless)
            return
    if hasattr(constraint, "WhichOneof"):
        kind = constraint.WhichOneof("constraint")
    else:
        known = (name for name in dir(constraint) if name.startswith("has_"))
        kind = next((name[4:] for name in known if getattr(constraint, name)()), None)
    if kind not in (None, "dummy_constraint"):
        raise InputError(
            f"constraint {position} of the model is of kind {kind}; {', '.join(_KINDS)} are accepted"
        )


def _literals(part: Any) -> list[int]:
    return [_literal(index) for index in part.literals]


def _terms(part: Any) -> list[Term]:
    return [(w, _literal(index)) for index, w in zip(part.vars, part.coeffs, strict=True)]


def _any(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    clauses.hard.append([*_literals(part), *unless])


def _all(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    clauses.hard += [[literal, *unless] for literal in _literals(part)]


def _at_most_one(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    clauses.at_least([(-1, literal) for literal in _literals(part)], -1, unless)


def _exactly_one(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    _any(clauses, part, unless)
    _at_most_one(clauses, part, unless)


def _odd(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    clauses.odd(_literals(part), unless)


def _linear(clauses: Clauses, part: Any, unless: Sequence[int]) -> None:
    """The value of a sum lies in one of several intervals."""
    terms, ends = _terms(part), list(part.domain)
    intervals = list(zip(ends[::2], ends[1::2], strict=True))
    chosen = [[]] if len(intervals) == 1 else [[-clauses.new()] for _ in intervals]
    if chosen != [[]]:
        clauses.hard.append([*(-literal for (literal,) in chosen), *unless])
    for (low, high), otherwise in zip(intervals, chosen, strict=True):
        if low > -_LIMIT:
            clauses.at_least(terms, low, [*unless, *otherwise])
        if high < _LIMIT:
            clauses.at_least([(-w, x) for w, x in terms], -high, [*unless, *otherwise])


_KINDS: Mapping[str, Callable[[Clauses, Any, Sequence[int]], None]] = {
    "bool_or": _any,
    "bool_and": _all,
    "at_most_one": _at_most_one,
    "exactly_one": _exactly_one,
    "bool_xor": _odd,
    "linear": _linear,
}


def _minimise(clauses: Clauses, proto: Any) -> None:
    if _has(proto, "floating_point_objective"):
        raise InputError("the objective has floating-point coefficients; integers are accepted")
    if _has(proto, "objective"):
        constant = proto.objective.offset
        if not float(constant).is_integer():
            raise InputError(f"the objective has the offset {constant!r}; an integer is accepted")
        clauses.minimise(_terms(proto.objective), int(constant))


def cpsat_of(num_variables: int, clauses: Iterable[tuple[list[int], int]], offset: int) -> Any:
    """A ``CpModel`` of clauses and their weights, 0 for hard ones, and of what any assignment costs more."""
    cp_model = needed("ortools.sat.python.cp_model", "ortools", "cpsat", "Formula.to_cpsat")
    model = cp_model.CpModel()
    variables = [model.new_bool_var(f"x{v}") for v in range(1, num_variables + 1)]
    violated: list[Any] = []
    weights: list[int] = []
    for clause, weight in clauses:
        literals = [variables[x - 1] if x > 0 else ~variables[-x - 1] for x in clause]
        if not weight:
            model.add_bool_or(literals)
            continue
        if len(literals) == 1:
            relaxing = ~literals[0]
        else:
            relaxing = model.new_bool_var(f"violated{len(violated)}")
            model.add_bool_or([*literals, relaxing])
        violated.append(relaxing)
        weights.append(weight)
    if abs(offset) + sum(weights) > _MOST_COST:
        raise InputError(
            f"the weights and the offset sum up to {abs(offset) + sum(weights)}; a CpModel takes {_MOST_COST}"
        )
    model.minimize(cp_model.LinearExpr.weighted_sum(violated, weights) + offset)
    return model
