"""dimod, imported when it is first used."""

from __future__ import annotations

from typing import Any

from hardscape.errors import MissingDependencyError

__all__ = ["import_dimod"]


def import_dimod(purpose: str) -> Any:
    """Import dimod and return it.

    Parameters
    ----------
    purpose : str
        What needs it, for the error.

    Raises
    ------
    MissingDependencyError
        If dimod is not installed; the message holds the pip line.
    """
    try:
        import dimod
    except ImportError:
        raise MissingDependencyError("dimod", "dimod", purpose) from None
    return dimod
