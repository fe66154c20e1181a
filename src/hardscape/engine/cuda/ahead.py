"""Kernels that are compiled ahead, by the CPU's cores, while GPUs run what came before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from threading import Event

from hardscape.engine.cuda import jit
from hardscape.engine.cuda.gpu import cuda_device
from hardscape.engine.cuda.jit import Kernel
from hardscape.engine.device import Cuda, Device
from hardscape.engine.lanes import Lanes, working_threads


@contextmanager
def compiled_ahead(
    kernels: Sequence[Callable[[], Kernel]], devices: Sequence[Device]
) -> Iterator[None]:
    """Have kernels compiled in their order by threads of their own until the block ends.

    Nobody waits for them: who needs a kernel that is not there yet waits for its compilation, or
    compiles it, as ever. NVRTC works on several programs at once, and lets Python go on meanwhile.

    Parameters
    ----------
    kernels : sequence of callable
        Each makes one kernel as data; those that make the same one are quick.
    devices : sequence of Device
        For whose architectures; without GPUs, or for one kernel, nothing is done.

    Examples
    --------
    >>> from hardscape.engine import Cuda, compiled_ahead, cuda_status
    >>> from hardscape.permanents.methods.glynn.cuda import glynn_kernels
    >>> if cuda_status().usable:
    ...     with compiled_ahead([lambda: glynn_kernels(20, 1).kernel], [Cuda(0)]):
    ...         pass
    """
    gpus = [device for device in devices if isinstance(device, Cuda)]
    if len(kernels) < 2 or not gpus:
        yield
        return
    archs = []
    for gpu in gpus:
        with cuda_device(gpu.ordinal) as device:
            archs.append(device.arch)
    threads = max(1, working_threads() - len(gpus))
    lanes, over = Lanes([f"compile-{i}" for i in range(threads)]), Event()
    try:
        wanted = product(kernels, dict.fromkeys(archs))
        for number, (make, arch) in enumerate(wanted):
            lanes.submit(number % threads, _compile, make, arch, over)
        yield
    finally:
        over.set()
        lanes.close()


def _compile(make: Callable[[], Kernel], arch: str, over: Event) -> None:
    if not over.is_set():
        jit.compile(make(), arch)  # what it raises, who needs the kernel will meet
