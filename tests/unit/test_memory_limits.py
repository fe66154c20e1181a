"""Under a limit of memory: refused at the door with the number, or one line at the end; never a traceback."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GIGA = 2**30
LIMIT = 3 * GIGA

#: Calls that need more than there is, each of another family.
CALLS = [
    "gauge.GaugeField.identity((64, 64, 64, 64))",
    "gauge.GaugeField.random((64, 64, 64, 64), seed=1)",
    "gauge.generate((48, 48, 48, 48), 6.0, sweeps=1)",
    "ising.spectrum({(i, i + 1): 1.0 for i in range(40)}, 2**24)",
    "ising.mps_spectrum({(i, i + 1): 1.0 for i in range(99)}, bond_dimension=4096)",
    "ising.density_of_states({(i, j): float(1 + (7919 * i + 104729 * j) % 99991) "
    "for i in range(36) for j in range(i)}, method='exhaustive', threads=16)",
    "xorsat.random_system(10**8, 1.0)",
    "xorsat.random_regular(10**8, full_rank=False)",
]
SCRIPT = """
import json, sys
from hardscape import gauge, ising, xorsat
from hardscape.errors import BudgetError
for call in json.loads(sys.argv[1]):
    try:
        eval(call)
    except BudgetError as error:
        print("GB" in str(error))
"""
#: Commands that need little, each on a fork of one process; also of files that are packed, and of streams.
COMMANDS = {
    "spectrum sk24.txt": 0,
    "spectrum torus30.rudy --checkpoint {folder}/ledger": 0,
    "spectrum partition20.json": 0,
    "spectrum {folder}/sk24.txt.gz": 0,
    "spectrum {folder}/sk24.txt.xz": 0,
    "spectrum {folder}/sk24.txt.bz2": 0,
    "density torus30.rudy": 0,
    "permanent dodecahedron.mtx": 0,
    "permanent -": 0,
    "xorsat solve regular64.cnf": 0,
    "xorsat tts regular64.cnf --runs 3": 0,
    "maxsat cover.wcnf --time-limit 1": 30,
    "gauge fix hot4.nersc -o {folder}/fixed.nersc": 0,
    "gauge generate --shape 4,4,4,4 --beta 6 --sweeps 2 -o {folder}/hot.nersc": 0,
}
FORKS = """
import json, os, sys
from importlib import import_module
from hardscape import gauge, ising, maxsat, permanents, xorsat
from hardscape.cli import main
commands = json.loads(sys.argv[1])
for family in gauge, ising, maxsat, permanents, xorsat:
    [getattr(family, name) for name in family.__all__]
for words in commands:
    import_module(f"hardscape.cli.{words.split()[0]}")
for words in commands:
    child = os.fork()
    if not child:
        with open("dodecahedron.mtx") as file:
            os.dup2(file.fileno(), 0)
        os.dup2(2, 1)
        os._exit(main([*words.split(), "--threads", "2"]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_commands_in_little_memory(tmp_path: Path) -> None:
    plain = (EXAMPLES / "sk24.txt").read_bytes()
    for packed in (gzip, lzma, bz2):
        suffix = {gzip: "gz", lzma: "xz", bz2: "bz2"}[packed]
        (tmp_path / f"sk24.txt.{suffix}").write_bytes(packed.compress(plain))
    words = [command.format(folder=tmp_path) for command in COMMANDS]
    done = limited("-c", FORKS, json.dumps(words), limit=800 * 2**20, cwd=EXAMPLES)
    assert dict(zip(COMMANDS, map(int, done.stdout.split()), strict=True)) == COMMANDS, done.stderr


def limited(
    *words: str, limit: int = LIMIT, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=cwd,
    )


def test_what_does_not_fit_is_refused_with_the_number() -> None:
    done = limited("-c", SCRIPT, json.dumps(CALLS))
    assert (done.returncode, done.stdout.split()) == (0, ["True"] * len(CALLS)), done.stderr


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
