"""The compiled parts: their stubs and their levels."""

import os
import subprocess
import sys

import pytest

from hardscape import native
from helpers.native_stubs import committed, generated


def test_the_stubs_are_those_of_the_modules():
    pytest.importorskip("nanobind", reason="nanobind, which makes the stubs, is not installed")
    texts = generated()
    assert texts == {name: (committed() / name).read_text("utf-8") for name in texts}
    held = {path.relative_to(committed()).as_posix() for path in committed().rglob("*.pyi")}
    assert held == set(texts)


def test_a_level_is_refused_that_cannot_be_used():
    command = (
        "from hardscape import native\nfrom hardscape.errors import SimdError\n"
        "try:\n native.vector\nexcept SimdError: exit(7)"
    )
    environment = {**os.environ, "HARDSCAPE_SIMD": "v9"}
    assert subprocess.run([sys.executable, "-c", command], env=environment).returncode == 7


def test_the_widest_level_is_in_use():
    if "HARDSCAPE_SIMD" not in os.environ:
        assert native.level() == native.available_levels()[0]
    assert native.vector.__name__.endswith(native.level())


def test_nothing_is_loaded_before_it_is_asked_for():
    command = (
        "import sys, hardscape\nexit(any('hardscape.native._' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", command]).returncode == 0


def test_there_is_nothing_else():
    with pytest.raises(AttributeError):
        native.nothing  # noqa: B018
