"""Files of links on the command line: how they are read, and the options of writing them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from hardscape.cli.options import OUTPUT, Flag, file_help, format_help, option_group
from hardscape.cli.terminal import note
from hardscape.errors import ChecksumError
from hardscape.files import check_outputs
from hardscape.gauge import formats
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats.report import FileReport

FileArgument = Annotated[Path, file_help("The links", formats.FORMATS)]
FormatOption = Annotated[str | None, format_help(formats.FORMATS)]


def read_checked(
    path: Path, format: str | None, ignore_checksum: bool
) -> tuple[GaugeField, FileReport]:
    """Read a file whose checksum, plaquette and trace are right, or are to be ignored."""
    field, report = formats.inspect(path, format=format)
    reason = "; ".join(report.contradictions())
    if reason and not ignore_checksum:
        raise ChecksumError(path, None, f"{reason}; --ignore-checksum reads it all the same")
    if reason:
        note(f"warning: {path}: {reason}")
    return field, report


@option_group(OUTPUT)
class FileOptions:
    """How to write a file.

    Attributes
    ----------
    to
        Its format, where the suffix does not tell.
    precision
        single or double, by default that of the links.
    byteorder
        big or little, where the format has both.
    rows
        nersc: rows of each matrix, Nc or Nc - 1.
    no_checksum
        Leave the checksum out, where the format can.
    force
        Replace a file that is there.
    """

    to: str | None = None
    precision: Literal["single", "double"] | None = None
    byteorder: Literal["big", "little"] | None = None
    rows: int | None = None
    no_checksum: Flag = False
    force: Flag = False

    def check(self, path: Path, inputs: Iterable[Path] = ()) -> str:
        """The format that `path` is written in; refuses, before the work, what could not be written."""
        name = formats.FORMATS.named_by(path) if self.to is None else self.to
        check_outputs([path], inputs, force=self.force)
        return name

    def write(self, field: GaugeField, path: Path, header: Any = None) -> None:
        """Write `field`."""
        formats.write(
            field,
            path,
            format=self.to,
            precision=self.precision,
            byteorder=self.byteorder,
            rows=self.rows,
            checksum=not self.no_checksum,
            header=header,
        )
