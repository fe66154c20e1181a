"""List what can be measured.

``python -m hardscape.benchmarks``.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path


def benchmarks() -> dict[str, str]:
    """Names of the modules that are commands, and the first line of what each says of itself."""
    root = Path(__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path != Path(__file__) and 'if __name__ == "__main__"' in text:
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__main__")
            found[name] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def main() -> None:
    """Print the list; words after it are none of a benchmark's, which is a module of its own."""
    if words := sys.argv[1:]:
        sys.exit(
            f"{' '.join(words)} is not understood; python -m hardscape.benchmarks.NAME runs one"
        )
    found = benchmarks()
    width = max(map(len, found))
    for name, title in found.items():
        print(f"{name:{width}}  {title}")


if __name__ == "__main__":
    main()
