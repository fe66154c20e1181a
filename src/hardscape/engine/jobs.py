"""What ledgers tell of the jobs that they belong to, also while those run."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hardscape.engine.ledger import APPLICATION_ID, FORMAT
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
        "stopped" is also what was killed. Of a chain nobody knows the end: it is never "finished".
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
        Shards that are complete, and all; `total` is 0 for a chain, `done` then its steps.
    seconds : float
        Of all runs together.
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
        return (self.total - self.done) / self.rate if self.total and self.rate else None


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
        if path.is_file() and _is_ledger(path):
            yield job(path)


def job(path: str | Path) -> Job:
    """The job of a ledger, also of one that is in use.

    Raises
    ------
    CheckpointError
        If the file is no ledger.
    """
    place = Path(path)
    if not place.is_file() or not _is_ledger(place):
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


def _connected(path: Path) -> sqlite3.Connection:
    """The file as it is at rest, whoever has it open: what the log holds is folded in every second."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, timeout=0)


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(100)[68:72], "big") == APPLICATION_ID
    except OSError:
        return False


def _read(path: Path, database: sqlite3.Connection) -> Job:
    told = {str(key): str(value) for key, value in database.execute("SELECT key, value FROM meta")}
    if told.get("format") != str(FORMAT):
        return Job(path, "damaged", reason=f"its format is {told.get('format')}, not {FORMAT}")
    total = int(told.get("shards", 0))
    count, last = database.execute("SELECT count(*), max(idx) FROM shards").fetchone()
    finished = bool(total) and count == total
    return Job(
        path,
        "finished" if finished else "running" if _runs(told) else "stopped",
        told.get("name", ""),
        tuple(map(str, json.loads(told.get("command", "[]")))),
        told.get("folder", ""),
        told.get("host", ""),
        told.get("created", ""),
        told.get("changed", ""),
        count if total else last or 0,
        total,
        float(told.get("seconds", 0.0)),
    )


def _runs(told: dict[str, str]) -> bool:
    """Whether somebody works on it: on this host a process that lives, elsewhere one that wrote of late."""
    if not told.get("pid"):
        return False
    if told.get("host") == os.uname().nodename:
        return Path(f"/proc/{int(told['pid'])}").exists()
    silent = datetime.now(UTC) - datetime.fromisoformat(told["changed"])
    return silent < timedelta(seconds=_SILENT)
