"""Compiling CUDA kernels at run time (NVRTC), with a cache in memory and on disk.

Nothing here needs a GPU or a driver. A kernel is data: source text, headers, options.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from hardscape.engine.cuda.kept import OPTIONS as KEPT_OPTIONS
from hardscape.engine.cuda.kept import KeptKernel, kept_folder
from hardscape.errors import CompileError, InputError, MissingDependencyError, needed

_STANDARD = "-std=c++20"

#: NVRTC has no standard library: the header of what headers shared with C++ need of it.
CSTDINT = (
    "cstdint",
    """#pragma once
namespace std {
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
}
""",
)

#: Compiled kernels kept in memory; generated kernels differ from instance to instance.
_IN_MEMORY = 32


@dataclass(frozen=True)
class Kernel:
    """A CUDA kernel as data.

    Attributes
    ----------
    name : str
        Entry point, declared ``extern "C" __global__`` in `source`.
    source : str
        CUDA C++20. NVRTC has no standard library; what is included must be in `headers`.
    headers : tuple of (str, str)
        Relative path, as written in ``#include``, and text of each header.
    options : tuple of str
        Options of NVRTC besides architecture and language standard.

    Examples
    --------
    >>> from hardscape.permanents.methods.glynn.cuda import glynn_kernels
    >>> glynn_kernels(20, 1).kernel.name
    'glynn_sum'
    """

    name: str
    source: str
    headers: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


def compile(kernel: Kernel, arch: str) -> bytes:
    """Compile a kernel to a cubin, or take it from a cache.

    Threads that ask for the same kernel at once wait for one compilation.

    Parameters
    ----------
    kernel : Kernel
    arch : str
        For example "sm_90".

    Returns
    -------
    bytes
        The cubin (ELF).

    Raises
    ------
    InputError
        If `arch` is not of the form sm_NN.
    CompileError
        If NVRTC rejects the kernel; the message holds its log.
    MissingDependencyError
        If NVRTC or cuda-core is not installed.
    """
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise InputError(f"arch={arch!r}; names like 'sm_90' are accepted")
    kept = kept_folder()
    if kept is not None:
        kernel = replace(kernel, options=(*kernel.options, *KEPT_OPTIONS))
    key = cache_key(kernel, arch)
    with _lock_of(key):
        cubin = _recall(key)
        if cubin is None and kept is not None:
            cubin = _compile_kept(
                kernel, arch, KeptKernel(kept / _title(kernel, arch, key), kernel.name)
            )
        if cubin is None:
            cubin = _read(key)
        if cubin is None:
            cubin, _ = _nvrtc_compile(kernel, arch)
            _write(key, cubin)
        _remember(key, cubin)
        return cubin


def _title(kernel: Kernel, arch: str, key: str) -> str:
    return f"{kernel.name}-{arch}-{key[:12]}"


def _compile_kept(kernel: Kernel, arch: str, place: KeptKernel) -> bytes:
    """Compile without the cache on disk, which holds no report of the assembler."""
    place.keep_sources(kernel.source, kernel.headers)
    cubin, log = _nvrtc_compile(kernel, arch, str(place.source))
    place.keep_results(cubin, log, arch)
    return cubin


def cache_key(kernel: Kernel, arch: str) -> str:
    """SHA-256 of all that shapes the cubin: no path of this machine, no time, no kernel's name."""
    parts = [kernel.source, _STANDARD, arch, repr(nvrtc_version()), repr(kernel.options)]
    for path, text in sorted(kernel.headers):
        parts += [path, text]
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        # Lengths keep two different lists of parts from running together into equal bytes.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


# -- NVRTC -----------------------------------------------------------------------------------


def _nvrtc() -> Any:
    return needed("cuda.bindings.nvrtc", "cuda-core", "cuda", "CUDA")


def nvrtc_version() -> tuple[int, int]:
    """Version of the run-time compiler.

    Raises
    ------
    MissingDependencyError
        If it or its Python bindings are not installed.
    """
    nvrtc = _nvrtc()
    try:
        status, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError:  # the library is searched for on the first call
        raise MissingDependencyError("nvidia-cuda-nvrtc", "cuda", "CUDA") from None
    _expect(status, "nvrtcVersion")
    return major, minor


def _expect(status: Any, call: str) -> None:
    if int(status) != 0:
        raise CompileError(f"{call} failed: {status.name}")


def _nvrtc_compile(kernel: Kernel, arch: str, name: str = "") -> tuple[bytes, str]:
    """The cubin, and what the compiler said; `name` of the source is what line info points to."""
    nvrtc = _nvrtc()
    status, program = nvrtc.nvrtcCreateProgram(
        kernel.source.encode(),
        (name or f"{kernel.name}.cu").encode(),
        len(kernel.headers),
        [text.encode() for _, text in kernel.headers],
        [path.encode() for path, _ in kernel.headers],
    )
    _expect(status, "nvrtcCreateProgram")
    try:
        options = [f"--gpu-architecture={arch}", _STANDARD, *kernel.options]
        encoded = [option.encode() for option in options]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _fetch(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        text = log.rstrip(b"\0").decode(errors="replace")
        if int(status) != 0:
            raise CompileError(
                f"kernel {kernel.name!r} for {arch}, options {' '.join(options)}: {status.name}\n"
                + text
            )
        return _fetch(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN), text
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _fetch(program: Any, size: Any, fetch: Any) -> bytes:
    """Read one of a program's texts; NVRTC writes into the buffer that it is given."""
    status, length = size(program)
    _expect(status, size.__name__)
    buffer = bytearray(length)
    (status,) = fetch(program, buffer)
    _expect(status, fetch.__name__)
    return bytes(buffer)


# -- cache in memory -------------------------------------------------------------------------


class _Lock:
    """One compilation at a time; unlike `threading.Lock` it can be referred to weakly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()


_guard = threading.Lock()
# A lock lives as long as somebody holds on to it.
_locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
_memory: OrderedDict[str, bytes] = OrderedDict()


def _lock_of(key: str) -> _Lock:
    with _guard:
        return _locks.setdefault(key, _Lock())


def _recall(key: str) -> bytes | None:
    with _guard:
        if key in _memory:
            _memory.move_to_end(key)
        return _memory.get(key)


def _remember(key: str, cubin: bytes) -> None:
    with _guard:
        _memory[key] = cubin
        while len(_memory) > _IN_MEMORY:
            _memory.popitem(last=False)


# -- cache on disk ---------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """Folder of compiled kernels, or None if there is no home to put it in.

    ``HARDSCAPE_CACHE_DIR``, else ``XDG_CACHE_HOME/hardscape``, else ``~/.cache/hardscape``; in it,
    the sub-folder ``kernels``.
    """
    own = os.environ.get("HARDSCAPE_CACHE_DIR")
    if own:
        return Path(own) / "kernels"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not shared.is_absolute():  # the XDG specification ignores relative paths
        try:
            shared = Path.home() / ".cache"
        except RuntimeError:
            return None
    return shared / "hardscape" / "kernels"


def _read(key: str) -> bytes | None:
    """Read an entry: 32 bytes SHA-256 of the cubin, then the cubin. None if missing or damaged."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        data = (folder / f"{key}.cubin").read_bytes()
    except OSError:
        return None
    checksum, cubin = data[:32], data[32:]
    return cubin if hashlib.sha256(cubin).digest() == checksum else None


def _write(key: str, cubin: bytes) -> None:
    """Store an entry in one step; a folder that cannot be written costs speed, nothing else."""
    folder = cache_folder()
    if folder is None:
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        import tempfile

        handle, name = tempfile.mkstemp(prefix=f"{key}.", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(cubin).digest() + cubin)
            os.replace(name, folder / f"{key}.cubin")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
