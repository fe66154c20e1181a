"""Ray's tasks as an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, TypeVar

R = TypeVar("R")


class RayTasks(Executor):
    """Calls as tasks of Ray, a CPU each, as many at once as its cluster has CPUs at the time.

    What was submitted cannot be cancelled: Ray would end a task that runs, too, and lose what it has to tell.

    Parameters
    ----------
    ray
        The module, connected to a cluster.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._call = ray.remote(max_retries=0)(_call)  # a lost shard is the engine's affair

    @property
    def num_workers(self) -> int:
        """CPUs of the cluster now."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def submit(self, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """See `concurrent.futures.Executor`."""
        found: Future[R] = Future()
        found.set_running_or_notify_cancel()
        task = self._call.remote(function, *args, **kwargs)
        task.future().add_done_callback(lambda done: self._tell(done, found))
        return found

    def _tell(self, done: Future[R], found: Future[R]) -> None:
        """Hand over what a task returned or raised; what Ray itself raises is the loss of a worker."""
        try:
            found.set_result(done.result())
        except self._ray.exceptions.RayTaskError as error:
            found.set_exception(error.cause)
        except self._ray.exceptions.RayError as error:
            lost = BrokenExecutor(f"{type(error).__name__}: {error}")
            found.set_exception(lost)


def _call(function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    return function(*args, **kwargs)
