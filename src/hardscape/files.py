"""The bytes of a file on their way in and out: decompression, limits, atomic replacement."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hardscape.errors import FormatError, InputError

__all__ = ["COMPRESSED", "MAX_BYTES", "Source", "load", "path_of", "plain_name", "replace", "store"]

#: Most bytes read from one file, counted after decompression.
MAX_BYTES = 2**30
#: Suffixes that stand for a compression around the format named before them.
COMPRESSED = (".gz", ".xz")


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of a file and the path that its errors name."""

    path: str
    data: bytes

    def error(self, line: int | None, reason: str) -> FormatError:
        """The error for `line` of this file, for the caller to raise."""
        return FormatError(self.path, line, reason)


def path_of(path: str | Path) -> Path:
    """Check that `path` can name a file at all."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise InputError(f"path is {path!r}; a string or Path without null characters is accepted")
    return Path(path)


def plain_name(path: Path) -> str:
    """The file's name in lower case without a suffix of compression."""
    name = path.name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name


def load(path: str | Path) -> Source:
    """Read and decompress a file.

    Raises
    ------
    FormatError
        If it is missing, not readable, a directory, empty, damaged or above `MAX_BYTES`.
    """
    place = path_of(path)
    try:
        data = _content(place)
    except (EOFError, zlib.error, MemoryError) as error:
        raise FormatError(place, None, f"is damaged or cut off: {error}") from None
    except OSError as error:
        raise FormatError(place, None, f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise FormatError(place, None, f"holds more than {MAX_BYTES} bytes, the most that is read")
    if not data.strip():
        raise FormatError(place, None, "is empty")
    return Source(str(place), data)


def _content(path: Path) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    if suffix == ".xz":
        import lzma

        try:
            with lzma.open(path, "rb") as packed:
                return packed.read(MAX_BYTES + 1)
        except lzma.LZMAError as error:
            raise EOFError(error) from None
    with path.open("rb") as plain:
        return plain.read(MAX_BYTES + 1)


def store(path: str | Path, data: bytes) -> None:
    """Replace a file by `data`, compressed if its suffix says so; see :func:`replace`."""
    place = path_of(path)
    replace(place, lambda file: file.write(_compressed(place, data)))


def replace(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a file as a whole: other processes see the old file or the new one, never a part.

    Parameters
    ----------
    path : str or Path
    write : callable
        Writes the content into the file that it is given.

    Raises
    ------
    InputError
        If the folder is missing or not writable, or the path is something other than a file.
    """
    place = path_of(path)
    target = Path(os.path.realpath(place))
    temporary = target.with_name(f".hardscape-{secrets.token_hex(8)}.part")
    try:
        existing = target.exists()
        if existing and not target.is_file():
            raise InputError(f"{place} cannot be written: it is not a regular file")
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if existing:
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}") from None
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        # The folder itself is at fault, and the error that says so is already on its way.
        return


def _compressed(path: Path, data: bytes) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.compress(data, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.compress(data)
    return data
