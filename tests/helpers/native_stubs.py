"""Stubs of the compiled parts, as nanobind's generator makes them.

``python tests/helpers/native_stubs.py`` writes them where mypy finds them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from pathlib import Path

from hardscape import native


def committed() -> Path:
    """The folder that holds the stubs."""
    return Path(native.__file__).parent


def generated() -> dict[str, str]:
    """Text of each stub, by its path in the folder. All levels have the same."""
    vector = f"_vector_{native.level()}"
    modules = [f"hardscape.native.{name}" for name in ("_core", vector)]
    command = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "--exclude-docstrings"]
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            subprocess.run([*command, "-r", "-m", module, "-O", folder], check=True)
        return {
            path.relative_to(folder).as_posix().replace(vector, "_vector"): _sorted(
                path.read_text("utf-8").replace(vector, "_vector")
            )
            for path in Path(folder).rglob("*.pyi")
        }


def _sorted(text: str) -> str:
    """A stub with functions and classes by name: their order is that of linking."""
    lines = text.split("\n")
    named: list[tuple[str, str]] = []
    body = ast.parse(text).body
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            named.append((node.name, "\n".join(lines[first : node.end_lineno])))
    head = [node for node in body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    top = "\n".join(lines[: head[-1].end_lineno]) if head else ""
    blocks = [block for _, block in sorted(named, key=lambda pair: pair[0])]
    return "\n\n".join([*([top] if top else []), *blocks]) + "\n"


if __name__ == "__main__":
    for name, text in generated().items():
        path = committed() / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
