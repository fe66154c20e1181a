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
    done = subprocess.run(
        [sys.executable, str(HERE / "levels_program.py")],
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
    assert told(level)["exact"] == told(native.level())["exact"]
    for one, two, three in told(level)["threads"]:  # odd shapes, whose sites do not fit vectors
        assert one == two == three
    for here, there in zip(told(level)["heights"], told(native.level())["heights"], strict=True):
        # Annealing multiplies rounding, in SU(4) by 1e10; other random numbers would tell in the second digit.
        assert here == pytest.approx(there, abs=1e-4)
