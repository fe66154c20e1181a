"""The command line as a function: what it answers, and how it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardscape.cli import main

Captured = pytest.CaptureFixture[str]


def answered(command: str, capsys: Captured, *words: object, code: int = 0) -> dict[str, Any]:
    """The JSON object of one run, which must be all of standard output."""
    assert main([command, *map(str, words), "--json"]) == code
    told = capsys.readouterr().out
    assert told.count("\n") == 1
    found: dict[str, Any] = json.loads(told)
    return found


def refused(command: str, capsys: Captured, *words: object) -> str:
    """The line that refuses, on standard error alone."""
    assert main([command, *map(str, words)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("hardscape: error: ")
    return told.err
