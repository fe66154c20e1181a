"""Which sites a GPU moves together and in which order: the constants of sweep.cu."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

#: Threads of a block, one a site.
_THREADS = 128
#: Blocks that a multiprocessor holds in double and in single precision. Registers for loads in
#: flight are worth more than threads: measured on an H200.
_BLOCKS = {False: 2, True: 4}
#: Bytes of the largest matrix, SU(3)'s in double, of which that is so. Larger ones spill what they compute
#: with, and their links do not fit shared memory: two blocks in either precision, measured too.
_REGISTERS, _SPILLING = 96, 2
#: Blocks that a multiprocessor holds where they keep their links, and shared memory that each takes besides.
_KEEPING, _RESERVED = 2, 1024
#: Part of the second-level cache that links and transformations may fill and be found there again.
_CACHED = 0.6
#: Sites of one colour that a slab has at least, in double and in single precision.
_SLAB = {False: 1024, True: 2048}
#: Slabs by which colours of a side are farther apart than what is under way needs: measured.
_FARTHER = 2


@dataclass(frozen=True)
class Rows:
    """Which rows of a timeslice, at coordinates of the slowest direction in space, a GPU holds of `whole`."""

    halo: int = 0  # rows at each side that are copies; 0 where timeslices are whole
    first: int = 0  # number of the first row that is held
    left: int = 0  # rows that the windows beside hold
    right: int = 0
    whole: int = 0


@dataclass(frozen=True)
class Window:
    """Which part of a larger lattice a GPU holds: timeslices that it moves, and one more at each side."""

    halo: int = 0  # slices at each side that are copies; 0 where the lattice is whole
    first: int = 0  # number of the first slice that is held; -1 where it is the last one of all
    before: int = 0  # slices that the windows beside hold
    after: int = 0
    uneven: bool = False  # whether some windows of the lattice are larger than others
    rows: Rows = Rows()


WHOLE = Window()


@dataclass(frozen=True)
class Schedule:
    """How sweep.cu cuts the lattice into tasks."""

    threads: int = _THREADS  # of a block
    blocks: int = 1  # on a multiprocessor
    parts: int = 1  # slabs of a timeslice, a divisor of Z
    lag: int = 0  # slabs by which colour 1 follows colour 0; 0 for one colour after the other
    groups: int = 1  # of copies; a task moves the copies of a group one after the other
    staged: int = 0  # links of a site that shared memory holds
    # Extent in y and z of a block's sites, divisors of Y and Z / parts.
    tile: tuple[int, int] = (1, 1)
    # Whether a block has one tile for good and keeps its links: `staged` of them a thread.
    kept: bool = False
    # Sides of the GPU that have parts of each timeslice of their own (see sides/cuda.py), 1 or 2; the lag is in
    # slabs of a side.
    sides: int = 1
    # Parts and tiles of a part in the windows left and right, where rows are cut.
    left: tuple[int, int] = (1, 1)
    right: tuple[int, int] = (1, 1)

    @classmethod
    def of(
        cls,
        shape: tuple[int, int, int, int],
        matrix_bytes: int,
        single: bool,
        directions: int,
        copies: int,
        multiprocessors: int,
        cache: int,
        staging: bool = True,
        cut: bool = True,
        shared: int = 0,
        two_sided: bool = False,
    ) -> Schedule:
        """Choose for a lattice, `copies` of it and a GPU with `cache` bytes of second-level cache.

        Before compute capability 8.0 shared memory cannot be filled beside other work: no `staging`. A
        timeslice of five dimensions is not `cut`: neighbours in w would lie in other slabs than the next ones.
        Links are kept where all of them fit the `shared` bytes that a multiprocessor has. Each side of a
        `two_sided` GPU takes half of the slabs of each timeslice.
        """
        x, y, z, t = shape
        small = matrix_bytes <= _REGISTERS
        blocks = _BLOCKS[single] if small else _SPILLING
        resident = blocks * multiprocessors
        half = prod(shape) // 2
        tiles = -(-half // _THREADS)
        groups = max(1, min(copies, round(resident / tiles)))
        plane = x * y // 2
        parts, _ = parted(x, y, z, single, cut)
        rows = max(1, _THREADS // (x // 2))
        deep = 2 if (z // parts) % 2 == 0 and rows % 2 == 0 else 1
        tile = (_divisor(y, rows // deep), deep)
        used = prod(shape) * matrix_bytes * (directions + copies)
        in_slabs = resident / (2 * groups * -(-(z // parts * plane) // _THREADS))
        # Two timeslices are the least; half a slice and half of what is under way keep waiting rare
        # and the way from one colour to the other short: measured.
        lag = 2 * parts + -(-parts // 2) + round(in_slabs / 2)
        if groups > 1 or used <= _CACHED * cache or lag + 2 * parts >= t * parts:
            lag = 0
        # What is read again is near on a side, so that to wait costs more than a longer way: measured.
        sides, far = 1, parts + round(in_slabs / 2) + _FARTHER
        if two_sided and lag and parts % 2 == 0 and 2 * (far + parts) < t * parts:
            sides, lag = 2, far
            tile = (
                _divisor(y, rows),
                1,
            )  # neighbours in z and t come once, those in y at once: measured
        staged = 2 * directions
        held = _KEEPING * (staged * matrix_bytes * _THREADS + _RESERVED)
        if (
            (cut and small and groups == 1 and x // 2 * prod(tile) == _THREADS)
            and half % _THREADS == 0
            and half // _THREADS <= _KEEPING * multiprocessors
            and held <= shared
        ):
            return cls(_THREADS, _KEEPING, z // tile[1], 0, 1, staged, tile, kept=True)
        return cls(
            _THREADS, blocks, parts, lag, groups, staged * (staging and small), tile, sides=sides
        )

    def constants(self) -> dict[str, int]:
        """The same for the kernel."""
        numbers = {f"k{name.title()}": value for name, value in vars(self).items()}
        y, z = numbers.pop("kTile")
        numbers |= {"kTileY": y, "kTileZ": z}
        for side in ("Left", "Right"):
            numbers[f"kParts{side}"], numbers[f"kTiles{side}"] = numbers.pop(f"k{side}")
        return numbers

    def blocks_of(self, shape: tuple[int, int, int, int], count: int, resident: int) -> int:
        """Blocks of a launch of `count` sweeps, where so many are resident at once."""
        return self.tasks(shape, 1) // 2 if self.kept else min(resident, self.tasks(shape, count))

    def tasks(self, shape: tuple[int, int, int, int], count: int) -> int:
        """Tasks of `count` sweeps."""
        x, y, z, t = shape
        slabs = t * self.parts
        tiles = -(-(x * y * z // 2 // self.parts) // self.threads)
        return 2 * count * slabs * tiles * self.groups


def parted(x: int, y: int, z: int, single: bool, cut: bool) -> tuple[int, int]:
    """Parts of a timeslice, and tiles of one colour of each."""
    plane = x * y // 2
    parts = max(
        p
        for p in range(1, z + 1 if cut else 2)
        if z % p == 0 and (p == 1 or z // p * plane >= _SLAB[single])
    )
    return parts, -(-(z // parts * plane) // _THREADS)


def _divisor(number: int, most: int) -> int:
    return max(d for d in range(1, min(number, max(most, 1)) + 1) if number % d == 0)
