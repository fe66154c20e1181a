"""A GPU as this library uses it: kernels launched by ``cuda.core`` beside arrays of CuPy.

Both are imported when a GPU is first used, never before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from hardscape.engine.cuda import jit
from hardscape.engine.cuda.jit import Kernel
from hardscape.errors import DeviceError, InputError, needed

#: Dynamic shared memory that a block gets without asking, in bytes; more is granted by the kernel.
_PLAIN_SHARED = 48 * 1024

#: Kernels that stay loaded on a GPU, those last used; generated ones differ from instance to instance.
_LOADED = 64

# One for each GPU and process, not for each thread: CuPy's pool keeps freed memory for the stream
# it was used on, so a stream that dies with its thread would take that memory out of circulation.
_devices: dict[tuple[int, int], CudaDevice] = {}
_guard = threading.Lock()
_begun = threading.local()


@contextmanager
def cuda_device(ordinal: int, lane: int = 0) -> Iterator[CudaDevice]:
    """Make a GPU and its stream the current ones of CuPy and CUDA in this thread.

    Arrays that are made inside (``cupy.empty`` and so on) lie on this GPU, and what is done to them
    is ordered with the kernels that `CudaDevice.launch` starts. One `CudaDevice` is kept for each
    GPU, so entering again is cheap. What was current before comes back at the end.

    Parameters
    ----------
    ordinal : int
        For example ``context.device.ordinal``.
    lane : int
        Number of a stream there, for kernels that run beside each other on one GPU.

    Raises
    ------
    MissingDependencyError
        If cuda-core or CuPy is not installed.

    Examples
    --------
    >>> from hardscape.engine import cuda_device, cuda_status
    >>> if cuda_status().usable:
    ...     with cuda_device(0) as device:
    ...         device.synchronize()
    """
    cupy = _import_cupy()
    core = _import_core()
    with cupy.cuda.Device(ordinal):
        # Objects of cuda.core are initialized thread by thread, once.
        begun = _begun.__dict__.setdefault("ordinals", set())
        if ordinal not in begun:
            core.Device(ordinal).set_current()
            begun.add(ordinal)
        with _guard:
            if (ordinal, lane) not in _devices:
                _devices[ordinal, lane] = CudaDevice(ordinal)
        with _devices[ordinal, lane].stream:
            yield _devices[ordinal, lane]


def _import_cupy() -> Any:
    return needed("cupy", "cupy-cuda13x", "cuda", "CUDA")


def _import_core() -> Any:
    return needed("cuda.core", "cuda-core", "cuda", "CUDA")


class CudaDevice:
    """One GPU with one stream. Made by :func:`cuda_device`, and to be used inside it only.

    Attributes
    ----------
    ordinal : int
    arch : str
        Architecture to compile for, for example "sm_90".
    multiprocessors : int
    most_shared : int
        Bytes of shared memory that a block may be granted.
    whole_shared : int
        Bytes of shared memory of a multiprocessor.
    cache : int
        Bytes of the second-level cache.
    stream : cupy.cuda.Stream

    Examples
    --------
    >>> from hardscape.engine import cuda_device, cuda_status
    >>> if cuda_status().usable:
    ...     with cuda_device(0) as device:
    ...         assert device.free_memory() > 0
    """

    def __init__(self, ordinal: int) -> None:
        core = _import_core()
        device = core.Device(ordinal)
        # A blocking stream waits for the legacy default stream, where users' CuPy arrays are made.
        self._stream = device.create_stream(options=core.StreamOptions(nonblocking=False))
        self.ordinal = ordinal
        self.arch = f"sm_{device.arch}"
        self.multiprocessors = int(device.properties.multiprocessor_count)
        self.most_shared = int(device.properties.max_shared_memory_per_block_optin)
        self.whole_shared = int(device.properties.max_shared_memory_per_multiprocessor)
        self.cache = int(device.properties.l2_cache_size)
        self.stream = _import_cupy().cuda.Stream.from_external(self._stream)
        self._loaded: OrderedDict[Kernel, LoadedKernel] = OrderedDict()

    def free_memory(self) -> int:
        """Bytes that arrays may still take: free on the GPU, or held in reserve by CuPy's pool."""
        cupy = _import_cupy()
        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free) + int(cupy.get_default_memory_pool().free_bytes())

    def load(self, kernel: Kernel) -> LoadedKernel:
        """Compile a kernel for this GPU, or take it from a cache, and load it.

        Raises what :func:`hardscape.engine.cuda.jit.compile` raises.
        """
        found = self._loaded.get(kernel)
        if found is None:
            cubin = jit.compile(kernel, self.arch)
            code = _import_core().ObjectCode.from_cubin(cubin, name=kernel.name)
            entry = code.get_kernel(kernel.name)
            found = LoadedKernel(entry, self._stream, self.ordinal)
            with _guard:
                self._loaded[kernel] = found
                if len(self._loaded) > _LOADED:
                    self.synchronize()  # it may be running; whoever still holds it keeps it loaded
                    self._loaded.popitem(last=False)
        else:
            with _guard:
                self._loaded.move_to_end(kernel)
        return found

    def launch(
        self,
        kernel: Kernel,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *args: Any,
        shared: int = 0,
    ) -> None:
        """Load a kernel if need be and start it; see :class:`LoadedKernel`."""
        self.load(kernel)(grid, block, *args, shared=shared)

    def synchronize(self) -> None:
        """Wait until everything on the stream is done; errors of kernels surface here."""
        self._stream.sync()

    def rest(self) -> None:
        """The same, some 0.1 ms later, and without keeping a core busy, which other work may need."""
        cupy = _import_cupy()
        done = cupy.cuda.Event(block=True, disable_timing=True)
        done.record(self.stream)
        done.synchronize()


class LoadedKernel:
    """A kernel on a GPU; call it to start it on the stream of its `CudaDevice`.

    Attributes
    ----------
    registers : int
        Registers of a thread.
    spilled : int
        Bytes of local memory of a thread.
    shared : int
        Bytes of static shared memory of a block.

    Examples
    --------
    >>> from hardscape.engine import cuda_device, cuda_status
    >>> from hardscape.permanents.methods.glynn.cuda import glynn_kernels
    >>> if cuda_status().usable:
    ...     with cuda_device(0) as device:
    ...         loaded = device.load(glynn_kernels(20, 1).kernel)
    ...         assert loaded.blocks_per_multiprocessor(256, glynn_kernels(20, 1).shared) > 0
    """

    def __init__(self, entry: Any, stream: Any, ordinal: int) -> None:
        self._entry = entry
        self._stream = stream
        self._ordinal = ordinal
        self._granted = _PLAIN_SHARED
        self.registers = int(entry.attributes.num_regs)
        self.spilled = int(entry.attributes.local_size_bytes)
        self.shared = int(entry.attributes.shared_size_bytes)

    def __call__(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *args: Any,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Start the kernel; returns at once.

        Parameters
        ----------
        grid, block : int or tuple of up to 3 int
            Blocks, and threads of a block.
        *args : CuPy arrays and NumPy scalars
            In the kernel's order; an array is passed as its pointer. A scalar must have the width
            that the kernel declares, so plain Python numbers are refused.
        shared : int
            Bytes of dynamic shared memory of a block; above 48 KiB the kernel is granted it first.
        cooperative : bool
            Whether all blocks must be resident at once, so that they may wait for each other; a grid
            that does not fit fails to start.

        Raises
        ------
        InputError
            For an argument of another type, or an array that is not contiguous.
        DeviceError
            If the GPU does not have so much shared memory.
        """
        self.prepared(grid, block, *args, shared=shared, cooperative=cooperative)()

    def prepared(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *args: Any,
        shared: int = 0,
        cooperative: bool = False,
    ) -> Callable[..., None]:
        """What starts the kernel with these arguments, and more behind them, whenever it is called.

        Arguments and errors are those of a call. Arrays must be kept as long as this is.
        """
        if shared > self._granted:
            self._grant(shared)
        launch, config = _import_core().launch, _launch_config(grid, block, shared, cooperative)
        arguments = [_argument(arg) for arg in args]

        def start(*more: Any) -> None:
            launch(self._stream, config, self._entry, *arguments, *map(_argument, more))

        return start

    def blocks_per_multiprocessor(self, threads: int, shared: int = 0) -> int:
        """How many blocks of `threads` threads and `shared` bytes fit on a multiprocessor."""
        if shared > self._granted:
            self._grant(shared)
        return int(self._entry.occupancy.max_active_blocks_per_multiprocessor(threads, shared))

    def _grant(self, shared: int) -> None:
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (status,) = driver.cuKernelSetAttribute(
            attribute, shared, self._entry.handle, self._ordinal
        )
        if int(status) != 0:
            raise DeviceError(
                f"cuda:{self._ordinal} refuses shared={shared} bytes a block ({status.name}); its "
                "limit is that of its compute capability, 227 KiB at most"
            )
        self._granted = shared


@lru_cache(maxsize=64)
def _launch_config(
    grid: int | tuple[int, ...], block: int | tuple[int, ...], shared: int, cooperative: bool
) -> Any:
    """Kept, as most launches are like the one before and take as long as small kernels."""
    return _import_core().LaunchConfig(
        grid=grid, block=block, shmem_size=shared, is_cooperative=cooperative
    )


def _argument(value: Any) -> Any:
    """Turn an argument into what ``cuda.core.launch`` takes; a plain int is a pointer to it."""
    if isinstance(value, np.generic):
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise InputError(
            f"kernel argument of type {type(value).__name__}; CuPy arrays and NumPy scalars such "
            "as np.int32(1) are accepted"
        )
    if interface.get("strides") is not None:
        raise InputError(
            f"kernel argument of shape {interface['shape']} and strides {interface['strides']}; "
            "a C-contiguous array is accepted"
        )
    return int(interface["data"][0])
