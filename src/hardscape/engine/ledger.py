"""The ledger: the shards of a job that are complete, in one SQLite file.

One transaction a block of shards, partials as npz (never pickle), an exclusive lock for as long as a run has
it open. ``kill -9`` at any moment loses the shards in flight and nothing else; a ledger of other
work, or of another revision of its algorithm, refuses to be resumed.

Schema, format 4: ``meta(key, value)`` with name, revision, digest (which the revision is part of),
format, shards and seed (of the call that began it, which a call without one goes on with); for
information only hardscape (the version that created it), created, command (JSON) and folder, the host,
pid (empty when it has ended), opened and changed of the latest run, and the seconds of all runs;
``blocks(start, stop, data, crc)``, one npz for each complete block of shards ``start <= index < stop``, a
node of the tree along which partials are folded (``engine/fold.py``); of a chain the latest state
alone, ``stop`` being the number of its steps. Blocks are replaced by the nodes above them as the file
grows, so that it stays bounded by the answer. The CRC-32 is of start and stop as decimal digits, a space
between them, and the npz: SQLite itself does not notice other bytes in its pages. The file's application id
is `APPLICATION_ID`.
"""

from __future__ import annotations

import io
import json
import os
import re
import threading
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import numpy as np

from hardscape import archives
from hardscape.arguments import MAX_SEED
from hardscape.engine.fold import Block
from hardscape.engine.work import Partial, Recorded
from hardscape.errors import CheckpointError
from hardscape.files import Source
from hardscape.version import __version__

#: "HSlg" in ASCII; SQLite keeps it at byte 68 of the file.
APPLICATION_ID = 0x48536C67

#: Kinds of dtypes that partials have.
_KINDS = "biufcSU"

#: Version of the schema and of the encoding of partials.
FORMAT = 4

#: Seconds between two folds of the log into the file, and how many times longer than a fold takes at least.
_BETWEEN_FOLDS, _FOLDING = 1.0, 20.0

_SQLITE_MAGIC = b"SQLite format 3\0"

_TABLE = (
    "CREATE TABLE blocks (start INTEGER PRIMARY KEY, stop INTEGER NOT NULL, data BLOB NOT NULL, "
    "crc INTEGER NOT NULL)"
)

#: Bytes that blocks may take before they are merged: so many, or as many as they took when they were.
_SPARE = 2**20

#: What the command line was asked, which a ledger that is begun now keeps; empty outside of it.
command: list[str] = []

# Files (device, inode) that ledgers of this process have open. POSIX drops a process's locks on a
# file when it closes any descriptor of it, so a file that is open here must not be looked into.
_open_here: set[tuple[int, int]] = set()
_opening = threading.Lock()


def pack(partial: Partial) -> bytes:
    """Encode a partial as npz; equal partials give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in partial.items():
            # A ZipInfo made from a name alone carries no time of day.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def unpack(data: bytes) -> Partial:
    """Decode what :func:`pack` wrote; a FormatError for anything else."""
    source = Source("partial", data)
    with archives.reading(source, "archive of arrays"):
        return archives.arrays(source, _KINDS)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _crc(block: Block, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(f"{block.start} {block.stop}".encode()))


class NoLedger:
    """Remembers nothing."""

    share: float | None = None
    steps = 0
    swollen = False

    def load(self) -> Iterator[tuple[Block, Partial]]:
        """Yield nothing."""
        yield from ()

    def commit(self, block: Block, partial: Partial) -> None:
        """Do nothing."""

    def replace(self, nodes: Iterable[tuple[Block, Partial]]) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class Ledger:
    """An open ledger; entering it does nothing, leaving it closes it.

    Parameters
    ----------
    path : str or Path
        Created if it does not exist or is empty; its folder must exist.
    work : Work or Chain
        Whose shards, or whose state, it holds.
    seed : int, optional
        Kept for calls that go on without one; see `kept_seed`.

    Raises
    ------
    CheckpointError
        If the file is no ledger, is damaged, belongs to other work, is in use, or cannot be
        written. The file is then left as it was.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from hardscape.engine import Ledger
    >>> from hardscape.permanents.methods.glynn.glynn import CpuGlynnWork
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Ledger(f"{folder}/job.ledger", CpuGlynnWork(np.ones((8, 8)))) as ledger:
    ...         print(len(list(ledger.load())))
    0
    """

    def __init__(self, path: str | Path, work: Recorded, seed: int | None = None) -> None:
        self._path = Path(path)
        self._total = work.identity().shards
        # What nobody may write can still be read, and tells a finished answer.
        self._writable = not self._path.exists() or all(
            os.access(place, os.W_OK) for place in (self._path, self._path.parent)
        )
        self._fold_at = 0.0
        self._locked = False
        #: How much of the time is done, from 0 to 1, where the number of shards does not tell.
        self.share: float | None = None
        #: Steps that a chain is to come to, where that is known.
        self.steps = 0
        self._bytes = 0  # of blocks that were written since they were merged
        self._spare = _SPARE
        with _opening:
            _check_place(self._path)
            self._open(work, seed)
            self._identity = _identity(self._path)
            _open_here.add(self._identity)

    def _open(self, work: Recorded, seed: int | None) -> None:
        identity = work.identity()
        expected = {
            "format": str(FORMAT),
            "name": identity.name,
            "revision": str(identity.revision),
            "digest": identity.digest,
            "shards": str(identity.shards),
        }
        import sqlite3  # nobody waits for it without a checkpoint

        new = not self._path.exists()
        with _reported(self._path, "open"):
            # Autocommit: every statement outside BEGIN is a transaction of its own.
            place = (
                self._path if self._writable else f"{self._path.absolute().as_uri()}?immutable=1"
            )
            self._database = sqlite3.connect(
                place,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                uri=not self._writable,
            )
        try:
            with _reported(self._path, "open"):
                if not self._writable:
                    self._check(expected)
                    return
                self._begin(expected | ({} if seed is None else {"seed": str(seed)}))
                self._check(expected)
                # In WAL a commit appends to a log; NORMAL leaves out the fsync, so it costs
                # microseconds. What the kernel has taken survives the death of the process; a power
                # cut may lose the last commits but, the log being checksummed, never tears one.
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                self._spent = float(self._told("seconds") or 0.0)
                self._opened = time.monotonic()
                self._tell(host=os.uname().nodename, pid=str(os.getpid()), opened=_now())
                self._fold()  # who looks at the file alone sees whose it is
        except BaseException:
            # Where there is no room even for its first page. Of others' files none is both begun and empty.
            if new and self._locked and not self._path.stat().st_size:
                self._path.unlink()
            self._database.close()
            raise

    def _told(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _tell(self, **facts: str) -> None:
        """Keep what `hardscape jobs` tells people."""
        spent = self._spent + time.monotonic() - self._opened
        facts |= {"seconds": f"{spent:.3f}", "changed": _now()}
        if self.share is not None:
            facts |= {"share": f"{self.share:.6f}", "steps": str(self.steps)}
        self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def _begin(self, expected: dict[str, str]) -> None:
        """Take the lock that keeps every other process out until this ledger is closed; begin what is empty.

        In one transaction, as the lock alone already writes SQLite's head into an empty file: whoever is
        killed here leaves a file that is empty or whole.
        """
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("BEGIN EXCLUSIVE")
        self._locked = True
        if not self._database.execute("PRAGMA schema_version").fetchone()[0]:
            self._create(expected)
        self._database.execute("COMMIT")

    def _create(self, expected: dict[str, str]) -> None:
        meta = expected | {
            "hardscape": __version__,
            "created": _now(),
            "command": json.dumps(command),
            "folder": os.getcwd(),
        }
        self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._database.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self._database.execute(_TABLE)
        self._database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())

    def _check(self, expected: dict[str, str]) -> None:
        verdict = self._database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise CheckpointError(
                f"checkpoint {self._path} is damaged ({verdict}); delete it to start afresh"
            )
        found = dict(self._database.execute("SELECT key, value FROM meta"))
        for key, value in expected.items():
            if found.get(key) != value:
                raise CheckpointError(
                    f"checkpoint {self._path} belongs to other work: its {_MEANING[key]} is "
                    f"{found.get(key)!r}, here it is {value!r} (it was written by hardscape "
                    f"{found.get('hardscape')}); resume it with what it was begun with, or name "
                    "another file"
                )

    def load(self) -> Iterator[tuple[Block, Partial]]:
        """Yield the complete blocks and their partials, in order.

        Raises
        ------
        CheckpointError
            If a partial is not the one that was written.
        """
        end = 0
        with _reported(self._path, "read"):
            for start, stop, data, crc in self._database.execute(
                "SELECT * FROM blocks ORDER BY start"
            ):
                block = Block(start, stop)
                numbers = isinstance(start, int) and isinstance(stop, int)
                if not numbers or not end <= start < stop or 0 < self._total < stop:
                    raise CheckpointError(
                        f"checkpoint {self._path} is damaged: it holds shards {start} up to {stop} of "
                        f"{self._total}; delete it to start afresh"
                    )
                if not isinstance(data, bytes) or _crc(block, data) != crc:
                    raise CheckpointError(
                        f"checkpoint {self._path} is damaged: shard {start} is not what was "
                        "written; delete it to start afresh"
                    )
                end = stop
                self._bytes += len(data)
                yield block, unpack(data)

    def holds(self, block: Block) -> bool:
        """Whether the shards of a block are all in one that is stored."""
        below = "SELECT stop FROM blocks WHERE start <= ? ORDER BY start DESC LIMIT 1"
        with _reported(self._path, "read"):
            found = self._database.execute(below, (block.start,)).fetchone()
        return found is not None and found[0] >= block.stop

    @property
    def swollen(self) -> bool:
        """Whether so much was written that the blocks should be replaced by what they were merged to."""
        return self._bytes > self._spare

    def commit(self, block: Block, partial: Partial) -> None:
        """Store a complete block in place of those within it, in one transaction.

        Raises
        ------
        CheckpointError
            If the file cannot be written, for example because the disk is full.
        """
        data = pack(partial)
        with self._changing():
            within = "DELETE FROM blocks WHERE start >= ? AND start < ?"
            self._database.execute(within, (block.start, block.stop))
            self._insert(block, data)

    def replace(self, nodes: Iterable[tuple[Block, Partial]]) -> None:
        """Store these blocks instead of all that was stored before.

        Raises what :meth:`commit` raises.
        """
        packed = [(block, pack(partial)) for block, partial in nodes]
        self._spare = max(_SPARE, sum(len(data) for _, data in packed))
        with self._changing():
            self._database.execute("DELETE FROM blocks")
            for block, data in packed:
                self._insert(block, data)
        self._bytes = 0

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with _reported(self._path, "write"):
            with self._database:
                self._database.execute("BEGIN")
                yield
            self._fold()

    def _fold(self) -> None:
        """Now and then, move the log into the file: a copy of the file alone then lacks a second's work."""
        began = time.monotonic()
        if began >= self._fold_at:
            self._tell()
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            ended = time.monotonic()
            self._fold_at = ended + max(_BETWEEN_FOLDS, _FOLDING * (ended - began))

    def _insert(self, block: Block, data: bytes) -> None:
        row = (block.start, block.stop, data, _crc(block, data))
        self._database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
        self._bytes += len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._writable:
            with suppress(CheckpointError), _reported(self._path, "write"):
                self._tell(pid="")
        self._database.close()
        with _opening:
            _open_here.discard(self._identity)


_IN_USE = "another run has it open; wait for that run or name another file"

_MEANING = {
    "format": "format",
    "name": "kind of work",
    "revision": "revision of the algorithm",
    "digest": "digest of problem and options",
    "shards": "number of shards",
}


@contextmanager
def _reported(path: Path, verb: str) -> Iterator[None]:
    """Turn an error of SQLite, or its text that is none, into a `CheckpointError` that names the file."""
    import sqlite3

    try:
        yield
    except UnicodeError:
        raise CheckpointError(
            f"checkpoint {path} is damaged: it holds text that is none; delete it to start afresh"
        ) from None
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = _IN_USE
        elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "decode" in str(error):
            reason = f"it is damaged ({error}); delete it to start afresh"
        else:
            reason = f"{error}; name a file on a disk with room that you may write"
        raise CheckpointError(f"checkpoint {path}: cannot {verb} it: {reason}") from error


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _check_place(path: Path) -> None:
    """Refuse, before SQLite touches anything, what is not a ledger's place."""
    if not path.parent.is_dir():
        raise CheckpointError(f"checkpoint {path}: the folder {path.parent} does not exist")
    if not path.exists():
        return
    if not path.is_file():
        raise CheckpointError(f"checkpoint {path} is not a regular file")
    if _identity(path) in _open_here:
        raise CheckpointError(f"checkpoint {path}: cannot open it: {_IN_USE}")
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise CheckpointError(f"checkpoint {path}: cannot read it: {error}") from error
    if header and (
        header[:16] != _SQLITE_MAGIC or int.from_bytes(header[68:72], "big") != APPLICATION_ID
    ):
        raise CheckpointError(
            f"checkpoint {path} exists and is not a ledger of hardscape; name another file"
        )


def open_ledger(
    checkpoint: str | Path | None, work: Recorded, seed: int | None = None
) -> Ledger | NoLedger:
    """Open the ledger that a user named, if any; raises what `Ledger` raises."""
    return NoLedger() if checkpoint is None else Ledger(checkpoint, work, seed)


def kept_seed(path: Path) -> int | None:
    """The seed of the call that began a ledger; None where none can be read: to open it tells why."""
    return _kept(path, "seed", MAX_SEED)


def kept_shards(path: Path) -> int | None:
    """Likewise, the number of shards."""
    return _kept(path, "shards", 2**63) or None


def _kept(path: Path, key: str, most: int) -> int | None:
    import sqlite3

    with _opening, suppress(CheckpointError, OSError, UnicodeError, sqlite3.Error):
        _check_place(path)
        if path.exists():
            with closing(sqlite3.connect(path, timeout=0)) as database:
                told = "SELECT value FROM meta WHERE key = ?"
                kept = database.execute(told, (key,)).fetchone()
            if kept and re.fullmatch("[0-9]{1,20}", str(kept[0])) and int(kept[0]) <= most:
                return int(kept[0])
    return None
