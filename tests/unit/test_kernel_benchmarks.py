"""The harness that times kernels alone tells what ran, and how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("family", "case", "kernel"),
    [("xorsat", "elimination", "eliminate"), ("permanents", "all minors", "glynn_minors")],
)
def test_a_kernel_of_the_cpu(family: str, case: str, kernel: str) -> None:
    words = [
        family,
        "--device",
        "cpu",
        "--only",
        case,
        "--repeats",
        "2",
        "--smaller",
        "4",
        "--json",
    ]
    line = [sys.executable, "-m", "hardscape.benchmarks.kernels", *words]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["family"] == family
    assert {"date", "cpu", "gpus", "versions", "command"} <= found.keys()
    row = found["rows"][0]
    assert (row["kernel"], row["device"]) == (kernel, "cpu")
    assert 0 < row["rate"]["least"] <= row["rate"]["median"] <= row["rate"]["most"]
