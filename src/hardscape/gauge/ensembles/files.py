"""The files of an ensemble: which they are, in which order, how they are read, and what is written for each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from hardscape.errors import ChecksumError, InputError, OutputError
from hardscape.files import plain_name
from hardscape.gauge import formats
from hardscape.gauge.field import GaugeField
from hardscape.gauge.report import FileReport

#: What may stand in braces in the name of an output.
_FIELDS = ("stem", "name", "number")
_DIGITS = re.compile(r"[0-9]+")

#: Configurations as calls take them: files, patterns of files, and fields in memory.
Configurations = GaugeField | str | Path | Iterable[GaugeField | str | Path]


@dataclass(frozen=True)
class Reader:
    """How the files are read: the options of `GaugeField.from_file`; and fields that are no files, by name."""

    format: str | None = None
    ignore_checksum: bool = False
    shape: tuple[int, ...] | None = None
    layout: str | None = None
    precision: Literal["single", "double"] | None = None
    byteorder: Literal["big", "little"] | None = None
    skip: int | None = None
    angles: tuple[float, ...] | None = None
    held: Mapping[str, GaugeField] = field(default_factory=dict, repr=False, compare=False)

    def read(self, path: str) -> tuple[GaugeField, FileReport | None]:
        """A configuration whose checksum, plaquette and trace are right, or are to be ignored."""
        given: dict[str, Any] = dict(vars(self))
        ignored, held = given.pop("ignore_checksum"), given.pop("held")
        if path in held:
            return held[path], None
        field, report = formats.inspect(path, **given)
        wrong = "; ".join(report.contradictions())
        if wrong and not ignored:
            raise ChecksumError(
                path,
                None,
                f"{wrong}; ignore_checksum=True (--ignore-checksum) reads it all the same",
            )
        return field, report


def gathered(files: Configurations) -> tuple[tuple[str, ...], dict[str, GaugeField]]:
    """The names of files and fields, as `listed` has them, and the fields by theirs."""
    many = isinstance(files, Iterable) and not isinstance(files, GaugeField | str | Path)
    given: list[Any] = [*files] if many else [files]  # type: ignore[misc]
    held: dict[str, GaugeField] = {}
    for i, one in enumerate(given):
        if isinstance(one, GaugeField):
            given[i] = f"<field {len(held)}>"
            held[given[i]] = one.to("cpu")
    return listed(given), held


def listed(files: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    """The files that are meant, patterns replaced by what they match, numbers in names in their order.

    Raises
    ------
    InputError
        If there is none, a pattern matches none, or one is named twice: it would count twice.
    """
    given = [files] if isinstance(files, str | Path) else list(files)
    found: list[str] = []
    for one in given:
        if not isinstance(one, str | Path):
            raise InputError(f"files has {one!r}; names of files are accepted")
        text = str(one)
        if has_magic(text) and not Path(text).exists():
            matched = sorted((x for x in glob(text) if Path(x).is_file()), key=_by_number)
            if not matched:
                raise InputError(f"no file matches {text!r}")
            found += matched
        else:
            found.append(text)
    places: dict[str, str] = {}
    for text in found:
        place = os.path.realpath(text)
        if (before := places.get(place)) is not None:
            again = "twice" if before == text else f"{before}, too"
            raise InputError(f"{text} is named {again}; each configuration counts once")
        places[place] = text
    if not found:
        raise InputError("no file is given; at least one configuration is needed")
    return tuple(found)


def _by_number(name: str) -> list[Any]:
    """Sorts cfg.9 before cfg.10."""
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def is_pattern(output: str | Path) -> bool:
    """Whether the name of an output stands for one a configuration."""
    return "{" in str(output)


def outputs(pattern: str | Path, files: Sequence[str]) -> tuple[str, ...]:
    """The output of each file: {stem}, {name} and {number} are of its name.

    ``{stem}`` is the name without its suffix, where that is no number, ``{number}`` the last digits in it.

    Raises
    ------
    InputError
        For other words in braces, or if two files would have one output.
    """
    made: list[str] = []
    for path in files:
        name = Path(path).name
        plain = name[: len(plain_name(Path(name)))]
        suffix = Path(plain).suffix
        digits = _DIGITS.findall(plain)
        values = {
            "name": name,
            "stem": plain if suffix[1:].isdigit() else Path(plain).stem,
            "number": digits[-1] if digits else "",
        }
        made.append(_filled(str(pattern), values))
    seen: dict[str, str] = {}
    for path, place in zip(files, made, strict=True):
        if place in seen:
            raise InputError(
                f"{pattern}: {seen[place]} and {path} would both be written to {place}; "
                "{stem}, {name} and {number} tell files apart"
            )
        seen[place] = path
    return tuple(made)


def make_folder(output: str | Path) -> None:
    """Make the folder of an output where there is none."""
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror or error}") from None


def _filled(pattern: str, values: dict[str, str]) -> str:
    try:
        words = [word for _, word, _, _ in Formatter().parse(pattern) if word is not None]
    except ValueError:
        words = [pattern]
    strange = next((word for word in words if word not in values), None)
    if strange is not None:
        known = ", ".join(f"{{{word}}}" for word in _FIELDS)
        raise InputError(f"output {pattern!r} has {{{strange}}}; {known} are accepted")
    return pattern.format(**values)
