"""Fourier transforms of fields that lie in slabs of a lattice on the ranks that hold it together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace, to_device
from hardscape.gauge.domains.messages import Line, Messages
from hardscape.gauge.methods.fourier import Whole

_ACROSS = 5


class Columns(Whole):
    """Fields of which each rank has the slices and rows that it moves; to transform, columns."""

    def __init__(self, ranks: Messages) -> None:
        self._ranks = ranks

    def extents(self, here: tuple[int, ...]) -> tuple[int, ...]:
        """See `Whole.extents`."""
        return self._ranks.time.cut.slices, self._ranks.rows.cut.slices, *here[2:]

    def own_rows(self, factor: Any) -> Any:
        """See `Whole.own_rows`."""
        own = self._ranks.rows.own
        return factor[:, own.start : own.stop]

    def slice_sums(self, by_row: Any) -> Any:
        """See `Whole.slice_sums`."""
        if not self._ranks.cut_rows:
            return super().slice_sums(by_row)
        parts = self._ranks.rows.comm.allgather(to_device(by_row, "cpu"))
        whole = np.ascontiguousarray(np.concatenate(parts, axis=2))
        return super().slice_sums(array_namespace(by_row).asarray(whole))

    def gathered(self, by_slice: Any) -> Any:
        """See `Whole.gathered`."""
        parts = self._ranks.time.comm.allgather(to_device(by_slice, "cpu"))
        return array_namespace(by_slice).asarray(np.concatenate(parts, axis=1))

    def anywhere(self, flags: Any) -> bool:
        """See `Whole.anywhere`."""
        return any(self._ranks.comm.allgather(bool(flags.any())))

    def in_space(self, field: Any, *, back: bool = False) -> Any:
        """See `Whole.in_space`."""
        if not self._ranks.cut_rows:
            return super().in_space(field, back=back)
        xp = array_namespace(field)
        many, one = (xp.fft.ifftn, xp.fft.ifft) if back else (xp.fft.fftn, xp.fft.fft)
        inside = tuple(range(4, field.ndim))
        planes = many(field, axes=inside) if inside else field
        return self._along(planes, 3, self._ranks.rows, lambda columns, _: one(columns, axis=0))

    def in_time(self, field: Any, factor: Any) -> Any:
        """See `Whole.in_time`."""
        xp = array_namespace(field)
        factors = self.own_rows(factor).reshape(len(factor), -1)
        sites = factors.shape[1]

        def scaled(columns: Any, mine: range) -> Any:
            here = factors[:, xp.arange(mine.start, mine.stop) % sites]
            return xp.fft.ifft(xp.fft.fft(columns, axis=0) * here, axis=0)

        return self._along(field, 2, self._ranks.time, scaled)

    def _along(self, field: Any, axis: int, line: Line, change: Any) -> Any:
        """What `change` makes of columns along an axis that is cut, told which ones it has."""
        xp = array_namespace(field)
        rows = xp.ascontiguousarray(xp.moveaxis(field, axis, 0))
        flat = to_device(rows.reshape(len(rows), -1), "cpu")
        mine = _columns(line, flat.shape[1])[line.part]
        changed = change(xp.asarray(_turned(line, flat)), mine)
        back = xp.asarray(_turned_back(line, to_device(changed, "cpu"), flat.shape[1]))
        return xp.ascontiguousarray(xp.moveaxis(back.reshape(rows.shape), 0, axis))


def _columns(line: Line, count: int) -> list[range]:
    """Which of so many columns fall to which rank."""
    many = line.cut.parts
    return [range(count * r // many, count * (r + 1) // many) for r in range(many)]


def _turned(line: Line, rows: NDArray[Any]) -> NDArray[Any]:
    """All of this rank's columns, from what it has of all columns."""
    columns = _columns(line, rows.shape[1])
    found = np.empty((line.cut.slices, len(columns[line.part])), dtype=rows.dtype)
    for to, source in _pairs(line):
        own = line.cut.own(source)
        part = rows[:, columns[to].start : columns[to].stop]
        _swap(line, part, to, found[own.start : own.stop], source)
    return found


def _turned_back(line: Line, columns: NDArray[Any], count: int) -> NDArray[Any]:
    """The reverse, of `count` columns on all ranks."""
    places, cut = _columns(line, count), line.cut
    found = np.empty((len(line.own), count), dtype=columns.dtype)
    for to, source in _pairs(line):
        own, place = cut.own(to), places[source]
        part = np.empty((len(found), len(place)), dtype=columns.dtype)
        _swap(line, columns[own.start : own.stop], to, part, source)
        found[:, place.start : place.stop] = part
    return found


def _pairs(line: Line) -> list[tuple[int, int]]:
    """Whom to send to and whom to receive from, so that each rank has one of each at a time."""
    rank, many = line.part, line.cut.parts
    return [((rank + shift) % many, (rank - shift) % many) for shift in range(many)]


def _swap(line: Line, part: NDArray[Any], to: int, into: NDArray[Any], source: int) -> None:
    if to == line.part:
        into[...] = part
    else:
        line.comm.Sendrecv(np.ascontiguousarray(part), to, _ACROSS, into, source, _ACROSS)
