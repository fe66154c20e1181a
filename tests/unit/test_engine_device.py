"""Which devices a request means, and why CUDA cannot be used."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hardscape import errors
from hardscape.engine import Cpu, Cuda, CudaStatus, Device, RunOptions, machine, probe, resolve
from hardscape.engine import device as device_module
from hardscape.engine.cuda import driver, jit
from hardscape.engine.cuda.driver import DriverReport, Gpu
from hardscape.engine.device import device_names

TWO_GPUS = tuple(Gpu(i, "Card", "9.0", 2**34, None, 132) for i in range(2))
USABLE = CudaStatus(True, "", "", "13.0", "13.1", "1.0", "14.0", TWO_GPUS)
UNUSABLE = CudaStatus(False, "the card is on fire", "call for help", "", "", "", "", ())


@pytest.fixture
def with_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "cuda_status", lambda: USABLE)


@pytest.fixture
def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "cuda_status", lambda: UNUSABLE)


@pytest.fixture
def fresh() -> Iterator[None]:
    machine.cuda_status.cache_clear()
    yield
    machine.cuda_status.cache_clear()


def gpus(*ordinals: int) -> tuple[Device, ...]:
    return tuple(Cuda(i) for i in ordinals)


def test_cpu_lanes() -> None:
    assert resolve("cpu", threads=3) == tuple(Cpu(i) for i in range(3))
    assert len(resolve("cpu")) == len(os.sched_getaffinity(0))


@pytest.mark.usefixtures("with_gpus")
def test_gpus_by_name() -> None:
    assert resolve("cuda") == gpus(0, 1)
    assert resolve("cuda:1") == gpus(1)
    assert resolve("cuda:1,0") == gpus(1, 0)
    assert resolve(["cuda:1", "cuda:0"]) == gpus(1, 0)
    assert resolve([Cuda(0), "cpu"], threads=1) == (*gpus(0), Cpu(0))


@pytest.mark.usefixtures("with_gpus")
def test_auto_takes_gpus_for_big_work() -> None:
    assert resolve("auto", big_enough=True) == gpus(0, 1)
    assert resolve("auto", threads=2, big_enough=False) == resolve("cpu", threads=2)


@pytest.mark.usefixtures("without_gpus")
def test_auto_takes_the_cpu_where_cuda_is_unusable() -> None:
    assert resolve("auto", threads=2, big_enough=True) == resolve("cpu", threads=2)


@pytest.mark.usefixtures("without_gpus")
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:0,1"])
def test_a_gpu_asked_for_by_name_must_be_usable(name: str) -> None:
    with pytest.raises(errors.DeviceError, match=r"on fire.*call for help"):
        resolve(name)


@pytest.mark.usefixtures("without_gpus")
def test_gpus_of_workers_need_not_be_here() -> None:
    with ThreadPoolExecutor(1) as executor:
        for name, devices in (
            ("cuda", (Cuda(anywhere=True),)),
            ("cuda:0,2", gpus(0, 2)),
            (["cuda", "cpu"], (Cuda(anywhere=True), *resolve("cpu", threads=2))),
        ):
            options = RunOptions.checked(device=name, threads=2, executor=executor)
            assert options.devices == devices
    assert [str(device) for device in (Cuda(anywhere=True), Cuda(2))] == ["cuda", "cuda:2"]


def test_a_device_object_is_taken_as_it_is() -> None:
    # It may exist only where the workers of an executor are.
    assert resolve(Cuda(7)) == gpus(7)


@pytest.mark.usefixtures("with_gpus")
def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(errors.DeviceError, match="2"):
        resolve("cuda:2")


@pytest.mark.usefixtures("with_gpus")
@pytest.mark.parametrize(
    "name", ["", "gpus", "cuda:", "cuda:x", "cuda:-1", "cuda:0,", "cpu:0", "CUDA", [], 3, None]
)
def test_names_that_are_not_understood(name: object) -> None:
    with pytest.raises(errors.InputError):
        resolve(name)  # type: ignore[arg-type]


@pytest.mark.usefixtures("with_gpus")
@pytest.mark.parametrize("name", ["cuda:0,0", ["cuda", "cuda:1"], ["cpu", "cpu"]])
def test_a_device_named_twice(name: str) -> None:
    with pytest.raises(errors.InputError):
        resolve(name, threads=1)


@pytest.mark.parametrize("threads", [0, -1, True])
def test_bad_threads(threads: int) -> None:
    with pytest.raises(errors.InputError):
        resolve("cpu", threads=threads)


def test_bad_devices() -> None:
    with pytest.raises(errors.InputError):
        Device()
    with pytest.raises(errors.InputError):
        Cuda(-1)


OK = DriverReport((13, 0), TWO_GPUS, "", "")
NO_DRIVER = DriverReport(None, (), "no driver", "install it")


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("report", "nvrtc", "missing", "reason", "remedy"),
    [
        (NO_DRIVER, (13, 0), (), "no driver", "install it"),
        (NO_DRIVER, None, ("cuda.core", "cupy"), "no driver", "install it"),
        (OK, None, ("cuda.core", "cupy"), "cuda-core", "pip install 'hardscape[cuda]'"),
        (OK, None, (), "NVRTC", "pip install 'hardscape[cuda]'"),
        (OK, (13, 1), ("cupy",), "CuPy", "pip install 'hardscape[cuda]'"),
        (DriverReport((12, 8), TWO_GPUS, "", ""), (13, 1), (), "12.8", "driver"),
        (OK, (13, 5), (), "", ""),
        (DriverReport((14, 0), TWO_GPUS, "", ""), (13, 1), (), "", ""),
    ],
)
def test_what_is_missing_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
    report: DriverReport,
    nvrtc: tuple[int, int] | None,
    missing: tuple[str, ...],
    reason: str,
    remedy: str,
) -> None:
    def version() -> tuple[int, int]:
        if nvrtc is None:
            raise errors.MissingDependencyError("nvidia-cuda-nvrtc", "cuda", "CUDA")
        return nvrtc

    real = machine._version
    monkeypatch.setattr(driver, "query", lambda: report)
    monkeypatch.setattr(jit, "nvrtc_version", version)
    monkeypatch.setattr(
        machine, "_version", lambda name, *_: "" if name in missing else real("numpy", "numpy")
    )
    status = machine.cuda_status()
    assert status.usable is (reason == "")
    assert reason in status.reason
    assert bool(status.reason) is bool(reason)
    assert remedy in status.remedy


class FakeLibrary:
    """Stands for libcuda: answers what it was told to."""

    def __init__(self, version: int, init: int, count: int) -> None:
        self._version, self._init, self._count = version, init, count

    def cuDriverGetVersion(self, out):
        out._obj.value = self._version
        return 0

    def cuInit(self, flags):
        return self._init

    def cuDeviceGetCount(self, out):
        out._obj.value = self._count
        return 0

    def cuGetErrorString(self, status, out):
        out._obj.value = b"system not yet initialized"
        return 0

    def cuDeviceGet(self, out, ordinal):
        out._obj.value = ordinal
        return 0

    def cuDeviceGetName(self, buffer, size, device):
        buffer.value = b"Card %d" % device.value
        return 0

    def cuDeviceTotalMem_v2(self, out, device):
        out._obj.value = 2**37
        return 0

    def cuDeviceGetAttribute(self, out, which, device):
        out._obj.value = {75: 9, 76: 0, 16: 132}[which]
        return 0


@pytest.mark.parametrize(
    ("init", "count", "reason", "remedy"),
    [
        (100, 0, "no GPU", "CUDA_VISIBLE_DEVICES"),
        (0, 0, "no GPU", "CUDA_VISIBLE_DEVICES"),
        (35, 0, "older", "update"),
        (802, 0, "802, system not yet initialized", "nvidia-smi"),
    ],
)
def test_what_the_driver_says_when_it_refuses(
    monkeypatch: pytest.MonkeyPatch, init: int, count: int, reason: str, remedy: str
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: FakeLibrary(12080, init, count))
    report = driver.query()
    assert report.version == (12, 8)
    assert report.gpus == ()
    assert reason in report.reason
    assert remedy in report.remedy


def test_what_the_driver_says_of_its_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: FakeLibrary(13000, 0, 2))
    report = driver.query()
    assert report.reason == report.remedy == ""
    assert report.gpus[1] == Gpu(1, "Card 1", "9.0", 2**37, None, 132)


@pytest.mark.parametrize(
    ("devices", "name"),
    [
        ([Cpu(0)], "1 CPU thread(s)"),
        ([Cpu(i) for i in range(64)], "64 CPU thread(s)"),
        ([Cuda(1)], "cuda:1"),
        ([Cuda(0), Cuda(3)], "cuda:0,cuda:3"),
    ],
)
def test_threads_are_counted_and_gpus_are_named(devices: list[Device], name: str) -> None:
    assert device_names(devices) == name


def test_no_driver_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    report = driver.query()
    assert report.version is None
    assert "libcuda.so.1" in report.reason


def test_probe_is_plain_json() -> None:
    found = probe()
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.memory > 2**28
    assert found.simd in found.simd_levels
    assert found.cuda.usable is (found.cuda.reason == "")
    told = json.loads(found.to_json())
    assert told["cpu"] == found.cpu
    assert told["cuda"]["usable"] is found.cuda.usable


def test_importing_the_engine_imports_no_cuda() -> None:
    code = (
        "import sys, hardscape.engine\n"
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('cuda', 'cupy', 'cupy_backends', 'rich', 'distributed', 'mpi4py', 'scipy')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
