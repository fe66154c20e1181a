"""Hypothesis strategies of MAX-SAT formulas, as plain lists."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Lists:
    """A formula as lists: what `Formula.from_clauses` takes."""

    num_variables: int
    soft: list[list[int]]
    weights: list[int]
    hard: list[list[int]]

    def formula(self):
        from hardscape.maxsat import Formula

        return Formula.from_clauses(
            self.soft, self.weights, hard=self.hard, num_variables=self.num_variables
        )


@st.composite
def formulas(draw, max_variables=6, max_clauses=14, max_weight=20, allow_hard=True):
    """Formulas with empty, tautological and repeated clauses among the others."""
    n = draw(st.integers(0, max_variables))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v])) if n else st.nothing()
    clause = st.lists(literal, max_size=4) if n else st.just([])
    soft = draw(st.lists(clause, max_size=max_clauses))
    firm = st.lists(literal, min_size=1, max_size=4) if n else st.just([])
    hard = draw(st.lists(firm, max_size=max_clauses // 2)) if allow_hard and n else []
    weight = st.integers(1, max_weight)
    weights = draw(st.lists(weight, min_size=len(soft), max_size=len(soft)))
    return Lists(n, soft, weights, hard)
