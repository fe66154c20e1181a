"""Models of dimod and graphs of networkx, as far as they are Ising models."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from hardscape.errors import InputError
from hardscape.ising.exact import ExactTerms, dyadic
from hardscape.ising.intake import named_terms


def is_quadratic(model: Any) -> bool:
    """Whether it is one of dimod's models whose variables each have a type of their own."""
    held = getattr(model, "objective", model)
    return callable(getattr(held, "vartype", None)) and hasattr(held, "quadratic")


def quadratic_terms(model: Any) -> tuple[list[Hashable], ExactTerms]:
    """The labels and the exact terms of a ``QuadraticModel`` or ``ConstrainedQuadraticModel``.

    Raises
    ------
    InputError
        If there are constraints, or variables that are neither spins nor binary.
    """
    constraints = getattr(model, "constraints", {})
    if len(constraints):
        first = next(iter(constraints))
        raise InputError(
            f"the model has {len(constraints)} constraints ({first!r} is the first), and a QUBO has "
            "none; dimod.cqm_to_bqm makes penalties of them"
        )
    held = getattr(model, "objective", model)
    labels = list(model.variables)
    kinds = {}
    for label in labels:
        kind = model.vartype(label).name
        if kind not in ("SPIN", "BINARY"):
            raise InputError(
                f"variable {label!r} is of type {kind}; SPIN and BINARY are accepted (integers are "
                "sums of binary variables: dimod.generators.binary_encoding)"
            )
        kinds[label] = kind == "BINARY"
    index = {label: i for i, label in enumerate(labels)}
    sums: dict[int, list[tuple[tuple[int, ...], Fraction]]] = {0: [], 1: [], 2: []}

    def add(value: Fraction, *names: Hashable) -> None:
        """A product of variables, as products of spins: q = (1 + s) / 2 where one is binary."""
        parts: list[tuple[tuple[int, ...], Fraction]] = [((), value)]
        for name in names:
            i = index[name]
            if kinds[name]:
                parts = [(x, v / 2) for held, v in parts for x in (held, (*held, i))]
            else:
                parts = [((*held, i), v) for held, v in parts]
        for spins, v in parts:
            sums[len(spins)].append((spins, v))

    add(dyadic(held.offset, "offset"))
    for label, value in held.linear.items():
        add(dyadic(value, f"linear[{label!r}]"), label)
    for (u, v), value in held.quadratic.items():
        x = dyadic(value, f"quadratic[{u!r}, {v!r}]")
        if u == v:  # s s = 1, q q = q
            add(x, *([u] if kinds[u] else []))
        else:
            add(x, u, v)
    fields = [(i, v) for (i,), v in sums[1]]
    pairs = [(i, j, v) for (i, j), v in sums[2]]
    offset = sum((v for _, v in sums[0]), Fraction(0))
    return labels, ExactTerms.collect(len(labels), fields, pairs, offset)


def bqm_terms(bqm: Any) -> tuple[list[Hashable], ExactTerms]:
    """The labels and the exact terms of a ``BinaryQuadraticModel`` of either vartype."""
    labels = list(bqm.variables)
    linear = ((v, x, f"linear[{v!r}]") for v, x in bqm.linear.items())
    pairs = ((u, v, x, f"quadratic[{u!r}, {v!r}]") for (u, v), x in bqm.quadratic.items())
    terms = named_terms(labels, linear, pairs, bqm.offset)
    return labels, terms.from_binary() if bqm.vartype.name == "BINARY" else terms


def graph_terms(
    graph: Any, weight: str, field: str, sign: int
) -> tuple[list[Hashable], ExactTerms]:
    """The nodes and the exact terms of a graph, by the names of its attributes."""
    fields = graph.nodes(data=field, default=0.0)
    edges = graph.edges(data=weight, default=1.0)
    linear = ((v, x, f"node {v!r}, {field!r}") for v, x in fields)
    pairs = ((u, v, x, f"edge ({u!r}, {v!r}), {weight!r}") for u, v, x in edges)
    labels = list(graph.nodes)
    return labels, named_terms(labels, linear, pairs, 0.0, sign)
