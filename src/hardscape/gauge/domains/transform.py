"""Fourier transforms of fields that lie in slabs of timeslices on the ranks that hold a lattice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.arrays import array_namespace, to_device
from hardscape.gauge.domains.messages import Messages
from hardscape.gauge.methods.fourier import Whole, space_of

_ACROSS = 5


class Columns(Whole):
    """Fields of which each rank has the timeslices that it moves; for the transform in time columns."""

    def __init__(self, ranks: Messages) -> None:
        self._ranks = ranks

    def slices(self, here: int) -> int:
        """See `Whole.slices`."""
        return self._ranks.cut.slices

    def gathered(self, by_slice: Any) -> Any:
        """See `Whole.gathered`."""
        parts = self._ranks.comm.allgather(to_device(by_slice, "cpu"))
        return array_namespace(by_slice).asarray(np.concatenate(parts, axis=1))

    def anywhere(self, flags: Any) -> bool:
        """See `Whole.anywhere`."""
        return any(self._ranks.comm.allgather(bool(flags.any())))

    def filtered(self, field: Any, factor: Any) -> Any:
        """See `Whole.filtered`."""
        xp = array_namespace(field)
        momentum = xp.moveaxis(xp.fft.fftn(field, axes=space_of(field))[0], 1, 0)
        shape, sites = momentum.shape, momentum[0, 0].size
        columns = xp.asarray(self._turned(to_device(momentum.reshape(shape[0], -1), "cpu")))
        mine = self._columns(shape[1] * sites)[self._ranks.rank]
        factors = factor.reshape(len(factor), -1)[:, xp.arange(mine.start, mine.stop) % sites]
        columns = xp.fft.ifft(xp.fft.fft(columns, axis=0) * factors, axis=0)
        back = xp.asarray(self._turned_back(to_device(columns, "cpu"), shape[1] * sites))
        rows = xp.moveaxis(back.reshape(shape), 0, 1)[None]
        return xp.fft.ifftn(rows, axes=space_of(rows))

    def _columns(self, count: int) -> list[range]:
        """Which of so many columns fall to which rank."""
        many = self._ranks.ranks
        return [range(count * r // many, count * (r + 1) // many) for r in range(many)]

    def _turned(self, rows: NDArray[Any]) -> NDArray[Any]:
        """All slices of this rank's columns, from all columns of its slices."""
        columns, cut = self._columns(rows.shape[1]), self._ranks.cut
        mine = len(columns[self._ranks.rank])
        found = np.empty((cut.slices, mine), dtype=rows.dtype)
        for to, source in self._pairs():
            own = cut.own(source)
            part = rows[:, columns[to].start : columns[to].stop]
            self._swap(part, to, found[own.start : own.stop], source)
        return found

    def _turned_back(self, columns: NDArray[Any], count: int) -> NDArray[Any]:
        """The reverse, of `count` columns on all ranks."""
        places, cut = self._columns(count), self._ranks.cut
        found = np.empty((len(self._ranks.own), count), dtype=columns.dtype)
        for to, source in self._pairs():
            own, place = cut.own(to), places[source]
            part = np.empty((len(found), len(place)), dtype=columns.dtype)
            self._swap(columns[own.start : own.stop], to, part, source)
            found[:, place.start : place.stop] = part
        return found

    def _pairs(self) -> list[tuple[int, int]]:
        """Whom to send to and whom to receive from, so that each rank has one of each at a time."""
        rank, many = self._ranks.rank, self._ranks.ranks
        return [((rank + shift) % many, (rank - shift) % many) for shift in range(many)]

    def _swap(self, part: NDArray[Any], to: int, into: NDArray[Any], source: int) -> None:
        if to == self._ranks.rank:
            into[...] = part
        else:
            self._ranks.comm.Sendrecv(
                np.ascontiguousarray(part), to, _ACROSS, into, source, _ACROSS
            )
