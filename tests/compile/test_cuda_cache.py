"""Run-time compilation: needs NVRTC, but neither GPU nor driver."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cuda.bindings.nvrtc", reason="NVRTC's Python bindings are not installed")

from hardscape import errors
from hardscape.engine import Kernel
from hardscape.engine.cuda import jit

KERNEL = Kernel(
    "test_fill",
    '#include "native/three.hpp"\n'
    'extern "C" __global__ void test_fill(int* out) { out[threadIdx.x] = three<STEP>(); }\n',
    (
        (
            "native/three.hpp",
            "#pragma once\ntemplate <int N> __device__ consteval int three() { return 3 * N; }\n",
        ),
    ),
    ("-DSTEP=2",),
)


class Counter:
    """Counts how often NVRTC itself is called."""

    def __init__(self, compiler: Any) -> None:
        self._compiler = compiler
        self.calls = 0

    def __call__(self, kernel: Kernel, arch: str, name: str = "") -> tuple[bytes, str]:
        self.calls += 1
        result: tuple[bytes, str] = self._compiler(kernel, arch, name)
        return result


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counter:
    counter = Counter(jit._nvrtc_compile)
    monkeypatch.setattr(jit, "_nvrtc_compile", counter)
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(tmp_path))
    jit._memory.clear()
    return counter


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "kernels").iterdir())


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a", "sm_100"])
def test_architectures(compiler: Counter, arch: str) -> None:
    cubin = jit.compile(KERNEL, arch)
    assert cubin.startswith(b"\x7fELF")
    assert b"test_fill" in cubin
    assert compiler.calls == 1


def test_second_time_from_memory(compiler: Counter) -> None:
    assert jit.compile(KERNEL, "sm_90") == jit.compile(KERNEL, "sm_90")
    assert compiler.calls == 1


def test_second_process_reads_the_disk(compiler: Counter, tmp_path: Path) -> None:
    first = jit.compile(KERNEL, "sm_90")
    assert len(entries(tmp_path)) == 1
    jit._memory.clear()  # as in a new process
    assert jit.compile(KERNEL, "sm_90") == first
    assert compiler.calls == 1


@pytest.mark.parametrize(
    "changed",
    [
        replace(KERNEL, source=KERNEL.source + "\n"),
        replace(KERNEL, headers=(("native/three.hpp", KERNEL.headers[0][1] + "\n"),)),
        replace(KERNEL, headers=(*KERNEL.headers, ("unused.hpp", ""))),
        replace(KERNEL, options=("-DSTEP=3",)),
    ],
)
def test_anything_that_changes_compiles_anew(compiler: Counter, changed: Kernel) -> None:
    jit.compile(KERNEL, "sm_90")
    jit.compile(changed, "sm_90")
    assert compiler.calls == 2


def test_another_arch_or_compiler_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = jit.cache_key(KERNEL, "sm_90")
    assert jit.cache_key(KERNEL, "sm_80") != key
    assert jit.cache_key(replace(KERNEL, headers=KERNEL.headers[::-1]), "sm_90") == key
    monkeypatch.setattr(jit, "nvrtc_version", lambda: (99, 1))
    assert jit.cache_key(KERNEL, "sm_90") != key


def test_parts_of_the_key_do_not_run_together() -> None:
    one = Kernel("k", "a", (("b", "cd"),))
    other = Kernel("k", "a", (("bc", "d"),))
    assert jit.cache_key(one, "sm_90") != jit.cache_key(other, "sm_90")


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 4000, None])
def test_a_damaged_entry_is_compiled_anew(
    compiler: Counter, tmp_path: Path, damage: bytes | None
) -> None:
    first = jit.compile(KERNEL, "sm_90")
    (entry,) = entries(tmp_path)
    data = bytearray(entry.read_bytes())
    if damage is None:
        data[len(data) // 2] ^= 1
    else:
        data = bytearray(damage)
    entry.write_bytes(data)
    jit._memory.clear()
    assert jit.compile(KERNEL, "sm_90") == first
    assert compiler.calls == 2
    jit._memory.clear()
    jit.compile(KERNEL, "sm_90")  # the entry was mended
    assert compiler.calls == 2


def test_a_cache_that_cannot_be_written_is_no_error(
    compiler: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(blocked))
    assert jit.compile(KERNEL, "sm_90").startswith(b"\x7fELF")
    assert blocked.read_bytes() == b""


def test_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert jit.cache_folder() == tmp_path / "own" / "kernels"
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", "")
    assert jit.cache_folder() == tmp_path / "xdg" / "hardscape" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert jit.cache_folder() == tmp_path / "home" / ".cache" / "hardscape" / "kernels"


def test_threads_wait_for_one_compilation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def slow(kernel: Kernel, arch: str) -> tuple[bytes, str]:
        calls.append(kernel)
        time.sleep(0.1)
        return b"cubin", ""

    monkeypatch.setattr(jit, "_nvrtc_compile", slow)
    monkeypatch.setenv("HARDSCAPE_CACHE_DIR", str(tmp_path))
    jit._memory.clear()
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.append(jit.compile(KERNEL, "sm_90")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"cubin"] * 4
    assert len(calls) == 1


def test_memory_is_bounded(compiler: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_nvrtc_compile", lambda kernel, arch: (b"cubin", ""))
    for i in range(100):
        jit.compile(replace(KERNEL, options=(f"-DSTEP={i}",)), "sm_90")
    assert len(jit._memory) < 100
    assert not jit._locks


def test_what_was_used_last_stays_in_memory(compiler: Counter) -> None:
    kernels = [replace(KERNEL, options=(f"-DSTEP={i}",)) for i in range(34)]
    for kernel in kernels:
        jit.compile(kernels[0], "sm_90")
        jit.compile(kernel, "sm_90")
    keys = [jit.cache_key(kernel, "sm_90") for kernel in kernels]
    assert keys[0] in jit._memory
    assert keys[1] not in jit._memory


def test_kept_kernels_tell_what_they_are(
    compiler: Counter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jit.compile(KERNEL, "sm_90")  # in the cache already: kept all the same
    monkeypatch.setenv("HARDSCAPE_KERNELS", str(tmp_path / "kept"))
    cubin = jit.compile(KERNEL, "sm_90")
    (folder,) = (tmp_path / "kept").iterdir()
    assert folder.name.startswith("test_fill-sm_90-")
    assert (folder / "test_fill.cu").read_text() == KERNEL.source
    assert (folder / "native" / "three.hpp").read_text() == KERNEL.headers[0][1]
    assert (folder / "test_fill.cubin").read_bytes() == cubin
    assert str(folder).encode() in cubin  # line info leads to the kept source
    facts = json.loads((folder / "kernel.json").read_text())
    assert facts["arch"] == "sm_90"
    assert facts["entries"][0]["name"] == "test_fill"
    assert facts["entries"][0]["registers"] > 0
    assert facts["entries"][0]["spill_stores"] == 0


def test_errors_carry_the_log(compiler: Counter, tmp_path: Path) -> None:
    with pytest.raises(errors.CompileError, match=r"test_fill(.|\n)*no_such_name"):
        jit.compile(replace(KERNEL, source=KERNEL.source + "int x = no_such_name;"), "sm_90")
    with pytest.raises(errors.CompileError, match="sm_999"):
        jit.compile(KERNEL, "sm_999")
    assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize("arch", ["", "90", "sm_", "compute_90", "sm_90 -G"])
def test_bad_architectures(arch: str) -> None:
    with pytest.raises(errors.InputError):
        jit.compile(KERNEL, arch)
