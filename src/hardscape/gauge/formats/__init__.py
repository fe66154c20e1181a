"""Files of gauge configurations, read and written with their checksums.

Each format is a module here, which `hardscape.formats` finds; :data:`FORMATS` lists them. Reading goes by
content, then by suffix, writing by suffix; both by `format` where it is given. A further suffix .gz, .xz or
.bz2 stands for compression, and the path ``-`` for standard input or output.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hardscape.errors import ChecksumError, FormatError, InputError
from hardscape.formats import Formats
from hardscape.gauge import boundary, layouts
from hardscape.gauge.field import GaugeField
from hardscape.gauge.intake import check_shape
from hardscape.gauge.report import FileReport, make_report
from hardscape.interrupts import interruptible

__all__ = ["FORMATS", "FileReport", "detect", "inspect", "read", "rehearse", "write"]

#: The modules of formats by name. Files are mapped into memory: they may be larger than half of it.
FORMATS: Formats[Any] = Formats(__name__, mapped=True)

detect = FORMATS.detect


@interruptible
def inspect(
    path: str | Path, *, format: str | None = None, **options: Any
) -> tuple[GaugeField, FileReport]:
    """Read a file and check everything that it says about itself; nothing that fails is raised.

    Parameters
    ----------
    path : str or pathlib.Path
    format : str, optional
        One of `FORMATS`, where the content does not tell.
    **options
        What the file does not say, as in :meth:`hardscape.gauge.GaugeField.from_file`.

    Returns
    -------
    GaugeField
        In the file's precision.
    FileReport

    Raises
    ------
    FormatError
        If the file cannot be read, is truncated, or does not follow its format.
    InputError
        If `format` or an option is not accepted.

    Examples
    --------
    >>> import tempfile
    >>> from hardscape import gauge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gauge.GaugeField.identity((4, 4, 4, 4)).to_file(f"{folder}/unit.nersc")
    ...     field, report = gauge.inspect(f"{folder}/unit.nersc")
    >>> field.plaquette(), report.checksum_ok
    (1.0, True)
    """
    with np.errstate(all="ignore"):  # what damaged numbers are is said by errors
        name, content = FORMATS.parse(path, format=format, **options)
        try:
            field = GaugeField(content.links, layout=layouts.OURS)
            told = content.boundary or boundary.of_links(field.links)
            field.boundary = boundary.checked(told, field.links)
        except InputError as error:
            raise FormatError(path, None, f"holds what no field has: {error}") from None
        return field, make_report(str(path), name, field, content)


def read(
    path: str | Path, *, format: str | None = None, ignore_checksum: bool = False, **options: Any
) -> GaugeField:
    """Read a configuration, and check its checksum, plaquette and link trace where the file has them.

    Parameters
    ----------
    path : str or pathlib.Path
    format : str, optional
        One of `FORMATS`, where the content does not tell.
    ignore_checksum : bool
        Only warn where the links contradict checksum or header.
    **options
        What the file does not say: `shape`, `layout`, `precision`, `byteorder`, `skip` and `angles` of
        :meth:`hardscape.gauge.GaugeField.from_file`.

    Returns
    -------
    GaugeField
        In the file's precision, in NumPy.

    Raises
    ------
    ChecksumError
        If the links are not what checksum, plaquette or link trace say.
    FormatError
        If the file cannot be read, is truncated, or does not follow its format.
    InputError
        If `format` or an option is not accepted.

    Warns
    -----
    UserWarning
        Of what was guessed, left out, or found beside the links (`FileReport.notes`).
    """
    field, report = inspect(path, format=format, **options)
    reason = "; ".join(report.contradictions())
    if reason and not ignore_checksum:
        raise ChecksumError(path, None, f"{reason}; ignore_checksum=True reads it all the same")
    for told in (reason, *report.notes):
        if told:
            warnings.warn(f"{path}: {told}", stacklevel=2)
    return field


write = GaugeField.to_file


def rehearse(
    shape: Sequence[int],
    nc: int,
    edge: boundary.Boundary = "periodic",
    *,
    format: str,
    checksum: bool = True,
    **options: Any,
) -> None:
    """Write a small field of the same kind to nowhere: what the format cannot hold is refused before the work.

    Parameters
    ----------
    shape, nc, edge
        Of the field that is to be written; the small one has extents of the same parities.
    format, checksum, **options
        Those of :meth:`hardscape.gauge.GaugeField.to_file`.

    Raises
    ------
    InputError
        If the format cannot hold such a field, or not in the way that is asked for.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
    links = GaugeField.identity([2 + extent % 2 for extent in check_shape(shape)], nc).links.copy()
    if edge != "periodic":
        links[-1, ..., -1, :, :] = 0
    field = GaugeField(links, boundary=edge, layout=layouts.OURS)
    FORMATS.rehearse(field, format, checksum=None if checksum else False, **options)
