"""The files around the code agree with it and with one another."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import hardscape
from hardscape.cli import main

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_one_version() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert project["version"] == hardscape.__version__ == metadata.version("hardscape")
    assert re.findall(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE) == [
        hardscape.__version__
    ]
    newest = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == hardscape.__version__


def test_one_licence() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert f"license: {project['license']}" in read("CITATION.cff")
    for file in project["license-files"]:
        assert "BSD 3-Clause License" in read(file)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("main", ["python3 -m venv", "pip install .", "hardscape spectrum examples/"]),
        ("test", ["python3 -m venv", "pip install '.[test]'", "python -m pytest"]),
    ],
)
def test_readme_command(name: str, parts: list[str]) -> None:
    """The two commands stand, once each, where .ci/run takes them from."""
    readme = read("README.md")
    found = re.findall(rf"^<!-- command: {name} -->\n```sh\n(.+?)^```$", readme, re.M | re.S)
    assert len(found) == 1
    positions = [found[0].index(part) for part in parts]
    assert positions == sorted(positions)


def test_links_lead_to_files() -> None:
    for page in PAGES:
        folder = (ROOT / page).parent
        local = [x.partition("#")[0] for x in LINK.findall(read(page)) if ":" not in x]
        missing = [x for x in local if x and not (folder / x).exists()]
        assert not missing, page


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "density",
        "spectrum",
        "permanent",
        "maxsat",
        "gauge info",
        "gauge convert",
        "gauge generate",
        "gauge fix",
        "gauge propagator",
        "gauge flow",
        "gauge ghost",
        "gauge observables",
        "xorsat solve",
        "xorsat tts",
        "xorsat scan",
        "xorsat generate",
        "xorsat theory",
    ],
)
def test_the_reference_has_every_option_and_no_other(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    options = set(re.findall(r"--[a-z][a-z0-9-]*", shown)) - {"--help"}
    reference = read("docs/reference/command.md")
    section = re.search(rf"^## hardscape {command}\b.*?(?=^## )", reference, re.M | re.S)
    assert section is not None
    table = "\n".join(re.findall(r"^\| `--.*$", section[0], re.MULTILINE))
    assert options
    assert set(re.findall(r"`(--[a-z0-9-]+)`", table)) == options
