"""What memory there is, and the refusal of what needs more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hardscape import memory
from hardscape.errors import BudgetError

LIMITED = """
import resource
from hardscape import memory
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
print(memory.available())
"""


def test_what_is_available_is_some_part_of_the_machine() -> None:
    assert 0 < memory.available() < 2**60
    memory.require(memory.available() // 2, "half")


def test_more_than_there_is_is_refused_with_the_number() -> None:
    with pytest.raises(BudgetError):
        memory.require(2**60, "a lattice")


def test_the_limit_of_the_process_counts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True
    )
    assert 0 < int(done.stdout) < 2**30
