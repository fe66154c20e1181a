"""Rounds of turns without end, which only a walker ends: it looks at stops in its flips."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Protocol


class Flipping(Protocol):
    """Who lets searches go."""

    flips: int


def rounds(walker: Flipping) -> Iterator[int]:
    """Numbers of rounds; a round is over when the next one is asked for.

    Raises
    ------
    RuntimeError
        If a round had no flip: such rounds would go on for ever, where nothing can stop them.
    """
    for count in itertools.count():
        before = walker.flips
        yield count
        if walker.flips == before:
            raise RuntimeError(f"no search had a turn in round {count} of a walker")
