"""Generating an ensemble: configurations of one Markov chain, each in a file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from hardscape.arguments import integer
from hardscape.engine import RunArguments, RunOptions, steps
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import BudgetError, Interrupted
from hardscape.gauge import formats
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.ensembles.averages import ErrorMethod, checked_errors
from hardscape.gauge.ensembles.files import make_folder, outputs
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.field import GaugeField
from hardscape.gauge.generate import Sweeps, WilsonChain, first_field
from hardscape.interrupts import interruptible

_MOST = 2**31 - 1


@dataclass(frozen=True)
class Keeper:
    """Writes the configurations of a chain."""

    files: tuple[str, ...]  # absolute
    format: str
    written: Mapping[str, Any]

    def __call__(self, position: int, field: GaugeField) -> None:
        """Write configuration number `position`."""
        make_folder(self.files[position])
        formats.write(field, self.files[position], format=self.format, **self.written)


def numbered(output: str | Path, count: int) -> tuple[str, ...]:
    """The files of `count` configurations, with {number} from 1 on."""
    return outputs(output, [f"cfg.{number}" for number in range(1, count + 1)])


@interruptible
@on_its_threads
def generate_ensemble(
    shape: Sequence[int],
    beta: float,
    count: int,
    output: str | Path,
    nc: int = 3,
    *,
    sweeps: int = 200,
    every: int = 10,
    overrelax: int = 2,
    start: Literal["hot", "cold"] = "hot",
    boundary: Boundary = "periodic",
    xi: float = 1.0,
    to: str | None = None,
    written: Mapping[str, Any] | None = None,
    error_method: ErrorMethod = "jackknife",
    bin_size: int = 1,
    **run: Unpack[RunArguments],
) -> Ensemble:
    """Make configurations of one Markov chain of the quenched Wilson action, and write them.

    Parameters
    ----------
    shape, beta, nc, overrelax, start, boundary, xi
        See :func:`generate`.
    count : int
        Configurations.
    output : str or Path
        Files to write, with ``{number}``, from 1 on: ``"cfg.{number}.lime"``. What is there is replaced.
    sweeps : int
        Heatbath sweeps before the first configuration.
    every : int
        Heatbath sweeps from one to the next.
    to : str, optional
        Format of the files, where the suffix does not tell.
    written : mapping, optional
        How they are written: arguments of :meth:`GaugeField.to_file`.
    error_method : {"jackknife", "gamma"}
        How the error of the plaquette is estimated; "gamma" takes autocorrelations into account.
    bin_size : int
        Configurations that the jackknife leaves out together.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. The same call goes on from its checkpoint,
        and may ask for more configurations.

    Returns
    -------
    Ensemble
        Columns sweep and plaquette; `files` is what was written. Stopped by a time limit or a signal it has
        those that are written.

    Raises
    ------
    InputError
        If an argument is out of range, or `output` has no ``{number}``.
    Interrupted
        On Ctrl-C and SIGTERM; its ``result`` is the table so far, or None.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = generate_ensemble((4, 4, 4, 4), 6.0, 3, folder + "/cfg.{number}.nersc", sweeps=20)
    >>> found["sweep"].tolist(), len(found.files)
    ([20, 30, 40], 3)
    """
    began = time.perf_counter()
    checked_errors(error_method, bin_size)
    number = integer(count, "count", 1, _MOST)
    first, step = integer(sweeps, "sweeps", 1, _MOST), integer(every, "every", 1, _MOST)
    files = numbered(output, number)
    name = formats.FORMATS.named_by(files[0]) if to is None else to
    formats.rehearse(shape, nc, boundary, format=name, **(written or {}))
    seed = RunOptions.checked(**run).undivided("a Markov chain").seed
    chain = _chain(shape, nc, beta, start, boundary, overrelax, xi, run, seed)
    at = range(first, first + (number - 1) * step + 1, step)
    keeper = Keeper(tuple(str(Path(x).absolute()) for x in files), name, dict(written or {}))
    given: dict[str, Any] = {**run, "device": "cpu", "threads": chain.threads, "seed": seed}
    outcome = steps(Sweeps(chain, at[-1], at, keeper), RunOptions.checked(**given))
    told = outcome.read({})
    done = [sweep for sweep in at if sweep <= len(told)]
    if not done:
        if outcome.signum:
            raise Interrupted(outcome.signum)
        raise BudgetError("the time limit came before the first configuration; allow more")
    found = Ensemble(
        method="generate",
        files=files[: len(done)],
        outputs=(),
        values={"sweep": np.array(done), "plaquette": told[np.array(done) - 1]},
        files_total=number,
        error_method=error_method,
        bin_size=bin_size,
        seed=seed,
        device=chain.device,
        stopped=outcome.cut,
        seconds=time.perf_counter() - began,
    )
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    return found


def _chain(
    shape: Sequence[int],
    nc: int,
    beta: float,
    start: str,
    boundary: Boundary,
    overrelax: int,
    xi: float,
    run: RunArguments,
    seed: int,
) -> WilsonChain:
    lanes: dict[str, Any] = {x: run[x] for x in ("device", "threads") if x in run}
    field = first_field(shape, nc, start, boundary, seed)
    return WilsonChain(field, beta, xi=xi, seed=seed, overrelax=overrelax, **lanes)
