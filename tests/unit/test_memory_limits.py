"""Under a limit of memory: refused at the door with the number, or one line at the end; never a traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

GIGA = 2**30
LIMIT = 3 * GIGA

#: Calls that need more than there is, each of another family.
CALLS = {
    "identity": "gauge.GaugeField.identity((64, 64, 64, 64))",
    "random": "gauge.GaugeField.random((64, 64, 64, 64), seed=1)",
    "generate": "gauge.generate((48, 48, 48, 48), 6.0, sweeps=1)",
    "spectrum": "ising.spectrum({(i, i + 1): 1.0 for i in range(40)}, 2**24)",
    "mps": "ising.mps_spectrum({(i, i + 1): 1.0 for i in range(99)}, bond_dimension=4096)",
    "density": "ising.density_of_states({(i, j): float(1 + (7919 * i + 104729 * j) % 99991) "
    "for i in range(36) for j in range(i)}, method='exhaustive', threads=16)",
    "system": "xorsat.random_system(10**8, 1.0)",
    "regular": "xorsat.random_regular(10**8, full_rank=False)",
}
SCRIPT = """
from hardscape import gauge, ising, xorsat
from hardscape.errors import BudgetError
try:
    {}
except BudgetError as error:
    print("GB" in str(error))
"""


def limited(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT)),
    )


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_does_not_fit_is_refused_with_the_number(call: str) -> None:
    done = limited("-c", SCRIPT.format(call))
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_memory_that_runs_out_is_one_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from hardscape import cli\n"
        "from hardscape.cli import devices\n"
        "devices.probe = lambda: bytearray(2**40)\n"
        "sys.exit(cli.main(['devices']))\n"
    )
    done = limited(str(program))
    assert done.returncode == 1
    assert done.stderr.startswith("hardscape: error: out of memory")
    assert done.stderr.count("\n") == 1
