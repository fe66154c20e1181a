"""What ledgers tell of the jobs that they belong to, also while those run."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hardscape.engine.cluster.parts import part_of, whole_of
from hardscape.engine.ledger import APPLICATION_ID, FORMAT, Ledger
from hardscape.engine.work import Identity
from hardscape.errors import CheckpointError
from hardscape.files import store
from hardscape.plain import Plain

#: Seconds after which a run on another host, which writes every few seconds, is taken for dead.
_SILENT = 600.0
#: Attempts at a copy of a ledger that another process writes.
_ATTEMPTS = 10


@dataclass(frozen=True, eq=False)
class Job(Plain):
    """A ledger, as people ask for it.

    Attributes
    ----------
    path : Path
    state : {"running", "stopped", "finished", "damaged"}
        "stopped" is also what was killed.
    name : str
        Kind of work, for example "ising.spectrum".
    command : tuple of str
        What the command line was asked; empty if it was Python.
    folder : str
        Where.
    host : str
        Where it runs, or ran last.
    created, changed : str
        Dates and times, ISO 8601, UTC.
    done, total : int
        Shards that are complete, and all, or all of its part; steps of a chain, whose `total` is 0 where
        nobody knows how many it takes, as to fix a gauge.
    seconds : float
        Of all runs together.
    share : float
        How much of the time is done, from 0 to 1: `done` of `total`, unless a run expects some parts to
        take longer than others.
    reason : str
        Why it is "damaged".
    """

    path: Path
    state: Literal["running", "stopped", "finished", "damaged"]
    name: str = ""
    command: tuple[str, ...] = ()
    folder: str = ""
    host: str = ""
    created: str = ""
    changed: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    share: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = vars(self) | {
            "path": str(self.path),
            "command": list(self.command),
            "eta": self.eta,
        }
        return {"file": plain.pop("path"), **plain}

    @property
    def rate(self) -> float:
        """Shards, or steps, a second."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds that are left at this rate; None where nobody knows."""
        return self.seconds * (1 - self.share) / self.share if self.total and self.share else None


def jobs(folder: str | Path) -> Iterator[Job]:
    """The jobs whose ledgers lie in a folder, in the order of their names.

    Raises
    ------
    CheckpointError
        If it is no folder, or cannot be read.
    """
    try:
        files = sorted(Path(folder).iterdir())
    except OSError as error:
        raise CheckpointError(f"{folder}: {error.strerror}") from None
    for path in files:
        if path.is_file() and is_ledger(path):
            yield job(path)


def job(path: str | Path) -> Job:
    """The job of a ledger, also of one that is in use.

    Raises
    ------
    CheckpointError
        If the file is no ledger.
    """
    place = Path(path)
    if not place.exists():
        raise CheckpointError(f"checkpoint {place}: No such file or directory")
    if not place.is_file() or not is_ledger(place):
        raise CheckpointError(f"{place} is no ledger of hardscape")
    try:
        with closing(_connected(place)) as database:
            return _read(place, database)
    except (sqlite3.Error, ValueError, UnicodeError, TypeError) as error:
        return Job(place, "damaged", reason=str(error))


def copied(path: str | Path, target: str | Path) -> None:
    """Copy a ledger whole, also one that a run has open; it holds all but the last second's shards.

    Raises
    ------
    CheckpointError
        If the file is no ledger, or damaged.
    OutputError
        If the copy cannot be written.
    """
    if job(path).state == "damaged":
        raise CheckpointError(f"checkpoint {path} is damaged: {job(path).reason}")
    for _ in range(_ATTEMPTS):
        with closing(sqlite3.connect(":memory:")) as copy:
            try:
                with closing(_connected(Path(path))) as database:
                    database.backup(copy)
                whole = copy.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            except sqlite3.Error:
                continue
            if whole:
                store(Path(target), copy.serialize())
                return
    raise CheckpointError(
        f"checkpoint {path} is written too often to be copied; stop its run first"
    )


@dataclass(frozen=True)
class _Owner:
    """What a ledger belongs to, as far as it tells itself."""

    kept: Identity

    @classmethod
    def of(cls, path: Path) -> _Owner:
        with closing(_connected(path)) as database:
            told = _facts(database)
        name, digest = told["name"], told["digest"]
        return cls(Identity(name, int(told["revision"]), digest, int(told["shards"])))

    def identity(self) -> Identity:
        """See `Recorded`."""
        return self.kept


def merged(paths: Iterable[str | Path]) -> list[Path]:
    """Put what ledgers of parts hold, also while runs have them open, into those of the whole.

    Parameters
    ----------
    paths : iterable of str or Path
        ``model.01-of-64.ledger`` and so on, of one computation or several; other files are passed over.

    Returns
    -------
    list of Path
        The ledgers of the whole, ``model.ledger``, which are made where there are none.

    Raises
    ------
    CheckpointError
        If one is no ledger, damaged, or of other work than the others; or if one of the whole is in use.
    """
    wholes: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        if part_of(path):
            wholes.setdefault(whole_of(path), []).append(path)
    for whole, parts in wholes.items():
        _merge(whole, parts)
    return list(wholes)


def _merge(whole: Path, parts: Sequence[Path]) -> None:
    with TemporaryDirectory(prefix=".merge-", dir=whole.parent) as folder:
        copies = [Path(folder) / part.name for part in parts]
        for part, copy in zip(parts, copies, strict=True):
            copied(part, copy)
        if not whole.exists():
            copied(parts[0], whole)
        owner = _Owner.of(copies[0])
        with Ledger(whole, owner) as ledger:
            for copy in copies:
                with Ledger(copy, owner) as of_part:
                    for block, partial in of_part.load():
                        if not ledger.holds(block):
                            ledger.commit(block, partial)


def _connected(path: Path) -> sqlite3.Connection:
    """The file as it is at rest, whoever has it open: what the log holds is folded in every second.

    Who is killed while that happens leaves a file that only its log makes whole.
    """
    place = f"{path.absolute().as_uri()}?immutable=1"
    database = sqlite3.connect(place, uri=True, timeout=0)
    with suppress(sqlite3.Error):
        if database.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok":
            return database
    database.close()
    return _with_log(path)


def _with_log(path: Path) -> sqlite3.Connection:
    """A copy in memory of a file and its log, neither of which is touched."""
    with TemporaryDirectory() as folder:
        for suffix in ("-wal", "-journal", ""):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", Path(folder, f"ledger{suffix}"))
        with closing(sqlite3.connect(Path(folder, "ledger"))) as copy:
            memory = sqlite3.connect(":memory:")
            try:
                copy.backup(memory)
            except sqlite3.Error:
                memory.close()
                raise
    return memory


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger, whole or damaged."""
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(100)[68:72], "big") == APPLICATION_ID
    except OSError:
        return False


def _facts(database: sqlite3.Connection) -> dict[str, str]:
    return {str(key): str(value) for key, value in database.execute("SELECT key, value FROM meta")}


def _read(path: Path, database: sqlite3.Connection) -> Job:
    told = _facts(database)
    if told.get("format") != str(FORMAT):
        return Job(path, "damaged", reason=f"its format is {told.get('format')}, not {FORMAT}")
    total, part = int(told.get("shards", 0)), part_of(path)
    total = total if part is None else len(part.of(total))
    (done,) = database.execute("SELECT ifnull(sum(stop - start), 0) FROM blocks").fetchone()
    share = float(told.get("share", 0.0))
    if told.get("shards") == "0":
        total, finished = int(told.get("steps", 0)), share == 1.0
    else:
        finished = done == total and (bool(total) or part is not None)
    return Job(
        path,
        "finished" if finished else "running" if _runs(told) else "stopped",
        told.get("name", ""),
        tuple(map(str, json.loads(told.get("command", "[]")))),
        told.get("folder", ""),
        told.get("host", ""),
        told.get("created", ""),
        told.get("changed", ""),
        done,
        total,
        float(told.get("seconds", 0.0)),
        1.0 if finished else share if "share" in told else done / total if total else 0.0,
    )


def _runs(told: dict[str, str]) -> bool:
    """Whether somebody works on it: on this host a process that lives, elsewhere one that wrote of late."""
    if not told.get("pid"):
        return False
    if told.get("host") == os.uname().nodename:
        return Path(f"/proc/{int(told['pid'])}").exists()
    silent = datetime.now(UTC) - datetime.fromisoformat(told["changed"])
    return silent < timedelta(seconds=_SILENT)
