"""Ising and QUBO models: the exact low-energy spectrum, its matrix-product-state companion, and more."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hardscape.ising.levels import Level
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum
from hardscape.ising.search import search
from hardscape.ising.spectrum import Estimate, estimate, spectrum

if TYPE_CHECKING:
    from hardscape.ising.density import DensityOfStates, density_of_states
    from hardscape.ising.mps import mps_spectrum
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
    "search",
    "spectrum",
]


#: What is imported when it is first asked for: it takes long, or needs dimod.
_LATER = {
    "DensityOfStates": "density",
    "ExactSampler": "sampler",
    "density_of_states": "density",
    "mps_spectrum": "mps",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
