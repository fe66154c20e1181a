"""Ranks of MPI that hold one lattice together: the first asks, all answer."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.gauge.domains.chain import ChainSlab
from hardscape.gauge.domains.cuda_slab import CudaSlab
from hardscape.gauge.domains.together import Together
from hardscape.gauge.lattice.cpu import over_rows
from hardscape.gauge.lattice.cuda import BEGINNING, iteration_cost, require_even
from hardscape.gauge.lattice.lattices import Lattices, Measurement, Turn
from hardscape.gauge.options import FixOptions

_LOG = logging.getLogger("hardscape.gauge")

#: Site updates of ranks with GPUs that are asked for at a time, before signals are heard.
_TOGETHER = 10**8


class Domains(Together):
    """What the first rank holds of `domains`: give it to :func:`hardscape.gauge.fix`.

    Attributes
    ----------
    ranks : int
        How many processes hold the lattice.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from hardscape import gauge
    >>> with gauge.domains(MPI.COMM_WORLD) as ranks:  # doctest: +SKIP
    ...     if ranks is not None:
    ...         print(ranks.ranks)
    """

    def __init__(self, slab: ChainSlab) -> None:
        self._slab = slab
        self._links: Any = None
        self._opened = 0
        self._asking = False
        self.chain = 0  # number of the chain that the ranks hold
        self.ranks: int = slab.ranks
        self.on_gpus = isinstance(slab, CudaSlab)

    def __repr__(self) -> str:
        return f"<Domains: {self.ranks} rank{'s' * (self.ranks > 1)}>"

    @contextmanager
    def placed(self, links: Any, choices: FixOptions, threads: int) -> Iterator[None]:
        """Hand the links out, where they are not already, to `threads` of each rank."""
        self.require(links.shape)
        if self.on_gpus:
            require_even(links.shape[:-3])
        if self._links is not links:
            self.ask("begin", links.shape, choices, threads, whole=links)
            self._links = links
        yield

    def require(self, shape: tuple[int, ...]) -> None:
        """Refuse links (T, Z, ...) that are not to be cut into as many parts."""
        self._slab.grid_for(shape[:-3])

    def lattices(self, links: Any, choices: FixOptions, single: bool, usual: int) -> Lattices:
        """See `Together.lattices`."""
        return RankedLattices(self, links, choices, single)

    def names(self) -> str:
        """See `Together.names`."""
        return "cuda" if self.on_gpus else "cpu"

    def ask(self, name: str, *arguments: Any, whole: Any = None) -> Any:
        """Call a method of every rank's slab; returns what this rank's own returns."""
        self._asking = True
        self._slab.comm.bcast((name, arguments), root=0)
        self._slab.whole = whole
        answer = getattr(self._slab, name)(*arguments)
        self._asking = False
        return answer

    def whole(self, name: str, *arguments: Any) -> Any:
        """The same; returns what it gathered."""
        self.ask(name, *arguments)
        gathered, self._slab.whole = self._slab.whole, None
        return gathered

    def forget(self) -> None:
        """See `Together.forget`: the ranks hold others meanwhile, or the same for another gauge."""
        self._links = None

    def new_key(self) -> int:
        """Number of a transformation that is to be opened."""
        self._opened += 1
        return self._opened

    def close(self) -> None:
        """Let the other ranks go."""
        if self._asking:  # they wait for messages of something that broke off here
            self._slab.comm.Abort(1)
        self.ask("end")
        self._slab.comm.bcast(None, root=0)


@contextmanager
def domains(comm: Any, *, on_gpus: bool = False) -> Iterator[Domains | None]:
    r"""Hold one lattice on all ranks of a communicator, in slabs along t, or t and z.

    The body runs on the first rank. On the others this serves the first one's computations until its body
    ends, and gives None.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        Its ranks all call this.
    on_gpus : bool
        Whether each rank has a GPU of its own and computes there: of a host's GPUs its first rank takes
        the first, and so on, by turns. Where no two share one and all write to each other's memory, as over
        NVLink, their kernels sweep side by side; else what ranks tell each other of their sides goes from
        GPU to GPU within a host, or through the memory of the hosts.

    Yields
    ------
    Domains or None
        On rank 0 what :func:`hardscape.gauge.fix`, :func:`hardscape.gauge.generate` and
        :class:`hardscape.gauge.WilsonChain` take as `domains`; None elsewhere.

    Notes
    -----
    Signals are for the first rank to hear: the others leave SIGINT and SIGTERM alone meanwhile. If a rank
    fails, the whole job is aborted.

    Each rank has a slab of :math:`T / \text{ranks}` timeslices and one more at each side. Timeslices are cut
    along z as well, or the slowest direction in space, where that leaves fewer sites at the sides (64 ranks
    hold 64^4 in 8 by 8 slabs) or there are more ranks than timeslices; on GPUs in four and five dimensions,
    where there are fewer than two timeslices a rank. After a colour the sites at the
    sides are exchanged, :math:`2 N_c^2 X Y Z` complex numbers a rank where t alone is cut; they move first, and
    are on their way while the others move. Links are handed out once. Where links move, those of a colour and
    direction do so together, and the ranks exchange as many after each direction. For the Fourier-accelerated
    steps of "auto" and "fourier-cg" each rank transforms its part in space; then ranks exchange their slabs for
    columns along z, if that is cut, and along t, and back, :math:`2 (N_c^2 - 1) X Y Z T / \text{ranks}` real
    numbers a rank each way and direction.

    Examples
    --------
    Saved as ``fix.py``, this runs on four ranks by ``mpiexec -n 4 python fix.py``:

    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from hardscape.gauge import domains, fix
    >>> with domains(MPI.COMM_WORLD) as ranks:  # doctest: +SKIP
    ...     if ranks is not None:
    ...         fix("u.nersc", domains=ranks, threads=8).fixed().to_file("landau.nersc")
    """
    slab = CudaSlab(comm) if on_gpus else ChainSlab(comm)
    if comm.Get_rank() == 0:
        held = Domains(slab)
        try:
            yield held
        finally:
            held.close()
        return
    _serve(slab)
    yield None


def _serve(slab: ChainSlab) -> None:
    """Answer the first rank until it has no more to ask."""
    comm = slab.comm
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        while (asked := comm.bcast(None, root=0)) is not None:
            name, arguments = asked
            getattr(slab, name)(*arguments)
    except BaseException:
        _LOG.exception("rank %d failed, and with it the job", comm.Get_rank())
        comm.Abort(1)
        raise
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class RankedLattices(Lattices):
    """One copy over all ranks; the result is the same for any number of them."""

    def __init__(self, held: Domains, links: Any, options: FixOptions, single: bool) -> None:
        super().__init__(links, options, single, copies=1)
        self._held, self._key = held, held.new_key()
        if held.on_gpus:
            self.iteration_cost = iteration_cost(self.volume, single)
            self.beginning_cost = BEGINNING
        held.ask("open", self._key, single)

    def sweep(self, turn: Turn) -> int:
        """See `Lattices.sweep`."""
        sweep, seed, first = turn.sweeps[0], int(turn.seeds[0]), int(turn.first[0])
        active = turn.active[0].astype(np.uint8).tobytes()
        together = max(1, _TOGETHER // self.volume) if self._held.on_gpus else 1
        for done in range(0, turn.count, together):
            if turn.stop[0]:
                return done
            many = min(together, turn.count - done)
            row = sweep.row()
            self._held.ask("sweeps", self._key, sweep.method, row, seed, first + done, many, active)
        return turn.count

    def measure(self) -> Measurement:
        """Functional and violation of the moment."""
        return self.measured(*over_rows(self._held.ask("measure", self._key)))

    def randomize(self, seeds: NDArray[np.uint64]) -> None:
        """Set g from the Haar measure."""
        self._held.ask("randomize", self._key, int(seeds[0]))

    def set_transformation(self, copy: int, g: Any) -> None:
        """Set g of copy 0, the only one."""
        self._held.ask("set_transformation", self._key, whole=g)

    def adopt(self, others: Lattices) -> None:
        """Take over the g of lattices of these ranks in another precision: GPUs do so where it lies."""
        if self._held.on_gpus and isinstance(others, RankedLattices):
            self._held.ask("adopt", self._key, others._key)
        else:
            super().adopt(others)

    def transformation(self, copy: int) -> Any:
        """Return g of copy 0, the only one."""
        return self._held.whole("transformation", self._key)

    def accelerator(self) -> RankedSteps:
        """See `Lattices.accelerator`."""
        return RankedSteps(self._held, self._key)

    def gradient(self) -> Any:
        """Return Delta, packed."""
        delta = self._held.whole("gradient", self._key)
        return np.ascontiguousarray(np.moveaxis(delta, -1, 0))[None]

    def move(self, direction: Any, step: Any) -> None:
        """Set g to exp(step direction) g."""
        along = np.moveaxis(np.asarray(direction[0], dtype=np.complex128), 0, -1)
        steps = np.ascontiguousarray(step[0], dtype=np.float64).tobytes()
        self._held.ask("move", self._key, self.group.components, steps, whole=along)


class RankedSteps:
    """The conjugate gradient over all ranks: each has its slab of every field."""

    def __init__(self, held: Domains, key: int) -> None:
        self._held, self._key = held, key
        held.ask("accelerate", key)

    def advance(self, active: NDArray[np.bool_]) -> None:
        """See `Accelerator.advance`."""
        self._held.ask("advance", self._key, active[0].astype(np.uint8).tobytes())
