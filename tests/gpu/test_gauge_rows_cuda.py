"""One lattice over windows of timeslices and of rows of them: what one GPU alone comes to, bit for bit.

Windows that there are no GPUs for lie beside one another on those that there are.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from hardscape.engine import Cuda
from hardscape.errors import InputError
from hardscape.gauge import GaugeField, WilsonChain, domains, fix, generate
from hardscape.gauge.domains import reach
from hardscape.gauge.domains.cuda_slab import CudaSlab
from hardscape.gauge.domains.gpus import Gpus
from helpers.queue_comm import on_ranks

pytestmark = pytest.mark.gpu

SEEN = {"theta": 1e-7, "max_sweeps": 60, "strict": False, "seed": 3}

#: Shape, colours, boundary, cuts in t and rows, options; 10 rows in three parts are uneven.
CASES: list[tuple[tuple[int, ...], int, Any, list[tuple[int, int]], dict[str, Any]]] = [
    ((4, 4, 4, 4), 3, "periodic", [(1, 2), (2, 2)], {"method": "auto"}),
    (
        (4, 4, 6, 4),
        2,
        "periodic",
        [(2, 2), (1, 3)],
        {"method": "annealing", "annealing_sweeps": 4, "copies": 2},
    ),
    ((8, 4, 10, 4), 3, "periodic", [(1, 3)], {"method": "overrelaxation"}),
    (
        (4, 4, 6, 6),
        2,
        "open",
        [(2, 2), (1, 3)],
        {"method": "stochastic", "precision": "single"},
    ),
    ((4, 4, 4, 6), 2, "sf", [(2, 2)], {"method": "fourier-cg"}),
    ((4, 4, 6, 4), 3, "periodic", [(2, 2), (1, 3)], {"gauge": "coulomb"}),
    ((4, 4, 4, 8), 2, "periodic", [(1, 2), (2, 2)], {"gauge": "mag"}),
    ((4, 4, 4, 4), 4, "periodic", [(2, 2)], {"method": "matrix-overrelaxation"}),
    ((8, 8, 8, 8), 3, "periodic", [(1, 2), (2, 2)], {"precision": "mixed", "theta": 1e-10}),
    ((4, 2, 4, 4, 4), 2, "periodic", [(2, 2)], {"method": "overrelaxation"}),
    (
        (16, 32, 32, 32),
        3,
        "periodic",
        [(1, 2), (2, 2)],
        {"method": "matrix-overrelaxation", "precision": "single"},
    ),
    ((32, 32, 32, 32), 3, "periodic", [(1, 4)], {"method": "annealing", "annealing_sweeps": 5}),
]


def gpus(cut: tuple[int, int]) -> Gpus:
    """So many windows, by turns on the GPUs of this host."""
    cupy = pytest.importorskip("cupy")
    there = cupy.cuda.runtime.getDeviceCount()
    return Gpus([Cuda(i % there) for i in range(math.prod(cut))], cut)


def pieces(found: Any) -> list[bytes]:
    """What must be the same."""
    arrays = found.g, found.history, found.copies.functional, found.slice_theta_max
    return [np.asarray(array).tobytes() for array in arrays]


@pytest.mark.parametrize(("shape", "nc", "boundary", "cuts", "options"), CASES, ids=str)
def test_windows_come_to_what_one_gpu_does(
    shape: tuple[int, ...],
    nc: int,
    boundary: Any,
    cuts: list[tuple[int, int]],
    options: dict[str, Any],
) -> None:
    if boundary == "periodic" and np.prod(shape) > 2**14:
        field = GaugeField.random(shape, nc, seed=1)
    else:
        field = generate(shape, 2.5, nc=nc, boundary=boundary, seed=1, sweeps=1, threads=1)
    alone = fix(field, device="cuda:0", **SEEN | options)
    for cut in cuts:
        assert pieces(fix(field, domains=gpus(cut), **SEEN | options)) == pieces(alone), cut


@pytest.mark.parametrize(
    ("shape", "nc", "boundary", "xi", "cut"),
    [
        ((4, 4, 4, 4), 3, "periodic", 1.0, (2, 2)),
        ((4, 4, 6, 4), 2, "open", 1.5, (1, 3)),
        ((4, 2, 4, 4, 4), 2, "periodic", 1.0, (2, 2)),
        ((8, 8, 10, 6), 3, "sf", 1.0, (2, 3)),
    ],
)
def test_links_move_as_on_one_gpu(
    shape: tuple[int, ...], nc: int, boundary: Any, xi: float, cut: tuple[int, int]
) -> None:
    pytest.importorskip("cupy")
    start = generate(shape, 2.5, nc=nc, boundary=boundary, seed=2, sweeps=1, threads=1)

    def moved(**how: Any) -> tuple[bytes, bytes]:
        chain = WilsonChain(start, 2.5 * (nc - 1), xi=xi, seed=4, **how)
        plaquettes = chain.run(3)
        return plaquettes.tobytes(), chain.field.links.tobytes()

    assert moved(domains=gpus(cut)) == moved(device="cuda:0")


def test_more_gpus_than_pairs_of_timeslices_cut_rows() -> None:
    cupy = pytest.importorskip("cupy")
    there = cupy.cuda.runtime.getDeviceCount()
    held = Gpus([Cuda(i % there) for i in range(4)])
    field = generate((4, 4, 8, 4), 2.5, nc=2, seed=1, sweeps=1, threads=1)
    assert held.grid(field.links).rows.parts > 1
    found = fix(field, domains=held, **SEEN)
    assert pieces(found) == pieces(fix(field, device="cuda:0", **SEEN))


def test_cuts_that_a_lattice_does_not_have_are_refused() -> None:
    field = GaugeField.random((4, 4, 4), 2, seed=1)
    with pytest.raises(InputError):
        fix(field, domains=gpus((1, 2)))


#: Of ranks with a GPU each.
_OF_RANKS: list[tuple[tuple[int, ...], int, Any, dict[str, Any]]] = [
    ((4, 4, 6, 4), 3, "periodic", {"method": "matrix-overrelaxation"}),
    ((8, 4, 4, 6), 2, "open", {"method": "stochastic", "precision": "single"}),
    ((4, 4, 6, 4), 2, "periodic", {"gauge": "coulomb", "method": "overrelaxation", "copies": 2}),
]


def told(**how: Any) -> list[str]:
    """Digests of every case's transformation, and of links and plaquettes of a chain."""
    found = []
    for shape, nc, boundary, options in _OF_RANKS:
        field = generate(shape, 2.5, nc=nc, boundary=boundary, seed=1, sweeps=1, threads=1)
        given: dict[str, Any] = {"theta": 1e-7, "max_sweeps": 40, "strict": False, "seed": 3}
        fixed = fix(field, **given | options, **how)
        found.append(sha256(b"".join(pieces(fixed))).hexdigest())
    chain = WilsonChain(GaugeField.random((4, 4, 4, 6), 2, seed=2), 2.5, xi=1.5, seed=4, **how)
    plaquettes = chain.run(2)
    return [*found, sha256(plaquettes.tobytes() + chain.field.links.tobytes()).hexdigest()]


def of_ranks(comm: Any) -> Any:
    """Ranks that cut rows alone."""
    CudaSlab.cut = 1, comm.Get_size()
    with domains(comm, on_gpus=True) as ranks:
        return None if ranks is None else told(domains=ranks)


def of_distant_ranks(comm: Any) -> Any:
    """Ranks that do not open each other's memory, as if each had a host of its own, in two by as many."""
    reach.gethostname = lambda: f"host {comm.Get_rank()}"
    CudaSlab.cut = 2, comm.Get_size() // 2
    with domains(comm, on_gpus=True) as ranks:
        return None if ranks is None else told(domains=ranks)


def test_ranks_come_to_what_one_gpu_does() -> None:
    pytest.importorskip("cupy")
    expected = told(device="cuda:0")
    assert on_ranks(2, of_ranks) == expected
    assert on_ranks(4, of_distant_ranks) == expected


def accelerated(**how: Any) -> tuple[float, bool]:
    field = generate((4, 4, 4, 4), 2.5, nc=2, seed=1, sweeps=1, threads=1)
    found = fix(field, method="fourier-cg", theta=1e-14, seed=3, **how)
    return found.functional, found.converged


def accelerated_by_ranks(comm: Any) -> tuple[float, bool] | None:
    CudaSlab.cut = 1, comm.Get_size()
    with domains(comm, on_gpus=True) as ranks:
        return None if ranks is None else accelerated(domains=ranks)


def test_ranks_accelerate() -> None:
    pytest.importorskip("cupy")
    functional, converged = accelerated(device="cuda:0")
    assert converged
    assert on_ranks(2, accelerated_by_ranks) == (pytest.approx(functional, abs=1e-9), True)
