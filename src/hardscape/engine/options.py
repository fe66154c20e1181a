"""The one door: how a computation is run, checked once for every function and command."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from hardscape.arguments import checked_seed, integer, seconds
from hardscape.engine.cluster.parts import Part, whole_of
from hardscape.engine.deadline import Deadline
from hardscape.engine.device import Cpu, Device, among, cpu_lanes
from hardscape.engine.estimates.forecast import Forecaster
from hardscape.engine.ledger import kept_seed
from hardscape.engine.progress import NullProgress, Progress, ProgressEvent, resolve_progress
from hardscape.errors import InputError, UnknownArgumentError


class RunArguments(TypedDict, total=False):
    """How a computation is run: the keyword arguments ``**run`` of every function that computes.

    Attributes
    ----------
    device : str, Device, or a sequence of them
        "cpu", "cuda" (all GPUs), "cuda:0", "cuda:0,1", or "auto", the default: all GPUs where the work
        pays for starting them, else the CPU.
    threads : int
        CPU threads, by default all CPUs that this process may use; up to 64, or four times the CPUs of
        the machine if that is more.
    seed : int
        From 0 to 2**64 - 1. Where none is given it is that of the checkpoint, or drawn. One seed gives
        one answer, whatever runs it.
    time_limit : float
        Wall-clock seconds, above 0, after which there is the best so far, or an error where a part
        tells nothing.
    checkpoint : str or Path
        Ledger of what is done: created if missing, else the same call goes on from it; see
        :mod:`hardscape.engine.ledger`.
    shards : str
        "3/64": only the third of 64 parts of the shards, in a checkpoint of its own beside the one that is
        named, for jobs that cannot talk to one another. Without a seed it is that of the named checkpoint,
        or 0. A part that is done raises :class:`hardscape.errors.PartDone`; ``hardscape merge`` puts all
        together.
    executor : str, concurrent.futures.Executor, distributed.Client or MPIPoolExecutor
        Runs the shards instead of this process, and stays open: "processes:8", "dask://host:port",
        "dask:cluster.yaml" (a cluster of dask-jobqueue with its options, ``scale`` or ``adapt``), "mpi",
        "ray", "ray://host:port", or an object with ``submit``. Workers may come and go; twice as many shards
        as there are workers are in flight. For GPUs in a process pool of your own use
        ``mp_context=get_context("spawn")``: a forked process cannot use CUDA once its parent has. With
        dask-cuda, which shows each worker its own GPU first, name "cuda:0".
    workers : int
        Number of workers of `executor`, where it does not tell.
    progress : bool, callable or Progress
        True draws a bar on a terminal; a function is called with each `ProgressEvent`; see
        :func:`hardscape.engine.resolve_progress`.

    Examples
    --------
    >>> import hardscape
    >>> from hardscape.engine import RunArguments
    >>> how: RunArguments = {"device": "cpu", "threads": 1, "seed": 1}
    >>> hardscape.spectrum({(0, 1): -1.0}, 1, **how).energies.tolist()
    [-1.0]
    """

    device: str | Device | Sequence[str | Device]
    threads: int | None
    seed: int | None
    time_limit: float | None
    checkpoint: str | os.PathLike[str] | None
    shards: str | None
    executor: Any
    workers: int | None
    progress: Progress | Callable[[ProgressEvent], object] | bool | None


_NAMES = RunArguments.__annotations__.keys()


@dataclass(frozen=True)
class RunOptions:
    """Where a computation runs, and what limits, records and shows it. Made by :meth:`checked`.

    Attributes
    ----------
    devices : tuple of Device
        One lane each. With an `executor`: the devices of its workers.
    threads : int
        CPU lanes, whether `devices` are such or not.
    seed : int
        From 0 to 2**64 - 1; drawn where none was given.
    deadline : Deadline
        Its clock has started.
    checkpoint : Path or None
        Ledger file.
    part : Part or None
        What is computed of the shards that the ledger is for; None for all of them.
    executor : object with ``submit``, or None
        What runs the shards instead of this process.
    workers : int or None
        Number of its workers, where it does not tell.
    progress : Progress

    Examples
    --------
    >>> from hardscape.engine import RunOptions
    >>> options = RunOptions.checked(device="cpu", threads=2, seed=7)
    >>> len(options.devices), options.seed
    (2, 7)
    """

    devices: tuple[Device, ...]
    threads: int
    seed: int
    deadline: Deadline
    checkpoint: Path | None
    part: Part | None
    executor: Any
    workers: int | None
    progress: Progress

    @classmethod
    def checked(cls, *, big_enough: bool = False, **run: Unpack[RunArguments]) -> RunOptions:
        """Options that can be carried out; the clock of the time limit starts.

        Parameters
        ----------
        big_enough : bool
            Whether the work pays for starting a GPU; only the device "auto" asks.
        **run
            See `RunArguments`.

        Raises
        ------
        InputError
            For an argument out of range, or of a type that is not accepted.
        DeviceError
            For a GPU that cannot be used.
        """
        if not run.keys() <= _NAMES:
            raise UnknownArgumentError(run.keys() - _NAMES, _NAMES)
        lanes = cpu_lanes(run.get("threads"))
        limit, seed = run.get("time_limit"), run.get("seed")
        checkpoint, part = _checked_path(run.get("checkpoint")), _checked_part(run)
        if checkpoint is not None and part is not None:
            checkpoint = part.ledger(checkpoint)
            seed = kept_seed(whole_of(checkpoint)) or 0 if seed is None else seed
        elif seed is None and checkpoint is not None:
            seed = kept_seed(checkpoint)
        executor, workers = run.get("executor"), run.get("workers")
        return cls(
            devices=among(
                lanes, run.get("device", "auto"), big_enough, elsewhere=executor is not None
            ),
            threads=len(lanes),
            seed=checked_seed(seed),
            deadline=Deadline(None if limit is None else seconds(limit, "time_limit")),
            checkpoint=checkpoint,
            part=part,
            executor=None if executor is None else _checked_executor(executor),
            workers=None if workers is None else integer(workers, "workers", 1, 2**31 - 1),
            progress=resolve_progress(run.get("progress")),
        )

    @property
    def workers_now(self) -> int:
        """How many shards may run at once: on these devices, on the executor's workers, in all parts."""
        if self.part is not None:
            return self.part.count
        if self.executor is None:
            return len(self.devices)
        from hardscape.engine.cluster.executors import workers_of

        return self.workers or workers_of(self.executor)

    @property
    def asked_for(self) -> bool:
        """Whether the caller said something that only a long run needs."""
        limited = self.deadline.seconds is not None
        return limited or self.checkpoint is not None or self.executor is not None

    def takes(self, seconds: Callable[[], float]) -> None:
        """End a call that is only forecast, where its cost tells how long it takes."""
        if isinstance(self.progress, Forecaster):
            self.progress.known(seconds())

    def on(self, devices: Sequence[Device]) -> RunOptions:
        """The same options on other devices."""
        if not devices:
            raise InputError("devices is empty; at least one device is accepted")
        return replace(self, devices=tuple(devices))

    def on_cpu(self) -> RunOptions:
        """The same options on this machine's threads."""
        return self if isinstance(self.devices[0], Cpu) else self.on(cpu_lanes(self.threads))

    def with_checkpoint(self, checkpoint: Path | None) -> RunOptions:
        """The same options with another ledger, or none."""
        return replace(self, checkpoint=checkpoint)

    def undivided(self, what: str) -> RunOptions:
        """These options; a part of what has no shards is an InputError."""
        if self.part is not None:
            raise InputError(f"shards= is for what is cut into shards, which {what} is not")
        return self

    def preparing(self, seconds: float | None) -> RunOptions:
        """For a part that only prepares: one CPU lane and so much time, nothing recorded or shown."""
        return replace(self.together(seconds), devices=(Cpu(),), executor=None)

    def together(self, seconds: float | None) -> RunOptions:
        """For a part that only prepares, on all that there is."""
        return replace(self.within(seconds), checkpoint=None, progress=NullProgress())

    def within(self, seconds: float | None) -> RunOptions:
        """The same options with a deadline that is over in `seconds` at the latest."""
        return replace(self, deadline=self.deadline.within(seconds))


def _checked_path(checkpoint: Any) -> Path | None:
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise InputError(f"checkpoint={checkpoint!r}; the name of a file is accepted")
    if "\0" in os.fspath(checkpoint):
        raise InputError(f"checkpoint={checkpoint!r}; a name without null characters is accepted")
    return Path(checkpoint)


def _checked_part(run: RunArguments) -> Part | None:
    told = run.get("shards")
    if told is None:
        return None
    if run.get("checkpoint") is None:
        raise InputError("shards= needs checkpoint=, which keeps what the part has done")
    return Part.checked(told)


def _checked_executor(executor: Any) -> Any:
    if isinstance(executor, str):
        from hardscape.engine.cluster.named import named

        return named(executor)
    if not hasattr(executor, "submit"):
        raise InputError(
            f"executor={executor!r} has no submit(); a name such as 'processes:8', a "
            "concurrent.futures.Executor, a Dask Client and an MPIPoolExecutor are accepted"
        )
    return executor
