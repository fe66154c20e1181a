"""Running a work on devices that a test names."""

from collections.abc import Sequence
from typing import Any

from hardscape.engine import Device, Outcome, RunOptions, Work, solve


def run(work: Work[Any], *, devices: Sequence[Device], **options: Any) -> Outcome[Any]:
    """`solve` on `devices`, with what `RunOptions.checked` takes besides."""
    return solve(work, RunOptions.checked(**options).on(devices))
