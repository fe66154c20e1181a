"""Which SAT solvers' packages are installed; none is imported."""

from __future__ import annotations

import importlib.util

#: Packages that were found: to look for one takes as long as to solve a small formula.
_found: set[str] = set()


def _installed(package: str) -> bool:
    if package not in _found and importlib.util.find_spec(package) is not None:
        _found.add(package)
    return package in _found


def can_ask() -> bool:
    """Whether python-sat is installed."""
    return _installed("pysat")


def can_prove() -> bool:
    """Whether python-sat and rustsat are installed."""
    return can_ask() and _installed("rustsat")
