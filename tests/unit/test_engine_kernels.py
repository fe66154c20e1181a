"""The loader of CUDA sources."""

import pytest

from hardscape import errors
from hardscape.engine import kernel
from hardscape.engine.cuda.kept import read_report

GENERATED = {"site.cuh": '#pragma once\n#include "native/random.hpp"\n'}


def test_the_compilers_own_headers_are_supplied() -> None:
    found = kernel("native/random.hpp", "fill")
    assert [name for name, _ in found.headers] == ["cstdint", "native/device.hpp"]
    assert found.name == "fill"


def test_generated_headers_come_first_and_are_followed_too() -> None:
    found = kernel("gauge/lattice/start.cu", "gauge_unit", generated=GENERATED)
    names = [name for name, _ in found.headers]
    assert names == sorted(set(names))
    assert {"site.cuh", "native/random.hpp"} <= set(names)
    assert "gauge/lattice/site.cuh" not in names
    assert dict(found.headers)["site.cuh"] == GENERATED["site.cuh"]


def test_a_header_has_one_name_however_it_is_written() -> None:
    found = kernel("gauge/lattice/start.cu", "gauge_unit")
    assert '#include "gauge/lattice/site.cuh"' in found.source
    assert "gauge/lattice/local.hpp" in dict(found.headers)
    assert '#include "site.cuh"' not in found.source


def test_constants_stand_first() -> None:
    constants = {"kSide": 20, "kMany": 2**40, "kTrue": True, "kHalf": 0.5}
    lines = kernel("native/random.hpp", "fill", constants=constants).source.splitlines()[:4]
    assert lines == [
        "constexpr int kSide = 20;",
        f"constexpr long long kMany = {2**40}LL;",
        "constexpr bool kTrue = true;",
        f"constexpr double kHalf = {(0.5).hex()};",
    ]


def test_equal_kernels_are_equal() -> None:
    first, second = (kernel("native/random.hpp", "fill", constants={"kSide": 3}) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first != kernel("native/random.hpp", "fill", constants={"kSide": 4})


def test_refusals() -> None:
    with pytest.raises(errors.InputError):
        kernel("native/no_such_file.cu", "fill")
    with pytest.raises(errors.InputError):
        kernel("ising/methods/exhaustive/exhaustive.cu", "spectrum_search")  # nothing is generated
    with pytest.raises(errors.InputError):
        kernel("native/random.hpp", "fill", constants={"kSide": "20"})  # type: ignore[dict-item]


def test_the_assembler_is_read() -> None:
    log = (
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 2 barriers, 1024 bytes smem\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
        "ptxas info    : Used 16 registers, used 0 barriers\n"
    )
    first, second = read_report(log)
    assert (first.name, first.registers, first.stack) == ("first", 255, 16)
    assert (first.spill_stores, first.spill_loads, first.shared) == (12, 8, 1024)
    assert (second.name, second.registers, second.spill_stores) == ("second", 16, 0)
