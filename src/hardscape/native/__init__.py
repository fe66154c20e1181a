"""The compiled core, at the widest instruction-set level that this processor runs.

``HARDSCAPE_SIMD`` (``v2``, ``v3``, ``v4``; ``generic`` off x86-64) forces a level.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

from hardscape.errors import SimdError

__all__ = ["LEVELS", "available_levels", "core", "level"]

#: Levels from widest to narrowest.
LEVELS = ("v4", "v3", "v2", "generic")


def _built(name: str) -> bool:
    return importlib.util.find_spec(f"{__name__}._core_{name}") is not None


def _load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}._core_{name}")


@cache
def available_levels() -> tuple[str, ...]:
    """Levels that were built and that this processor runs, widest first."""
    built = [name for name in LEVELS if _built(name)]
    if not built:
        raise SimdError(
            "hardscape's compiled core is missing; install the package with "
            "'python -m pip install .' (a C++20 compiler is needed)"
        )
    # The narrowest module only holds instructions that every processor of this kind has.
    supported = set(_load(built[-1]).supported_levels())
    return tuple(name for name in built if name in supported)


@cache
def level() -> str:
    """Name of the level in use."""
    forced = os.environ.get("HARDSCAPE_SIMD", "")
    usable = available_levels()
    if not forced:
        return usable[0]
    if forced not in usable:
        raise SimdError(
            f"HARDSCAPE_SIMD={forced!r} cannot be used here; this processor and build allow: "
            + ", ".join(usable)
        )
    return forced


@cache
def core() -> ModuleType:
    """The compiled module of the level in use."""
    return _load(level())
