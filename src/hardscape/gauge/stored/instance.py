"""What the kernels of a lattice are compiled for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from hardscape.engine import Kernel, kernel
from hardscape.gauge.lattice.schedule import WHOLE, Schedule, Window

#: Threads of a block, but for sweeps.
THREADS = 128
#: Pieces of 16 bytes of ten numbers in double precision.
_TEN = 5
#: What is fused is said in the sources, see ``plus`` in group/lanes.hpp, so that all kernels round alike:
#: that of whole sweeps, that of one colour and those of windows.
AS_WRITTEN = ("--fmad=false",)
#: One thread a site of the lattice.
ONE_EACH = Schedule(threads=THREADS)


@dataclass(frozen=True)
class Instance:
    """What the kernels are compiled for."""

    shape: tuple[int, ...]  # X, Y, Z, T, or in other dimensions, all even
    nc: int
    single: bool
    directions: int = 4
    abelian: bool = False  # whether the gauge is the maximally Abelian one
    weight: float = 1.0  # of the links in t
    window: Window = WHOLE
    paged: bool = False  # whether links lie in pages: see sides/pages.py
    # Whether links are as ten numbers tell them, whether these are what is stored of them, and of g: see
    # group/ten_numbers.hpp.
    rounded: bool = False
    ten_links: bool = False
    ten: bool = False

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The extents in four dimensions: 1 in those that are not there, w counted with z."""
        x, *space, t = self.shape
        y, z, w = (*space, 1, 1, 1)[:3]
        return x, y, z * w, t

    @property
    def moving(self) -> tuple[int, int, int, int]:
        """The extents of what moves: without what is at the sides of a window."""
        x, y, z, t = self.box
        return x, y, z - 2 * self.rim, t - 2 * self.window.halo

    @property
    def rim(self) -> int:
        """Extent in z of the rows at a side of the window."""
        return self.window.rows.halo * (self.shape[2] if len(self.shape) == 5 else 1)

    @property
    def origin(self) -> int:
        """Number in the whole lattice of the window's first site."""
        *space, _ = self.shape
        rows = self.window.rows
        first = self.window.first * (rows.whole or space[-1]) + rows.first
        return first * math.prod(space[:-1])

    @property
    def rows(self) -> int:
        """Rows that are stored of a matrix: the last one of a small group follows from the others."""
        return self.nc if self.nc > 3 else self.nc - 1

    @property
    def row_chunks(self) -> int:
        """Pieces of 16 bytes of a matrix's rows."""
        return -(-2 * self.rows * self.nc * (4 if self.single else 8) // 16)

    @property
    def chunks(self) -> int:
        """Those of a stored transformation."""
        return _TEN if self.ten else self.row_chunks

    @property
    def link_chunks(self) -> int:
        """Those of a stored link."""
        return _TEN if self.ten_links else self.row_chunks

    @property
    def matrix_bytes(self) -> int:
        """Of a matrix's rows."""
        return 16 * self.row_chunks

    def site_bytes(self, links: int, copies: int) -> int:
        """Of what is stored of a site."""
        return 16 * (links * self.link_chunks + copies * self.chunks)

    def sweep_kernel(self, method: int, schedule: Schedule) -> Kernel:
        """Return the kernel of sweeps as data."""
        return self.kernel("sweep", "gauge_sweep", schedule, kMethod=method)

    def color_kernel(self, method: int, schedule: Schedule) -> Kernel:
        """Return the kernel of one colour of a sweep as data."""
        return self._made("domains/color", "gauge_color", schedule, {"kMethod": method})

    def window_kernel(self, name: str) -> Kernel:
        """Return a kernel of several GPUs as data."""
        return self._made("domains/windows", name, ONE_EACH, {})

    def round_kernel(self, constants: Mapping[str, bool | int | float]) -> Kernel:
        """Return the kernel that ends a round of sweeps as data."""
        return self._made("rounds/round", "gauge_round", ONE_EACH, constants)

    def kernel(
        self, file: str, name: str, schedule: Schedule = ONE_EACH, **constants: int
    ) -> Kernel:
        """Return a kernel as data."""
        return self._made(f"lattice/{file}", name, schedule, constants)

    def _made(
        self,
        path: str,
        name: str,
        schedule: Schedule,
        constants: Mapping[str, bool | int | float],
    ) -> Kernel:
        return _kernel_of(self, path, name, schedule, tuple(constants.items()))

    @property
    def constants(self) -> dict[str, bool | int | float]:
        """What stands before the first line of a kernel."""
        x, y, z, t = self.box
        rows = self.window.rows
        return {
            "kDimensions": len(self.shape),
            "kSingle": self.single,
            "kAbelian": self.abelian,
            "kColors": self.nc,
            "kDirections": self.directions,
            "kX": x,
            "kY": y,
            "kZ": z,
            "kW": self.shape[3] if len(self.shape) == 5 else 1,
            "kT": t,
            "kPaged": self.paged,
            "kRounded": self.rounded,
            "kTenLinks": self.ten_links,
            "kTen": self.ten,
            "kTimeWeight": self.weight,
            "kMatrices": 1,  # a site, of what is brought to the kernels' order
            "kHalo": self.window.halo,
            "kParity": (self.window.first + rows.first) % 2,
            "kBefore": self.window.before,
            "kAfter": self.window.after,
            "kRowHalo": rows.halo,
            "kLeft": rows.left,
            "kRight": rows.right,
            "kAllRows": rows.whole,
        }


@lru_cache(maxsize=256)  # a short call asks for each of a dozen
def _kernel_of(
    instance: Instance,
    path: str,
    name: str,
    schedule: Schedule,
    constants: tuple[tuple[str, bool | int | float], ...],
) -> Kernel:
    numbers = instance.constants | schedule.constants() | dict(constants)
    return kernel(f"gauge/{path}.cu", name, constants=numbers, options=AS_WRITTEN)
