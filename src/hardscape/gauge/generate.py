"""Quenched configurations: a Markov chain of the Wilson action by heatbath and overrelaxation.

The weight of a field is exp((beta / Nc) sum Re tr P) over all plaquettes P; with a boundary in time those in
space of the first and the last timeslice count half, and with a bare anisotropy xi those with time count xi
times and those without 1 / xi times (T. R. Klassen, Nucl. Phys. B 533, 557 (1998)). A sweep visits every link
once with a pseudo-heatbath and `overrelax` times with microcanonical overrelaxation. SU(N) is moved in
its N (N - 1) / 2 SU(2) subgroups (N. Cabibbo, E. Marinari, Phys. Lett. B 119, 387 (1982)), each drawn by the
method of A. D. Kennedy and B. J. Pendleton, Phys. Lett. B 156, 393 (1985).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.arguments import integer
from hardscape.engine import (
    Chain,
    Cuda,
    Device,
    Partial,
    Progress,
    ProgressEvent,
    RunArguments,
    RunOptions,
    Team,
    steps,
)
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import BudgetError, CheckpointError, InputError, Interrupted
from hardscape.gauge import layouts
from hardscape.gauge.boundary import Boundary, fixed_slices
from hardscape.gauge.chain.cuda import CudaChain
from hardscape.gauge.domains.generating import RankedChain
from hardscape.gauge.domains.gpus import Gpus, together
from hardscape.gauge.domains.ranks import Domains
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.groups import group
from hardscape.gauge.intake import check_shape, require_links
from hardscape.gauge.options import checked_xi
from hardscape.interrupts import interruptible

#: Sites from which a further thread is worth starting.
_SITES_A_THREAD = 4096
#: Memory of a chain, in fields of double precision: the start and its own.
_FIELDS = 2
_MOST = 2**31 - 1


class WilsonChain:
    """A Markov chain of gauge fields with the quenched Wilson action.

    Parameters
    ----------
    field : GaugeField, or the path of a file of one
        The field that the chain starts from; it stays as it is. The chain works in double, and has the
        field's boundary: with "open" and "sf" plaquettes in space of the first and the last timeslice count
        half in the action, with "sf" the links in space there stay what they are.
    beta : float
        Coupling 2 Nc / g^2, 0 or more.
    xi : float
        Bare anisotropy: plaquettes with time count xi times, others 1 / xi times.
    seed : int, optional
        From 0 to 2**64 - 1; drawn where none is given. Random numbers belong to seed, link and sweep:
        any number of threads gives the same chain.
    overrelax : int
        Overrelaxation sweeps after each heatbath sweep.
    threads : int, optional
        By default what the lattice is worth of the CPUs of this process.
    first_sweep : int
        Number of the next sweep. A chain that starts from the field another one had after n sweeps,
        with the same seed and ``first_sweep=n``, continues it exactly.
    device : str or Device
        "auto" is the CPU, so that one seed gives one chain on every machine; "cuda:0" a GPU, which takes
        even extents. It draws the same random numbers and rounds differently: a chain of its own.
    domains : Domains, str or sequence of str, optional
        What holds the lattice together, in slabs of timeslices. Ranks of MPI, see
        :func:`hardscape.gauge.domains`, `threads` in each, by default 1: the links are the same bit for bit
        for any number of ranks. Or GPUs with access to each other's memory ("cuda:0,1"): the links are those
        of one of them.

    Raises
    ------
    InputError
        If an argument is out of range, or `field` has a link that is not in the group.

    Examples
    --------
    >>> chain = WilsonChain(GaugeField.identity((4, 4, 4, 4), nc=2), beta=2.3, seed=1)
    >>> plaquettes = chain.run(50)
    >>> 0.55 < float(plaquettes[-10:].mean()) < 0.66
    True
    >>> chain.field
    <GaugeField: SU(2), 4x4x4x4 (x, y, z, t), complex128, cpu>
    """

    def __init__(
        self,
        field: GaugeField | str | Path,
        beta: float,
        *,
        xi: float = 1.0,
        seed: int | None = None,
        overrelax: int = 2,
        threads: int | None = None,
        first_sweep: int = 0,
        device: str | Device | Sequence[str | Device] = "auto",
        domains: Domains | str | Sequence[str | Device] | None = None,
    ) -> None:
        self.beta = _check_beta(beta)
        self.xi = checked_xi(xi)
        self.overrelax = integer(overrelax, "overrelax", 0, _MOST)
        self.sweeps = integer(first_sweep, "first_sweep", 0, _MOST)
        run = RunOptions.checked(device=device, threads=threads, seed=seed)
        self.seed = run.seed
        self._domains = held_by(device, run, domains)
        field = checked_field(field)
        field.require_unitary()
        worth = max(1, field.volume // _SITES_A_THREAD)
        self.threads = min(run.threads, worth) if threads is None else run.threads
        if self._domains is not None:
            self.threads = 1 if threads is None else run.threads
        self.boundary: Boundary = field.boundary
        self._chain: Any
        self._take(field.to("cpu").astype(np.complex128).links)

    def _take(self, links: NDArray[np.complex128]) -> None:
        """Go on from these links."""
        ends = self.boundary != "periodic"
        fixed = sum({0: 1, -1: 2}[t] for t in fixed_slices(self.boundary))
        if self._domains is None:
            self._chain = native.vector.gauge.WilsonChain(links, ends, fixed, self.xi)
        elif isinstance(self._domains, Gpus):
            held = self._domains
            self._chain = CudaChain(held.ordinals, links, ends, fixed, self.xi, held.cut)
        else:
            self._chain = RankedChain(self._domains, links, ends, fixed, self.xi, self.threads)

    def _moved(self, count: int, team: Team) -> NDArray[np.float64]:
        """Do sweeps; returns the plaquette after each."""
        move = self.beta, self.overrelax, self.seed, self.sweeps, count
        self.sweeps += count
        if isinstance(self._chain, RankedChain | CudaChain):
            return self._chain.run(*move)
        sweeps = native.vector.gauge.WilsonSweeps(self._chain, *move, team.size)
        team.run(sweeps.run)
        plaquettes: NDArray[np.float64] = sweeps.plaquettes()
        return plaquettes

    @property
    def device(self) -> str:
        """What the links are moved on, as results name it."""
        return "cpu" if self._domains is None else self._domains.names()

    @property
    def field(self) -> GaugeField:
        """The field of the moment, a copy, in double."""
        return GaugeField(self._chain.links(), boundary=self.boundary, layout=layouts.OURS)

    @interruptible
    def run(
        self,
        sweeps: int,
        *,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        executor: Any = None,
        workers: int | None = None,
        progress: Progress | Callable[[ProgressEvent], object] | bool | None = None,
    ) -> NDArray[np.float64]:
        """Do more sweeps.

        Parameters
        ----------
        sweeps : int
        time_limit : float, optional
            Seconds after which no further sweep is begun.
        checkpoint, executor, workers, progress
            See :class:`hardscape.engine.RunArguments`. A checkpoint holds the field and the
            plaquettes; the same run from the same field goes on from it, and may ask for more sweeps.

        Returns
        -------
        float64, shape (sweeps done,)
            The plaquette after each.

        Raises
        ------
        InputError
            If an argument is out of range.
        CheckpointError
            If the checkpoint cannot be used, belongs to another chain, or is farther than `sweeps`.
        Interrupted
            On Ctrl-C and SIGTERM, after the sweep that they came in; ``result`` is the field.

        Notes
        -----
        About 3 microseconds a site and sweep for SU(3) with two overrelaxations, on one AVX-512 core.
        """
        options = RunOptions.checked(
            device="cpu",
            threads=self.threads,
            seed=self.seed,
            time_limit=time_limit,
            checkpoint=checkpoint,
            executor=executor,
            workers=workers,
            progress=progress,
        )
        outcome = steps(Sweeps(self, integer(sweeps, "sweeps", 0, _MOST)), options)
        if outcome.signum:
            raise Interrupted(outcome.signum, self.field)
        return outcome.read(outcome.partial or {})

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_chain": self._chain.links()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        links = state.pop("_chain")
        vars(self).update(state)
        self._take(links)

    def __repr__(self) -> str:
        return f"<WilsonChain: beta={self.beta!r}, seed={self.seed}, {self.sweeps} sweeps>"


class Sweeps(Chain[NDArray[np.float64]]):
    """Sweeps of a chain, from the field that it has now.

    After each of the sweeps `at`, counted from 1, `keep` is called with its place among them and the field.
    What a checkpoint is past is left out; what came after it was written comes again, the same.
    """

    name: ClassVar[str] = "gauge.generate"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "sweeps"

    def __init__(
        self,
        chain: WilsonChain,
        total: int,
        at: Sequence[int] = (),
        keep: Callable[[int, GaugeField], object] | None = None,
    ) -> None:
        self.total = total
        self._at = at
        self._keep = keep
        self._chain = chain
        self._first = chain.sweeps
        self._plaquettes = [np.empty(0)]
        self._start = ""

    def digest(self) -> str:
        """Digest of the field and of all that moves it."""
        chain = self._chain
        if not self._start:
            edge: tuple[Any, ...] = () if chain.boundary == "periodic" else (chain.boundary,)
            edge += () if chain.xi == 1 else (chain.xi,)
            head = repr((chain.beta, chain.overrelax, chain.seed, self._first, *edge))
            links = chain._chain.links()
            self._start = hashlib.sha256(
                (head + repr(links.shape)).encode() + links.tobytes()
            ).hexdigest()
        return self._start

    def advance(self, count: int, team: Team) -> int:
        """Do `count` sweeps, or as many as come before a field that is kept."""
        chain = self._chain
        done = chain.sweeps - self._first
        count = min([count, *(stop - done for stop in self._at if stop > done)])
        self._plaquettes.append(chain._moved(count, team))
        if self._keep is not None and done + count in self._at:
            self._keep(self._at.index(done + count), chain.field)
        return count

    def state(self) -> Partial:
        """The field, and the plaquettes so far."""
        return {"links": self._chain._chain.links(), "plaquettes": self.result()}

    def restore(self, state: Partial) -> None:
        """Take over a field and its plaquettes, if they are not farther than this run is to go."""
        done = len(state["plaquettes"])
        if done > self.total:
            raise CheckpointError(
                f"the checkpoint holds the field after {done} sweeps, sweeps={self.total} are asked "
                f"for; sweeps={done} or more go on from it"
            )
        self._plaquettes = [state["plaquettes"]]
        self._chain.sweeps = self._first + done
        self._chain._take(np.ascontiguousarray(state["links"]))

    def result(self) -> NDArray[np.float64]:
        """The plaquette after each sweep."""
        return np.concatenate(self._plaquettes)


@interruptible
@on_its_threads
def generate(
    shape: Sequence[int],
    beta: float,
    nc: int = 3,
    *,
    sweeps: int = 200,
    overrelax: int = 2,
    start: Literal["hot", "cold"] = "hot",
    boundary: Boundary = "periodic",
    xi: float = 1.0,
    domains: Domains | str | Sequence[str | Device] | None = None,
    **run: Unpack[RunArguments],
) -> GaugeField:
    """Make one thermalised configuration of the quenched Wilson action.

    Parameters
    ----------
    shape : 2 to 5 int
        Extents X, Y, Z, T, each 2 or more, even or odd; the last one is that of time, in two to five
        dimensions.
    beta : float
        Coupling 2 Nc / g^2, 0 or more.
    nc : {2, 3, 4, 5, 6, 7, 8}
    sweeps : int
        Heatbath sweeps, each followed by `overrelax` microcanonical ones. 200 are plenty for the
        plaquette at the couplings in use (SU(3), beta about 6); topology takes longer.
    overrelax : int
    start : {"hot", "cold"}
        Random links, or all of them the identity.
    boundary : {"periodic", "open", "sf", "open-sf"}
        In time. Of "sf" and "open-sf" fixed links in space are the identity; other ones come with the field
        that a :class:`WilsonChain` starts from.
    xi : float
        Bare anisotropy: plaquettes with time count xi times in the action, others 1 / xi times.
    domains : Domains, str or sequence of str, optional
        Ranks of MPI or GPUs that hold the lattice together, see :class:`WilsonChain`.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. Chains run on the CPU, by default on
        as many threads as the lattice is worth, or with ``device="cuda"`` on a GPU; one seed gives one field,
        for any number of threads.
        The same call goes on from its checkpoint, and may ask for more sweeps; the field is that of
        a run that was never cut short.

    Returns
    -------
    GaugeField
        In double precision, in NumPy. :class:`WilsonChain` gives the plaquette of every sweep, and
        further configurations of the same chain. Its `seed` is that of the chain.

    Raises
    ------
    InputError
        If an argument is out of range.
    BudgetError
        If the time limit comes before the last sweep.
    CheckpointError
        If the checkpoint cannot be used, belongs to another chain, or is farther than `sweeps`.
    Interrupted
        On Ctrl-C and SIGTERM; ``result`` is the field so far.

    Examples
    --------
    >>> field = generate((4, 4, 4, 4), beta=6.0, seed=7, sweeps=30)
    >>> 0.55 < field.plaquette() < 0.64
    True
    """
    seed = RunOptions.checked(**run).undivided("a Markov chain").seed
    group(nc)
    begun = first_field(shape, nc, start, boundary, seed)
    given: dict[str, Any] = {**run, "seed": seed}
    given.pop("shards", None)
    lanes = {name: given.pop(name) for name in ("device", "threads", "seed") if name in given}
    if domains is not None and run.get("executor") is not None:
        raise InputError("domains and executor exclude one another; one of them is accepted")
    chain = WilsonChain(begun, beta, xi=xi, overrelax=overrelax, domains=domains, **lanes)
    done = chain.run(sweeps, **given)
    if len(done) < sweeps:
        unkept = run.get("checkpoint") is None
        kept = "pass checkpoint= to keep them" if unkept else "run again to go on"
        raise BudgetError(f"the time limit came after {len(done)} of {sweeps} sweeps; {kept}")
    field = chain.field
    field.seed = seed
    return field


def first_field(
    shape: Sequence[int], nc: int, start: str, boundary: Boundary, seed: int
) -> GaugeField:
    """What a chain starts from."""
    if start not in ("hot", "cold"):
        raise InputError(f"start={start!r}; 'hot' and 'cold' are accepted")
    if boundary not in get_args(Boundary):
        raise InputError(
            f"boundary={boundary!r}; 'periodic', 'open', 'sf' and 'open-sf' are accepted"
        )
    require_links(check_shape(shape), nc, _FIELDS)
    hot = start == "hot"
    field = GaugeField.random(shape, nc, seed=seed) if hot else GaugeField.identity(shape, nc)
    if boundary == "periodic":
        return field
    if shape[-1] < 3:
        raise InputError(
            f"shape {tuple(shape)}; with a boundary in time 3 timeslices are the least"
        )
    links = field.links
    links[-1, ..., -1, :, :] = 0
    links[fixed_slices(boundary), ..., :-1, :, :] = np.eye(nc)
    return GaugeField(links, boundary=boundary, layout=layouts.OURS)


def held_by(
    device: Any, run: RunOptions, domains: Domains | str | Sequence[str | Device] | None
) -> Domains | Gpus | None:
    """What holds the links of a chain: ranks, GPUs, or this process alone."""
    gpus = [one for one in run.devices[:1] if isinstance(one, Cuda)]
    if domains is None:
        return Gpus(gpus) if gpus else None
    if gpus:
        raise InputError(
            f"device={device!r} beside domains, which name the devices; 'auto' is accepted"
        )
    held = together(domains)
    assert isinstance(held, Domains | Gpus)
    return held


def _check_beta(beta: float) -> float:
    if isinstance(beta, bool) or not isinstance(beta, int | float | np.floating | np.integer):
        raise InputError(f"beta={beta!r}; a number of 0 or more is accepted")
    if not 0 <= float(beta) <= 1e6:
        raise InputError(f"beta={beta!r}; 0 to 1e6 is accepted")
    return float(beta)
