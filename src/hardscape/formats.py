"""File formats: each is one module in its family's folder ``formats``, and is found there.

==================  ===========================================================================
a module states     what it is
==================  ===========================================================================
``NAME``            what ``format=`` and ``--format`` call it
``SUFFIXES``        file names that it is written to, and read from: lower case, with the dot
``DESCRIPTION``     a line for help texts and documents
``MAGIC``           first bytes that are its own, one ``bytes`` or more (optional)
``sniff(source)``   whether content without magic bytes looks like it (optional)
``READS``           further suffixes that it is read from; formats that share one have a ``sniff`` (optional)
``FILE_NAME``       pattern of further names of files, lower case (optional)
``MEMORY``          bytes of memory that `read` takes at least, for each byte of a large file (optional)
``read``            from a `hardscape.files.Source` to the problem; `FormatError` where it is wrong
``write``           from the problem to bytes, or to an iterator of chunks (optional); an `InputError`
                    where the format cannot hold it exactly
==================  ===========================================================================

Keyword arguments of ``read`` and ``write`` are choices that the format leaves to the caller; those that
are annotated as ``Literal`` are checked here. A module without ``NAME`` is none of a format.

A file's format is the one whose magic bytes it begins with; else what its name says; else the only one
whose ``sniff`` takes it, of those that the name leaves where it is a suffix of several.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from hardscape import memory
from hardscape.errors import FormatError, InputError
from hardscape.files import COMPRESSED, Source, load, path_of, plain_name, replace
from hardscape.interrupts import interruptible

_Problem = TypeVar("_Problem")
#: First bytes that an error shows.
_SHOWN = 16


@cache
def _modules(package: str) -> Mapping[str, Any]:
    # Without pkgutil, for which Python imports `inspect`: as long as all formats of a family take.
    files = {
        Path(folder, name).relative_to(root)
        for root in import_module(package).__path__
        for folder, _, names in os.walk(root)
        for name in names
    }
    names = [
        ".".join(file.with_suffix("").parts)
        for file in files
        if file.suffix == ".py" and file.stem != "__init__"
    ]
    found = [import_module(f"{package}.{name}") for name in sorted(names)]
    named = {module.NAME: module for module in found if hasattr(module, "NAME")}
    return MappingProxyType(dict(sorted(named.items())))


class Formats(Mapping[str, Any], Generic[_Problem]):
    """The formats of one family by name; the modules are imported when they are first asked for.

    Parameters
    ----------
    package : str
        The folder of the modules.
    mapped : bool
        Whether files are mapped into memory; see ``hardscape.files.load``.
    """

    def __init__(self, package: str, *, mapped: bool = False) -> None:
        self._package = package
        self._mapped = mapped

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str) or name not in _modules(self._package):
            raise InputError(f"format is {name!r}; {', '.join(self)} are accepted")
        return _modules(self._package)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_modules(self._package))

    def __len__(self) -> int:
        return len(_modules(self._package))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """All suffixes of files that are written."""
        return tuple(suffix for module in self.values() for suffix in module.SUFFIXES)

    def read(self, path: str | Path, *, format: str | None = None, **options: Any) -> _Problem:
        """Read a problem.

        Parameters
        ----------
        path : str or Path
            Compressed or not; ``-`` is standard input.
        format : str, optional
            A name; by default what name and content tell.
        **options
            For the format's ``read``; None leaves a choice to the format.

        Raises
        ------
        FormatError
            If the file is missing, unreadable or does not follow its format; with path and line.
        BudgetError
            If memory cannot hold what it says.
        InputError
            If format or an option is not accepted.
        """
        return self.parse(path, format=format, **options)[1]

    @interruptible
    def parse(
        self, path: str | Path, *, format: str | None = None, **options: Any
    ) -> tuple[str, _Problem]:
        """Read a problem as :meth:`read` does, and tell the format."""
        likely = self._by_name(path_of(path)) if format is None else [format]
        refusals = [x for name in likely if (x := self._refusal(name, options)) is not None]
        if likely and len(refusals) == len(likely):  # before the file is opened
            raise refusals[0]
        source = load(path, mapped=self._mapped)
        name = self._named_by(source) if format is None else format
        read = self[name].read
        memory.require(getattr(self[name], "MEMORY", 0) * len(source), source.path)
        try:
            return name, read(source, **_choices(self[name], read, options))
        except FormatError:
            raise
        except InputError as error:  # what the problem itself refuses
            raise source.error(None, str(error)) from None

    def _refusal(self, name: str, options: Mapping[str, Any]) -> InputError | None:
        """What a format's reader says of options that it cannot take."""
        try:
            _choices(self[name], self[name].read, options)
        except InputError as error:
            return error
        return None

    def write(
        self, problem: _Problem, path: str | Path, *, format: str | None = None, **options: Any
    ) -> None:
        """Write a problem; a file that is there is replaced as a whole, or stays.

        Parameters
        ----------
        problem
        path : str or Path
            Compressed where its last suffix says so; ``-`` is standard output.
        format : str, optional
            A name; by default what the suffix says.
        **options
            For the format's ``write``; None leaves a choice to the format.

        Raises
        ------
        InputError
            If the format cannot hold the problem, the suffix is unknown, an option is not accepted, or
            the file cannot be written.
        """
        written = self._written(problem, self.named_by(path) if format is None else format, options)
        replace(path, lambda file: _write_all(file, written))

    def rehearse(self, problem: _Problem, format: str, **options: Any) -> None:
        """Write a problem to nowhere, which raises what :meth:`write` does where the format cannot hold it."""
        with open(os.devnull, "wb") as nowhere:
            _write_all(nowhere, self._written(problem, format, options))

    def _written(
        self, problem: _Problem, format: str, options: Mapping[str, Any]
    ) -> bytes | Iterator[Any]:
        module = self[format]
        if not hasattr(module, "write"):
            writable = ", ".join(x for x, other in self.items() if hasattr(other, "write"))
            raise InputError(f"format {module.NAME!r} is only read; {writable} are written")
        written: bytes | Iterator[Any] = module.write(
            problem, **_choices(module, module.write, options)
        )
        return written

    def detect(self, path: str | Path) -> str:
        """Tell a file's format.

        Raises
        ------
        FormatError
            If it cannot be read, or neither name nor content decide.
        """
        return self._named_by(load(path, mapped=self._mapped))

    def named_by(self, path: str | Path) -> str:
        """Tell by its name the format that a file will be written in.

        Raises
        ------
        InputError
            If it belongs to no format.
        """
        names = self._by_name(path_of(path), written=True)
        if not names:
            raise InputError(
                f"{path}: suffix {path_of(path).suffix!r} tells no format; "
                f"{', '.join(self.suffixes)} are accepted, also with {', '.join(COMPRESSED)}, or "
                f"format=NAME (--to NAME) with {', '.join(self)}"
            )
        return names[0]

    def _by_name(self, path: Path, written: bool = False) -> list[str]:
        plain = plain_name(path)
        found = []
        for name, module in self.items():
            pattern = getattr(module, "FILE_NAME", None)
            suffixes = module.SUFFIXES + (() if written else getattr(module, "READS", ()))
            if Path(plain).suffix in suffixes or (pattern and pattern.fullmatch(plain)):
                found.append(name)
        return found

    def _named_by(self, source: Source) -> str:
        for name, module in self.items():
            if source.raw[:_SHOWN].startswith(getattr(module, "MAGIC", ())):
                return name
        named = self._by_name(Path(source.path))
        if len(named) == 1:
            return named[0]
        sniffing = [x for x in named or self if hasattr(self[x], "sniff")]
        fitting = [x for x in sniffing if self[x].sniff(source)]
        if len(fitting) == 1:
            return fitting[0]
        if named and not fitting:  # whose suffix it is says what is wrong
            return self.named_by(source.path)
        if fitting:
            both = " and of ".join(f"{name!r} ({self[name].DESCRIPTION})" for name in fitting)
            raise source.error(None, f"may be of {both}; format= says which")
        raise source.error(
            None,
            "is of no known format, by name or content: it begins with "
            f"{source.raw[:_SHOWN]!r}; format= says which of {', '.join(self)}",
        )


def _write_all(file: Any, written: bytes | Iterator[Any]) -> None:
    for chunk in [written] if isinstance(written, bytes) else written:
        file.write(chunk)


def _choices(module: Any, function: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check what the caller chooses against what the format leaves open."""
    left_open = function.__kwdefaults__ or {}
    # A listener hears nothing where the format has nothing to tell it.
    known = {x: value for x, value in options.items() if x in left_open or not callable(value)}
    chosen = {name: value for name, value in known.items() if value is not None}
    for name, value in chosen.items():
        if callable(value):
            continue
        if name not in left_open:
            raise InputError(f"{name}={value!r}; format {module.NAME!r} leaves no choice of it")
        accepted = _literals(get_type_hints(function)[name])
        if accepted and (isinstance(value, bool) or value not in accepted):
            raise InputError(
                f"{name}={value!r}; format {module.NAME!r} accepts "
                f"{' or '.join(map(repr, accepted))} here"
            )
    return chosen


def _literals(hint: Any) -> list[Any]:
    """The values of all Literals in a type; none for types that are no choice."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [value for member in get_args(hint) for value in _literals(member)]
