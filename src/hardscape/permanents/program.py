"""A permanent as a product of blocks, and the cheapest method for each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Device, resolve
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, InputError
from hardscape.permanents import cost
from hardscape.permanents.expansion import Expansion, expansion
from hardscape.permanents.glynn import MAX_GLYNN_SIZE
from hardscape.permanents.matrix import Kind, Number
from hardscape.permanents.methods import (
    Candidate,
    double_candidates,
    exact_candidates,
    extended_candidates,
    frontier_exactly,
    frontier_in_double,
)
from hardscape.permanents.reduce import Reduced, Reductions

__all__ = ["Choice", "Method", "Precision", "Program", "programmed"]

Precision = Literal["auto", "double", "extended", "exact"]
Method = Literal["auto", "glynn", "repeated", "sparse", "frontier", "subset"]

#: Seconds from which it is worth looking for a narrow frontier, and density of the entries up to which.
_FRONTIER_FROM, _FRONTIER_DENSITY = 3e-3, 0.7
#: Seconds, or times the least, that a sum in which nothing cancels may take.
_SAFE, _SAFE_TIMES = 1.0, 4.0
#: Seconds from which it is worth trying expansions along lines of three and four entries.
_EXPANDED_FROM = 2.0


@dataclass(frozen=True)
class Choice:
    """What methods are chosen by.

    Attributes
    ----------
    kind : {"integer", "rational", "real", "complex"}
        Of the value.
    exact, extended, guard : bool
        The arithmetic, and whether error bounds are to be proven.
    method : str
    devices : tuple of Device
    """

    kind: Kind
    exact: bool
    extended: bool
    guard: bool
    method: Method
    devices: tuple[Device, ...]

    @property
    def kind_of_entries(self) -> Kind:
        """Of the entries of blocks."""
        if self.exact:
            return "rational"
        return "complex" if self.kind == "complex" else "real"


@dataclass(frozen=True, eq=False)
class Program:
    """A permanent taken apart: scale * prod(factors) * prod(values of the candidates).

    Attributes
    ----------
    kind : {"integer", "rational", "real", "complex"}
        Of the matrix given, which is that of the value.
    exact : bool
        Whether the candidates give Fractions; else they give `BoundedNumber`.
    scale : Fraction
    factors : tuple of numbers
    blocks : tuple of Candidate
    sides : tuple of int
        Rows of each block.
    matrices : tuple of array
        The blocks themselves.
    factor_errors, errors : tuple
        Bounds of the errors of factors and of the blocks' entries, where they were rounded.
    reductions : Reductions
    extended : bool
        Whether the candidates compute in double-double numbers.
    """

    kind: Kind
    exact: bool
    scale: Fraction
    factors: tuple[Number, ...]
    blocks: tuple[Candidate[Any], ...]
    sides: tuple[int, ...]
    matrices: tuple[Any, ...]
    factor_errors: tuple[float, ...]
    errors: tuple[NDArray[np.float64] | None, ...]
    reductions: Reductions
    extended: bool = False

    @property
    def precision(self) -> str:
        """Arithmetic of the candidates: "double", "extended" or "exact"."""
        return "exact" if self.exact else "extended" if self.extended else "double"

    @property
    def method(self) -> str:
        """Methods of the blocks, or "structure" if there is no block."""
        return "+".join(sorted({block.method for block in self.blocks})) or "structure"

    def seconds(self, devices: Sequence[Device]) -> float:
        """Estimated time on `devices`."""
        return sum(block.seconds(devices) for block in self.blocks)

    def used(self, devices: Sequence[Device]) -> str:
        """Those of `devices` that the blocks run on, in words."""
        kinds = {kind for block in self.blocks for kind in block.kinds}
        found = [device for device in devices if device.kind in kinds]
        if "cpu" in kinds and all(device.kind == "cuda" for device in found):
            found += resolve("cpu")
        return cost.describe(found or devices)


def programmed(
    reduced: Reduced,
    scale: Fraction,
    choice: Choice,
    expansions: Sequence[Expansion | None] = (),
) -> Program:
    """Choose methods for what is left of a matrix, where no expansion is chosen already."""
    chosen: list[Candidate[Any]] = []
    above = expansions or (None,) * len(reduced.blocks)
    for block, error, found in zip(reduced.blocks, reduced.errors, above, strict=True):
        chosen.append(_way(block, error, choice) if found is None else _expanded(found, choice))
    lines = sum(candidate.lines for candidate in chosen)
    return Program(
        choice.kind,
        choice.exact,
        scale * Fraction(2) ** reduced.exponent,
        reduced.factors,
        tuple(chosen),
        tuple(map(len, reduced.blocks)),
        reduced.blocks,
        reduced.factor_errors,
        reduced.errors,
        replace(reduced.reductions, expanded_lines=lines),
        choice.extended,
    )


def _way(block: NDArray[Any], error: NDArray[np.float64] | None, choice: Choice) -> Candidate[Any]:
    """The cheapest way to find the permanent of a block."""
    if choice.extended:
        ways: list[Candidate[Any]] = list(extended_candidates(block, choice.devices))
        return _cheapest(ways, len(block), choice)
    ways = _ways(block, error, choice)
    least = min((way.seconds(choice.devices) for way in ways), default=math.inf)
    if choice.method == "auto" and least > _EXPANDED_FROM:
        found = expansion(block, error, choice.kind_of_entries)
        if found is not None:
            ways.append(_expanded(found, choice))
    return _cheapest(ways, len(block), choice)


def _expanded(found: Expansion, choice: Choice) -> Candidate[Any]:
    """The sum that an expansion stands for, with the cheapest ways for its own blocks."""
    parts = []
    for term in found.terms:
        reduced = term.reduced
        factored = replace(
            reduced,
            factors=(term.factor, *reduced.factors),
            factor_errors=(term.factor_error, *reduced.factor_errors),
        )
        power = Fraction(2) ** found.exponent
        parts.append(programmed(factored, power, choice, term.expansions))
    methods = {method for part in parts for method in part.method.split("+")}
    return Candidate(
        "+".join(sorted(methods)),
        sum(block.terms for part in parts for block in part.blocks),
        sum(block.core_seconds for part in parts for block in part.blocks),
        lambda partial: partial,
        parts=tuple(parts),
        lines=found.lines,
    )


def _ways(
    block: NDArray[Any], error: NDArray[np.float64] | None, choice: Choice
) -> list[Candidate[Any]]:
    exact, devices, method = choice.exact, choice.devices, choice.method
    found: list[Candidate[Any]] = list(
        exact_candidates(block) if exact else double_candidates(block, choice.guard, devices, error)
    )
    least = min((c.seconds(devices) for c in found), default=math.inf)
    sparse = np.count_nonzero(block) <= _FRONTIER_DENSITY * block.size
    if method == "frontier" or (method == "auto" and sparse and least > _FRONTIER_FROM):
        found.extend(frontier_exactly(block) if exact else frontier_in_double(block, error))
    return found


def _cheapest(found: Sequence[Candidate[Any]], side: int, choice: Choice) -> Candidate[Any]:
    method = choice.method
    usable = [c for c in found if method in ("auto", c.method)]
    if usable:
        return _preferred(usable, choice.exact, choice.devices)
    if found:
        others = " and ".join(sorted({repr(c.method) for c in found}))
        raise InputError(
            f"method={method!r} is not for a block of side {side} as it is here; "
            f"{others} and 'auto' are accepted"
        )
    years = duration(cost.glynn_seconds(min(side, 900), complex_=False, guard=False))
    raise BudgetError(
        f"a block of side {side} is left, without a structure to use: its 2^{side - 1} terms would "
        f"take a core {years}; dense blocks of side up to {MAX_GLYNN_SIZE} are accepted, larger "
        "ones where rows or columns repeat or few entries are nonzero"
    )


def _preferred(
    candidates: Sequence[Candidate[Any]], exact: bool, devices: Sequence[Device]
) -> Candidate[Any]:
    """The cheapest candidate, or one that loses no digits and takes not much longer."""
    best = min(candidates, key=lambda c: c.seconds(devices))
    safe = [c for c in candidates if not (exact or c.cancels)]
    if not safe:
        return best
    second = min(safe, key=lambda c: c.seconds(devices))
    limit = max(_SAFE, _SAFE_TIMES * best.seconds(devices))
    return second if second.seconds(devices) <= limit else best
