"""The shape of the code: no circles, no crowded folders, and the page that describes it is right."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

from hardscape.engine import Chain, Work

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hardscape"
SUFFIXES = {".py", ".pyi", ".cpp", ".hpp", ".cu", ".cuh"}
FAMILIES = ("gauge", "ising", "maxsat", "permanents", "xorsat")
#: What a reader takes in.
MOST_FILES = 16

FILES = sorted(path for path in SOURCE.rglob("*") if path.suffix in SUFFIXES)
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
    if path.suffix == ".py"
}


@cache
def imported(path: Path) -> list[tuple[str, str]]:
    """What a file imports from hardscape, wherever in it and for whatever: (module, name or "")."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hardscape":
            found += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            found += [(name, "") for name in names if name.split(".")[0] == "hardscape"]
    return found


def modules_imported(name: str) -> set[str]:
    """The modules that one imports; a package's ``__init__`` may offer what its own modules hold."""
    path, found = MODULES[name], set()
    for module, attribute in imported(path):
        whole = f"{module}.{attribute}"
        found.add(whole if whole in MODULES else module)
    if path.name == "__init__.py":
        found = {other for other in found if not other.startswith(f"{name}.")}
    return (found & MODULES.keys()) - {name}


def headers_included(name: str) -> set[str]:
    """The files of the package that one of C++ or CUDA includes."""
    folder, found = (SOURCE / name).parent, set()
    text = (SOURCE / name).read_text(encoding="utf-8")
    for header in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        for place in (folder / header, SOURCE / header, SOURCE.parent / header):
            if place.is_file():
                found.add(place.resolve().relative_to(SOURCE.resolve()).as_posix())
    return found


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Sets of nodes that all lead to one another (Tarjan, SIAM J. Comput. 1, 146, 1972)."""
    number: dict[str, int] = {}
    least: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    numbers = count()

    def visit(node: str) -> None:
        number[node] = least[node] = next(numbers)
        stack.append(node)
        for other in edges[node]:
            if other not in number:
                visit(other)
                least[node] = min(least[node], least[other])
            elif other in stack:
                least[node] = min(least[node], number[other])
        if least[node] == number[node]:
            first = stack.index(node)
            if len(stack) - first > 1:
                found.append(stack[first:])
            del stack[first:]

    for node in edges:
        if node not in number:
            visit(node)
    return found


def test_a_circle_is_found() -> None:
    round_trip = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"d"}}
    assert circles(round_trip) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_circle_of_modules() -> None:
    assert circles({name: modules_imported(name) for name in MODULES}) == []


def test_no_circle_of_headers() -> None:
    native = [path for path in FILES if path.suffix not in (".py", ".pyi")]
    names = [path.relative_to(SOURCE).as_posix() for path in native]
    edges = {name: headers_included(name) for name in names}
    assert sum(map(len, edges.values())) > 50
    assert circles(edges) == []


def test_no_crowded_folder() -> None:
    sizes = Counter(path.parent.relative_to(SOURCE).as_posix() for path in FILES)
    assert {folder: size for folder, size in sizes.items() if size > MOST_FILES} == {}


def test_nothing_private_is_imported() -> None:
    private = {
        (name, module, attribute)
        for name, path in MODULES.items()
        for module, attribute in imported(path)
        if module != name and re.search(r"(^|\.)_(?!_)", f"{module}.{attribute}")
    }
    assert private == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_knows_no_other_and_no_front_end(family: str) -> None:
    strangers = {f"hardscape.{other}" for other in (*FAMILIES, "cli") if other != family}
    known = {
        (name, other)
        for name in MODULES
        if name.split(".")[1:2] == [family]
        for other in modules_imported(name)
    }
    assert {pair for pair in known if ".".join(pair[1].split(".")[:2]) in strangers} == set()


def works() -> list[type]:
    """Every concrete class of works and chains."""
    for name in MODULES:
        if not name.endswith("__main__"):
            import_module(name)
    found, left = [], [Work, Chain]
    while left:
        children = [child for child in left.pop().__subclasses__() if child.__module__ in MODULES]
        left += children
        found += [child for child in children if not inspect.isabstract(child)]
    return found


def test_every_work_states_its_revision() -> None:
    found = works()
    assert len(found) > 10
    for work in found:
        stated = [vars(base).get("revision") for base in work.__mro__ if base not in (Work, Chain)]
        assert any(isinstance(revision, int) for revision in stated), work


def expanded(path: str) -> list[str]:
    """What a shell makes of braces: a{b,c} is ab and ac."""
    braces = re.search(r"\{([^{}]*)\}", path)
    if braces is None:
        return [path]
    rest = path[: braces.start()], path[braces.end() :]
    return [whole for part in braces[1].split(",") for whole in expanded(part.join(rest))]


def paths_named(text: str) -> list[str]:
    """Folders and files in backticks."""
    names = re.findall(r"`([\w/.{},-]+)`", text)
    return [
        path
        for name in names
        if re.search(r"/|\w\.(py|cpp|hpp|cu|cuh)$", name) and not name.startswith(".")
        for path in expanded(name)
    ]


def test_the_page_names_what_there_is() -> None:
    paths = paths_named((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
    assert len(paths) > 50
    for path in paths:
        in_each_family = all((SOURCE / family / path).exists() for family in FAMILIES)
        assert (SOURCE / path).exists() or (ROOT / path).exists() or in_each_family, path


def test_the_page_names_every_folder() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = {path.rstrip("/") for path in paths_named(text)}
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in FILES} - {"."}
    assert folders - named == set()


def test_the_picture_names_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "images"))
    draw = import_module("draw")
    assert set(draw.FLOW) == set(FAMILIES)
    for family, places in draw.FLOW.items():
        assert len(places) == len(draw.STATIONS)
        assert [place for place in places if not (SOURCE / family / place).exists()] == []
    bands = [path for names, _ in (*draw.ABOVE, *draw.BELOW) for path in names.split()]
    assert [path for path in bands if not (SOURCE / path).exists()] == []
    assert draw.architecture().axes
