"""What a table was measured on."""

from __future__ import annotations

import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version

from hardscape.engine import probe


def machine(*packages: str) -> str:
    """Date, processor, GPUs, and the versions of Python, of hardscape and of the packages."""
    found = probe()
    gpus = ", ".join(gpu.name for gpu in found.cuda.gpus) or "no GPU"
    versions = (f"{name} {_version(name)}" for name in ("hardscape", "numpy", *packages))
    return (
        f"{date.today()}; {found.cpu}, {found.cores} cores; {gpus}; "
        f"Python {platform.python_version()}; {', '.join(versions)}"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
