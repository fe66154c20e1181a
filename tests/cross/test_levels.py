"""One instruction set against another, and on each of them one number of threads against another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hardscape import native

HERE = Path(__file__).resolve().parent


@cache
def told(level: str) -> dict[str, Any]:
    # One number of threads is compared with another at one level.
    turns = ["turns"] * (level != native.level())
    done = subprocess.run(
        [sys.executable, str(HERE / "levels_program.py"), *turns],
        env={**os.environ, "HARDSCAPE_SIMD": level, "PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("level", ["v2", "v3", "v4", "generic"])
def test_every_instruction_set_gives_the_same_bytes(level: str) -> None:
    if level not in native.available_levels():
        pytest.skip(f"this processor or build has no level {level}")
    here, there = told(level), told(native.level())
    assert here["answers"] == there["answers"]
    assert all(len(set(of_threads)) == 1 for of_threads in there["fields"])
    # Odd shapes among them, whose sites do not fit vectors.
    assert list(map(set, here["fields"])) == list(map(set, there["fields"]))
