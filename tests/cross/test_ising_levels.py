"""Every instruction set gives the same spectrum."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import hardscape
from hardscape import native
from helpers.instances import dense_gaussian


@pytest.mark.parametrize("level", ["v2", "v3", "v4", "generic"])
def test_every_instruction_set_gives_the_same_bytes(level):
    if level not in native.available_levels():
        pytest.skip(f"this processor or build has no level {level}")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hardscape\n"
        "from helpers.instances import dense_gaussian\n"
        "r = hardscape.spectrum(dense_gaussian(25, 9), 200, device='cpu', prune=False)\n"
        "print(r.energies.tobytes().hex(), r.states.tobytes().hex())"
    )
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    run = subprocess.run(
        [sys.executable, "-c", code, tests],
        env={**os.environ, "HARDSCAPE_SIMD": level},
        capture_output=True,
        text=True,
        check=True,
    )
    energies, states = run.stdout.split()
    here = hardscape.spectrum(dense_gaussian(25, 9), 200, device="cpu", prune=False)
    assert energies == here.energies.tobytes().hex()
    assert states == here.states.tobytes().hex()
