"""The commands ``hardscape gauge info``, ``convert``, ``generate`` and ``propagator``."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from cyclopts import App, Group

from hardscape.cli.gauge.files import (
    FileArgument,
    FileOptions,
    FormatOption,
    read_checked,
)
from hardscape.cli.gauge.fixing import fix
from hardscape.cli.options import (
    EstimateOptions,
    Flag,
    Json,
    Output,
    PlotOptions,
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
from hardscape.gauge import formats
from hardscape.gauge.field import UNITARITY_TOLERANCE, GaugeField
from hardscape.gauge.formats.report import FileReport
from hardscape.gauge.generate import generate as make_field
from hardscape.gauge.propagator import DEFAULT_THETA, GluonPropagator, gluon_propagator

if TYPE_CHECKING:
    from rich.table import Table

_CHAIN = Group("Markov chain", sort_key=1)
#: Momenta that the table lists.
_ROWS = 40

gauge = App(
    name="gauge",
    help="Lattice gauge configurations: check, convert, generate, fix, measure.",
    help_format="plaintext",
)
gauge.command(fix)


@gauge.command
def info(
    file: FileArgument,
    /,
    *,
    format: FormatOption = None,
    ignore_checksum: Flag = False,
    json: Json = False,
) -> None:
    """Check everything that a file of links says about itself: checksum, plaquette, trace, unitarity.

    Parameters
    ----------
    ignore_checksum
        Only warn of what is wrong; else the exit code is 2.
    """
    _, report = formats.inspect(file, format=format)
    show(json, "gauge info", report.to_dict, _report_facts(report))
    wrong = report.contradictions()
    if not report.unitarity <= UNITARITY_TOLERANCE:
        wrong.append(
            f"a link is {report.unitarity:.3g} away from SU({report.nc}); "
            f"at most {UNITARITY_TOLERANCE:g} is accepted"
        )
    if wrong:
        if not ignore_checksum:
            raise ChecksumError(file, None, "; ".join(wrong))
        note(f"warning: {file}: {'; '.join(wrong)}")


def _report_facts(report: FileReport) -> Iterator[tuple[str, str]]:
    yield "format", f"{report.format}, {report.precision} precision"
    yield "lattice", f"{_extents(report.shape)} (x, y, z, t), SU({report.nc})"
    yield "plaquette", f"{report.plaquette:.12g}{_verdict(report.plaquette_ok)}"
    yield "link trace", f"{report.link_trace:.12g}{_verdict(report.link_trace_ok)}"
    checksum = report.checksum_stated or "none in this file"
    yield "checksum", f"{checksum}{_verdict(report.checksum_ok)}"
    yield "unitarity", f"{report.unitarity:.3g} (largest deviation of an entry)"
    for key, value in report.header.items():
        if len(value) <= 80 and "\n" not in value:
            yield "header", f"{key} = {value}"


def _verdict(ok: bool | None) -> str:
    return {True: " (as stated)", False: " (NOT as stated)", None: ""}[ok]


def _extents(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


_DEFAULT_FILE, _DEFAULT_OUTPUT = FileOptions(), PlotOptions()


@gauge.command
def convert(
    file: FileArgument,
    output: Path,
    /,
    *,
    format: FormatOption = None,
    ignore_checksum: Flag = False,
    reproject: Flag = False,
    written: FileOptions = _DEFAULT_FILE,
    json: Json = False,
) -> None:
    """Write a configuration in another format, precision or byte order.

    Parameters
    ----------
    output
        The suffix tells the format. - is standard output, the report then goes aside.
    ignore_checksum
        Read it all the same if checksum, plaquette or trace are wrong.
    reproject
        Bring every link back to the group.
    """
    name = written.check(output, [file])
    field, report = read_checked(file, format, ignore_checksum)
    if reproject:
        field = field.reproject()
    else:
        field.require_unitary()
    written.write(field, output, report.header if name == report.format else None)
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
        Number of colours, 2 or 3.
    sweeps
        Heatbath sweeps.
    overrelax
        Overrelaxation sweeps after each of them.
    start
        hot (random links) or cold (identities).
    """

    nc: int = 3
    sweeps: int = 200
    overrelax: int = 2
    start: Literal["hot", "cold"] = "hot"


_DEFAULT_CHAIN, _DEFAULT_RUN, _DEFAULT_TOLD = ChainOptions(), SeededRunOptions(), EstimateOptions()


@gauge.command
def generate(
    *,
    shape: str,
    beta: float,
    output: Output,
    chain: ChainOptions = _DEFAULT_CHAIN,
    run: SeededRunOptions = _DEFAULT_RUN,
    file: FileOptions = _DEFAULT_FILE,
    told: EstimateOptions = _DEFAULT_TOLD,
) -> None:
    """Generate a quenched configuration of the Wilson action by heatbath and overrelaxation.

    Parameters
    ----------
    shape
        Extents X,Y,Z,T, each 2 or more: 16,16,16,32.
    beta
        Coupling 2 Nc / g^2.
    output
        File to write; see `hardscape gauge convert`.
    """
    name = file.check(output)
    settings: dict[str, Any] = vars(chain) | vars(run)
    if told.estimated("gauge generate", make_field, _shape(shape), beta, **settings):
        return
    began = time.perf_counter()
    try:
        field = make_field(_shape(shape), beta, progress=True, **settings)
    except Interrupted as stop:
        note(cut_short(signal.Signals(stop.signum).name, f"{output} is not written"))
        raise
    seconds = time.perf_counter() - began
    facts = {
        "file": str(output),
        "format": name,
        "shape": list(field.shape),
        "beta": beta,
        **{key: settings[key] for key in ("nc", "sweeps", "overrelax", "start")},
        "seed": field.seed,
        "plaquette": field.plaquette(),
        "link_trace": field.link_trace(),
        "seconds": seconds,
    }
    lattice = f"{_extents(field.shape)} (x, y, z, t), SU({field.nc}), beta = {beta:g}"
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

    deliver(lambda: file.write(field, output), report)


def _shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]{1,6}([,x][0-9]{1,6}){3}", text):
        raise InputError(f"--shape {text!r}; four extents X,Y,Z,T are accepted: 16,16,16,32")
    return tuple(int(extent) for extent in re.split("[,x]", text))


@gauge.command
def propagator(
    *files: Path,
    gauge: Literal["landau", "coulomb"] = "landau",
    beta: float | None = None,
    cylinder: float = 1.0,
    no_cut: Flag = False,
    bin_width: float | None = None,
    theta: float = DEFAULT_THETA,
    format: FormatOption = None,
    ignore_checksum: Flag = False,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure the gluon propagator on configurations that are fixed to Landau or Coulomb gauge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble.
    gauge
        The gauge that they are in: landau, or coulomb for the equal-time propagator.
    beta
        Coupling of the action, to divide by g0^2.
    cylinder
        Radius of the cylinder cut around the diagonal, in units of 2 pi / L.
    no_cut
        Keep all momenta.
    bin_width
        Width of momentum bins, in lattice units; by default equal momenta are averaged.
    theta
        Largest violation of the gauge condition that is accepted.
    ignore_checksum
        Read files all the same if checksum, plaquette or trace are wrong.
    """
    if not files:
        raise InputError("no file is given; at least one configuration is needed")
    output.check(files)
    found = gluon_propagator(
        (_links(file, format, ignore_checksum) for file in files),
        gauge,
        beta=beta,
        cylinder=None if no_cut else cylinder,
        bin_width=bin_width,
        theta=theta,
    )
    facts = _propagator_facts(found)
    show(output.json, "gauge propagator", found.to_dict, facts, _momenta(found))
    output.draw(found.plot)


def _links(file: Path, format: str | None, ignore_checksum: bool) -> GaugeField:
    field, _ = read_checked(file, format, ignore_checksum)
    field.require_unitary()
    return field


def _propagator_facts(found: GluonPropagator) -> Iterator[tuple[str, str]]:
    yield "lattice", f"{_extents(found.shape)} (x, y, z, t), SU({found.nc})"
    yield "gauge", f"{found.gauge}, theta {found.theta:.3g}"
    yield "configurations", str(found.configurations)
    cut = "none" if found.cylinder is None else f"cylinder of {found.cylinder:g} x 2 pi / L"
    yield "cut", f"{cut}, {len(found.momentum)} momenta left"
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
