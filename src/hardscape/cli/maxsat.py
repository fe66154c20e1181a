"""The command ``hardscape maxsat``, in the language of the MAX-SAT Evaluation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from hardscape.cli.early import EXIT_CODES, Costs, left, report_early, say, searched
from hardscape.cli.options import (
    Flag,
    PlotOptions,
    SeededRunOptions,
    file_help,
    format_help,
    option_group,
)
from hardscape.cli.terminal import print_json
from hardscape.errors import InputError, Interrupted
from hardscape.interrupts import answer_is_told
from hardscape.maxsat.formats import FORMATS
from hardscape.maxsat.methods import MethodName

if TYPE_CHECKING:  # a first cost is printed before they are imported
    from hardscape.maxsat import (
        CellularOptions,
        WeightingOptions,
    )

_SEARCH = Group("Search", sort_key=1)
_PARAMETERS = Parameter(
    group=_SEARCH,
    help="Parameters of the search: --options.mutation 0.2 and others of CellularOptions for cellular, "
    "--options.patience 20 and others of WeightingOptions for the other methods.",
)


@option_group(_SEARCH)
class SearchOptions:
    """How to search.

    Attributes
    ----------
    method
        auto, weighting (local search), cellular (genetic algorithm) or exact (a SAT solver, and local search).
        Without a limit a search ends when it stagnates, and auto tries a proof for 10 s.
    target
        Cost at which to stop.
    max_flips
        Flips of each thread at which to stop.
    check
        A second SAT solver confirms what the first refutes.
    runs
        Independent runs of the genetic algorithm; with a limit, so many at first.
    """

    method: MethodName = "auto"
    target: int | None = None
    max_flips: int | None = None
    check: Flag = False
    runs: int = 1


@option_group(Group("Listing", sort_key=3))
class ListingOptions:
    """To list assignments in order of their costs, each cost proven.

    Attributes
    ----------
    num_assignments
        How many to list at most, in place of a search for one.
    max_gap
        Lists no assignment that costs more than the least one by more than this.
    """

    num_assignments: int | None = None
    max_gap: int | None = None


_DEFAULT_SEARCH, _DEFAULT_LISTING = SearchOptions(), ListingOptions()
_DEFAULT_RUN, _DEFAULT_OUTPUT = SeededRunOptions(), PlotOptions()


def maxsat(
    file: Annotated[Path, file_help("The formula", FORMATS)],
    /,
    *,
    format: Annotated[str | None, format_help(FORMATS)] = None,
    search: SearchOptions = _DEFAULT_SEARCH,
    options: Annotated[dict[str, int | float | str] | None, _PARAMETERS] = None,
    listing: ListingOptions = _DEFAULT_LISTING,
    run: SeededRunOptions = _DEFAULT_RUN,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> int:
    """Find an assignment that satisfies all hard clauses and violates little weight of soft ones.

    Prints lines as solvers of the MAX-SAT Evaluation do: "c" comments ("c lb" a higher lower bound on the
    cost, a few times a second), "o" a cost, or the objective of an OPB file, whenever it improves, "s" the
    status, "v" the assignment as 0 and 1. The exit code is 30 if the optimum is proven, 10 if all hard
    clauses hold, 20 if they cannot, 0 if nothing is known; also after Ctrl-C and SIGTERM, which leave the
    status UNKNOWN where they come before a first assignment. With --num-assignments there is an "o" and a "v"
    for each.
    """
    output.check([file])
    if listing.num_assignments is not None:
        if search != _DEFAULT_SEARCH or options:
            raise InputError(
                "options of a search with --num-assignments; a list has --max-gap, and those of a run"
            )
        return _list(file, format, listing, run, output)
    if listing.max_gap is not None:
        raise InputError("--max-gap without --num-assignments; it is for a list")
    parameters = _chosen(search.method, options or {})
    _check(search, parameters, run)
    ahead = search.method in ("auto", "exact") and search.max_flips is None
    held = run.checkpoint is not None or run.executor is not None  # which the search may refuse
    costs = Costs(quiet=output.json, ahead=ahead, held=held)
    asked = vars(search) | vars(run) | {"options": parameters}
    return searched(partial(costs.read, file, format), costs, output, **asked)


def _check(
    search: SearchOptions,
    parameters: CellularOptions | WeightingOptions | None,
    run: SeededRunOptions,
) -> None:
    """Refuse what the search would of any formula, before one is read."""
    if run != _DEFAULT_RUN:
        from hardscape.engine import RunOptions

        RunOptions.checked(**(vars(run) | {"executor": None}))  # which is opened by the search
    if search != _DEFAULT_SEARCH or parameters is not None:
        from hardscape.maxsat.solve import checked_search

        checked_search(**vars(search), options=parameters)


def _chosen(
    method: MethodName, options: Mapping[str, Any]
) -> CellularOptions | WeightingOptions | None:
    if not options:
        return None
    from hardscape.maxsat import CellularOptions, WeightingOptions

    kind = CellularOptions if method == "cellular" else WeightingOptions
    names = [field.name for field in dataclasses.fields(kind)]
    if not options.keys() <= set(names):
        wrong = ", ".join(f"--options.{name}" for name in sorted(options.keys() - set(names)))
        raise InputError(f"{wrong} with --method {method}; it has {', '.join(names)}")
    try:
        return kind(**options)
    except InputError as error:
        named = str(error).partition("=")[0] in names
        raise InputError(f"--options.{error}" if named else str(error)) from None


def _list(
    file: Path,
    format: str | None,
    listing: ListingOptions,
    run: SeededRunOptions,
    output: PlotOptions,
) -> int:
    """List the cheapest assignments; the exit code."""
    if output.plot is not None:
        raise InputError("--plot with --num-assignments; a list is not drawn")
    from hardscape.maxsat import Formula, enumerate

    formula = Formula.from_file(file, format=format)
    try:
        asked = vars(run) | {"time_limit": left(run.time_limit)}
        found = enumerate(formula, **vars(listing), **asked, progress=output.json)
    except Interrupted as stop:
        if stop.result is None:
            return report_early(stop, output.json)
        found = stop.result
    status = "OPTIMUM FOUND" if found.costs else "UNKNOWN"
    if found.complete_below is None and not found.costs:
        status = "UNSATISFIABLE"
    if output.json:
        answer_is_told()
        print_json(
            {"command": "maxsat", "offset": formula.offset, "status": status} | found.to_dict()
        )
        return EXIT_CODES[status]
    if found.stopped:
        say(f"c {output.cut_short(found.stopped, 'these are the cheapest')}")
    for cost, row in zip(found.costs, found.assignment.tolist(), strict=True):
        say(f"o {cost + formula.offset}")
        say("v " + "".join(map(str, row)))
    say(f"c {len(found.costs)} assignments, {found.seconds:.3f} s")
    if found.complete_below is None:
        say("c there are no others")
    else:
        say(f"c all that cost less than {found.complete_below + formula.offset} are listed")
    answer_is_told()
    say(f"s {status}")
    return EXIT_CODES[status]
