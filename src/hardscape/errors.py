"""Every error that hardscape raises on purpose, one class a cause.

All of them derive from :class:`HardscapeError`, but :class:`Interrupted` from ``KeyboardInterrupt`` alone.
Classes for bad input are also ``ValueError`` (or the built-in closest in meaning), so code that knows
nothing of hardscape still catches them.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Self


class HardscapeError(Exception):
    """Base of all errors of hardscape."""

    def __reduce__(self) -> tuple[Any, ...]:
        # What is given to a class is not always what `args` holds, the message.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InputError(HardscapeError, ValueError):
    """An argument has a value, shape or type that the function cannot accept.

    Attributes
    ----------
    result
        Of an ensemble of which files were left out, the table of the others; None of other calls.
    """

    result: Any = None


class UnknownArgumentError(HardscapeError, TypeError):
    """A call has no argument of this name; where one is near to it, the message tells."""

    def __init__(self, names: Iterable[str], known: Iterable[str], meant: str = "") -> None:
        self.names, self.known = sorted(names), sorted(known)
        super().__init__(
            f"{', '.join(self.names)}: no such argument{meant}; how a computation is run is told by "
            f"{', '.join(self.known)}"
        )

    def of(self, function: Callable[..., Any]) -> Self:
        """The same, with the arguments of a function that may be meant."""
        from difflib import get_close_matches  # only here: they take as long as a small call
        from inspect import signature

        every = sorted({*signature(function).parameters, *self.known})
        near = [x for name in self.names for x in get_close_matches(name, every, 1)]
        meant = f" (did you mean {', '.join(near)}?)" if near else ""
        return type(self)(self.names, self.known, meant)


class FormatError(InputError):
    """A file does not follow its format; the message starts with ``path:line:``.

    Parameters
    ----------
    path
        The file as the user named it.
    line
        1-based line number, or None when the file as a whole is at fault.
    reason
        What is wrong and what would be accepted.
    """

    def __init__(self, path: str | Path, line: int | None, reason: str) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}")
        self.path = str(path)
        self.line = line
        self.reason = reason


class OutputError(InputError):
    """A file could not be written when its content was there: a full disk, a folder that has gone."""


class ChecksumError(FormatError):
    """A file's content is not what its own checksum or header says: it is damaged or mislabelled."""


class OverflowWarning(RuntimeWarning):
    """A permanent is beyond float64, and its value infinite; its mantissa and exponent are not."""


class AccuracyWarning(RuntimeWarning):
    """A heuristic's answer is not to be trusted; the message says why and what to change."""


class BudgetError(HardscapeError):
    """The work asked for exceeds a limit of time, memory or number of states.

    The message gives the estimate and the argument or flag that runs it anyway.
    """


class DeviceError(HardscapeError):
    """The device asked for does not exist or cannot be used; the message gives the reason and the cure."""


class WorkerError(HardscapeError):
    """A part of the work was lost again and again, by workers that died or had no memory."""


class SimdError(DeviceError, ImportError):
    """``HARDSCAPE_SIMD`` names a level that is unknown, not built, or not supported by this processor."""


class CompileError(HardscapeError):
    """The run-time compiler rejected a generated kernel; the message holds its log."""


class CheckpointError(HardscapeError):
    """A checkpoint is unreadable, locked, or belongs to another problem, option set or version."""


class PartDone(HardscapeError):  # noqa: N818
    """The part of the shards that was asked for is done, and in its checkpoint; the others are elsewhere.

    Attributes
    ----------
    checkpoint
        The ledger of the part.
    done
        Shards of the part.
    total
        Shards of all parts.
    """

    def __init__(self, checkpoint: Path, done: int, total: int) -> None:
        super().__init__(
            f"{done} of {total} shards are in {checkpoint}; hardscape merge joins them"
        )
        self.checkpoint = checkpoint
        self.done = done
        self.total = total


class MissingDependencyError(HardscapeError, ImportError):
    """A feature needs a package that is not installed; the message holds the pip line."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: "
            f"pip install 'hardscape[{extra}]'"
        )
        self.package = package
        self.extra = extra
        self.purpose = purpose


def needed(module: str, package: str, extra: str, purpose: str) -> Any:
    """Import the module of a package that an extra installs, or raise `MissingDependencyError`."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingDependencyError(package, extra, purpose) from None


class NotConverged(HardscapeError):  # noqa: N818
    """An iteration ended before its tolerance was reached; the message says how far it came.

    Attributes
    ----------
    result
        The best result so far, in the form that the function returns.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM stopped a computation.

    No `HardscapeError` and no ``Exception``: a loop that passes over errors ends with it all the same.

    Attributes
    ----------
    signum
        The signal's number (2 or 15).
    result
        The best result so far, not certified, or None when there is none.
    """

    def __init__(self, signum: int, result: Any = None) -> None:
        super().__init__(signum, result)
        self.signum = int(signum)
        self.result = result

    def __str__(self) -> str:
        return f"stopped by signal {self.signum}"
