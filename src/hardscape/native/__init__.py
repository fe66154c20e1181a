"""The compiled parts: ``core``, built once, and ``vector``, built for several instruction sets.

``vector`` is the widest build that this processor runs; ``HARDSCAPE_SIMD`` (``v2``, ``v3``, ``v4``;
``generic`` off x86-64) forces one. Both are loaded when they are first asked for, and hold a
submodule for each family: ``native.core.maxsat.parse_wcnf``, ``native.vector.gauge.Lattice``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from hardscape.errors import SimdError

if TYPE_CHECKING:
    from hardscape.native import _core as core
    from hardscape.native import _vector as vector

__all__ = ["LEVELS", "available_levels", "core", "level", "vector"]

#: Levels from widest to narrowest.
LEVELS = ("v4", "v3", "v2", "generic")


def __getattr__(name: str) -> ModuleType:
    if name == "core":
        module = _loaded_core()
    elif name == "vector":
        module = importlib.import_module(f"{__name__}._vector_{level()}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = module
    return module


def _built(name: str) -> bool:
    return importlib.util.find_spec(f"{__name__}.{name}") is not None


def _loaded_core() -> ModuleType:
    if not _built("_core"):
        raise SimdError(
            "hardscape's compiled core is missing; install the package with "
            "'python -m pip install .' (a C++20 compiler is needed)"
        )
    return importlib.import_module(f"{__name__}._core")


@cache
def available_levels() -> tuple[str, ...]:
    """Levels that were built and that this processor runs, widest first."""
    # The core only holds instructions that every processor of this kind has.
    supported = set(_loaded_core().supported_levels())
    return tuple(name for name in LEVELS if name in supported and _built(f"_vector_{name}"))


@cache
def level() -> str:
    """Name of the level in use."""
    forced = os.environ.get("HARDSCAPE_SIMD", "")
    usable = available_levels()
    if not usable:
        raise SimdError(
            "hardscape was built for other processors than this one; install the package with "
            "'python -m pip install .' here"
        )
    if not forced:
        return usable[0]
    if forced not in usable:
        raise SimdError(
            f"HARDSCAPE_SIMD={forced!r} cannot be used here; this processor and build allow: "
            + ", ".join(usable)
        )
    return forced
