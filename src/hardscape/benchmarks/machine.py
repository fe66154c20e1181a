"""What a table was measured on."""

from __future__ import annotations

import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hardscape.engine import probe


def facts(*packages: str) -> dict[str, Any]:
    """Date, processor, GPUs, and the versions of Python, of hardscape and of the packages."""
    found = probe()
    return {
        "date": str(date.today()),
        "cpu": found.cpu,
        "cores": found.cores,
        "gpus": [gpu.name for gpu in found.cuda.gpus],
        "versions": {"Python": platform.python_version()}
        | {name: _version(name) for name in ("hardscape", "numpy", *packages)},
    }


def machine(*packages: str) -> str:
    """The same in a line."""
    found = facts(*packages)
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    gpus = ", ".join(found["gpus"]) or "no GPU"
    return f"{found['date']}; {found['cpu']}, {found['cores']} cores; {gpus}; {versions}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
