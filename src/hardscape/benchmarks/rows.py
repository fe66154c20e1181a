"""Rows of tables: each is measured in a process of its own, in the order in which they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One row: an instance, and how to solve it.

    Attributes
    ----------
    name : str
    n : int
        Size of the instance.
    kind : str
        Which instance.
    simd : str
        Instruction-set level; empty for the widest.
    tool : str
        This library, or a peer.
    repeats : int
        Calls that are timed.
    """

    name: str
    n: int
    kind: str = ""
    simd: str = ""
    threads: int = 1
    device: str = "cpu"
    tool: str = "hardscape"
    repeats: int = 5


def in_process_of_its_own(module: str, case: Case) -> dict[str, Any] | str:
    """Run ``python -m MODULE case JSON``, which prints JSON last; a missing peer gives its error's end."""
    # Peers that use OpenMP get as many threads.
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(case.threads, 1))}
    if case.simd:
        environment["HARDSCAPE_SIMD"] = case.simd
    line = [sys.executable, "-m", module, "case", json.dumps(asdict(case))]
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:100]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
