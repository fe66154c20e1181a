"""The options of a call for a permanent, and the way to run work with them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from hardscape.engine import Device, resolve, run
from hardscape.errors import BudgetError, InputError
from hardscape.permanents.methods import Candidate
from hardscape.permanents.number import BoundedNumber, product, total
from hardscape.permanents.planning import as_number
from hardscape.permanents.program import Method, Precision, Program

__all__ = ["Settings", "bounded", "ledgers"]

#: Seconds of the blocks that are worth a checkpoint.
_CHECKPOINTED = 1.0


@dataclass(frozen=True)
class Settings:
    """The options of a call, and the way to run work with them."""

    precision: Precision
    method: Method
    rtol: float
    devices: tuple[Device, ...]
    threads: int | None
    deadline: float
    checkpoint: str | Path | None
    executor: Any
    progress: Any
    full_output: bool

    @classmethod
    def checked(cls, *, rtol: float, time_limit: float | None, **others: Any) -> Settings:
        """Options that make sense; the clock of the time limit starts.

        Raises
        ------
        InputError
            If `rtol` or `time_limit` does not.
        """
        if not rtol >= 0:
            raise InputError(f"rtol={rtol}; 0 or more is accepted")
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"time_limit={time_limit}; seconds above 0 are accepted")
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        return cls(rtol=rtol, deadline=deadline, **others)

    @property
    def asked_for(self) -> bool:
        """Whether a long run is wanted."""
        return not (self.executor is None and self.checkpoint is None and math.isinf(self.deadline))

    @property
    def wants_value_only(self) -> bool:
        """Whether any way to the value will do, as long as it is precise enough."""
        return (
            not (self.full_output or self.asked_for or self.progress)
            and self.precision in ("auto", "double")
            and self.method == "auto"
        )

    def left(self) -> float | None:
        """Seconds of the time limit that are left."""
        if math.isinf(self.deadline):
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise BudgetError(
                "the time limit came before the permanent; give time_limit more seconds"
            )
        return left

    def value(self, candidate: Candidate[Any], checkpoint: str | Path | None = None) -> Any:
        """Run a candidate's work, or its parts, and read its value."""
        if candidate.parts:
            return self.sum(candidate.parts, checkpoint)
        if candidate.work is None:
            return candidate.value({})
        lanes = [device for device in self.devices if device.kind == candidate.kind]
        outcome = run(
            candidate.work,
            devices=lanes or resolve("cpu", threads=self.threads),
            executor=self.executor,
            checkpoint=checkpoint,
            time_limit=self.left(),
            progress=self.progress,
        )
        return candidate.value(outcome.whole())

    def sum(self, parts: Sequence[Program], checkpoint: str | Path | None) -> Any:
        """Sum of permanents, each with checkpoints of its own."""
        found: list[Any] = []
        for i, part in enumerate(parts, start=1):
            paths = ledgers(part, None if checkpoint is None else f"{checkpoint}.part{i}")
            values = [self.value(c, path) for c, path in zip(part.blocks, paths, strict=True)]
            found.append(as_number(part, values) if part.exact else bounded(part, values))
        if parts[0].exact:
            return Fraction(sum(found))
        return total(found, complex if parts[0].kind == "complex" else float)


def bounded(program: Program, values: Sequence[BoundedNumber]) -> BoundedNumber:
    """The permanent in floating point from the candidates' values."""
    factors = [
        BoundedNumber(cast("float", x), error, magnitude=abs(cast("float", x)))
        for x, error in zip(program.factors, program.factor_errors, strict=True)
    ]
    kind = complex if program.kind == "complex" else float
    return product([*factors, *values], program.scale, kind)


def ledgers(program: Program, checkpoint: str | Path | None) -> list[str | Path | None]:
    """The checkpoint of each block: the costliest block has the plain name."""
    paths: list[str | Path | None] = [None] * len(program.blocks)
    if checkpoint is None:
        return paths
    places = sorted(range(len(paths)), key=lambda i: -program.blocks[i].core_seconds)
    for rank, i in enumerate(places):
        if rank == 0:
            paths[i] = checkpoint
        elif program.blocks[i].core_seconds > _CHECKPOINTED:
            paths[i] = f"{checkpoint}.{rank + 1}"
    return paths
