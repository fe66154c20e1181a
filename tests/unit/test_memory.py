"""What memory there is, and the refusal of what needs more."""

from __future__ import annotations

import platform
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


FREED = """
import resource, sys
import numpy as np
from hardscape import memory
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
np.ones(2**24, dtype=np.uint8)  # a block of that size that is freed: smaller ones are kept from now on
getattr(memory, sys.argv[1])() if sys.argv[1] == "give_back_at_once" else None
blocks = [np.ones(2**22, dtype=np.uint8) for _ in range(20)]
full = resident()
del blocks[::2]  # holes
getattr(memory, sys.argv[1])() if sys.argv[1] == "give_back" else None
print(full - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that keeps memory")
@pytest.mark.parametrize("how", ["give_back", "give_back_at_once"])
def test_what_was_freed_is_given_back(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FREED, how], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 9 * 2**22
