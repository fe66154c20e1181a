"""Files of links on the command line: how they are read, and the options of writing them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group

from hardscape.cli import options
from hardscape.cli.options import OUTPUT, Flag, file_help, format_help, option_group
from hardscape.cli.terminal import note
from hardscape.errors import ChecksumError, InputError
from hardscape.files import check_outputs
from hardscape.gauge import formats
from hardscape.gauge.field import GaugeField
from hardscape.gauge.report import FileReport

FileArgument = Annotated[Path, file_help("The links", formats.FORMATS)]
FormatOption = Annotated[str | None, format_help(formats.FORMATS)]
_INPUT = Group("Input", sort_key=0)


@option_group(_INPUT)
class ReadOptions:
    """How to read a file.

    Attributes
    ----------
    ignore_checksum
        Only warn of what is wrong with checksum, plaquette or trace.
    shape
        Extents X,Y,Z,T, for files that do not say them: bare LIME files, raw.
    layout
        raw, npy: order of the axes, slowest first: "t z y x mu a b".
    input_precision
        raw: single or double.
    byte_order
        raw: big or little.
    skip
        raw: bytes before the links.
    angles
        openqcd: phi' of the fixed time T, which no file holds: --angles=-1.2,0.5,0.7.
    """

    format: FormatOption = None
    ignore_checksum: Flag = False
    shape: str | None = None
    layout: str | None = None
    input_precision: Literal["single", "double"] | None = None
    byte_order: Literal["big", "little"] | None = None
    skip: int | None = None
    angles: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The same as the library has them."""
        return {
            "format": self.format,
            "shape": None if self.shape is None else extents(self.shape),
            "layout": self.layout,
            "precision": self.input_precision,
            "byteorder": self.byte_order,
            "skip": self.skip,
            "angles": None if self.angles is None else radians(self.angles),
        }

    def inspect(
        self, path: Path, precision: Literal["single", "double"] | None = None
    ) -> tuple[GaugeField, FileReport]:
        """Read a file, and tell what must be known of it."""
        said = self.arguments()
        field, report = formats.inspect(
            path, **said | {"precision": said["precision"] or precision}
        )
        for told in report.notes:
            note(f"warning: {path}: {told}")
        return field, report

    def checked(
        self, path: Path, precision: Literal["single", "double"] | None = None
    ) -> tuple[GaugeField, FileReport]:
        """Read a file whose checksum, plaquette and trace are right, or are to be ignored."""
        field, report = self.inspect(path, precision)
        reason = "; ".join(report.contradictions())
        if reason and not self.ignore_checksum:
            raise ChecksumError(path, None, f"{reason}; --ignore-checksum reads it all the same")
        if reason:
            note(f"warning: {path}: {reason}")
        return field, report


def extents(text: str) -> tuple[int, ...]:
    """The extents X, Y, Z, T of an option."""
    if not re.fullmatch(r"[0-9]{1,6}([,x][0-9]{1,6}){1,4}", text):
        raise InputError(f"--shape {text!r}; two to five extents X,Y,Z,T are accepted: 16,16,16,32")
    return tuple(int(extent) for extent in re.split("[,x]", text))


def pair(name: str, text: str | None) -> tuple[int, int] | None:
    """The two integers of an option."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4}),([0-9]{1,4})", text)
    if found is None:
        raise InputError(f"--{name} {text!r}; two integers are accepted: 6,6")
    return int(found[1]), int(found[2])


def radians(text: str) -> tuple[float, ...]:
    """The angles of an option."""
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = (math.nan,)
    if not all(map(math.isfinite, found)):
        raise InputError(f"--angles {text!r}; Nc numbers are accepted: --angles=-1.2,0.5,0.7")
    return found


@option_group(OUTPUT)
class FileOptions:
    """How to write a file.

    Attributes
    ----------
    to
        Its format, where the suffix does not tell; by default that of the file that is read.
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

    def check(self, path: Path, inputs: Iterable[Path] = (), usual: str | None = None) -> str:
        """The format that `path` is written in; refuses, before the work, what could not be written."""
        name = named(path, self.to, usual)
        check_outputs([path], inputs, force=self.force or options.goes_on)
        return name

    def write(
        self,
        field: GaugeField,
        path: Path,
        header: Any = None,
        *,
        format: str | None = None,
        precision: Literal["single", "double"] | None = None,
    ) -> None:
        """Write `field`."""
        choices = self.choices() | {"precision": precision}
        formats.write(field, path, format=format or self.to, header=header, **choices)

    def choices(self) -> dict[str, Any]:
        """What the format leaves open, as the library has it."""
        return {
            "precision": self.precision,
            "byteorder": self.byteorder,
            "rows": self.rows,
            "checksum": not self.no_checksum,
        }


def named(path: Path, to: str | None, usual: str | None) -> str:
    """The format of a file to write: as it is said, else as its name tells, else the `usual` one."""
    if to is not None:
        return to
    try:
        return formats.FORMATS.named_by(path)
    except InputError:
        if usual is None or not hasattr(formats.FORMATS[usual], "write"):
            raise
        return usual


def format_of(path: Path, format: str | None) -> str:
    """The format of a file to read."""
    return formats.detect(path) if format is None else format
