"""Settings for all tests: Hypothesis profile, and GPU tests only where a driver is."""

from __future__ import annotations

import ctypes

import hypothesis
import pytest

hypothesis.settings.register_profile("hardscape", deadline=None, derandomize=True)
hypothesis.settings.load_profile("hardscape")


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    if _has_driver():
        return
    skip = pytest.mark.skip(reason="no CUDA driver or device here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)
