"""hardscape: computations over hard energy landscapes, each close to what the hardware allows."""

from __future__ import annotations

from hardscape.version import __version__

TYPE_CHECKING = False  # as that of typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

    from hardscape import engine, errors, gauge, ising, maxsat, permanents, xorsat
    from hardscape.ising.spectrum import spectrum  # mypy takes the module from the package
    from hardscape.permanents.permanent import permanent

__all__ = [
    "__version__",
    "engine",
    "errors",
    "gauge",
    "ising",
    "maxsat",
    "permanent",
    "permanents",
    "spectrum",
    "xorsat",
]

#: Functions of the families that are offered here too.
_FUNCTIONS = {"permanent": "hardscape.permanents", "spectrum": "hardscape.ising"}


def __getattr__(name: str) -> Any:
    """Import a part when it is first used, so that nobody waits for the others."""
    from importlib import import_module

    if name in _FUNCTIONS:
        found = getattr(import_module(_FUNCTIONS[name]), name)
    elif name in __all__:
        found = import_module(f"hardscape.{name}")
    else:
        # The module protocol asks for AttributeError.
        raise AttributeError(f"module 'hardscape' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
