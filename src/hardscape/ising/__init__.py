"""Ising and QUBO models: the exact low-energy spectrum, its matrix-product-state companion, and more."""

from hardscape.ising.density import DensityOfStates, density_of_states
from hardscape.ising.model import Ising
from hardscape.ising.result import Level, Spectrum
from hardscape.ising.spectrum import Estimate, estimate, spectrum

__all__ = [
    "DensityOfStates",
    "Estimate",
    "Ising",
    "Level",
    "Spectrum",
    "density_of_states",
    "estimate",
    "spectrum",
]
