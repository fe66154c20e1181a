"""The commands ``hardscape xorsat solve``, ``tts``, ``scan``, ``energy``, ``generate`` and ``theory``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from cyclopts import App, Parameter

from hardscape.cli.options import (
    OUTPUT,
    FileOptions,
    JsonOptions,
    Output,
    Seed,
    SeededShardRunOptions,
    option_group,
    target_help,
)
from hardscape.cli.terminal import aside, deliver, note, seconds_text, show
from hardscape.cli.xorsat.energy import energy
from hardscape.cli.xorsat.options import (
    SEARCH,
    SYSTEM,
    FileArgument,
    FormatOption,
    SearchOptions,
    read_system,
)
from hardscape.cli.xorsat.study import scan, theory, tts
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.formats import FORMATS
from hardscape.xorsat.generators import random_regular, random_system
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement
from hardscape.xorsat.result import XorsatResult
from hardscape.xorsat.solve import Method, solve
from hardscape.xorsat.system import XorSystem

#: Most characters of an assignment, and clauses of a contradiction, that are shown to people.
_SHOWN, _SHOWN_CLAUSES = 1000, 50


@option_group(SEARCH)
class LimitOptions:
    """When the search ends.

    Attributes
    ----------
    method
        auto (elimination, and search where that finds no solution, for 10 s if no other limit is
        given), elimination or quasi-greedy.
    target
        Stop when so few clauses are violated; above 0 searches at once.
    max_sweeps
        Sweeps after which the best so far is printed.
    """

    method: Method = "auto"
    target: int = 0
    max_sweeps: int | None = None


_DEFAULT_SEARCH, _DEFAULT_LIMIT = SearchOptions(), LimitOptions()
_DEFAULT_RUN, _DEFAULT_OUTPUT = SeededShardRunOptions(), JsonOptions()
_DEFAULT_FILES = FileOptions()


xorsat = App(
    name="xorsat",
    help="XORSAT and p-spin models: solve, measure the time to solution, generate, theory.",
    help_format="plaintext",
)
xorsat.command(tts)
xorsat.command(scan)
xorsat.command(energy)
xorsat.command(theory)


def solve_file(
    file: FileArgument,
    /,
    *,
    format: FormatOption = None,
    search: SearchOptions = _DEFAULT_SEARCH,
    limit: LimitOptions = _DEFAULT_LIMIT,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: JsonOptions = _DEFAULT_OUTPUT,
) -> None:
    """Find an assignment that satisfies all clauses, or one that violates few."""
    if limit.method == "elimination":
        _refuse_search_options(search, limit)
    system = read_system(file, format)
    try:
        found = solve(
            system,
            **vars(search),
            progress=True,
            **vars(limit),
            **vars(run),
            on_improvement=None if output.json else _tell,
        )
    except Interrupted as stop:
        if stop.result is not None:
            _report(system, stop.result, output)
        raise
    _report(system, found, output)


xorsat.command(solve_file, name="solve")


def _tell(found: Improvement) -> None:
    """One line on standard error, also while the bar is drawn there."""
    note(f"{_clauses(found.violated)} after {found.sweeps} sweeps, {seconds_text(found.seconds)}")


def _clauses(violated: int) -> str:
    return f"{violated} clause{'' if violated == 1 else 's'} violated"


def _refuse_search_options(search: SearchOptions, limit: LimitOptions) -> None:
    """Refuse what says how to search; where and for how long to run is for every method."""
    defaults = vars(_DEFAULT_SEARCH) | vars(_DEFAULT_LIMIT)
    for name, value in (vars(search) | vars(limit)).items():
        if name != "method" and value != defaults[name]:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag} is for a search; leave it out, or give another --method")


def _report(system: XorSystem, found: XorsatResult, output: JsonOptions) -> None:
    show(output.json, "xorsat solve", found.to_dict, _solve_facts(system, found))
    if found.stopped:
        left = f"{_clauses(found.violated)}, the fewest so far"
        if found.stopped == "time_limit" and found.time_limit is not None:
            left += f"; {seconds_text(found.time_limit)} were given"
        note(output.cut_short(found.stopped, left))


def _solve_facts(system: XorSystem, found: XorsatResult) -> Iterator[tuple[str, str]]:
    yield "system", repr(system).removeprefix("<XorSystem: ").removesuffix(">")
    if found.satisfied:
        yield "satisfied", "yes: no clause is violated"
    else:
        proof = ", proven fewest" if found.optimal else ""
        yield "satisfied", f"no: {_clauses(found.violated)}{proof}"
    if found.contradiction:
        shown = " ".join(map(str, found.contradiction[:_SHOWN_CLAUSES]))
        more = " ..." if len(found.contradiction) > _SHOWN_CLAUSES else ""
        yield (
            "contradiction",
            f"the sum of {len(found.contradiction)} clauses reads 0 = 1, counted from 0: {shown}{more}",
        )
    yield "assignment", _cut(found.bit_string())
    if found.method == "elimination":
        yield (
            "method",
            "elimination (the clauses are linear equations; --method quasi-greedy searches)",
        )
    else:
        yield "method", found.method
        yield "search", f"{found.sweeps} sweeps of {found.clones} clones"
        yield "rate", f"{found.spin_updates / max(found.seconds, 1e-9):.3g} spin updates/s"
    yield "time", seconds_text(found.seconds)
    yield "device", found.device
    if found.seed is not None:
        yield "seed", str(found.seed)


def _cut(bits: str) -> str:
    return bits if len(bits) <= _SHOWN else f"{bits[:_SHOWN]}... (--json prints all)"


@option_group(SYSTEM)
class RandomOptions:
    """The random system.

    Attributes
    ----------
    num_variables
        N.
    k
        Variables a clause.
    degree
        Clauses a variable; every variable has as many. By default 3.
    density
        Clauses over variables, instead of a degree.
    planted
        A hidden assignment satisfies all clauses; --no-planted draws right-hand sides.
    full_rank
        Draw until the rank is full, so that there is one solution; --no-full-rank takes any.
    """

    num_variables: int
    k: int = 3
    degree: int | None = None
    density: float | None = None
    seed: Seed = None
    planted: bool = True
    full_rank: bool | None = None


@xorsat.command
def generate(
    *,
    random: RandomOptions,
    output: Annotated[Output, Parameter(group=OUTPUT)],
    to: Annotated[str | None, target_help(FORMATS), Parameter(group=OUTPUT)] = None,
    told: FileOptions = _DEFAULT_FILES,
) -> None:
    """Write a random system: regular, as in the 3-XORSAT challenge, or of a given density.

    Parameters
    ----------
    output
        File to write. - is standard output, the report then goes aside.
    """
    to = FORMATS.named_by(output) if to is None else to
    told.check(outputs=[output])
    if random.density is None:
        system = random_regular(
            random.num_variables,
            random.k,
            3 if random.degree is None else random.degree,
            seed=random.seed,
            planted=random.planted,
            full_rank=random.full_rank is not False,
        )
    else:
        for name in ("degree", "full_rank"):
            if getattr(random, name) is not None:
                raise InputError(
                    f"--{name.replace('_', '-')} is for regular systems, not --density"
                )
        system = random_system(
            random.num_variables, random.density, random.k, seed=random.seed, planted=random.planted
        )
    facts = {
        "file": str(output),
        "seed": system.seed,
        "num_variables": system.num_variables,
        "num_clauses": system.num_clauses,
        "rank": system.rank(),
    }

    def report() -> None:
        with aside(output):
            shown = ((name, str(value)) for name, value in facts.items())
            show(told.json, "xorsat generate", lambda: facts, shown)

    deliver(lambda: system.to_file(output, format=to), report)
