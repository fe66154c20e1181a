"""The commands that study the search: ``hardscape xorsat tts``, ``scan`` and ``theory``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hardscape.cli.options import EstimatePlotOptions, PlotOptions, SeededShardRunOptions
from hardscape.cli.terminal import fact_table, note, print_json, print_parts, show, table
from hardscape.cli.xorsat.options import (
    SEARCH,
    FileArgument,
    FormatOption,
    SearchOptions,
    read_system,
)
from hardscape.errors import InputError, Interrupted
from hardscape.xorsat.methods.quasi_greedy.plan import RUN_W1, Dynamics
from hardscape.xorsat.studies.scans import W1Scan, scan_w1
from hardscape.xorsat.studies.time_to_solution import time_to_solution, times_to_solution
from hardscape.xorsat.studies.times import TimeToSolution, median_tts

if TYPE_CHECKING:
    from rich.table import Table

_PLAIN_OUTPUT = PlotOptions()
_DEFAULT_SEARCH, _DEFAULT_RUN, _DEFAULT_OUTPUT = (
    SearchOptions(),
    SeededShardRunOptions(),
    EstimatePlotOptions(),
)


def tts(
    *files: Path,
    runs: Annotated[int, Parameter(group=SEARCH)] = 100,
    timeout: Annotated[float, Parameter(group=SEARCH)] = 10.0,
    max_sweeps: Annotated[int | None, Parameter(group=SEARCH)] = None,
    format: FormatOption = None,
    search: SearchOptions = _DEFAULT_SEARCH,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
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
    max_sweeps
        Sweeps of each clone after which a run is stopped.
    """
    if not files:
        raise InputError("no file was given; one or more are accepted")
    if len(files) > 1 and (run.shards is not None or output.estimate):
        raise InputError("--shards and --estimate are for one file at a time")
    output.check(files)
    systems = [read_system(file, format) for file in files]
    keywords: dict[str, Any] = vars(search) | vars(run) | {"max_sweeps": max_sweeps}
    if output.estimated("xorsat tts", time_to_solution, systems[0], runs, timeout, **keywords):
        return
    keywords |= {"progress": True}
    try:
        if len(systems) == 1:
            results = [time_to_solution(systems[0], runs, timeout, **keywords)]
        else:
            results = list(times_to_solution(systems, runs, timeout, **keywords))
    except Interrupted as stop:
        if stop.result is not None:
            found = stop.result
            _report(files, list(found) if isinstance(found, tuple) else [found], output)
        raise
    _report(files, results, output)


def _report(
    files: tuple[Path, ...], results: list[TimeToSolution], output: EstimatePlotOptions
) -> None:
    """Print and draw the results of the files of which a run had ended."""
    known = [(file, x) for file, x in zip(files, results, strict=True) if x.runs]
    names, kept = tuple(file for file, _ in known), [x for _, x in known]
    if output.json:
        print_json(_tts_json(files, names, kept))
    else:
        print_parts(_tts_table(names, kept), *_tts_summary(kept))
    output.draw(lambda: _survival(names, kept))
    if kept[0].stopped:
        note(output.cut_short(kept[0].stopped, "the runs that had ended are counted"))


def _survival(files: tuple[Path, ...], results: list[TimeToSolution]) -> Any:
    from hardscape.xorsat.studies.plots import draw_survival

    return draw_survival(results, labels=[file.name for file in files])


def _tts_json(
    files: tuple[Path, ...], known: tuple[Path, ...], results: list[TimeToSolution]
) -> dict[str, Any]:
    rows = [{"file": str(f)} | x.to_dict() for f, x in zip(known, results, strict=True)]
    if len(files) == 1:
        return {"command": "xorsat tts"} | rows[0]
    middle = [x if math.isfinite(x) else None for x in median_tts(results)]
    names = ("median_tts99", "median_tts99_low", "median_tts99_high")
    return {"command": "xorsat tts", "instances": rows} | dict(zip(names, middle, strict=True))


def _tts_table(files: tuple[Path, ...], results: list[TimeToSolution]) -> Table:
    rows = [
        (
            file.name,
            str(x.num_variables),
            f"{x.num_solved}/{x.runs}",
            f"{x.tau:.4g}",
            f"{x.posterior.low:.4g} to {x.posterior.high:.4g}",
            f"{x.tts(99):.4g}",
            f"{x.tau_sweeps:.4g}",
        )
        for file, x in zip(files, results, strict=False)
    ]
    head = ("file", "N", "solved", "tau (s)", "interval (s)", "TTS99 (s)", "tau (sweeps)")
    return table("<>>>>>>", rows, head, "tau: mean time to solution, with its 68% interval")


def _tts_summary(results: list[TimeToSolution]) -> Iterator[Table]:
    rate = results[0].spin_updates_per_second
    w1 = ", ".join(f"{x:.4g}" for x in sorted({result.w1 for result in results}))
    facts = [
        ("search", f"{results[0].clones} clones, w1 = {w1}, {rate:.3g} spin updates/s"),
        ("device", results[0].device),
        ("seed", str(results[0].seed)),
    ]
    if len(results) > 1:
        value, low, high = median_tts(results)
        facts.insert(0, ("median TTS99", f"{value:.4g} s, {low:.4g} to {high:.4g}"))
    yield fact_table(facts)


def scan(
    file: FileArgument,
    /,
    *,
    values: Annotated[str, Parameter(group=SEARCH)] = "0.03,0.04,0.05,0.06,0.07,0.08",
    runs: Annotated[int, Parameter(group=SEARCH)] = 100,
    timeout: Annotated[float, Parameter(group=SEARCH)] = 10.0,
    dynamics: Annotated[Dynamics, Parameter(group=SEARCH)] = "quasi-greedy",
    clones: Annotated[int | None, Parameter(group=SEARCH)] = None,
    format: FormatOption = None,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the time to solution at several w1, and find the w1 of least sweeps.

    Parameters
    ----------
    values
        The w1, separated by commas.
    runs
        Runs at each.
    timeout
        Seconds after which a run is stopped; stopped runs count too.
    dynamics
        quasi-greedy (w0 = 0: a solution stays) or metropolis (w0 = w1^3).
    clones
        Searches side by side.
    """
    output.check([file])
    w1 = _numbers("--values", values)
    system = read_system(file, format)
    keywords: dict[str, Any] = {"dynamics": dynamics, "clones": clones, **vars(run)}
    if output.estimated("xorsat scan", scan_w1, system, w1, runs, timeout, **keywords):
        return
    try:
        found = scan_w1(system, w1, runs, timeout, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report_scan(stop.result, output)
        raise
    _report_scan(found, output)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(field) for field in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text!r}; numbers separated by commas are accepted") from None


def _report_scan(found: W1Scan, output: EstimatePlotOptions) -> None:
    rows = [
        (f"{w1:.4g}", f"{x.num_solved}/{x.runs}", f"{x.tau:.4g}", f"{x.tau_sweeps:.4g}")
        for w1, x in zip(found.w1, found.results, strict=True)
    ]
    best = f"{found.optimum:.4f} +- {found.optimum_error:.4f}"
    facts = [
        ("w1 of least sweeps", best if math.isfinite(found.optimum) else "none among these w1"),
        ("device", found.results[0].device),
        ("seed", str(found.seed)),
    ]
    rows_of = table(">>>>", rows, ("w1", "solved", "tau (s)", "tau (sweeps)"))
    show(output.json, "xorsat scan", found.to_dict, facts, ["", rows_of])
    stopped = found.results[0].stopped
    if stopped:
        note(output.cut_short(stopped, "the runs that had ended are counted"))
    output.draw(found.plot)


def theory(
    *,
    w1: float = RUN_W1,
    k: int = 3,
    output: PlotOptions = _PLAIN_OUTPUT,
) -> None:
    """Free-energy barrier of the K-spin model on K-regular graphs at the search's temperature.

    Parameters
    ----------
    w1
        Probability of flipping a variable of one violated clause.
    k
        Variables a clause and clauses a variable.
    """
    from hardscape.xorsat.studies.theory import (
        free_energy_barrier,
        run_temperature,
        spinodal_temperature,
    )

    output.check()
    barrier = free_energy_barrier(run_temperature(w1), k)
    highest = spinodal_temperature(k)
    plain = {"w1": w1, "spinodal_temperature": highest} | barrier.to_dict()
    at = f"at magnetisation {barrier.magnetization:.3f}"
    facts = [
        ("model", f"{k}-spin model, {k} clauses a variable, w1 = {w1:g}"),
        ("temperature", f"{barrier.temperature:.6f} = -2 / ln w1"),
        ("spinodal temperature", f"{highest:.6f}"),
        ("barrier", f"{barrier.height:.7f} a variable, {at}"),
        ("time to solution", f"grows like exp({barrier.height:.4g} N)"),
    ]
    show(output.json, "xorsat theory", lambda: plain, facts)
    output.draw(lambda: _landscape(w1, k))


def _landscape(w1: float, k: int) -> Any:
    from hardscape.figures import new_figure
    from hardscape.xorsat.studies.plots import draw_barrier, draw_free_energy

    figure = new_figure(11.0, 4.8)
    left, right = figure.subplots(1, 2)
    draw_free_energy(k=k, ax=left)
    draw_barrier(w1, k, right)
    return figure
