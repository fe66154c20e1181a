"""Settings for all tests: Hypothesis profile, signals, and GPU tests only where a driver is."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("hardscape", deadline=None, derandomize=True)
hypothesis.settings.load_profile("hardscape")

# nohup and background jobs of shells ignore signals, and a run leaves alone what is ignored.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
    if signal.getsignal(_number) is signal.SIG_IGN:
        _usual = signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        signal.signal(_number, _usual)

_NO_DEVICE = "no CUDA driver or device here"


@cache
def _has_driver() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


class _Skipped(pytest.Module):
    def collect(self) -> list[pytest.Item]:
        pytest.skip(_NO_DEVICE, allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Pass over files that need a GPU, where there is none, without reading them."""
    if module_path.parent != Path(__file__).parent / "gpu" or _has_driver():
        return None
    return _Skipped.from_parent(parent, path=module_path)  # type: ignore[no-any-return]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what else needs a GPU where there is none."""
    if _has_driver():
        return
    skip = pytest.mark.skip(reason=_NO_DEVICE)
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write text or bytes under a name and return the path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
