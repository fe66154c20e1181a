"""What every format of Ising models shares: the caller's options and the largest model read."""

from __future__ import annotations

from dataclasses import dataclass

from hardscape.ising.model import Convention

__all__ = ["MAX_SPINS", "Options"]

#: Most spins that a header or an index may ask for; more is a damaged file, not a model.
MAX_SPINS = 1_000_000


@dataclass(frozen=True)
class Options:
    """What the caller says about a file beyond its format; base None leaves it to the format."""

    base: int | None = None
    convention: Convention = "dimod"
