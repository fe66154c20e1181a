"""The CUDA kernels of gauge fixing compile, without a GPU."""

from __future__ import annotations

import pytest

from hardscape.gauge.chain.cuda import chain_kernel
from hardscape.gauge.domains.grid import Grid
from hardscape.gauge.fixed.cuda import fixed_kernel
from hardscape.gauge.ghost.cuda import ghost_kernel
from hardscape.gauge.lattice.lattices import Rules
from hardscape.gauge.lattice.schedule import Schedule, Window
from hardscape.gauge.rounds.cuda import round_kernel
from hardscape.gauge.sides.cuda import sides_kernel
from hardscape.gauge.sides.pages import homes_kernel
from hardscape.gauge.stored.instance import Instance
from helpers.compiling import compiles

INSTANCES = [
    Instance((32, 32, 32, 32), 3, single=True),
    Instance((32, 32, 32, 32), 3, single=False, paged=True, ten_links=True),
    Instance((16, 16, 16, 32), 3, single=False, directions=3, ten_links=True, ten=True),
    Instance((4, 6, 8, 10), 2, single=True, abelian=True),
    Instance((4, 4, 4, 4), 2, single=False, weight=2.5),
    Instance((8, 8, 8, 8), 4, single=False),
    Instance((4, 4, 4, 4), 5, single=True, abelian=True),
    Instance((8, 16), 3, single=True, directions=2),
    Instance((8, 4, 8), 2, single=False, directions=2),
    Instance((4, 4, 6, 2, 8), 3, single=False, directions=5, weight=2.0),
    Instance((8, 8, 8, 6), 3, single=False, window=Window(halo=1, first=-1, before=6, after=7)),
]


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_kernels_compile(instance: Instance) -> None:
    dimensions = len(instance.shape)
    schedule = Schedule.of(
        instance.box,
        instance.matrix_bytes,
        instance.single,
        instance.directions,
        3,
        132,
        2**25,
        cut=dimensions < 5,
        two_sided=True,
    )
    # Method 3 holds what 0 and 2 do; of many colours each is compiled once.
    methods = (0, 1, 2, 3) if instance.nc == 3 and dimensions == 4 else (1, 3)
    methods = {4: (1,), 5: (3,)}.get(instance.nc, methods)
    kernels = [instance.sweep_kernel(method, schedule) for method in methods]
    kernels += [
        instance.kernel("measure", "gauge_measure"),
        instance.kernel("start", "gauge_start"),
        instance.kernel("start", "gauge_unit"),
        instance.kernel("start", "gauge_project"),
        instance.kernel("start", "gauge_put", kMatrices=dimensions),
        instance.kernel("start", "gauge_get"),
        instance.kernel("flow", "gauge_gradient"),
        instance.kernel("flow", "gauge_move"),
        sides_kernel(),
        homes_kernel(),
    ]
    if dimensions == 4:
        kernels.append(instance.kernel("classic", "gauge_classic"))
    if not instance.window.halo:
        rules = Rules(1e-12, 1e-28, 1e-27, 6, 10, instance.directions == 3, instance.single, True)
        kernels.append(round_kernel(instance, rules))
    for kernel in kernels:
        assert compiles(kernel)


#: Shape and cut in t and rows, and what the kernels are for.
_CUTS = [
    ((8, 8, 8, 8), (1, 2), 3, True, False),
    ((8, 8, 8, 6), (2, 3), 3, False, False),
    ((4, 4, 6, 4), (1, 3), 2, False, True),
    ((4, 4, 4, 4, 6), (3, 2), 4, True, False),
]


@pytest.mark.parametrize(("shape", "cut", "nc", "single", "abelian"), _CUTS, ids=str)
def test_kernels_of_windows_in_rows_compile(
    shape: tuple[int, ...], cut: tuple[int, int], nc: int, single: bool, abelian: bool
) -> None:
    grid = Grid.of(shape[::-1], cut[0] * cut[1], cut)
    held, rows = grid.held(0)
    extents = *shape[:-2], len(rows), len(held)
    for near in (True, False):
        window = grid.window(0, near)
        instance = Instance(extents, nc, single, len(shape), abelian, window=window)
        size = instance.matrix_bytes
        schedule = Schedule.of(
            instance.moving, size, single, len(shape), 1, 132, 2**25, cut=len(shape) < 5
        )
        kernels = [instance.color_kernel(0, schedule)]
        if near:
            kernels = [instance.sweep_kernel(method, schedule) for method in (1, 3)]
            kernels += [
                instance.window_kernel("gauge_hand"),
                instance.window_kernel("gauge_sites"),
                instance.window_kernel("gauge_sums"),
                instance.kernel("start", "gauge_start"),
                instance.kernel("flow", "gauge_gradient"),
                instance.kernel("flow", "gauge_move"),
            ]
            if not single:
                told = ("step", "sites", "sums")
                kernels += [chain_kernel(name, instance, shape[-1], heat=True) for name in told]
        for kernel in kernels:
            assert compiles(kernel)


@pytest.mark.parametrize("single", [True, False])
def test_kernels_that_keep_links_compile(single: bool) -> None:
    instance = Instance((16, 16, 16, 16), 3, single, rounded=not single)
    size = instance.matrix_bytes
    schedule = Schedule.of(instance.box, size, single, 4, 1, 132, 2**25, shared=228 * 1024)
    assert schedule.kept
    for method in (1, 3):
        kernel = instance.sweep_kernel(method, schedule)
        assert compiles(kernel)


def test_kernels_of_ranks_compile() -> None:
    window = Window(halo=1, first=3)
    for single in (True, False):
        instance = Instance((8, 4, 4, 6), 3, single, window=window)
        box = *instance.box[:3], 4
        schedule = Schedule.of(box, instance.matrix_bytes, single, 4, 1, 132, 2**25)
        kernel = instance.color_kernel(1, schedule)
        assert compiles(kernel)
    for name in ("step", "traces"):
        kernel = chain_kernel(name, instance, 12)
        assert compiles(kernel)


@pytest.mark.parametrize("instance", [x for x in INSTANCES if not x.single], ids=str)
def test_kernels_of_chains_compile(instance: Instance) -> None:
    for name, heat in (("step", True), ("step", False), ("traces", False)):
        kernel = chain_kernel(name, instance, instance.shape[-1], True, 2, 1.5, heat)
        assert compiles(kernel)


@pytest.mark.parametrize("name", ["operator", "products", "combine"])
@pytest.mark.parametrize("nc", [2, 3, 4])
def test_kernels_of_ghosts_compile(name: str, nc: int) -> None:
    for arch in ("sm_80", "sm_90", "sm_100") if nc == 3 else ("sm_90",):
        kernel = ghost_kernel(name, (4, 6, 5, 8), nc)
        assert compiles(kernel, arch)
    for shape in ((4, 6), (4, 6, 5), (2, 3, 4, 5, 6)) if nc == 2 else ():
        kernel = ghost_kernel(name, shape, nc, 1.5)
        assert compiles(kernel)


@pytest.mark.parametrize(("dimensions", "nc"), [(2, 2), (4, 3), (5, 4)])
def test_kernels_of_fixed_links_compile(dimensions: int, nc: int) -> None:
    kernels = [
        fixed_kernel(name, dimensions, nc, True)
        for name in ("transform", "plaquettes", "distances")
    ]
    kernels += [fixed_kernel("conditions", dimensions, nc, False, abelian=nc == 3)]
    for kernel in kernels:
        assert compiles(kernel)
