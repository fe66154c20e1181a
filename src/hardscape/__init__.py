"""hardscape: computations over hard energy landscapes, each close to what the hardware allows."""

from hardscape import errors, gauge, ising, maxsat, permanents, xorsat
from hardscape.ising import spectrum
from hardscape.permanents import permanent
from hardscape.version import __version__

__all__ = [
    "__version__",
    "errors",
    "gauge",
    "ising",
    "maxsat",
    "permanent",
    "permanents",
    "spectrum",
    "xorsat",
]
