"""The commands ``hardscape gauge info``, ``convert``, ``generate`` and ``propagator``, and the group of all."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from cyclopts import App, Group

from hardscape.cli.gauge.eigenvalues import eigenvalues
from hardscape.cli.gauge.ensembles import (
    EnsembleOptions,
    ErrorOptions,
    deliver_anyway,
    deliver_ensemble,
    measuring,
    resumed,
)
from hardscape.cli.gauge.files import (
    FileArgument,
    FileOptions,
    ReadOptions,
    extents,
    format_of,
    named,
    pair,
)
from hardscape.cli.gauge.fixing import fix
from hardscape.cli.gauge.flow import flow
from hardscape.cli.gauge.ghost import ghost
from hardscape.cli.gauge.observables import observables
from hardscape.cli.gauge.ranks import all_ranks, started_by_mpi
from hardscape.cli.gauge.scan import scan
from hardscape.cli.options import (
    EstimatePlotOptions,
    Flag,
    Json,
    Output,
    PlotOptions,
    RunOptions,
    SeededRunOptions,
    option_group,
)
from hardscape.cli.terminal import (
    aside,
    cut_short,
    deliver,
    note,
    print_json,
    print_parts,
    show,
    table,
)
from hardscape.errors import ChecksumError, InputError, Interrupted
from hardscape.files import check_outputs
from hardscape.gauge import Domains, domains, formats, layouts
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.ensembles.generating import generate_ensemble, numbered
from hardscape.gauge.field import UNITARITY_TOLERANCE
from hardscape.gauge.formats.content import in_precision
from hardscape.gauge.generate import generate as make_field
from hardscape.gauge.gluon.algebra import Definition
from hardscape.gauge.gluon.momenta import Cut
from hardscape.gauge.gluon.propagator import DEFAULT_THETA, GluonPropagator, gluon_propagator
from hardscape.gauge.report import FileReport
from hardscape.gauge.result import DTYPES

if TYPE_CHECKING:
    from rich.table import Table

_CHAIN = Group("Markov chain", sort_key=1)
#: Momenta that the table lists.
_ROWS = 40

gauge = App(
    name="gauge",
    help="Lattice gauge configurations: info, convert, generate, fix, measure.",
    help_format="plaintext",
)
gauge.command(fix)
gauge.command(flow)
gauge.command(observables)
gauge.command(ghost)
gauge.command(eigenvalues)
gauge.command(scan)


_DEFAULT_READ = ReadOptions()


@gauge.command
def info(
    file: FileArgument,
    /,
    *,
    precision: Literal["single", "double"] | None = None,
    read: ReadOptions = _DEFAULT_READ,
    json: Json = False,
) -> None:
    """Check everything that a file of links says about itself: checksum, plaquette, trace, unitarity.

    Parameters
    ----------
    precision
        The same as --input-precision.
    """
    _, report = read.inspect(file, precision)
    show(json, "gauge info", report.to_dict, _report_facts(report))
    wrong = report.contradictions()
    if not report.unitarity <= UNITARITY_TOLERANCE:
        wrong.append(
            f"a link is {report.unitarity:.3g} away from SU({report.nc}); "
            f"at most {UNITARITY_TOLERANCE:g} is accepted"
        )
    if wrong:
        if not read.ignore_checksum:
            raise ChecksumError(file, None, "; ".join(wrong))
        note(f"warning: {file}: {'; '.join(wrong)}")


def _report_facts(report: FileReport) -> Iterator[tuple[str, str]]:
    yield "format", f"{report.format}, {report.precision} precision"
    edge = "" if report.boundary == "periodic" else f", {_EDGES[report.boundary]}"
    yield "lattice", f"{layouts.extents(report.shape)}, SU({report.nc}){edge}"
    for name, average, stated, ok in (
        ("plaquette", report.plaquette, report.plaquette_stated, report.plaquette_ok),
        ("link trace", report.link_trace, report.link_trace_stated, report.link_trace_ok),
    ):
        told = "" if stated is None else f", {average - stated:+.2g} from it"
        yield name, f"{average:.12g}{_verdict(ok)}{told}"
    checksum = report.checksum_stated or "none in this file"
    yield "checksum", f"{checksum}{_verdict(report.checksum_ok)}"
    yield "unitarity", f"{report.unitarity:.3g} (largest deviation of an entry)"
    for key, value in report.header.items():
        if len(value) <= 80 and "\n" not in value:
            yield "header", f"{key} = {value}"


_EDGES = {
    "open": "open boundaries",
    "sf": "Schroedinger functional",
    "open-sf": "open and Schroedinger functional",
}


def _verdict(ok: bool | None) -> str:
    return {True: " (as stated)", False: " (NOT as stated)", None: ""}[ok]


_DEFAULT_FILE, _DEFAULT_OUTPUT = FileOptions(), PlotOptions()


@gauge.command
def convert(
    file: FileArgument,
    output: Path,
    /,
    *,
    reproject: Flag = False,
    read: ReadOptions = _DEFAULT_READ,
    written: FileOptions = _DEFAULT_FILE,
    output_precision: Literal["single", "double"] | None = None,
    json: Json = False,
) -> None:
    """Write a configuration in another format, precision or byte order.

    Parameters
    ----------
    output
        The suffix tells the format, else that of the input stays. - is standard output, the report then goes
        aside.
    reproject
        Bring every link back to the group, in the precision that is written.
    output_precision
        The same as --precision, which with --format raw is that of the input.
    """
    name = written.check(output, [file], usual=format_of(file, read.format))
    raw = read.format == "raw"
    field, report = read.checked(file, written.precision if raw else None)
    precision = output_precision or (None if raw else written.precision)
    if reproject:
        # In double first: what is rounded afterwards is as near to the group as its precision allows.
        field = (
            field.astype(np.complex128).reproject().astype(DTYPES[precision or report.precision])
        )
    else:
        field.require_unitary()
    kept = report.header if name == report.format else None
    written.write(field, output, kept, format=name, precision=precision)
    field = in_precision(field, precision)
    facts = {"file": str(output), "format": name, "plaquette": field.plaquette()}
    with aside(output):
        if json:
            shape = {"shape": list(field.shape), "nc": field.nc}
            print_json({"command": "gauge convert", "source_format": report.format} | facts | shape)
        else:
            print_parts(f"{file} ({report.format}) -> {output} ({name})")


@option_group(_CHAIN)
class ChainOptions:
    """How to generate.

    Attributes
    ----------
    nc
        Number of colours, 2 to 8.
    sweeps
        Heatbath sweeps.
    overrelax
        Overrelaxation sweeps after each of them.
    start
        hot (random links) or cold (identities).
    boundary
        In time: periodic, open, sf (Schroedinger functional), or open-sf (at its end alone).
    xi
        Bare anisotropy: plaquettes with time count xi times, others 1 / xi times.
    chain
        Configurations of one chain to write, to 'cfg.{number}.lime'.
    every
        Heatbath sweeps from one of these to the next.
    domains
        Hold the lattice on all ranks of `mpiexec -n 4 hardscape gauge generate ... --domains`, --threads
        in each of them, with a GPU each by `--device cuda`; without mpiexec on GPUs of this host,
        `--domains --device cuda:0,1`.
    """

    nc: int = 3
    sweeps: int = 200
    overrelax: int = 2
    start: Literal["hot", "cold"] = "hot"
    boundary: Boundary = "periodic"
    xi: float = 1.0
    chain: int | None = None
    every: int = 10
    domains: Flag = False


_DEFAULT_CHAIN, _DEFAULT_RUN = ChainOptions(), SeededRunOptions()
_DEFAULT_ERRORS, _DEFAULT_LANES = ErrorOptions(), RunOptions()
_DEFAULT_TOLD, _DEFAULT_ENSEMBLE = EstimatePlotOptions(), EnsembleOptions()


@gauge.command
def generate(
    *,
    shape: str,
    beta: float,
    output: Output,
    chain: ChainOptions = _DEFAULT_CHAIN,
    run: SeededRunOptions = _DEFAULT_RUN,
    file: FileOptions = _DEFAULT_FILE,
    ensemble: EnsembleOptions = _DEFAULT_ENSEMBLE,
    told: EstimatePlotOptions = _DEFAULT_TOLD,
) -> None:
    """Generate quenched configurations of the Wilson action by heatbath and overrelaxation.

    Parameters
    ----------
    shape
        Extents X,Y,Z,T, each 2 or more: 16,16,16,32; two to five of them, the last one time.
    beta
        Coupling 2 Nc / g^2.
    output
        File to write; see `hardscape gauge convert`. With --chain its name has {number}.
    """
    if chain.chain is not None:
        _generate_many(shape, beta, output, chain, run, file, ensemble, told)
    elif chain.domains:
        on_gpus = str(run.device).startswith("cuda")
        lanes = replace(run, device="auto") if on_gpus else run
        if on_gpus and not started_by_mpi():
            _generate_one(shape, beta, output, chain, lanes, file, told, run.device)
            return
        with domains(all_ranks("gauge generate"), on_gpus=on_gpus) as ranks:
            if ranks is not None:
                _generate_one(shape, beta, output, chain, lanes, file, told, ranks)
    else:
        _generate_one(shape, beta, output, chain, run, file, told, None)


def _generate_one(
    shape: str,
    beta: float,
    output: Path,
    chain: ChainOptions,
    run: SeededRunOptions,
    file: FileOptions,
    told: EstimatePlotOptions,
    held: Domains | str | None,
) -> None:
    told.check((), [])
    name = file.check(output)
    lattice_shape = extents(shape)
    formats.rehearse(lattice_shape, chain.nc, chain.boundary, format=name, **file.choices())
    settings: dict[str, Any] = vars(chain) | vars(run)
    settings = {x: settings[x] for x in settings if x not in ("chain", "every")}
    settings["domains"] = held
    if told.estimated("gauge generate", make_field, lattice_shape, beta, **settings):
        return
    began = time.perf_counter()
    try:
        field = make_field(lattice_shape, beta, progress=True, **settings)
    except Interrupted as stop:
        note(cut_short(signal.Signals(stop.signum).name, f"{output} is not written"))
        raise
    seconds = time.perf_counter() - began
    facts = {
        "file": str(output),
        "format": name,
        "shape": list(field.shape),
        "beta": beta,
        **{key: settings[key] for key in ("nc", "sweeps", "overrelax", "start", "boundary", "xi")},
        "seed": field.seed,
        "plaquette": field.plaquette(),
        "link_trace": field.link_trace(),
        "seconds": seconds,
    }
    lattice = f"{layouts.extents(field.shape)}, SU({field.nc}), beta = {beta:g}"
    shown = [
        ("lattice", lattice),
        ("plaquette", f"{field.plaquette():.9g}"),
        ("seed", str(field.seed)),
        ("time", f"{seconds:.2f} s"),
        ("file", f"{output} ({name})"),
    ]

    def report() -> None:
        with aside(output):
            show(told.json, "gauge generate", lambda: facts, shown)

    deliver(lambda: file.write(field, output, precision=file.precision), report)


def _generate_many(
    shape: str,
    beta: float,
    output: Path,
    chain: ChainOptions,
    run: SeededRunOptions,
    file: FileOptions,
    ensemble: EnsembleOptions,
    told: EstimatePlotOptions,
) -> None:
    if told.estimate:
        raise InputError("--estimate is for one configuration")
    settings: dict[str, Any] = vars(chain) | vars(run)
    count = settings.pop("chain")
    if settings.pop("domains"):
        raise InputError("--domains is for one configuration; without --chain it is accepted")
    files = [Path(x) for x in numbered(output, count)]
    force = file.force or resumed(run.checkpoint)
    check_outputs(files, force=force, folders=True)
    replace(told, force=force).check()
    ensemble.check(files, force)
    name = named(files[0], file.to, None)
    deliver_ensemble(
        "gauge generate",
        lambda: generate_ensemble(
            extents(shape),
            beta,
            count,
            output,
            to=name,
            written=file.choices(),
            error_method=ensemble.error_method,
            bin_size=ensemble.bin_size,
            progress=True,
            **settings,
        ),
        ensemble,
        told,
    )


@gauge.command
def propagator(
    *files: Path,
    gauge: Literal["landau", "coulomb"] = "landau",
    definition: Definition = "linear",
    beta: float | None = None,
    xi: float = 1.0,
    cylinder: float = 1.0,
    cone: float | None = None,
    no_cut: Flag = False,
    bin_width: float | None = None,
    slices: str | None = None,
    theta: float = DEFAULT_THETA,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: ErrorOptions = _DEFAULT_ERRORS,
    run: RunOptions = _DEFAULT_LANES,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the gluon propagator on configurations that are fixed to Landau or Coulomb gauge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble, or patterns of their names in quotes.
    gauge
        The gauge that they are in: landau, or coulomb for the equal-time propagator.
    definition
        Of the gluon field: linear, (U - U^dagger) / 2i, or logarithmic, -i ln U.
    beta
        Coupling of the action, to divide by g0^2.
    xi
        Spacing in space over that in time.
    cylinder
        Radius of the cylinder cut around the diagonal, in units of 2 pi / L.
    cone
        Largest angle to the diagonal, in degrees.
    no_cut
        No cylinder cut.
    bin_width
        Width of momentum bins, in lattice units; by default equal momenta are averaged.
    slices
        coulomb: the timeslices that are averaged over, 8,24 for 8 to 23.
    theta
        Largest violation of the gauge condition that is accepted.
    """
    if not files:
        raise InputError("no file is given; at least one configuration is needed")
    output.check(files)

    def report(found: GluonPropagator) -> None:
        facts = _propagator_facts(found)
        show(output.json, "gauge propagator", found.to_dict, facts, _momenta(found))
        output.draw(found.plot)

    deliver_anyway(
        lambda: gluon_propagator(
            files,
            gauge,
            definition=definition,
            beta=beta,
            xi=xi,
            cone=cone,
            cylinder=None if no_cut else cylinder,
            bin_width=bin_width,
            slices=pair("slices", slices),
            theta=theta,
            progress=len(files) > 1,
            **measuring(read, ensemble, run),
        ),
        GluonPropagator,
        report,
    )


def _propagator_facts(found: GluonPropagator) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{layouts.extents(found.shape)}, SU({found.nc})"
    yield "gauge", f"{found.gauge}, theta {found.theta:.3g}"
    yield "configurations", str(found.configurations)
    yield "field", found.definition
    yield "cut", f"{Cut(found.cylinder, found.cone)}, {len(found.momentum)} momenta left"
    yield "units", "lattice spacing" if found.beta is not None else "lattice spacing, times g0^2"


def _momenta(found: GluonPropagator) -> Iterator[Table | str]:
    chosen = np.unique(np.linspace(0, len(found.momentum) - 1, _ROWS).astype(int))
    rows = [
        (
            f"{found.momentum[i]:.5f}",
            f"{found.value[i]:.5g}",
            "" if np.isnan(found.error[i]) else f"{found.error[i]:.2g}",
            f"{found.dressing[i]:.5g}",
            str(found.count[i]),
        )
        for i in chosen.tolist()
    ]
    cut = len(chosen) < len(found.momentum)
    caption = f"{len(chosen)} of {len(found.momentum)} momenta; --json prints all of them"
    yield ""
    head = ("p", "D(p^2)", "error", "p^2 D(p^2)", "momenta")
    yield table(">>>>>", rows, head, caption if cut else "")
