"""Boson sampling, ours and the peers', by turns in one process.

``python -m hardscape.benchmarks.permanents.bosons``.

A row draws samples of single photons in the first inputs of a random interferometer, all on one thread: least
time of a sample in a few rounds, and the ratio of each peer to us. `tests/unit/test_permanents_sample.py`
holds our samples against whole distributions.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import cyclopts
import numpy as np

from hardscape.benchmarks.tables import Table
from hardscape.permanents import sample

app = cyclopts.App(help=__doc__, result_action="return_value")
#: Modes, photons, samples of a call, and whether peers can be waited for.
CASES = (
    (25, 5, 2000, True),
    (100, 10, 200, True),
    (225, 15, 10, True),
    (20, 20, 10, True),
    (400, 20, 1, True),
    (900, 10, 20, True),
    (900, 20, 1, True),
    (900, 25, 1, True),  # a minute a sample of piquasso's
    (900, 30, 1, False),
)
ROUNDS = 3
Draw = Callable[[np.ndarray, int, int], float]


def ours(u: np.ndarray, photons: int, samples: int) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    inputs = [1] * photons + [0] * (len(u) - photons)
    sample(u, inputs, samples, threads=1)
    return time.perf_counter() - began


def piquasso(u: np.ndarray, photons: int, samples: int) -> float:
    """The same, without what it takes to state the program."""
    import piquasso as pq

    with pq.Program() as program:
        pq.Q() | pq.StateVector([1] * photons + [0] * (len(u) - photons))
        pq.Q() | pq.Interferometer(u)
        pq.Q() | pq.ParticleNumberMeasurement()
    simulator = pq.SamplingSimulator(d=len(u))
    began = time.perf_counter()
    simulator.execute(program, shots=samples)
    return time.perf_counter() - began


def perceval(u: np.ndarray, photons: int, samples: int) -> float:
    """The same by Clifford and Clifford's first algorithm."""
    import perceval as pcvl

    backend = pcvl.BackendFactory.get_backend("CliffordClifford2017")
    backend.set_circuit(pcvl.Unitary(pcvl.Matrix(u)))
    backend.set_input_state(pcvl.BasicState([1] * photons + [0] * (len(u) - photons)))
    began = time.perf_counter()
    backend.samples(samples)
    return time.perf_counter() - began


def least(draws: dict[str, Draw], modes: int, photons: int, samples: int) -> Iterator[str]:
    """Cells of a row."""
    random = np.random.default_rng(modes)
    entries = random.normal(size=(modes, modes)) + 1j * random.normal(size=(modes, modes))
    u = np.linalg.qr(entries)[0]
    found: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, draw in draws.items():
            try:
                spent = draw(u, photons, samples) / samples
            except (ImportError, RuntimeError) as error:
                found.setdefault(name, float("nan"))
                print(f"{name}: {error}")
                continue
            found[name] = min(found.get(name, spent), spent)
    for name, spent in found.items():
        yield f"{spent:.3g} s" + (f" ({spent / found['ours']:.3g})" if name != "ours" else "")


@app.default
def main(*, modes: int | None = None, save: Path | None = None) -> None:
    """Print the table.

    Parameters
    ----------
    modes
        Interferometers of so many modes alone.
    save
        A folder for the table as data.
    """
    warnings.simplefilter("ignore")
    peers: dict[str, Draw] = {"piquasso": piquasso, "perceval": perceval}
    columns = ["modes", "photons", "hardscape", "piquasso (ratio)", "perceval (ratio)"]
    found = Table.begun("bosons", columns, "piquasso", "perceval-quandela")
    for size, photons, samples, all_of_them in CASES:
        if modes in (None, size):
            draws = {"ours": ours} | (peers if all_of_them else {})
            found.add(size, photons, *least(draws, size, photons, samples))
    if save:
        found.save(save)


if __name__ == "__main__":
    app()
