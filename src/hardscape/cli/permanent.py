"""The command ``hardscape permanent``."""

from __future__ import annotations

import cmath
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group

from hardscape.cli.options import (
    LongOptions,
    ShardRunOptions,
    file_help,
    format_help,
    option_group,
)
from hardscape.cli.terminal import seconds_text, show
from hardscape.errors import InputError
from hardscape.permanents import formats
from hardscape.permanents import permanent as find_permanent
from hardscape.permanents.numbers.gaussian import ExactComplex
from hardscape.permanents.plan import Plan, plan
from hardscape.permanents.result import PermanentResult, written
from hardscape.permanents.settings import MethodName, Precision

#: Most digits of an exact value that are shown to people.
_DIGITS = 200

_PROBLEM = Group("Problem", sort_key=1)


@option_group(_PROBLEM)
class ProblemOptions:
    """What to take the permanent of.

    Attributes
    ----------
    base
        First index, 0 or 1, of files of format coo; by default what the indices tell.
    rows
        How often each row counts: integers of 0 or more, separated by commas, "2,0,1".
    cols
        The same for columns; both add up to the same number.
    precision
        auto (exact for integers, double for the rest), double, extended or exact.
    method
        auto takes the cheapest.
    memory
        Gigabytes that the tables of "frontier" may take; what the machine has left.
    """

    format: Annotated[str | None, format_help(formats.FORMATS)] = None
    base: int | None = None
    rows: str | None = None
    cols: str | None = None
    precision: Precision = "auto"
    method: MethodName = "auto"
    memory: float | None = None


_DEFAULT_PROBLEM, _DEFAULT_RUN, _DEFAULT_OUTPUT = (
    ProblemOptions(),
    ShardRunOptions(),
    LongOptions(),
)


def permanent(
    file: Annotated[Path, file_help("The matrix", formats.FORMATS)],
    /,
    *,
    problem: ProblemOptions = _DEFAULT_PROBLEM,
    run: ShardRunOptions = _DEFAULT_RUN,
    output: LongOptions = _DEFAULT_OUTPUT,
) -> None:
    """Compute the permanent of a matrix."""
    matrix = formats.read_matrix(file, format=problem.format, base=problem.base)
    chosen: dict[str, Any] = {
        "rows": multiplicities("--rows", problem.rows),
        "cols": multiplicities("--cols", problem.cols),
        "precision": problem.precision,
        "method": problem.method,
        "memory": problem.memory,
        "full_output": True,
    }
    planned = plan(matrix, device=run.device, threads=run.threads, **chosen)
    if output.estimate:
        show(output.json, "permanent", planned.to_dict, _plan_facts(planned))
        return
    if run.time_limit is None:
        work = f"this permanent ({planned.method}, {planned.terms} terms, on {planned.device})"
        output.refuse_unasked(work, planned.seconds)
    limit = 1e18 if output.yes and run.time_limit is None else run.time_limit
    where = vars(run) | {"time_limit": limit}
    found = find_permanent(matrix, **chosen, **where, progress=True)
    show(output.json, "permanent", lambda: _plain(planned, found), _facts(planned, found))


def multiplicities(option: str, text: str | None) -> list[int] | None:
    """The integers that an option lists; None if it was not given."""
    if text is None:
        return None
    fields = [field.strip() for field in text.split(",")]
    for field in fields:
        if not re.fullmatch(r"[0-9]{1,9}", field):
            raise InputError(f"{option} has {field!r}; integers of 0 or more, 2,0,1, are accepted")
    return [int(field) for field in fields]


def _plain(planned: Plan, found: PermanentResult) -> dict[str, Any]:
    plain = found.to_dict()
    keys = ("value", "mantissa", "exponent", "error_bound", "rigorous", "likely_error", "condition", "method",
            "precision", "terms", "reductions", "seconds", "device", "stopped", "retries")  # fmt: skip
    return {"shape": list(planned.shape)} | {key: plain[key] for key in keys}


def _facts(planned: Plan, found: PermanentResult) -> Iterator[tuple[str, str]]:
    yield "matrix", _shape(planned)
    if isinstance(found.value, int | Fraction | ExactComplex):
        exact = written(found.value)
        cut = f"{exact[:_DIGITS]}... ({len(exact)} characters; --json prints all)"
        yield "permanent", exact if len(exact) <= _DIGITS else cut
    else:
        whole = cmath.isfinite(complex(found.value))
        yield (
            "permanent",
            repr(found.value) if whole else f"{found.mantissa!r} * 2^{found.exponent}",
        )
        proven = "at most" if found.rigorous else "estimated as"
        yield "error", f"{proven} {found.error_bound:.2g}"
    yield "method", f"{found.method}, {found.precision}, {found.terms} terms"
    used = {name: count for name, count in vars(found.reductions).items() if count}
    if used:
        yield "structure", ", ".join(f"{x.replace('_', ' ')}: {n}" for x, n in used.items())
    yield "time", seconds_text(found.seconds)
    yield "device", found.device


def _shape(planned: Plan) -> str:
    rows, columns = planned.shape
    return f"{rows} x {columns}"


def _plan_facts(planned: Plan) -> Iterator[tuple[str, str]]:
    yield "matrix", _shape(planned)
    sides = ", ".join(str(block.side) for block in planned.blocks)
    yield "blocks", f"of side {sides}" if sides else "none: zeros alone decide"
    yield "method", f"{planned.method}, {planned.precision}, {planned.terms} terms"
    yield "time", f"about {seconds_text(planned.seconds)} on {planned.device}"
    for device, seconds in planned.seconds_elsewhere.items():
        yield "", f"about {seconds_text(seconds)} on {device}"
    yield "planned in", seconds_text(planned.planning_seconds)
