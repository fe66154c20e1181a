"""Launching on a GPU: what only hardware can show."""

import threading

import numpy as np
import pytest

from hardscape import errors
from hardscape.engine import Kernel, cuda_device, cuda_status, probe, resolve

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_status().usable, reason=cuda_status().reason),
]

AXPY = Kernel(
    "test_axpy",
    """
    extern "C" __global__ void test_axpy(int n, double a, const double* x, double* y) {
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
    }
    """,
    options=("-fmad=false",),
)

SHARED = Kernel(
    "test_shared",
    """
    extern __shared__ int words[];
    extern "C" __global__ void test_shared(int n, int* out) {
      for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = i;
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = words[n - 1 - i];
    }
    """,
)


def axpy(ordinal: int, n: int = 100_003) -> None:
    import cupy

    random = np.random.default_rng(n)
    x, y = random.random(n), random.random(n)
    with cuda_device(ordinal) as gpu:
        here = cupy.asarray(x)
        out = cupy.asarray(y)
        gpu.launch(AXPY, 2 * gpu.multiprocessors, 256, np.int32(n), np.float64(0.3), here, out)
        np.testing.assert_array_equal(out.get(), 0.3 * x + y)


def test_launch_beside_cupy_on_every_gpu() -> None:
    for device in resolve("cuda"):
        axpy(device.ordinal)


def test_launch_in_several_threads() -> None:
    failures = []

    def attempt() -> None:
        try:
            for n in (1, 1000, 50_000):
                axpy(0, n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_arrays_made_outside_are_waited_for() -> None:
    import cupy

    n = 1 << 24
    for _ in range(5):
        x = cupy.arange(n, dtype=np.float64)
        x *= 2.0
        y = cupy.zeros(n)
        with cuda_device(0) as gpu:
            gpu.launch(AXPY, gpu.multiprocessors, 512, np.int32(n), np.float64(1.0), x, y)
            total = float(y.sum())
        assert total == n * (n - 1.0)


def test_what_was_current_comes_back() -> None:
    import cupy

    before = cupy.cuda.get_current_stream().ptr, cupy.cuda.Device().id
    with cuda_device(0) as gpu:
        assert cupy.cuda.get_current_stream().ptr == gpu.stream.ptr != before[0]
    assert (cupy.cuda.get_current_stream().ptr, cupy.cuda.Device().id) == before


def test_more_shared_memory_than_is_given_unasked() -> None:
    import cupy

    n = 20_000  # 80 kB
    with cuda_device(0) as gpu:
        out = cupy.empty(n, dtype=np.int32)
        gpu.launch(SHARED, 1, 256, np.int32(n), out, shared=4 * n)
        np.testing.assert_array_equal(out.get(), np.arange(n)[::-1])
        loaded = gpu.load(SHARED)
        assert loaded.registers > 0
        assert loaded.blocks_per_multiprocessor(256, 4 * n) >= 1
        with pytest.raises(errors.DeviceError, match="10000000"):
            loaded(1, 256, np.int32(n), out, shared=10_000_000)


def test_arguments_that_are_refused() -> None:
    import cupy

    with cuda_device(0) as gpu:
        x = cupy.zeros((8, 8))
        for bad in (3, 1.5, np.zeros(3), "x", x[:, ::2]):
            with pytest.raises(errors.InputError):
                gpu.launch(AXPY, 1, 32, np.int32(1), np.float64(1.0), x, bad)
        gpu.synchronize()


def test_memory_and_probe_agree() -> None:
    found = probe().cuda
    assert found.usable
    first = found.gpus[0]
    assert first.memory_free is not None
    assert 0 < first.memory_free <= first.memory_total
    with cuda_device(0) as gpu:
        assert gpu.arch == "sm_" + first.compute_capability.replace(".", "")
        assert gpu.multiprocessors == first.multiprocessors
        assert 0 < gpu.free_memory() <= first.memory_total


def test_loaded_kernels_are_dropped_and_come_back() -> None:
    import cupy

    def numbered(i: int) -> Kernel:
        source = f'extern "C" __global__ void test_number(int* out) {{ out[threadIdx.x] += {i}; }}'
        return Kernel("test_number", source)

    count = 80
    with cuda_device(0) as gpu:
        out = cupy.zeros(32, dtype=np.int32)
        held = gpu.load(numbered(0))
        for _ in range(2):
            for i in range(count):
                gpu.launch(numbered(i), 1, 32, out)
        held(1, 32, out)
        assert out.get().tolist() == [count * (count - 1)] * 32
        assert gpu.load(numbered(count - 1)) is gpu.load(numbered(count - 1))
        assert gpu.load(numbered(0)) is not held
