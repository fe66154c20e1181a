"""A task on each file of an ensemble, as work for the engine: one shard a configuration.

Files are read where their shard runs. What a task writes is written before its row is recorded, so that a
resumed run repeats at most the configurations that were in flight.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hardscape.engine import Context, Partial, Shard, ShardResult, Work, split
from hardscape.engine.lanes import at_most
from hardscape.errors import FormatError, InputError, OutputError
from hardscape.gauge.ensembles.files import Reader
from hardscape.gauge.field import GaugeField

#: The column that says which file a row is of.
NUMBER = "number"
#: Beside the rows: the files that have none, the class of the error of each, and what is wrong with it.
LEFT_OUT = ("left_out", "left_out_kind", "left_out_reason")


@dataclass(frozen=True)
class Configuration:
    """A configuration of an ensemble, as a task has it.

    Attributes
    ----------
    number : int
        Its place among the files.
    name : str
        Of its file, without folders.
    field : GaugeField
    format : str
        Of its file; nothing of a field that was in memory.
    seed : int
        For what is random: of the ensemble's seed and this number.
    threads : int
        That may work on it.
    """

    number: int
    name: str
    field: GaugeField
    format: str
    seed: int
    threads: int


class Task(ABC):
    """What is done with a configuration: frozen dataclasses that pickle, whose repr is in the digest."""

    name: ClassVar[str]
    revision: ClassVar[int]
    #: Whether a configuration that is refused is left out, and told of when all others are done.
    goes_on: ClassVar[bool] = False

    @abstractmethod
    def measure(self, configuration: Configuration, context: Context) -> Mapping[str, Any] | None:
        """The numbers of a row by column, of equal shapes for all configurations; None if it was stopped."""


@dataclass(frozen=True, eq=False)
class EnsembleWork(Work[Partial]):
    """Rows of all configurations: the partial has arrays of shape (rows, ...), ``number``, and `LEFT_OUT`."""

    files: tuple[str, ...]  # absolute: workers may be elsewhere
    reader: Reader
    task: Task
    seed: int
    threads: int = 1  # of a configuration; the answer does not depend on it

    name: ClassVar[str] = "gauge.ensemble"
    revision: ClassVar[int] = 2
    unit: ClassVar[str] = "configurations"

    @classmethod
    def of(
        cls, files: Sequence[str], reader: Reader, task: Task, seed: int, lanes: int
    ) -> EnsembleWork:
        """The work on files, where so many lanes share them."""
        whole = []
        for path in files:
            if path not in reader.held and not Path(path).is_file():
                raise FormatError(path, None, "cannot be read: there is no such file")
            whole.append(path if path in reader.held else str(Path(path).absolute()))
        return cls(tuple(whole), reader, task, seed, max(1, lanes // len(whole)))

    def digest(self) -> str:
        """Digest of the files' names, sizes and times of change, of fields, the task and the seed."""
        told = [self._identity(path) for path in self.files]
        task = (self.task.name, self.task.revision, self.task, self.reader, self.seed)
        return hashlib.sha256(repr((told, task)).encode()).hexdigest()

    def _identity(self, path: str) -> tuple[Any, ...]:
        if path in self.reader.held:
            field = self.reader.held[path]
            return path, field.boundary, hashlib.sha256(field.links.tobytes()).hexdigest()
        status = Path(path).stat()
        return path, status.st_size, status.st_mtime_ns

    def shards(self) -> Sequence[Shard]:
        """A configuration each."""
        return split(len(self.files), len(self.files))

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """The rows of a shard's configurations."""
        with at_most(self.threads):
            return self._rows(shard, context)

    def _rows(self, shard: Shard, context: Context) -> ShardResult:
        rows: Partial = {}
        for number in range(shard.start, shard.stop):
            if context.stopped():
                return ShardResult(rows, complete=False)
            try:
                row = self._row(number, context)
            except InputError as error:
                if isinstance(error, OutputError) or not self.task.goes_on:
                    raise
                row = _left_out(number, error)
            if row is None:
                return ShardResult(rows, complete=False)
            rows = self.merge(rows, row)
        return ShardResult(rows)

    def _row(self, number: int, context: Context) -> Partial | None:
        field, report = self.reader.read(self.files[number])
        drawn = np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)
        one = Configuration(
            number,
            Path(self.files[number]).name,
            field,
            report.format if report else "",
            int(drawn[0]),
            self.threads,
        )
        found = self.task.measure(one, context)
        if found is None:
            return None
        values = {name: np.asarray(value)[None] for name, value in found.items()}
        return {NUMBER: np.array([number]), **values}

    def merge(self, left: Partial, right: Partial) -> Partial:
        """The rows of both."""
        both = {name: [x[name] for x in (left, right) if name in x] for name in {**left, **right}}
        return {name: np.concatenate(parts) for name, parts in both.items()}


def _left_out(number: int, error: InputError) -> Partial:
    reason = error.reason if isinstance(error, FormatError) else str(error)
    told = (np.int64(number), type(error).__name__, reason)
    return {name: np.array([x]) for name, x in zip(LEFT_OUT, told, strict=True)}
