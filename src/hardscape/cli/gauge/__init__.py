"""The commands ``hardscape gauge info`` and ``convert``, and the group of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from cyclopts import App

from hardscape.cli.gauge.eigenvalues import eigenvalues
from hardscape.cli.gauge.files import FileArgument, FileOptions, ReadOptions, format_of
from hardscape.cli.gauge.fixing import fix
from hardscape.cli.gauge.flow import flow
from hardscape.cli.gauge.generating import generate
from hardscape.cli.gauge.ghost import ghost
from hardscape.cli.gauge.observables import observables
from hardscape.cli.gauge.propagator import propagator
from hardscape.cli.gauge.scan import scan
from hardscape.cli.options import Flag, Json
from hardscape.cli.terminal import aside, note, print_json, print_parts, show
from hardscape.errors import ChecksumError
from hardscape.gauge import layouts
from hardscape.gauge.field import UNITARITY_TOLERANCE
from hardscape.gauge.formats.content import in_precision
from hardscape.gauge.report import FileReport
from hardscape.gauge.result import DTYPES

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


_DEFAULT_FILE = FileOptions()


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


gauge.command(generate)
gauge.command(propagator)
