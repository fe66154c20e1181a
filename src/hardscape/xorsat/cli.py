"""The commands of the family: ``hardscape xorsat solve``, ``tts``, ``generate`` and ``theory``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Group, Parameter

from hardscape.engine.progress import duration
from hardscape.errors import InputError, Interrupted
from hardscape.terminal import fact_table, note, print_json, print_parts
from hardscape.xorsat.generators import random_regular, random_system
from hardscape.xorsat.plan import RUN_W1
from hardscape.xorsat.runs import time_to_solution
from hardscape.xorsat.solve import Method, XorsatResult, solve
from hardscape.xorsat.system import XorSystem
from hardscape.xorsat.time_to_solution import TimeToSolution, median_tts

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["register"]

#: Most characters of an assignment, and clauses of a contradiction, that are shown to people.
_SHOWN, _SHOWN_CLAUSES = 1000, 50

_SYSTEM, _SEARCH, _OUTPUT = (
    Group(name, sort_key=i) for i, name in enumerate(("System", "Search", "Output"), start=1)
)
_Flag = Annotated[bool, Parameter(negative="")]


@Parameter(name="*", group=_SEARCH)
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The quasi-greedy search.

    Attributes
    ----------
    w1
        Probability of flipping a variable of one violated clause, by default 0.055 for degree 3.
    clones
        Searches side by side.
    device
        auto, cpu, cuda or cuda:0.
    threads
        CPU threads, by default all.
    seed
        Seed; the same one repeats the search.
    """

    w1: float | None = None
    clones: int | None = None
    device: str = "auto"
    threads: int | None = None
    seed: int | None = None


@Parameter(name="*", group=_SEARCH)
@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """When the search ends.

    Attributes
    ----------
    method
        auto (elimination, and search where that finds no solution), elimination or quasi-greedy.
    target
        Stop when so few clauses are violated; above 0 searches at once.
    time_limit
        Seconds after which the best so far is printed.
    max_sweeps
        Sweeps after which the best so far is printed.
    """

    method: Method = "auto"
    target: int = 0
    time_limit: float | None = None
    max_sweeps: int | None = None


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What to print.

    Attributes
    ----------
    json
        Print one JSON object on standard output, and nothing else there.
    """

    json: _Flag = False


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True, kw_only=True)
class PlotOptions:
    """What to draw.

    Attributes
    ----------
    plot
        Also draw into this file: .png, .pdf or .svg.
    """

    plot: Path | None = None


_DEFAULT_SEARCH, _DEFAULT_LIMIT = SearchOptions(), LimitOptions()
_DEFAULT_OUTPUT, _DEFAULT_PLOT = OutputOptions(), PlotOptions()
_Format = Annotated[str | None, Parameter(group=_SYSTEM)]


def register(app: App) -> None:
    """Add the family's commands to `app`."""
    family = App(
        name="xorsat",
        help="XORSAT and p-spin models: solve, measure the time to solution, generate, theory.",
        help_format="plaintext",
    )
    family.command(solve_file, name="solve")
    family.command(tts)
    family.command(generate)
    family.command(theory)
    app.command(family)


def solve_file(
    file: Path,
    /,
    *,
    format: _Format = None,
    search: SearchOptions = _DEFAULT_SEARCH,
    limit: LimitOptions = _DEFAULT_LIMIT,
    output: OutputOptions = _DEFAULT_OUTPUT,
) -> None:
    """Find an assignment that satisfies all clauses, or one that violates few.

    Parameters
    ----------
    file
        DIMACS CNF with x lines or groups of clauses, 2-body .qh, or .npz; also .gz, .xz.
    format
        xcnf, cnf, qh or npz, where the suffix does not tell.
    """
    if limit.method == "elimination":
        _refuse_search_options(search, limit)
    system = XorSystem.from_file(file, format=format)
    _note_cancelled(file, system)
    try:
        found = solve(
            system,
            method=limit.method,
            w=search.w1,
            clones=search.clones,
            device=search.device,
            threads=search.threads,
            time_limit=limit.time_limit,
            max_sweeps=limit.max_sweeps,
            target=limit.target,
            seed=search.seed,
            progress=True,
        )
    except Interrupted as stop:
        if stop.result is not None:
            _report(system, stop.result, output)
        raise
    _report(system, found, output)


def _refuse_search_options(search: SearchOptions, limit: LimitOptions) -> None:
    """Refuse what elimination would ignore."""
    given = {
        name: value
        for name, value in vars(search).items()
        if value != getattr(_DEFAULT_SEARCH, name)
    }
    given |= {
        name: value
        for name, value in vars(limit).items()
        if name != "method" and value != getattr(_DEFAULT_LIMIT, name)
    }
    for name in given:
        flag = f"--{name.replace('_', '-')}"
        raise InputError(f"{flag} is for a search; leave it out, or give another --method")


def _note_cancelled(file: Path, system: XorSystem) -> None:
    if system.cancelled_pairs:
        pairs = system.cancelled_pairs
        note(
            f"{file}: {pairs} pair{'s' if pairs > 1 else ''} of equal variables in a clause cancelled"
        )


def _report(system: XorSystem, found: XorsatResult, output: OutputOptions) -> None:
    if output.json:
        print_json({"command": "xorsat solve"} | found.to_dict())
    else:
        print_parts(fact_table(_solve_facts(system, found)))
    if found.stopped:
        cause = found.stopped.replace("_", " ")
        note(f"stopped by {cause} with {found.violated} clauses violated, the fewest so far")


def _solve_facts(system: XorSystem, found: XorsatResult) -> Iterator[tuple[str, str]]:
    yield "system", repr(system).removeprefix("XorSystem(").removesuffix(")")
    if found.satisfied:
        yield "satisfied", "yes: no clause is violated"
    else:
        proof = ", proven fewest" if found.optimal else ""
        yield "satisfied", f"no: {found.violated} clauses are violated{proof}"
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
    yield "time", _time(found.seconds)
    yield "device", found.device


def _cut(bits: str) -> str:
    return bits if len(bits) <= _SHOWN else f"{bits[:_SHOWN]}... (--json prints all)"


def tts(
    *files: Path,
    runs: Annotated[int, Parameter(group=_SEARCH)] = 100,
    timeout: Annotated[float, Parameter(group=_SEARCH)] = 10.0,
    format: _Format = None,
    search: SearchOptions = _DEFAULT_SEARCH,
    plots: PlotOptions = _DEFAULT_PLOT,
    output: OutputOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the time to solution of the quasi-greedy search, one system or several.

    Parameters
    ----------
    files
        One file or more, as for solve.
    runs
        Runs a system.
    timeout
        Seconds after which a run is stopped; stopped runs count too.
    format
        xcnf, cnf, qh or npz, where the suffix does not tell.
    """
    if not files:
        raise InputError("no file was given; one or more are accepted")
    _check_plot(plots.plot)
    results = []
    for file in files:
        system = XorSystem.from_file(file, format=format)
        _note_cancelled(file, system)
        results.append(
            time_to_solution(
                system,
                runs,
                timeout,
                w=search.w1,
                clones=search.clones,
                device=search.device,
                threads=search.threads,
                seed=search.seed,
            )
        )
    if output.json:
        print_json(_tts_json(files, results))
    else:
        print_parts(_tts_table(files, results), *_tts_summary(results))
    if plots.plot is not None:
        from hardscape.figures import save_plot
        from hardscape.xorsat.plots import draw_survival

        save_plot(draw_survival(results), plots.plot)


def _tts_json(files: tuple[Path, ...], results: list[TimeToSolution]) -> dict[str, Any]:
    rows = [{"file": str(f)} | x.to_dict() for f, x in zip(files, results, strict=True)]
    if len(rows) == 1:
        return {"command": "xorsat tts"} | rows[0]
    middle = [x if math.isfinite(x) else None for x in median_tts(results)]
    names = ("median_tts99", "median_tts99_low", "median_tts99_high")
    return {"command": "xorsat tts", "instances": rows} | dict(zip(names, middle, strict=True))


def _tts_table(files: tuple[Path, ...], results: list[TimeToSolution]) -> RenderableType:
    from rich.table import Table

    table = Table(
        caption="tau: mean time to solution, with its 68% interval", caption_justify="left"
    )
    for name in ("file", "N", "solved", "tau (s)", "interval (s)", "TTS99 (s)", "tau (sweeps)"):
        table.add_column(name, justify="left" if name == "file" else "right", overflow="fold")
    for file, x in zip(files, results, strict=True):
        table.add_row(
            file.name,
            str(x.num_variables),
            f"{x.num_solved}/{x.runs}",
            f"{x.tau:.4g}",
            f"{x.posterior.low:.4g} to {x.posterior.high:.4g}",
            f"{x.tts(99):.4g}",
            f"{x.tau_sweeps:.4g}",
        )
    return table


def _tts_summary(results: list[TimeToSolution]) -> Iterator[RenderableType]:
    rate = results[0].spin_updates_per_second
    facts = [
        (
            "search",
            f"{results[0].clones} clones, w1 = {results[0].w1:g}, {rate:.3g} spin updates/s",
        ),
        ("device", results[0].device),
    ]
    if len(results) > 1:
        value, low, high = median_tts(results)
        facts.insert(0, ("median TTS99", f"{value:.4g} s, {low:.4g} to {high:.4g}"))
    yield fact_table(facts)


@Parameter(name="*", group=_SYSTEM)
@dataclass(frozen=True, kw_only=True)
class RandomOptions:
    """The random system.

    Attributes
    ----------
    n
        Number of variables.
    k
        Variables a clause.
    degree
        Clauses a variable; every variable has as many. By default 3.
    density
        Clauses over variables, instead of a degree.
    seed
        The same seed gives the same system.
    planted
        A hidden assignment satisfies all clauses; --no-planted draws right-hand sides.
    full_rank
        Draw until the rank is full, so that there is one solution; --no-full-rank takes any.
    """

    n: int
    k: int = 3
    degree: int | None = None
    density: float | None = None
    seed: int | None = None
    planted: bool = True
    full_rank: bool | None = None


def generate(
    *,
    random: RandomOptions,
    file: Annotated[Path, Parameter(name=["--output", "-o"], group=_OUTPUT)],
    format: Annotated[str | None, Parameter(group=_OUTPUT)] = None,
    output: OutputOptions = _DEFAULT_OUTPUT,
) -> None:
    """Write a random system: regular, as in the 3-XORSAT challenge, or of a given density.

    Parameters
    ----------
    file
        Where to: .cnf, .qh or .npz, also .gz, .xz.
    format
        xcnf, cnf, qh or npz, where the suffix does not tell.
    """
    if random.density is None:
        system = random_regular(
            random.n,
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
            random.n, random.density, random.k, seed=random.seed, planted=random.planted
        )
    system.to_file(file, format=format)
    facts = {"n": system.num_variables, "clauses": system.num_clauses, "rank": system.rank()}
    if output.json:
        print_json({"command": "xorsat generate", "file": str(file)} | facts)
    else:
        shown = {"file": str(file)} | {name: str(value) for name, value in facts.items()}
        print_parts(fact_table(shown.items()))


def theory(
    *,
    w1: float = RUN_W1,
    k: int = 3,
    plots: PlotOptions = _DEFAULT_PLOT,
    output: OutputOptions = _DEFAULT_OUTPUT,
) -> None:
    """Free-energy barrier of the K-spin model on K-regular graphs at the search's temperature.

    Parameters
    ----------
    w1
        Probability of flipping a variable of one violated clause.
    k
        Variables a clause and clauses a variable.
    """
    from hardscape.xorsat.theory import (
        free_energy_barrier,
        run_temperature,
        spinodal_temperature,
    )

    _check_plot(plots.plot)
    barrier = free_energy_barrier(run_temperature(w1), k)
    highest = spinodal_temperature(k)
    if output.json:
        rows = {"w1": w1, "spinodal_temperature": highest} | barrier.to_dict()
        print_json({"command": "xorsat theory"} | rows)
    else:
        facts = [
            ("model", f"{k}-spin model, {k} clauses a variable, w1 = {w1:g}"),
            ("temperature", f"{barrier.temperature:.6f} = -2 / ln w1"),
            ("spinodal temperature", f"{highest:.6f}"),
            (
                "barrier",
                f"{barrier.height:.7f} a variable, at magnetisation {barrier.magnetization:.3f}",
            ),
            ("time to solution", f"grows like exp({barrier.height:.4g} N)"),
        ]
        print_parts(fact_table(facts))
    if plots.plot is not None:
        from hardscape.figures import new_figure, save_plot
        from hardscape.xorsat.plots import draw_barrier, draw_free_energy

        figure = new_figure(11.0, 4.8)
        left, right = figure.subplots(1, 2)
        draw_free_energy(k=k, ax=left)
        draw_barrier(w1, k, right)
        save_plot(figure, plots.plot)


def _check_plot(path: Path | None) -> None:
    if path is not None:
        from hardscape.figures import check_plot_path

        check_plot_path(path)


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 1 else duration(seconds)
