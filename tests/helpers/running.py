"""Running a work on devices that a test names, what its ledger tells meanwhile, and code at every level."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hardscape import native
from hardscape.engine import Device, Outcome, RunOptions, Work, resolve, solve
from hardscape.engine.jobs import job
from hardscape.errors import CheckpointError


def run(work: Work[Any], *, devices: Sequence[Device], **options: Any) -> Outcome[Any]:
    """`solve` on `devices`, with what `RunOptions.checked` takes besides."""
    return solve(work, RunOptions.checked(**options).on(devices))


def on_one_thread(work: Work[Any], **options: Any) -> Outcome[Any]:
    """`run` on one thread of the CPU."""
    return run(work, devices=resolve("cpu", threads=1), **options)


def at_every_level(code: str) -> set[str]:
    """What a program prints at the levels of vector instructions that this processor has."""
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"HARDSCAPE_SIMD": level},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for level in native.available_levels()
    }


def done(ledger: Path) -> int:
    """Shards, or steps, in a ledger that may be in use, and may not be begun yet."""
    with suppress(CheckpointError):
        return job(ledger).done
    return 0
