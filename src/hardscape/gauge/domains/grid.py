"""How a lattice is cut into windows: timeslices first, and rows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hardscape.errors import InputError
from hardscape.gauge.domains.together import Cut, grid_of
from hardscape.gauge.lattice.schedule import Rows, Window

#: Timeslices that a GPU moves at least where rows may be cut instead.
_LEAST = 2


@dataclass(frozen=True)
class Grid:
    """Windows of a lattice, numbered timeslices by timeslices, in each by rows."""

    time: Cut
    rows: Cut

    @classmethod
    def of(cls, shape: Sequence[int], many: int, cut: tuple[int, int] | None = None) -> Grid:
        """Cut a lattice (T, Z, ...) for so many GPUs, or as `cut` says into parts in t and of rows.

        Timeslices alone are cut while each GPU has two of them to move.
        """
        slices, *space = shape
        rows = space[0] if len(shape) > 3 else 1  # what lies together in memory has whole rows
        if cut is None:
            cut = gpus_grid(many, slices, rows)
        if cut[0] > slices or cut[1] > rows or cut[0] * cut[1] != many:
            raise InputError(
                f"{cut} parts in t and in rows for {many} GPUs; of this lattice {slices} and {rows} "
                "are the most"
            )
        return cls(Cut(slices, cut[0]), Cut(rows if len(shape) > 3 else space[0], cut[1]))

    @property
    def parts(self) -> int:
        """How many windows there are."""
        return self.time.parts * self.rows.parts

    def place(self, part: int) -> tuple[int, int]:
        """A window's number in t, and among those that have its timeslices."""
        return divmod(part, self.rows.parts)

    def own(self, part: int) -> tuple[range, range]:
        """Timeslices and rows that move there."""
        t, z = self.place(part)
        return self.time.own(t), self.rows.own(z)

    def held(self, part: int) -> tuple[list[int], list[int]]:
        """The same with those at the sides."""
        t, z = self.place(part)
        rows = self.rows.held(z) if self.rows.parts > 1 else list(self.rows.own(z))
        return self.time.held(t), rows

    def beside(self, part: int, t: int = 0, z: int = 0) -> int:
        """The window so many on in t and in rows."""
        here, row = self.place(part)
        across = self.rows.parts
        return (here + t) % self.time.parts * across + (row + z) % across

    def around(self, part: int) -> list[int]:
        """The windows before, after, left and right, as kernels name them."""
        return [self.beside(part, *step) for step in ((-1, 0), (1, 0), (0, -1), (0, 1))]

    def near(self, part: int) -> list[int]:
        """The same and, left and right of each, those of the window before, and of the one after."""
        corners = [(t, z) for t in (-1, 1) for z in (-1, 1)]
        return [*self.around(part), *[self.beside(part, *corner) for corner in corners]]

    def window(self, part: int, near: bool = True) -> Window:
        """What kernels know of a window; of those beside it only where these are `near`."""
        before, after, left, right = (
            len(self.held(other)[i // 2]) for i, other in enumerate(self.around(part))
        )
        own, rows = self.own(part)
        across = Rows()
        if self.rows.parts > 1:
            sides = (left, right) if near else (0, 0)
            across = Rows(1, rows.start - 1, *sides, self.rows.slices)
        if not near:
            return Window(halo=1, first=own.start - 1, rows=across)
        uneven = self.time.slices % self.time.parts + self.rows.slices % self.rows.parts > 0
        return Window(1, own.start - 1, before, after, uneven, across)


def gpus_grid(many: int, slices: int, rows: int) -> tuple[int, int]:
    """Into how many parts GPUs cut timeslices and rows: timeslices alone where these suffice."""
    if many * _LEAST <= slices:
        return many, 1
    try:
        found = grid_of(many, slices, rows)
    except InputError:
        raise InputError(
            f"{many} GPUs hold a lattice that is cut into at most {slices} parts in t and {rows} in the "
            "slowest direction of space, from four dimensions on; fewer GPUs are accepted"
        ) from None
    return found


class Held:
    """Timeslices of links with rows of them, copied when they are asked for."""

    def __init__(self, links: Any, held: tuple[list[int], list[int]]) -> None:
        self._links, (self._slices, self._rows) = links, held
        self._whole = self._rows == list(range(links.shape[1]))
        self.shape = len(self._slices), len(self._rows), *links.shape[2:]

    def __getitem__(self, part: slice) -> Any:
        some = self._links[self._slices[part]]
        return some if self._whole else some[:, self._rows]
