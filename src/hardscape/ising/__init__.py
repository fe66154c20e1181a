"""Ising and QUBO models: the exact low-energy spectrum, its matrix-product-state companion, and more."""

from typing import TYPE_CHECKING, Any

from hardscape.ising.density import DensityOfStates, density_of_states
from hardscape.ising.levels import Level
from hardscape.ising.model import Ising
from hardscape.ising.mps import mps_spectrum
from hardscape.ising.result import Spectrum
from hardscape.ising.spectrum import Estimate, estimate, spectrum

if TYPE_CHECKING:
    from hardscape.ising.sampler import ExactSampler

__all__ = [
    "DensityOfStates",
    "Estimate",
    "ExactSampler",
    "Ising",
    "Level",
    "Spectrum",
    "density_of_states",
    "estimate",
    "mps_spectrum",
    "spectrum",
]


def __getattr__(name: str) -> Any:
    """Make `ExactSampler` when it is asked for: its base class is dimod's."""
    if name == "ExactSampler":
        from hardscape.ising.sampler import ExactSampler

        return ExactSampler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
