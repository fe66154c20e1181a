"""How often the matrix product state finds the ground state of fully connected Gaussian models.

After Fig. 6a of Jałowiecki, Rams, Gardas (Comput. Phys. Commun. 260, 107728, 2021): J_ij and h_i
are independent standard normal numbers, beta = 1. (The paper says only that its instances are
random and fully connected.) The ground energy is the certified one of `hardscape.spectrum`; a run
succeeds when its lowest energy equals it. Run with one BLAS thread for timings that compare:

    OMP_NUM_THREADS=1 python -m hardscape.benchmarks.ising.mps --sizes 24 28 --instances 20
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
from cyclopts import App, Parameter

import hardscape
from hardscape.benchmarks.tables import Table
from hardscape.engine import cuda_status
from hardscape.errors import AccuracyWarning
from hardscape.ising import Ising, mps_spectrum

app = App(
    help=__doc__, result_action="return_value", default_parameter=Parameter(consume_multiple=True)
)


def gaussian_model(num_spins: int, seed: int) -> Ising:
    """Couplings of all pairs and fields, normally distributed."""
    rng = np.random.default_rng([num_spins, seed])
    couplings = np.triu(rng.normal(size=(num_spins, num_spins)), 1)
    return Ising(rng.normal(size=num_spins), couplings)


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """95% interval of a success rate (Wilson 1927)."""
    rate, square = successes / trials, z * z / trials
    centre = (rate + square / 2) / (1 + square)
    half = sqrt(square * rate * (1 - rate) + square * square / 4) / (1 + square)
    return max(0.0, centre - half), min(1.0, centre + half)


def spread(seconds: Sequence[float]) -> str:
    """The median, with the quartiles."""
    if len(seconds) < 2:
        return f"{seconds[0]:.2f}"
    low, _, high = quantiles(seconds, n=4)
    return f"{median(seconds):.2f} ({low:.2f} to {high:.2f})"


@app.default
def main(
    *,
    sizes: tuple[int, ...] = (24, 28, 32),
    bond_dimensions: tuple[int, ...] = (16, 32, 64, 128),
    dbetas: tuple[float, ...] = (0.25, 0.5, 1.0),
    instances: int = 100,
    num_states: int = 100,
    width: int | None = None,
    save: Path | None = None,
) -> None:
    """Print a table of success rates with 95% Wilson intervals, and seconds a run.

    Discarded weights are medians over the instances, seconds are medians with quartiles.

    Parameters
    ----------
    sizes
        Numbers of spins.
    bond_dimensions
        Values of D.
    dbetas
        Steps of the inverse temperature.
    instances
        Random models for each size.
    num_states
        States asked for.
    width
        Prefixes kept by branch and bound.
    save
        A folder for the table as data.
    """
    warnings.simplefilter("ignore", AccuracyWarning)
    mps_spectrum(gaussian_model(16, 0), bond_dimension=16)  # warms up BLAS and imports
    columns = [
        "N",
        "D",
        "dbeta",
        "found",
        "rate",
        "95% interval",
        "discarded weight",
        "seconds (quartiles)",
    ]
    table = Table.begun("mps", columns)
    for size in sizes:
        models = [gaussian_model(size, seed) for seed in range(instances)]
        ground = [float(hardscape.spectrum(model, 1).energies[0]) for model in models]
        for bond_dimension in bond_dimensions:
            for dbeta in dbetas:
                runs = [
                    mps_spectrum(
                        model,
                        num_states,
                        bond_dimension=bond_dimension,
                        beta=1.0,
                        dbeta=dbeta,
                        width=width,
                    )
                    for model in models
                ]
                found = sum(
                    float(run.energies[0]) == best for run, best in zip(runs, ground, strict=True)
                )
                low, high = wilson(found, instances)
                discarded = median(run.info["discarded_weight"] for run in runs)
                table.add(
                    size,
                    bond_dimension,
                    dbeta,
                    f"{found} of {instances}",
                    f"{found / instances:.2f}",
                    f"{low:.2f} to {high:.2f}",
                    f"{discarded:.1e}",
                    spread([run.info["seconds"] for run in runs]),
                )
    if save:
        table.save(save)


@app.command
def devices(
    *,
    bond_dimensions: tuple[int, ...] = (64, 128, 256, 512),
    size: int = 50,
    threads: int | None = None,
    save: Path | None = None,
) -> None:
    """Seconds of one dense Gaussian model on the CPU and, where there is one, on a GPU.

    Parameters
    ----------
    bond_dimensions
        Values of D.
    size
        Number of spins.
    threads
        Of the CPU, by default all; BLAS has its own (OMP_NUM_THREADS).
    save
        A folder for the table as data.
    """
    warnings.simplefilter("ignore", AccuracyWarning)
    model = gaussian_model(size, 0)
    where = ["cpu", *(["cuda:0"] if cuda_status().usable else [])]
    table = Table.begun(
        "mps-devices", ["N", "D", *(f"{x}, s" for x in where), "same lowest energy"]
    )
    for bond_dimension in bond_dimensions:
        seconds, energies = [], []
        for device in where:
            how: dict[str, Any] = {
                "device": device,
                "threads": threads if device == "cpu" else None,
            }
            mps_spectrum(model, 100, bond_dimension=8, **how)  # warms up
            found = mps_spectrum(model, 100, bond_dimension=bond_dimension, **how)
            seconds.append(float(found.info["seconds"]))
            energies.append(float(found.energies[0]))
        same = "yes" if len({round(energy, 9) for energy in energies}) == 1 else "no"
        table.add(size, bond_dimension, *seconds, same)
    if save:
        table.save(save)


if __name__ == "__main__":
    app()
