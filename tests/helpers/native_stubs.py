"""Stubs of the compiled parts, as nanobind's generator makes them.

``python tests/helpers/native_stubs.py`` writes them where mypy finds them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from hardscape import native


def committed() -> Path:
    """The folder that holds the stubs."""
    with resources.as_file(resources.files("hardscape.native")) as folder:
        return folder


def generated() -> dict[str, str]:
    """Text of each stub, by its path in the folder. All levels have the same."""
    vector = f"_vector_{native.level()}"
    modules = [f"hardscape.native.{name}" for name in ("_core", vector)]
    command = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "--exclude-docstrings"]
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            subprocess.run([*command, "-r", "-m", module, "-O", folder], check=True)
        return {
            path.relative_to(folder).as_posix().replace(vector, "_vector"): path.read_text(
                "utf-8"
            ).replace(vector, "_vector")
            for path in Path(folder).rglob("*.pyi")
        }


if __name__ == "__main__":
    for name, text in generated().items():
        path = committed() / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
