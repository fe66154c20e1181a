"""Results of all families say alike what made them, and what cut them short."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape import gauge, ising, maxsat, permanents, xorsat

FACTS = ("method", "device", "seconds", "stopped")

MODEL = ising.Ising(np.zeros(40), np.triu(np.random.default_rng(1).normal(size=(40, 40)), 1))
FIELD = gauge.GaugeField.random((8, 8, 8, 8), 3, seed=1)
CLAUSES = np.random.default_rng(1).permuted(np.tile(np.arange(1, 401), (4000, 1)), axis=1)[:, :3]
SIGNS = np.random.default_rng(2).choice([-1, 1], size=CLAUSES.shape)
FORMULA = maxsat.Formula.from_clauses((CLAUSES * SIGNS).tolist())
SYSTEM = xorsat.random_regular(240, seed=1)

#: For each family a call that ends and one that a limit cuts short.
CALLS: dict[str, Callable[..., Any]] = {
    "spectrum": lambda **run: ising.spectrum(MODEL, 5, prune=False, **run),
    "mps": lambda **run: ising.mps_spectrum(MODEL, 5, bond_dimension=48, beta=200.0, **run),
    "weighting": lambda **run: maxsat.solve(FORMULA, method="weighting", **run),
    "cellular": lambda **run: maxsat.cellular_search(FORMULA, runs=10**6, **run),
    "xorsat": lambda **run: xorsat.solve(SYSTEM, method="quasi-greedy", **run),
    "quasi-greedy": lambda **run: xorsat.quasi_greedy(SYSTEM, **run),
    "fix": lambda **run: gauge.fix(FIELD, copies=50, max_sweeps=30, strict=False, **run),
    "tts": lambda **run: xorsat.time_to_solution(SYSTEM, 10**5, 0.05, **run),
}
SHORT: dict[str, Callable[..., Any]] = {
    "spectrum": lambda **run: ising.spectrum({(0, 1): 1.0}, 2, **run),
    "density": lambda **run: ising.density_of_states({(0, 1): 1.0}, **run),
    "permanent": lambda **run: permanents.permanent([[1.5]], full_output=True, **run),
    "maxsat": lambda **run: maxsat.solve(maxsat.Formula.from_clauses([[1]]), **run),
    "cellular": lambda **run: maxsat.cellular_search(maxsat.Formula.from_clauses([[1]]), **run),
    "xorsat": lambda **run: xorsat.solve(xorsat.random_regular(24, seed=1), **run),
    "fix": lambda **run: gauge.fix(gauge.GaugeField.identity((2, 2, 2, 2), 2), **run),
    "tts": lambda **run: xorsat.time_to_solution(xorsat.random_regular(24, seed=1), 2, **run),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_limit_is_told(call: Callable[..., Any]) -> None:
    found = call(time_limit=0.3, threads=1, device="cpu", seed=3)
    assert found.stopped == "time_limit"
    assert json.loads(found.to_json())["stopped"] == "time_limit"
    assert found.seed in (3, None)


@pytest.mark.parametrize("call", SHORT.values(), ids=SHORT)
def test_what_made_it_is_told(call: Callable[..., Any]) -> None:
    found = call(threads=1, device="cpu", seed=3)
    assert found.stopped == ""
    assert all(getattr(found, name) is not None for name in FACTS)
    plain = json.loads(found.to_json())
    assert plain["stopped"] == ""
    assert {"method", "device"} <= plain.keys()


@pytest.mark.parametrize(
    "call",
    [
        lambda **run: ising.spectrum(MODEL, 5, time_limit=0.3, prune=False, **run).seed,
        lambda **run: xorsat.quasi_greedy(xorsat.random_regular(24, seed=1), **run).seed,
        lambda **run: maxsat.cellular_search(FORMULA, runs=2, time_limit=0.3, **run).seed,
        lambda **run: gauge.fix(FIELD, copies=2, max_sweeps=3, strict=False, **run).seed,
        lambda **run: xorsat.time_to_solution(xorsat.random_regular(24, seed=1), 3, **run).seed,
        lambda **run: gauge.generate((4, 4, 4, 4), 6.0, sweeps=2, **run).links.tobytes(),
    ],
)
def test_without_a_seed_a_call_goes_on_with_that_of_its_checkpoint(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    first, again = (call(checkpoint=tmp_path / "job", device="cpu") for _ in range(2))
    assert first == again
    assert call(checkpoint=tmp_path / "other", device="cpu") != first


def test_starts_that_were_left_out_are_told() -> None:
    found = CALLS["fix"](time_limit=0.3, threads=1, device="cpu", seed=3)
    assert len(found.copies) < found.copies_total == 50
    assert json.loads(found.to_json())["copies_total"] == 50
