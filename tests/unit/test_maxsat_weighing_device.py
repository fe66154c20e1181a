"""Clause-weighting walks of the CUDA kernel, compiled for the host: the same steps as on the CPU."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from hardscape.engine import Context, Cuda, Shard
from hardscape.errors import BudgetError
from hardscape.maxsat import Formula, WeightingOptions
from hardscape.maxsat.incumbent import Incumbent
from hardscape.maxsat.methods.exact.exact import Proof
from hardscape.maxsat.methods.islands import islands
from hardscape.maxsat.methods.islands.islands import WeighingIslands
from hardscape.maxsat.methods.islands.weighing import weighing
from hardscape.maxsat.methods.islands.weighing.tables import WeighingTables
from hardscape.maxsat.methods.islands.weighing.weighing import CpuWeighers, CudaWeighers, Layout
from helpers.cupy_on_host import HostDevice
from helpers.maxsat_weighing import crowded, partial

TABLES = "hardscape.maxsat.methods.islands.weighing.tables"
STOP = np.zeros(1, dtype=np.uint8)


def spread():
    """Variables of large numbers, and many that are in no clause."""
    formula = partial(70, 90, 60, 1)
    signs = np.sign(formula.literals) * 570
    clauses = np.split(np.abs(formula.literals) * signs, formula.offsets[1:-1])
    hard = formula.hard
    return Formula.from_clauses(
        [c.tolist() for c, firm in zip(clauses, hard, strict=True) if not firm],
        formula.weights[~hard],
        hard=[c.tolist() for c, firm in zip(clauses, hard, strict=True) if firm],
        num_variables=40_000,
    )


FORMULAS = {
    "hard and soft": lambda: partial(70, 90, 60, 1),
    "crowded": crowded,
    "wide": spread,
}


@pytest.mark.parametrize(
    ("kind", "near", "shared"),
    [
        ("hard and soft", 14 * 1024, 1 << 18),
        ("hard and soft", 0, 1 << 18),
        ("hard and soft", 0, 40),  # two walks a block
        ("hard and soft", 0, 0),
        ("crowded", 14 * 1024, 1 << 18),
        ("wide", 14 * 1024, 1 << 18),
        ("wide", 14 * 1024, 0),
    ],
)
def test_every_walk_is_that_of_its_stream(kind, near, shared, monkeypatch):
    monkeypatch.setattr(weighing, "MOST_NEAR", near)
    monkeypatch.setattr(f"{TABLES}.EVERY", 2)
    formula = FORMULAS[kind]()
    n = formula.num_variables
    rng = np.random.default_rng(1)
    initials = rng.integers(0, 2, (3, n)).astype(np.uint8)
    tables = WeighingTables.of(formula, WeightingOptions())
    assert tables.wide == (kind == "wide")
    walks = 4
    plain = CpuWeighers(tables, initials, 9, 4, walks, STOP)
    found = CudaWeighers(tables, initials, 9, 4, walks, HostDevice(monkeypatch, shared))
    for steps in (1, 90, 150):
        for batch in (plain, found):
            batch.run(steps, 0)
        for name in ("steps", "flips", "best"):
            assert (plain.status[name] == found.status[name]).all()
        for walk in range(walks):
            assert (plain.best_of(walk) == found.best_of(walk)).all()
        sources = rng.integers(-1, walks + 1, walks).astype(np.int32)
        guest = rng.integers(0, 2, n).astype(np.uint8)
        for batch in (plain, found):
            batch.adopt(sources, guest)


def test_a_gpu_whose_memory_others_have_is_not_begun_with(monkeypatch):
    """And the proof goes on beside it."""
    formula = partial(70, 90, 60, 1)
    device = HostDevice(monkeypatch)
    device.free = 1000
    tables = WeighingTables.of(formula, WeightingOptions())
    initials = np.zeros((1, formula.num_variables), dtype=np.uint8)
    with pytest.raises(BudgetError, match="GB are free"):
        CudaWeighers(tables, initials, 1, 0, 4, device)

    @contextmanager
    def full(_):
        yield device

    monkeypatch.setattr(islands, "cuda_device", full)
    walks = WeighingIslands(formula, seed=1, walks=4)
    proof = Proof(formula, 0, Incumbent(formula, None, 0.0), beside=1, islands=walks)
    with pytest.warns(RuntimeWarning, match="the CPU searches alone"):
        found = proof.run(Shard(1, 1, 2), Context(Cuda(0), None, STOP))
    assert found.complete
    assert not found.partial["flips"][0]


def test_bits_move_out_of_shared_memory_where_they_do_not_fit():
    most = 227 * 1024
    assert Layout.of(3000, most) == Layout(4, True, True, 4 * (4 * 3000 + 8 * 94))
    assert Layout.of(100_000, most) == Layout(4, False, True, 4 * 8 * 3125)
    assert Layout.of(400_000, most) == Layout(2, False, True, 2 * 8 * 12_500)
    assert Layout.of(900_000, most) == Layout(1, False, True, 8 * 28_125)
    assert Layout.of(1_000_000, most) == Layout(4, False, False, 0)
