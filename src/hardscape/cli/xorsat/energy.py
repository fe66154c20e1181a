"""The command ``hardscape xorsat energy``: how far local dynamics come down, against time."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from hardscape.cli.options import EstimatePlotOptions, SeededShardRunOptions
from hardscape.cli.terminal import note, show, table
from hardscape.cli.xorsat.options import SEARCH, FileArgument, FormatOption, read_system
from hardscape.errors import Interrupted
from hardscape.xorsat.methods.quasi_greedy.plan import Dynamics
from hardscape.xorsat.studies.energy import EnergyTrace, energy_trace

_DEFAULT_RUN, _DEFAULT_OUTPUT = SeededShardRunOptions(), EstimatePlotOptions()


def energy(
    file: FileArgument,
    /,
    *,
    sweeps: Annotated[int, Parameter(group=SEARCH)] = 1000,
    w1: Annotated[float | None, Parameter(group=SEARCH)] = None,
    until: Annotated[float | None, Parameter(group=SEARCH)] = None,
    dynamics: Annotated[Dynamics, Parameter(group=SEARCH)] = "quasi-greedy",
    looks: Annotated[int, Parameter(group=SEARCH)] = 20,
    clones: Annotated[int | None, Parameter(group=SEARCH)] = None,
    format: FormatOption = None,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the mean energy of many clones against time, at a constant w1 or annealed.

    Parameters
    ----------
    sweeps
        Of each clone.
    w1
        Probability of flipping a variable of one violated clause.
    until
        w1 at the end: the temperature -2 / ln w1 then falls linearly.
    dynamics
        quasi-greedy (w0 = 0: a solution stays) or metropolis (w0 = w1^3); with --until, simulated annealing.
    looks
        At the clones.
    clones
        How many, by default 16384, rounded up to a multiple of 1024.
    """
    output.check([file])
    system = read_system(file, format)
    keywords: dict[str, Any] = {"w1": w1, "until": until, "dynamics": dynamics} | vars(run)
    keywords |= {"looks": looks, "clones": clones}
    if output.estimated("xorsat energy", energy_trace, system, sweeps, **keywords):
        return
    try:
        found = energy_trace(system, sweeps, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report(stop.result, output)
        raise
    _report(found, output)


def _report(found: EnergyTrace, output: EstimatePlotOptions) -> None:
    columns = (found.sweeps, found.w1, found.energy, found.error, found.lowest)
    rows = [
        (str(sweeps), f"{w1:.4g}", f"{mean:.6f}", f"{error:.1g}", f"{least:.6f}")
        for sweeps, w1, mean, error, least in zip(*(x.tolist() for x in columns), strict=True)
    ]
    facts = [
        ("search", f"{found.clones} clones, {found.dynamics}"),
        ("device", found.device),
        ("seed", str(found.seed)),
    ]
    shown = table(">>>>>", rows, ("sweeps", "w1", "energy a variable", "error", "best clone"))
    show(output.json, "xorsat energy", found.to_dict, facts, ["", shown])
    if found.stopped:
        note(output.cut_short(found.stopped, "the clones that were through are counted"))
    output.draw(found.plot)
