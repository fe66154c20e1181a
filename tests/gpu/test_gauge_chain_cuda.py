"""The Markov chain on GPUs: the CPU's but for rounding, and the same for any number of GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardscape.errors import InputError
from hardscape.gauge import GaugeField, WilsonChain, generate

pytestmark = pytest.mark.gpu

CASES: list[tuple[tuple[int, ...], int, float, dict[str, Any]]] = [
    ((8, 4, 4, 8), 3, 6.0, {}),
    ((4, 6, 4, 10), 2, 2.4, {"overrelax": 0}),
    ((4, 4, 4, 6), 3, 5.7, {"boundary": "open"}),
    ((4, 4, 4, 6), 2, 2.3, {"boundary": "sf", "xi": 2.0}),
    ((4, 4, 4, 6), 3, 5.7, {"boundary": "open-sf"}),
    ((8, 6), 3, 4.0, {}),
    ((4, 4, 6), 2, 3.0, {"xi": 1.5}),
    ((2, 4, 2, 4, 4), 2, 1.8, {}),
    ((4, 4), 4, 10.8, {}),
    ((4, 2, 4, 4), 4, 10.8, {"boundary": "open"}),
    ((4, 4), 5, 17.0, {"overrelax": 3}),
    ((2, 4), 8, 40.0, {}),
]


def start(shape: tuple[int, ...], nc: int, boundary: Any = "periodic") -> GaugeField:
    return generate(shape, 1.0, nc, sweeps=0, boundary=boundary, seed=3)


@pytest.mark.parametrize(("shape", "nc", "beta", "options"), CASES, ids=str)
def test_a_sweep_is_that_of_the_cpu(
    shape: tuple[int, ...], nc: int, beta: float, options: dict[str, Any]
) -> None:
    given = dict(options)
    field = start(shape, nc, given.pop("boundary", "periodic"))
    chains = [WilsonChain(field, beta, seed=5, device=x, **given) for x in ("cpu", "cuda:0")]
    plaquettes = [chain.run(1) for chain in chains]
    cpu, gpu = (chain.field.links for chain in chains)
    # A number that falls beside a bound of rejection may turn one link in a million, and the many subgroups
    # of a larger group multiply rounding.
    assert np.quantile(abs(cpu - gpu), 0.99) < (1e-10 if nc < 4 else 1e-3)
    assert abs(plaquettes[0] - plaquettes[1]).max() < 1e-3
    assert chains[1].field.plaquette() == pytest.approx(plaquettes[1][0], abs=1e-12)
    assert chains[1].field.unitarity() < 1e-13


@pytest.mark.parametrize("many", [1, 2, 3])
@pytest.mark.parametrize(("shape", "nc", "beta", "options"), CASES, ids=str)
def test_domains_make_the_links_of_one_gpu(
    shape: tuple[int, ...], nc: int, beta: float, options: dict[str, Any], many: int
) -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < many:
        pytest.skip(f"there are not {many} GPUs")
    if shape[-1] < many:
        pytest.skip("fewer timeslices than GPUs")
    given = dict(options)
    field = start(shape, nc, given.pop("boundary", "periodic"))
    alone = WilsonChain(field, beta, seed=5, device="cuda:0", **given)
    gpus = [f"cuda:{i}" for i in range(many)]
    together = WilsonChain(field, beta, seed=5, domains=gpus, **given)
    assert together.run(5).tobytes() == alone.run(5).tobytes()
    assert together.field.links.tobytes() == alone.field.links.tobytes()


def test_a_chain_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    given: dict[str, Any] = {"seed": 4, "device": "cuda:0"}
    whole = generate((4, 4, 4, 4), 5.9, sweeps=12, **given)
    kept = tmp_path / "chain"
    generate((4, 4, 4, 4), 5.9, sweeps=5, checkpoint=kept, **given)
    on = generate((4, 4, 4, 4), 5.9, sweeps=12, checkpoint=kept, **given)
    assert on.links.tobytes() == whole.links.tobytes()


def test_the_plaquette_at_beta_6() -> None:
    """0.593684 in infinite volume (G. Boyd et al., Nucl. Phys. B 469, 419 (1996))."""
    chain = WilsonChain(start((16, 16, 16, 16), 3), 6.0, seed=1, device="cuda:0")
    chain.run(100)
    assert chain.run(200).mean() == pytest.approx(0.59368, abs=3e-4)


def test_what_a_gpu_does_not_take_is_refused() -> None:
    with pytest.raises(InputError):
        generate((4, 4, 4, 5), 6.0, device="cuda:0")
    with pytest.raises(InputError):
        generate((4, 4, 4, 4), 6.0, device="cuda:0", domains="cuda:0")
