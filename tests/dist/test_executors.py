"""Whoever runs the shards, the same bytes come out."""

from __future__ import annotations

from functools import cache

import pytest

from helpers.jobs import JOBS


@cache
def here(name: str) -> bytes:
    """The answer of one thread of this process."""
    return JOBS[name](threads=1)


@pytest.mark.parametrize("name", JOBS)
def test_other_processes_give_the_same_bytes(executor, name):
    assert JOBS[name](executor=executor) == here(name)
