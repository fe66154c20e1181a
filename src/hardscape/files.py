"""The bytes of a file on their way in and out: compression, standard streams, limits, replacement.

The path ``-`` stands for standard input and output. Compression is known by content or suffix when a
file is read, and by its suffix when it is written.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hardscape import memory
from hardscape.errors import FormatError, InputError, OutputError

#: Most bytes read from one file, counted after decompression.
MAX_BYTES = 2**30
#: Things that any file may announce; of more than that there are not more than it has bytes.
_UNDOUBTED = 10_000_000
#: Bytes that are read at once: a signal is heard in between.
_PIECE = 2**24
_STANDARD = "-"
#: Bytes that hold the name of the first file of an archive.
_HEADER = 512
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Compression(NamedTuple):
    """First bytes, the module that opens such files, and what compresses: ``compress``, ``flush``."""

    magic: bytes
    module: str
    packer: Callable[[], Any]


_COMPRESSIONS = {
    ".gz": _Compression(b"\x1f\x8b\x08", "gzip", lambda: zlib.compressobj(9, zlib.DEFLATED, 31)),
    ".xz": _Compression(b"\xfd7zXZ\0", "lzma", lambda: import_module("lzma").LZMACompressor()),
    ".bz2": _Compression(b"BZh", "bz2", lambda: import_module("bz2").BZ2Compressor()),
}
#: First bytes of what others pack.
_FOREIGN = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"PK\x03\x04": "zip"}
#: Suffixes that stand for a compression around the format named before them.
COMPRESSED = tuple(_COMPRESSIONS)


class Source:
    """The decompressed bytes of a file, read or mapped into memory, and the path that errors name."""

    __slots__ = ("path", "raw")

    def __init__(self, path: str, raw: bytes | mmap) -> None:
        self.path = path
        self.raw = raw

    @property
    def data(self) -> bytes:
        """All bytes."""
        return self.raw if isinstance(self.raw, bytes) else self.raw[:]

    def __len__(self) -> int:
        return len(self.raw)

    def bytes(self, start: int, count: int) -> bytes:
        """Some bytes of a header, or the error that the file ends inside it."""
        if start + count > len(self.raw):
            raise self.error(None, f"ends after {len(self.raw)} bytes, inside its header")
        return self.raw[start : start + count]

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines of a text file, blanks around them left out, and their 1-based numbers.

        Comments may be of any encoding: bytes that are not UTF-8 are replaced by what no number contains.
        """
        for number, line in enumerate(io.BytesIO(self.raw), start=1):
            yield number, line.decode("utf-8", "replace").strip()

    def believe(self, count: int, what: str, line: int | None = None) -> None:
        """Refuse a number of things that cannot all be in so few bytes."""
        most = max(len(self), _UNDOUBTED)
        if count > most:
            reason = f"announces {count} {what} in {len(self)} bytes; up to {most} are believed"
            raise self.error(line, reason)

    def file(self) -> Path | BinaryIO:
        """The file for packages that read files by themselves."""
        return io.BytesIO(self.raw) if isinstance(self.raw, bytes) else Path(self.path)

    def error(self, line: int | None, reason: str) -> FormatError:
        """The error for `line` of this file, for the caller to raise."""
        return FormatError(self.path, line, reason)


def shown(field: str) -> str:
    """Quote a field of a file for an error message, cut to a length that a person reads."""
    return repr(field if len(field) <= 40 else field[:40] + "...")


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


def _foreign(head: bytes) -> str:
    """What has packed a file that begins so, if nobody here unpacks it; an archive of NumPy is no such."""
    for magic, packer in _FOREIGN.items():
        if head.startswith(magic):
            name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
            return "" if packer == "zip" and name.endswith(b".npy") else packer
    return ""


def load(path: str | Path, *, mapped: bool = False) -> Source:
    """Read and decompress a file, or standard input; FormatError if there is nothing or more than `MAX_BYTES`.

    Where it is `mapped`, a file that is not compressed is mapped into memory instead, and nothing is too much
    that memory can hold. A byte order mark before UTF-8 text is left out, text that begins with one of UTF-16
    becomes UTF-8, and carriage returns alone end lines, too.
    """
    place = path_of(path)
    shown = "standard input" if str(place) == _STANDARD else str(place)
    most = None if mapped else MAX_BYTES
    try:
        with _opened(place, most) as file:
            raw = _content(file, place.suffix.lower(), most)
    except (EOFError, zlib.error) as error:
        raise FormatError(shown, None, f"is damaged or cut off: {error}") from None
    except MemoryError:
        raise FormatError(shown, None, "is damaged, or larger than memory") from None
    except UnicodeEncodeError as error:
        raise InputError(f"path {path!r} cannot name a file here: {error.reason}") from None
    except OSError as error:
        raise FormatError(shown, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise FormatError(shown, None, str(error)) from None
    if isinstance(raw, bytes):
        raw = raw.removeprefix(codecs.BOM_UTF8)
        if raw.startswith(_UTF16) and not mapped:  # PowerShell's ">", and Excel's Unicode text
            try:
                raw = raw.decode("utf-16").encode()
            except UnicodeDecodeError:
                raise FormatError(shown, None, "begins as UTF-16 text, and is none") from None
        if b"\n" not in raw and b"\0" not in raw:  # text of old Macs, and of Excel on new ones
            raw = raw.replace(b"\r", b"\n")
    if packer := _foreign(raw[:_HEADER]):
        raise FormatError(
            shown,
            None,
            f"is packed by {packer}; {', '.join(COMPRESSED)} and plain files are accepted",
        )
    if not len(raw) or (isinstance(raw, bytes) and raw.isspace()):
        raise FormatError(shown, None, "is empty")
    return Source(shown, raw)


def _opened(place: Path, most: int | None) -> BinaryIO:
    """The file at its start, to which it can be wound back."""
    if str(place) == _STANDARD:
        return io.BytesIO(pieces(sys.stdin.buffer, most))
    file = place.open("rb")
    if file.seekable():
        return file
    with file:
        return io.BytesIO(pieces(file, most))


def _content(file: BinaryIO, suffix: str, most: int | None) -> bytes | mmap:
    head = file.read(8)
    file.seek(0)
    for name, compression in _COMPRESSIONS.items():
        if head.startswith(compression.magic) or name == suffix:
            module = import_module(compression.module)
            try:
                with module.open(file, "rb") as packed:
                    return pieces(packed, most)
            except getattr(module, "LZMAError", ()) as error:
                raise EOFError(error) from None
    if most is None and head and not isinstance(file, io.BytesIO):
        return mmap(file.fileno(), 0, access=ACCESS_READ)
    return pieces(file, most)


def pieces(file: Any, most: int | None = None) -> bytes:
    """Read to the end; a ValueError beyond `most` bytes, by default what memory holds."""
    found = io.BytesIO()
    most = memory.available() if most is None else most
    while piece := file.read(_PIECE):
        found.write(piece)
        if found.tell() > most:
            raise ValueError(f"holds more than {most} bytes, the most that is read")
    return found.getvalue()


def check_outputs(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path] = (),
    *,
    force: bool = False,
    folders: bool = False,
) -> None:
    """Check, before work begins, that files can be written after it.

    Parameters
    ----------
    outputs : iterable of str or Path
        Files to be written; ``-``, standard output, is always ready.
    inputs : iterable of str or Path
        Files that are read, which no output may be.
    force : bool
        Whether files that are there may be replaced.
    folders : bool
        Whether folders that are missing will be made.

    Raises
    ------
    InputError
        If a folder is missing or cannot be written to, or if a file is there, is a folder or a device, is an
        input, or is named twice.
    """
    known = {os.path.realpath(path_of(x)): f"it is read: {x}" for x in inputs}
    for place in map(path_of, outputs):
        if str(place) == _STANDARD:
            continue
        target = Path(os.path.realpath(place))
        reason = known.get(str(target), "") or _obstacle(target, force, folders)
        if reason:
            raise InputError(f"{place} cannot be written: {reason}")
        known[str(target)] = "it is named twice"


def _obstacle(target: Path, force: bool, folders: bool) -> str:
    """Why a file could not be written; "" if it could."""
    while folders and not target.parent.exists():
        target = target.parent
    if not target.parent.is_dir():
        return f"there is no folder {str(target.parent)!r}"
    if target.exists() and not target.is_file():
        return "it is not a regular file"
    if target.exists() and not force:
        return "it is there; --force replaces it"
    trial = _beside(target)
    try:  # permissions do not tell about file systems that only look writable
        trial.touch()
        trial.unlink()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _beside(target: Path) -> Path:
    return target.with_name(f".hardscape-{os.urandom(8).hex()}.part")


def store(path: str | Path, data: bytes) -> None:
    """Replace a file by `data`; see :func:`replace`."""
    replace(path, lambda file: file.write(data))


def replace(path: str | Path, write: Callable[[Any], object]) -> None:
    """Replace a file as a whole: other processes see the old file or the new one, never a part.

    `write` writes the content with the method ``write`` of what it is given; the path's suffix says
    whether it is compressed.
    """
    place = path_of(path)
    if str(place) == _STANDARD:
        sys.stdout.flush()
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(place))
    temporary = _beside(target)
    compression = _COMPRESSIONS.get(place.suffix.lower())
    try:
        existing = target.exists()
        if existing and not target.is_file():
            raise InputError(f"{place} cannot be written: it is not a regular file")
        with temporary.open("xb") as file:
            if compression is None:
                write(file)
            else:
                packed = _Packed(file, compression.packer())
                write(packed)
                file.write(packed.packer.flush())
            file.flush()
            os.fsync(file.fileno())
        if existing:
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror or error}") from None
    finally:
        # What cannot be removed is in a folder at fault, and the error that says so is on its way.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


class _Packed(NamedTuple):
    """A file that compresses what is written."""

    file: BinaryIO
    packer: Any

    def write(self, data: Any) -> None:
        self.file.write(self.packer.compress(data))
