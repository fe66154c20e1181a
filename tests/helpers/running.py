"""Running a work on devices that a test names."""

from collections.abc import Sequence
from typing import Any

from hardscape.engine import Device, Outcome, RunOptions, Work, resolve, solve


def run(work: Work[Any], *, devices: Sequence[Device], **options: Any) -> Outcome[Any]:
    """`solve` on `devices`, with what `RunOptions.checked` takes besides."""
    return solve(work, RunOptions.checked(**options).on(devices))


def on_one_thread(work: Work[Any], **options: Any) -> Outcome[Any]:
    """`run` on one thread of the CPU."""
    return run(work, devices=resolve("cpu", threads=1), **options)
