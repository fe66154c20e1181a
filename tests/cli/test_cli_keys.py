"""The keys of JSON objects are those that the page of the command line lists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/command.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples"


def listed(command: str) -> set[str]:
    """What the page says of a command, but for what follows a semicolon outside of parentheses."""
    section = PAGE.split(f"\n## hardscape {command} ")[1].split("\n## ")[0]
    told = section.partition("The JSON object has the keys ")[2].partition("\n\n")[0]
    told = re.sub(r"\([^()]*\)", "", told).partition(";")[0].partition(". ")[0]
    return set(re.findall(r"`([a-z_0-9]+)`", told))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("spectrum", ["sk24.txt"]),
        ("density", ["torus30.rudy"]),
        ("permanent", ["dodecahedron.mtx"]),
        ("approximate", ["matrix.npy"]),
        ("bosons", ["matrix.npy"]),
        ("maxsat", ["cover.wcnf"]),
        ("xorsat solve", ["regular64.cnf"]),
        ("xorsat tts", ["regular64.cnf", "--runs", "3"]),
        ("xorsat scan", ["regular64.cnf", "--runs", "3"]),
        ("xorsat energy", ["regular64.cnf", "--clones", "64"]),
    ],
)
def test_the_keys_of_a_command(
    command: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "matrix.npy", np.random.default_rng(1).random((5, 5)) / 5)
    file = EXAMPLES / words[0] if (EXAMPLES / words[0]).exists() else tmp_path / words[0]
    main([*command.split(), str(file), *words[1:], "--device", "cpu", "--json"])
    found = set(json.loads(capsys.readouterr().out))
    assert found == listed(command) - {"tts"}  # whose keys are not listed again
