"""One lattice over GPUs: what one GPU alone comes to, bit for bit, however many hold it together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, fix, generate

pytestmark = pytest.mark.gpu

SEEN = {"theta": 1e-7, "max_sweeps": 60, "strict": False, "seed": 3}

#: Shape, colours, boundary and options; slabs of 16 timeslices follow each other in the kernel's finer
#: stages, those of 10 on three GPUs are uneven.
CASES: list[tuple[tuple[int, int, int, int], int, Any, dict[str, Any]]] = [
    ((4, 4, 4, 8), 3, "periodic", {"method": "auto"}),
    ((4, 4, 4, 8), 2, "periodic", {"method": "annealing", "annealing_sweeps": 4, "copies": 2}),
    ((8, 4, 4, 10), 3, "periodic", {"method": "overrelaxation"}),
    ((4, 4, 4, 6), 2, "open", {"method": "stochastic", "precision": "single"}),
    ((4, 4, 4, 8), 2, "sf", {"method": "fourier-cg"}),
    ((4, 4, 6, 4), 3, "periodic", {"gauge": "coulomb"}),
    ((4, 4, 4, 8), 2, "periodic", {"gauge": "mag"}),
    ((4, 4, 4, 8), 4, "periodic", {"method": "matrix-overrelaxation"}),
    ((8, 8, 8, 8), 3, "periodic", {"precision": "mixed", "theta": 1e-10}),
    ((16, 32, 32, 32), 3, "periodic", {"method": "matrix-overrelaxation", "precision": "single"}),
    ((32, 32, 32, 32), 3, "periodic", {"method": "annealing", "annealing_sweeps": 5}),
]


def pieces(found: Any) -> list[bytes]:
    """What must be the same."""
    arrays = found.g, found.history, found.copies.functional, found.slice_theta_max
    return [np.asarray(array).tobytes() for array in arrays]


@pytest.mark.parametrize("many", [1, 2, 3])
@pytest.mark.parametrize(("shape", "nc", "boundary", "options"), CASES, ids=str)
def test_domains_come_to_what_one_gpu_does(
    shape: tuple[int, int, int, int], nc: int, boundary: Any, options: dict[str, Any], many: int
) -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < many:
        pytest.skip(f"there are not {many} GPUs")
    if boundary == "periodic" and np.prod(shape) > 2**14:
        field = GaugeField.random(shape, nc, seed=1)
    else:
        field = generate(shape, 2.5, nc=nc, boundary=boundary, seed=1, sweeps=1, threads=1)
    gpus = [f"cuda:{i}" for i in range(many)]
    alone = fix(field, device="cuda:0", **SEEN | options)
    together = fix(field, domains=gpus, **SEEN | options)
    assert together.device == ",".join(gpus)
    assert pieces(together) == pieces(alone)


def test_what_gpus_cannot_hold_together_is_refused() -> None:
    odd = GaugeField.random((4, 4, 4, 5), 2, seed=1)
    for field, given in ((odd, "cuda:0"), (odd, "cpu")):
        with pytest.raises(InputError):
            fix(field, domains=given)
    with pytest.raises(InputError):
        fix(GaugeField.random((4, 4, 4, 4), 2, seed=1), domains="cuda:0", device="cuda:0")
