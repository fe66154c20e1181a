"""Parts of a computation for jobs that cannot talk to one another: an own ledger each, and one of all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardscape.errors import InputError

_TAG = re.compile(r"\.(\d+)-of-(\d+)(?=\.|$)")
#: Most parts.
_MOST = 10**6


@dataclass(frozen=True)
class Part:
    """Part `number` of `count`, numbered from 1: consecutive shards, about as many as the others have."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def checked(cls, told: Any) -> Part:
        """The part that ``3/64`` tells.

        Raises
        ------
        InputError
        """
        found = re.fullmatch(r"(\d{1,7})/(\d{1,7})", told) if isinstance(told, str) else None
        number, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= count <= _MOST:
            of = count if 0 < count <= _MOST else 64
            raise InputError(
                f"shards={told!r}; '1/{of}' to '{of}/{of}' are accepted, for {of} parts"
            )
        return cls(number, count)

    def of(self, total: int) -> range:
        """Indices of its shards."""
        return range((self.number - 1) * total // self.count, self.number * total // self.count)

    def ledger(self, checkpoint: Path) -> Path:
        """Its own ledger beside that of the whole: ``model.03-of-64.ledger`` beside ``model.ledger``."""
        if part_of(checkpoint) == self:
            return checkpoint
        tag = f".{self.number:0{len(str(self.count))}}-of-{self.count}"
        return checkpoint.with_name(f"{checkpoint.stem}{tag}{checkpoint.suffix}")


def part_of(checkpoint: Path) -> Part | None:
    """The part whose ledger has this name; None for another name."""
    found = _TAG.search(checkpoint.name)
    return Part(*map(int, found.groups())) if found else None


def whole_of(checkpoint: Path) -> Path:
    """The ledger of the whole, beside that of a part."""
    return checkpoint.with_name(_TAG.sub("", checkpoint.name))
