"""Executors by name: ``processes:8``, ``dask://host:port``, ``dask:cluster.yaml``, ``mpi``, ``ray``."""

from __future__ import annotations

import atexit
import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

from hardscape.engine.machine import cpu_count
from hardscape.errors import DeviceError, InputError, needed
from hardscape.stops import STOPS

R = TypeVar("R")

_ACCEPTED = (
    "'processes', 'processes:8', 'dask://host:port', 'dask:cluster.yaml' (a cluster of Dask's or "
    "dask-jobqueue's and its options), 'mpi', 'ray' and 'ray://host:port' are accepted"
)
#: Seconds for which workers that nobody waits for any more may still be at it.
_LAST_WORDS = 3.0
_opened: dict[str, Any] = {}


def named(name: str) -> Any:
    """The executor of this name; it is opened once and stays open to the end of this process.

    Raises
    ------
    InputError
        For a name that is not understood.
    DeviceError
        If nobody answers there.
    MissingDependencyError
        If the package that it needs is not installed.
    """
    if name not in _opened:
        _opened[name] = _made(name)
    return _opened[name]


def _made(name: str) -> Any:
    kind, _, rest = name.partition(":")
    if kind == "processes" and re.fullmatch(r"([1-9]\d{0,3})?", rest):
        return Processes(int(rest) if rest else cpu_count())
    if kind == "dask" and re.fullmatch(r"//[^/]+:\d+", rest):
        return _dask(f"tcp:{rest}")
    if kind == "dask" and rest.endswith((".yaml", ".yml")):
        return _dask(_cluster(Path(rest)))
    if name == "mpi":
        return _mpi()
    if name == "ray" or re.fullmatch(r"ray://[^/]+:\d+", name):
        return _ray(name)
    raise InputError(f"executor={name!r}; {_ACCEPTED}")


class Processes(Executor):
    """A pool of processes of this host, begun anew when one of them was killed."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers
        self._pool = self._begun()
        self._lock = threading.Lock()
        atexit.register(self.shutdown, False, cancel_futures=True)

    def _begun(self) -> ProcessPoolExecutor:
        # A forked process could not use CUDA, nor trust the locks of other threads.
        context = get_context("spawn")
        return ProcessPoolExecutor(self._max_workers, context, initializer=_end_with_parent)

    def submit(self, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """See `concurrent.futures.Executor`."""
        with self._lock:
            try:
                return self._pool.submit(function, *args, **kwargs)
            except BrokenExecutor:
                self._pool.shutdown(wait=False)
                self._pool = self._begun()
                return self._pool.submit(function, *args, **kwargs)

    def forget(self, futures: Collection[Future[Any]]) -> None:
        """Kill the workers unless these, which were told to stop, are over soon: this process could not end."""

        def end(pool: ProcessPoolExecutor) -> None:
            if not wait(futures, _LAST_WORDS).not_done:
                return
            with self._lock:
                if self._pool is pool:
                    self._pool = self._begun()
            workers = list((pool._processes or {}).values())
            manager: Any = pool._executor_manager_thread
            # What waits goes first: on Python 3.11 a pool whose worker dies stumbles over those that were
            # cancelled, and blocks that a later call has submitted meanwhile would never be reported lost.
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
            if manager is not None:
                manager.join()  # it would cancel nothing once nobody held the pool

        name = "hardscape-forget"
        threading.Thread(target=end, args=(self._pool,), name=name, daemon=True).start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor`."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _end_with_parent() -> None:
    """Have this worker end when its parent does, killed or not: it would wait for work for ever."""

    def end() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end, name="hardscape-orphan", daemon=True).start()


def _dask(where: Any) -> Any:
    distributed = needed("distributed", "distributed", "dask", "an executor of Dask")
    try:
        client = distributed.Client(where, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise DeviceError(f"no Dask scheduler answers at {where}: {error}") from None
    atexit.register(client.close)
    return client


def _cluster(path: Path) -> Any:
    """The cluster that a file of YAML describes: ``cluster``, its options, and ``scale`` or ``adapt``."""
    yaml = needed("yaml", "pyyaml", "dask", "a file of a cluster")
    try:
        told = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"executor='dask:{path}': {' '.join(str(error).split())}") from None
    if not isinstance(told, dict) or not isinstance(told.get("cluster"), str):
        raise InputError(
            f"{path} names no cluster; a line such as 'cluster: SLURMCluster' is accepted, "
            "and options of that class, 'scale: 4' or 'adapt: {minimum: 0, maximum: 16}' beside it"
        )
    options = {
        key: value for key, value in told.items() if key not in ("cluster", "scale", "adapt")
    }
    kind = _cluster_class(told["cluster"])
    try:
        cluster = kind(**options)
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        raise InputError(f"{path}: {told['cluster']}: {' '.join(str(error).split())}") from None
    if "adapt" in told:
        cluster.adapt(**told["adapt"])
    elif "scale" in told:
        cluster.scale(told["scale"])
    elif not cluster.worker_spec:
        cluster.close()
        raise InputError(
            f"{path} asks for no workers; 'scale: 4' or 'adapt: {{maximum: 16}}' is accepted"
        )
    atexit.register(cluster.close)
    return cluster


def _cluster_class(name: str) -> Any:
    for module, package in (("distributed", "distributed"), ("dask_jobqueue", "dask-jobqueue")):
        with _signals_kept():
            found = getattr(needed(module, package, "dask", f"the cluster {name}"), name, None)
        if found is not None:
            return found
    raise InputError(f"cluster: {name}; LocalCluster, and classes of dask_jobqueue, are accepted")


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Put back what stops this process, which dask_jobqueue and Ray take for themselves."""
    handlers = {number: signal.getsignal(number) for number in STOPS}
    try:
        yield
    finally:
        for number, before in handlers.items():
            if signal.getsignal(number) is not before:
                signal.signal(number, before)


def _ray(name: str) -> Any:
    from hardscape.engine.cluster.ray_tasks import RayTasks

    with _signals_kept():
        ray = needed("ray", "ray", "ray", "an executor of Ray")
        where = None if name == "ray" else name
        try:
            if not ray.is_initialized():
                ray.init(where, logging_level="error", log_to_driver=False)
        except (OSError, RuntimeError) as error:  # a ConnectionError among them
            raise DeviceError(f"{name}: {' '.join(str(error).split())}") from None
    return RayTasks(ray)


def _mpi() -> Any:
    try:
        futures = needed("mpi4py.futures", "mpi4py", "mpi", "an executor of MPI")
        ranks = import_module("mpi4py.MPI").COMM_WORLD.Get_size()
    except RuntimeError as error:
        raise DeviceError(f"MPI cannot be loaded: {' '.join(str(error).split())}") from None
    if ranks < 2:
        raise DeviceError(
            "there is one MPI rank; mpiexec -n 8 python -m mpi4py.futures -m hardscape ... starts "
            f"seven that work and one that asks (process {os.getpid()} is alone)"
        )
    executor = futures.MPIPoolExecutor()
    atexit.register(executor.shutdown, False)
    return executor
