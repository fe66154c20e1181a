"""What holds one lattice together, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hardscape.errors import InputError
from hardscape.gauge.lattice.lattices import Lattices
from hardscape.gauge.options import FixOptions


@dataclass(frozen=True)
class Cut:
    """Which timeslices of `slices`, or rows of a timeslice, fall to which of `parts`."""

    slices: int
    parts: int

    def own(self, part: int) -> range:
        """Those that a part moves."""
        return range(self.slices * part // self.parts, self.slices * (part + 1) // self.parts)

    def held(self, part: int) -> list[int]:
        """The same with one more at each side."""
        own = self.own(part)
        return [t % self.slices for t in range(own.start - 1, own.stop + 1)]


def grid_of(parts: int, slices: int, rows: int) -> tuple[int, int]:
    """Into how many parts timeslices and rows of them are cut: the fewest sites at the sides, then time first.

    A row is what lies at one coordinate of the slowest direction in space, z in four dimensions.

    Raises
    ------
    InputError
        If there is no such way.
    """
    found = [
        ((rows / b if a > 1 else 0) + (slices / a if b > 1 else 0), b)
        for b in range(1, parts + 1)
        if parts % b == 0 and b <= rows and (a := parts // b) <= slices
    ]
    if not found:
        raise InputError(
            f"{parts} ranks hold a lattice that is cut into at most {slices} parts in t and {rows} in the "
            "slowest direction of space; numbers of ranks that are a product of two such are accepted"
        )
    b = min(found)[1]
    return parts // b, b


class Together(ABC):
    """Processes or GPUs that hold one lattice in slabs of timeslices."""

    @abstractmethod
    def placed(self, links: Any, choices: FixOptions, threads: int) -> AbstractContextManager[None]:
        """Hand the links out, where they are not already."""

    @abstractmethod
    def forget(self) -> None:
        """Hand links out again, where those of the call before are asked for."""

    @abstractmethod
    def lattices(self, links: Any, choices: FixOptions, single: bool, usual: int) -> Lattices:
        """Make one copy over the links that were placed, where `usual` copies are to come."""

    @abstractmethod
    def names(self) -> str:
        """The devices, as a result names them."""
