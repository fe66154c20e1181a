"""The command ``hardscape gauge fix``."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from cyclopts import Group

from hardscape.arrays import to_device
from hardscape.cli.gauge.ensembles import (
    EnsembleOptions,
    deliver_ensemble,
    many,
    read_arguments,
    resumed,
)
from hardscape.cli.gauge.files import FileArgument, ReadOptions, format_of, named
from hardscape.cli.gauge.ranks import all_ranks, started_by_mpi
from hardscape.cli.options import (
    OUTPUT,
    RUN,
    EstimatePlotOptions,
    Flag,
    Output,
    SeededShardRunOptions,
    option_group,
)
from hardscape.cli.terminal import aside, deliver, note, seconds_text, show
from hardscape.errors import InputError, Interrupted
from hardscape.files import check_outputs, store
from hardscape.gauge import Domains, domains, fix_ensemble, formats, layouts
from hardscape.gauge import fix as find_gauge
from hardscape.gauge.ensembles.files import outputs
from hardscape.gauge.options import Gauge, MethodName, Precision, Reduction
from hardscape.gauge.result import GaugeFixResult

_GAUGE, METHOD = Group("Gauge", sort_key=1), Group("Method", sort_key=2)


@option_group(_GAUGE)
class GaugeOptions:
    """What to reach.

    Attributes
    ----------
    gauge
        landau, coulomb or mag (maximally Abelian).
    theta
        Gauge violation to reach, tr(Delta Delta^dagger) / Nc.
    reduction
        mean or max over the sites.
    per_slice
        Ask it of every timeslice by itself; by default so for coulomb only.
    xi
        Spacing in space over that in time, for landau and mag: links in t weigh xi^2.
    """

    gauge: Gauge = "landau"
    theta: float = 1e-12
    reduction: Reduction = "mean"
    per_slice: bool | None = None
    xi: float = 1.0


@option_group(METHOD)
class MethodOptions:
    """How to get there.

    Attributes
    ----------
    method
        auto, relaxation, overrelaxation, stochastic, annealing, matrix-overrelaxation or fourier-cg.
    omega
        Overrelaxation, 1 to 2; tuned on the way by default.
    copies
        Random starts, of which the largest functional wins; 1 starts from the links as they are.
    precision
        double, single, or mixed.
    max_sweeps
        Sweeps after which a copy is given up.
    annealing_sweeps
        Heatbath sweeps of the annealing.
    """

    method: MethodName = "auto"
    omega: float | None = None
    copies: int = 1
    precision: Precision = "double"
    max_sweeps: int = 20000
    annealing_sweeps: int = 15


@option_group(RUN)
class RunOptions(SeededShardRunOptions):
    """Where to compute, for how long, and what to do with less.

    Attributes
    ----------
    strict
        Fail if theta is not reached; --no-strict writes what was reached.
    domains
        Hold the lattice on all ranks of `mpiexec -n 4 hardscape gauge fix ... --domains`, --threads in
        each of them, with a GPU each by `--device cuda`; without mpiexec on GPUs of this host,
        `--domains --device cuda:0,1`.
    """

    strict: bool = True
    domains: Flag = False


@option_group(OUTPUT)
class FixOutput(EstimatePlotOptions):
    """What to write, and whether to compute at all.

    Attributes
    ----------
    output
        File of the fixed links; its suffix gives the format, see `hardscape gauge convert`. Of many
        configurations with {stem}, {name} or {number}: 'out/{stem}.landau.lime'.
    to
        Format of that file, where the suffix does not tell; by default that of the file that is read.
    output_precision
        single or double, by default that of the file that is read.
    reproject
        Bring every link to the group before it is transformed.
    transformation
        File (.npz) of the gauge transformation: g, shape (T, Z, Y, X, Nc, Nc).
    """

    output: Output | None = None
    to: str | None = None
    output_precision: Literal["single", "double"] | None = None
    reproject: Flag = False
    transformation: Path | None = None

    def check(self, inputs: Iterable[Path] = (), outputs: Iterable[Path | None] = ()) -> None:
        """Refuse, before work begins, files that could not be written after it."""
        super().check(inputs, [*outputs, self.output, self.transformation])
        if self.transformation is not None and self.transformation.suffix != ".npz":
            raise InputError(f"--transformation {self.transformation}: the suffix .npz is accepted")


_DEFAULT_READ, _DEFAULT_GAUGE, _DEFAULT_METHOD = ReadOptions(), GaugeOptions(), MethodOptions()
_DEFAULT_RUN, _DEFAULT_OUTPUT, _DEFAULT_ENSEMBLE = RunOptions(), FixOutput(), EnsembleOptions()


def fix(
    *files: FileArgument,
    read: ReadOptions = _DEFAULT_READ,
    gauge: GaugeOptions = _DEFAULT_GAUGE,
    method: MethodOptions = _DEFAULT_METHOD,
    ensemble: EnsembleOptions = _DEFAULT_ENSEMBLE,
    run: RunOptions = _DEFAULT_RUN,
    output: FixOutput = _DEFAULT_OUTPUT,
) -> None:
    """Fix a configuration, or each of many, to Landau, Coulomb or maximally Abelian gauge."""
    every = many(files, output.output)
    if every is not None:
        _fix_many(every, read, gauge, method, ensemble, run, output)
    elif run.domains:
        on_gpus = str(run.device).startswith("cuda")
        lanes = replace(run, device="auto") if on_gpus else run
        if on_gpus and not started_by_mpi():
            _fix_one(files[0], read, gauge, method, lanes, output, run.device)
            return
        with domains(all_ranks("gauge fix"), on_gpus=on_gpus) as ranks:
            if ranks is not None:
                _fix_one(files[0], read, gauge, method, lanes, output, ranks)
    else:
        _fix_one(files[0], read, gauge, method, run, output, None)


def _fix_one(
    file: Path,
    read: ReadOptions,
    gauge: GaugeOptions,
    method: MethodOptions,
    run: RunOptions,
    output: FixOutput,
    held: Domains | str | None,
) -> None:
    output.check([file])
    if output.output is not None:
        usual = format_of(file, read.format)
        output = replace(output, to=named(output.output, output.to, usual))
    field, _ = read.checked(file)
    if output.to is not None:
        formats.rehearse(field.shape, field.nc, field.boundary, format=output.to)
    keywords: dict[str, Any] = vars(gauge) | vars(method) | vars(run)
    keywords |= {"output_precision": output.output_precision, "reproject": output.reproject}
    keywords["domains"] = held
    if output.estimated("gauge fix", find_gauge, field, **keywords):
        return
    try:
        found = find_gauge(field, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _keep(stop.result, output, run.strict)
        raise
    _keep(found, output, run.strict)
    if not found.converged:
        note(f"not converged: theta is {found.theta:.3g} where {gauge.theta:g} was asked for")


def _fix_many(
    files: Sequence[Path],
    read: ReadOptions,
    gauge: GaugeOptions,
    method: MethodOptions,
    ensemble: EnsembleOptions,
    run: RunOptions,
    output: FixOutput,
) -> None:
    for name in ("transformation", "estimate", "domains"):
        if getattr(run if name == "domains" else output, name):
            raise InputError(f"--{name} is for one configuration; {len(files)} are given")
    # Who goes on finds what was written before.
    force = output.force or resumed(run.checkpoint, run.shards)
    written = () if output.output is None else outputs(output.output, list(map(str, files)))
    check_outputs(map(Path, written), files, force=force, folders=True)
    replace(output, output=None, force=force).check(files)
    ensemble.check(files, force)
    given = vars(gauge) | vars(method)
    kind = given.pop("gauge")
    choices = {"output_precision": output.output_precision, "reproject": output.reproject}
    lanes = {name: value for name, value in vars(run).items() if name not in ("strict", "domains")}
    deliver_ensemble(
        "gauge fix",
        lambda: fix_ensemble(
            files,
            kind,
            output.output,
            to=output.to,
            read=read_arguments(read),
            error_method=ensemble.error_method,
            bin_size=ensemble.bin_size,
            arguments=given | choices | {"strict": run.strict},
            progress=True,
            **lanes,
        ),
        ensemble,
        output,
    )


def _keep(found: GaugeFixResult, output: FixOutput, strict: bool) -> None:
    """Report and write; files only of links that are in the gauge, or where any will do."""
    kept = found.converged or not strict
    places = (output.output, output.transformation) if kept else ()

    def report() -> None:
        with aside(output.output):
            show(output.json, "gauge fix", found.to_dict, _facts(found, places))
        if found.stopped:
            note(output.cut_short(found.stopped, "this is the best copy so far"))

    if kept:
        deliver(lambda: _write(found, output), report)
        output.draw(found.plot)
    else:
        report()


def _write(found: GaugeFixResult, output: FixOutput) -> None:
    if output.output is not None:
        formats.write(found.fixed(), output.output, format=output.to)
    if output.transformation is not None:
        content = io.BytesIO()
        np.savez(content, g=to_device(found.g, "cpu"))
        store(output.transformation, content.getvalue())


def _facts(found: GaugeFixResult, places: Sequence[Path | None]) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.field.shape)}, SU({found.field.nc})"
    yield "gauge", f"{found.gauge}, {'reached' if found.converged else 'NOT reached'}"
    yield "functional", f"{found.functional:.12g}"
    yield "theta", f"{found.theta_mean:.3g} mean, {found.theta_max:.3g} at most"
    yield "plaquette", f"{found.plaquette:.12g}"
    yield "method", f"{found.method}, {found.precision} precision, {found.sweeps} sweeps"
    if found.copies_total > 1:
        values = found.copies.functional[found.copies.converged]
        spread = f", functionals {values.min():.9g} to {values.max():.9g}" if len(values) else ""
        total = found.copies_total
        left = "" if len(found.copies) == total else f", {total} were asked for"
        yield "copies", f"{len(values)} of {len(found.copies)} converged{left}{spread}"
    yield "rate", f"{found.site_updates_per_second:.3g} site updates/s"
    yield "time", seconds_text(found.seconds)
    yield "device", found.device
    yield "seed", str(found.seed)
    for place in places:
        if place is not None:
            yield "file", str(place)
