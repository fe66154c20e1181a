"""hardscape: computations over hard energy landscapes, close to what the hardware allows."""

__version__ = "0.1.0"
