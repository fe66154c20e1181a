"""Files of gauge configurations, read and written with their checksums.

========== ================== ==========================================================
format     suffix             what it holds
========== ================== ==========================================================
nersc      .nersc             NERSC archive; Nc or Nc - 1 rows, single, double, both endians
ildg       .ildg .lime        ILDG and SciDAC (USQCD) records in LIME; single, double
           .scidac
milc       .milc              MILC version 5; single, both endians
openqcd    .openqcd           openQCD; double, even extents
hirep      .hirep             HiRep; double
npz        .npz               NumPy archive with one array ``links``
hdf5       .h5 .hdf5          HDF5 with a dataset ``links``; needs h5py
========== ================== ==========================================================

Reading goes by content, writing by suffix; both by `format` where it is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import ChecksumError, FormatError, InputError
from hardscape.files import path_of, replace
from hardscape.gauge.field import GaugeField
from hardscape.gauge.formats import hdf5, hirep, ildg, lime, milc, nersc, npz, openqcd
from hardscape.gauge.formats.content import Content, Source, WriteOptions, open_source, raw_bytes
from hardscape.gauge.formats.report import FileReport, make_report

__all__ = ["FORMATS", "FileReport", "Format", "detect", "format_of", "inspect", "read", "write"]


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    suffixes : tuple of str
        File name endings that choose it for writing.
    parse : callable
    render : callable
    precisions, byteorders : tuple of str
        What can be written.
    reduces_rows, has_checksum : bool
        Whether matrices may be written without their last row, and files without their checksum.
    """

    suffixes: tuple[str, ...]
    parse: Callable[[Source], Content]
    render: Callable[[GaugeField, WriteOptions], Iterator[bytes | NDArray[Any]]]
    precisions: tuple[str, ...]
    byteorders: tuple[str, ...]
    reduces_rows: bool = False
    has_checksum: bool = True


_BOTH = ("single", "double")

#: The formats by name.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "nersc": Format(
            (".nersc",), nersc.parse, nersc.render, _BOTH, ("big", "little"), reduces_rows=True
        ),
        "ildg": Format((".ildg", ".lime", ".scidac"), ildg.parse, ildg.render, _BOTH, ("big",)),
        "milc": Format((".milc",), milc.parse, milc.render, ("single",), ("big", "little")),
        "openqcd": Format(
            (".openqcd",),
            openqcd.parse,
            openqcd.render,
            ("double",),
            ("little",),
            has_checksum=False,
        ),
        "hirep": Format(
            (".hirep",), hirep.parse, hirep.render, ("double",), ("big",), has_checksum=False
        ),
        "npz": Format((".npz",), npz.parse, npz.render, _BOTH, ("little",), has_checksum=False),
        "hdf5": Format((".h5", ".hdf5"), hdf5.parse, hdf5.render, _BOTH, ("little",)),
    }
)


def detect(path: str | Path) -> str:
    """Tell a file's format by its first bytes, and by its size where the format has no magic number.

    Raises
    ------
    FormatError
        If the file cannot be read or is of no known format.
    """
    return _detect(open_source(path))


def _detect(source: Source) -> str:
    head = source.data[:16].tobytes()
    magics = {nersc.MAGIC: "nersc", lime.MAGIC: "ildg", npz.MAGIC: "npz", hdf5.MAGIC: "hdf5"}
    magics |= dict.fromkeys(milc.MAGICS, "milc")
    for magic, name in magics.items():
        if head.startswith(magic):
            return name
    suffix = path_of(source.path).suffix.lower()
    for name, fits in (("hirep", hirep.fits), ("openqcd", openqcd.fits)):
        # Without a magic number, a name is more than a damaged file's size can tell.
        if fits(source) or suffix in FORMATS[name].suffixes:
            return name
    raise source.error(
        f"is of no known format: it begins with {head.hex(' ')}; {', '.join(FORMATS)} are accepted"
    )


def _named(format: str) -> Format:
    if format not in FORMATS:
        raise InputError(f"format={format!r}; {', '.join(FORMATS)} are accepted")
    return FORMATS[format]


def format_of(path: str | Path) -> str:
    """Tell by its suffix the format that a file will be written in.

    Raises
    ------
    InputError
        If the suffix belongs to no format.
    """
    suffix = path_of(path).suffix.lower()
    for name, kind in FORMATS.items():
        if suffix in kind.suffixes:
            return name
    known = ", ".join(suffix for kind in FORMATS.values() for suffix in kind.suffixes)
    raise InputError(
        f"{path}: suffix {suffix!r} tells no format; {known} are accepted, or give format= (--to)"
    )


def inspect(path: str | Path, format: str | None = None) -> tuple[GaugeField, FileReport]:
    """Read a file and check everything that it says about itself; nothing that fails is raised.

    Parameters
    ----------
    path : str or pathlib.Path
    format : str, optional
        One of `FORMATS`, where the content does not tell.

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
        If `format` is unknown.
    """
    name, content = _parse(path, format)
    field = _field(path, content)
    return field, make_report(str(path), name, field, content)


def _parse(path: str | Path, format: str | None) -> tuple[str, Content]:
    kind = None if format is None else _named(format)
    source = open_source(path)
    name = format or _detect(source)
    return name, (kind or FORMATS[name]).parse(source)


def _field(path: str | Path, content: Content) -> GaugeField:
    try:
        return GaugeField(content.links)
    except InputError as error:
        raise FormatError(path, None, f"holds what no field has: {error}") from None


def read(
    path: str | Path, format: str | None = None, *, ignore_checksum: bool = False
) -> GaugeField:
    """Read a configuration, and check its checksum, plaquette and link trace where the file has them.

    Parameters
    ----------
    path : str or pathlib.Path
    format : str, optional
        One of `FORMATS`, where the content does not tell.
    ignore_checksum : bool
        Only warn where the links contradict checksum or header.

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
        If `format` is unknown.
    """
    field, report = inspect(path, format)
    reason = "; ".join(report.contradictions())
    if reason and not ignore_checksum:
        raise ChecksumError(path, None, f"{reason}; ignore_checksum=True reads it all the same")
    if reason:
        warnings.warn(f"{path}: {reason}", stacklevel=2)
    return field


def write(
    field: GaugeField,
    path: str | Path,
    format: str | None = None,
    *,
    precision: Any = None,
    byteorder: Any = None,
    rows: int | None = None,
    checksum: bool = True,
    header: Mapping[str, str] | None = None,
) -> None:
    """Write a configuration; a file that is there is replaced as a whole.

    Parameters
    ----------
    field : GaugeField
        From a GPU it is brought to the host.
    path : str or pathlib.Path
    format : str, optional
        One of `FORMATS`; by default the suffix tells.
    precision : {"single", "double"}, optional
        By default the links' own, or the only one that the format has.
    byteorder : {"big", "little"}, optional
        By default the format's custom.
    rows : int, optional
        Nc, or (nersc) Nc - 1: the reader rebuilds the last row.
    checksum : bool
        Whether to write the checksum, where the format leaves the choice.
    header : mapping, optional
        Text to carry along, as a `FileReport.header` has it.

    Raises
    ------
    InputError
        If the format cannot hold what is asked for, or the file cannot be written.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
    name = format_of(path) if format is None else format
    kind = _named(name)
    options = WriteOptions(
        precision=precision,
        byteorder=byteorder,
        rows=rows,
        checksum=checksum,
        header=dict(header or {}),
    )
    _check_options(name, kind, options, field.nc)
    stored: str | None = options.precision
    if stored is None and len(kind.precisions) == 1:
        stored = kind.precisions[0]
    if stored is not None:
        # Headers then state the averages of the links as they are in the file.
        field = field.astype(np.complex64 if stored == "single" else np.complex128)
    chunks = kind.render(field.to("cpu"), options)
    replace(path, lambda file: _write_all(file, chunks))


def _write_all(file: BinaryIO, chunks: Iterator[bytes | NDArray[Any]]) -> None:
    for chunk in chunks:
        file.write(chunk if isinstance(chunk, bytes) else raw_bytes(chunk))


def _check_options(name: str, kind: Format, options: WriteOptions, nc: int) -> None:
    for key, value, accepted in (
        ("precision", options.precision, kind.precisions),
        ("byteorder", options.byteorder, kind.byteorders),
        ("rows", options.rows, (nc - 1, nc) if kind.reduces_rows else (nc,)),
    ):
        if value is not None and value not in accepted:
            choices = " and ".join(map(repr, accepted))
            raise InputError(f"{key}={value!r} is not possible in {name}; {choices} is accepted")
    if not options.checksum and not kind.has_checksum:
        raise InputError(f"checksum=False: {name} has no checksum of its own to leave out")
