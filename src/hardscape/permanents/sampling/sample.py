r"""Boson sampling: outputs of an interferometer, drawn exactly from their distribution.

Photons in inputs :math:`c_1, \dots, c_n` of an interferometer A come out of :math:`r_1, \dots, r_n` with
probability :math:`|\mathrm{per}(A_{r c})|^2 / \prod_i s_i! \prod_j t_j!`, with s and t photons in the
outputs and inputs. Clifford and Clifford (arXiv:2005.04214) draw one photon after another, in a random
order of the columns: given those before it, photon k comes out of i with a weight
:math:`|\mathrm{per}(A_{(r_1 \dots r_{k-1}, i), (c_1 \dots c_k)})|^2`, and k minors serve all i. That is right
because the columns are orthonormal: summed over i the weights are
:math:`\sum_j |\mathrm{per}(A_{(r_1 \dots r_{k-1}), c \setminus c_j})|^2`, in which the order of the columns
before does not matter, so that a random one makes each step's weights cancel the sums before. Equal
columns, of inputs with several photons, count with that multiplicity on both sides.

All else is brought to this: what is lost comes out of further rows, which make the columns orthonormal;
states inside the photons are further indices of the rows; photons that share no state are drawn apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape import memory, native
from hardscape.arguments import integer
from hardscape.engine import (
    Context,
    Cpu,
    Device,
    Partial,
    RunArguments,
    RunOptions,
    Shard,
    ShardResult,
    solve,
    split,
)
from hardscape.engine.progress import duration
from hardscape.errors import BudgetError, DeviceError, Interrupted
from hardscape.interrupts import interruptible
from hardscape.permanents.methods.sums import Stated, digest
from hardscape.permanents.plan import unasked
from hardscape.permanents.result import devices_of
from hardscape.permanents.sampling.photons import MOST_TOGETHER, Photons, photons_of
from hardscape.plain import Plain

#: Shards, at most, and seconds of one, at least, that are worth more than one thread.
_SHARDS, _BRIEF = 1024, 2e-3
#: Seconds for each k 2^(k-1) of the minors for photon k, for each output and photon, and of a sample.
_MINOR, _OUTPUT, _SAMPLE = 2e-10, 5e-10, 5e-7


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Plain):
    """Outputs of an interferometer.

    Attributes
    ----------
    occupations : numpy.ndarray of int16, shape (num_samples, outputs)
        Photons in each output; ``permanent(a, rows=occupations[k], cols=photons)`` is its amplitude.
    seed : int
    seconds : float
    device : str
    stopped : str
        "" or what cut the call short: there are fewer samples then.

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import sample
    >>> half = np.sqrt(0.5) * np.array([[1, 1], [1, -1]])
    >>> drawn = sample(half, [1, 1], 100, seed=1)
    >>> sorted(set(map(tuple, drawn.occupations.tolist())))
    [(0, 2), (2, 0)]
    """

    COLUMNS: ClassVar[str] = "occupations"

    occupations: NDArray[np.int16]
    seed: int
    seconds: float
    device: str
    stopped: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.listed("occupations seed seconds device stopped")


@interruptible
def sample(
    a: Any,
    photons: Sequence[int],
    num_samples: int,
    *,
    overlap: Any = 1.0,
    transmission: Any = 1.0,
    **run: Unpack[RunArguments],
) -> Samples:
    r"""Draw where photons come out of an interferometer: boson sampling.

    Parameters
    ----------
    a : array-like, shape (outputs, inputs)
        Amplitudes: a unitary matrix, some of its columns, or a matrix that loses photons (singular
        values of 1 at most). Of any type that :func:`hardscape.permanent` takes, or the path of a file.
    photons : sequence of int
        Photons in each input, a column each.
    num_samples : int
    overlap : float or array-like, shape (photons, photons)
        How alike the photons are. A number x from 0 (distinguishable) to 1 is the overlap
        :math:`\langle\phi_i|\phi_j\rangle` of any two (Hong, Ou and Mandel see a dip of :math:`x^2`).
        A matrix holds all overlaps, the photons in the order of the inputs: hermitian and positive, with a
        diagonal of 1; it is what its rank says that costs.
    transmission : float or sequence of float
        Probability of a photon to get to the interferometer, one for all or one for each input.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`. It runs on CPU threads alone.

    Returns
    -------
    Samples
        The same for any number of threads and workers; with a `time_limit` those that were drawn by
        then.

    Raises
    ------
    InputError
        If `a` amplifies (has a singular value above 1), or the photons are not understood.
    DeviceError
        If `device` is a GPU.
    BudgetError
        If more than 62 photons interfere, memory cannot hold the samples, or the estimate is a day or
        more and none of `time_limit`, `checkpoint` and `executor` says to run it anyway.
    Interrupted
        On Ctrl-C or SIGTERM, with the samples so far.

    Notes
    -----
    The second algorithm of Clifford and Clifford (arXiv:2005.04214): exact, up to the rounding of weights
    to float64, at about :math:`n 2^n` operations a sample for n photons that interfere, as two
    permanents take; fewer where many come out together, as the minors are summed over multiplicities
    then. A number x is drawn as photons that interfere with probability x, each: every amplitude of
    exchanging k of the photons gets the factor :math:`x^k` both ways (Renema et al., Phys. Rev. Lett. 120,
    220502, 2018). For a matrix of rank r, each output is r outputs (Tichy, Phys. Rev. A 91, 022316, 2015).

    Examples
    --------
    >>> import numpy as np
    >>> from hardscape.permanents import sample
    >>> splitter = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    >>> found = sample(splitter, [1, 1], 1000, seed=1).occupations
    >>> sorted(set(map(tuple, found.tolist())))  # never one in each: Hong, Ou and Mandel
    [(0, 2), (2, 0)]
    """
    shots = integer(num_samples, "num_samples", 0, 2**48)
    options = RunOptions.checked(**run)
    if not all(isinstance(device, Cpu) for device in options.devices):
        raise DeviceError(f"samples are not drawn on {options.devices[0]}; use device='cpu'")
    work = SampleWork(photons_of(a, photons, overlap, transmission), shots, options.seed)
    _check_budget(work, options)
    outcome = solve(work, options)
    occupations = outcome.answer
    found = Samples(
        np.empty((0, work.photons.outputs), dtype=np.int16) if occupations is None else occupations,
        options.seed,
        outcome.seconds,
        devices_of((), options.devices),
        outcome.cut,
    )
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    return found


def _check_budget(work: SampleWork, options: RunOptions) -> None:
    photons, together = work.photons, work.photons.together
    if together > MOST_TOGETHER:
        raise BudgetError(
            f"{together} photons interfere; up to {MOST_TOGETHER} are accepted, and some 40 feasible"
        )
    # Twice: parts are merged into one.
    memory.require(4 * work.count * photons.outputs, f"{work.count} samples")
    seconds = unasked(work.sample_seconds * work.count, options.threads, options)
    if seconds is not None:
        raise BudgetError(
            f"{work.count} samples of {together} photons that interfere take about "
            f"{duration(seconds)} on {options.threads} CPU threads; pass time_limit= for those that "
            "are drawn by then, or checkpoint="
        )


@dataclass(frozen=True, eq=False)
class SampleWork(Stated[NDArray[np.int16]]):
    """Samples, each a function of the seed and its number, which is its unit.

    A partial holds samples under the numbers of the first of them.
    """

    photons: Photons
    count: int
    seed: int

    name: ClassVar[str] = "permanents.sample"
    revision: ClassVar[int] = 1
    unit: ClassVar[str] = "samples"

    def digest(self) -> str:
        """Digest of the photons, the number of samples and the seed."""
        of = self.photons
        arrays = (of.entries, of.groups, of.kept, of.modes)
        return digest(self.name, *arrays, repr(of.overlap), of.outputs, self.count, self.seed)

    @cached_property
    def sample_seconds(self) -> float:
        """Estimated time of a sample on one core."""
        photons, k = self.photons, self.photons.together
        minors = _MINOR * k * 2.0**k
        outputs = _OUTPUT * k / 2 * photons.entries[0].size
        return float(_SAMPLE + outputs + minors)

    def shards(self) -> Sequence[Shard]:
        """Ranges of samples."""
        least = max(1, int(_BRIEF / self.sample_seconds))
        return split(self.count, max(1, min(_SHARDS, self.count // least)))

    def brief(self, device: Device) -> bool:
        """Whether it is over in milliseconds."""
        return self.sample_seconds * self.count <= _BRIEF

    def run(self, shard: Shard, context: Context) -> ShardResult:
        """Draw a range of samples."""
        of = self.photons
        drawn = native.vector.permanents.sample_bosons(
            of.entries, of.groups, of.kept, of.overlap, of.modes, of.outputs,
            self.seed, shard.start, shard.stop, context.stop,
        )  # fmt: skip
        return ShardResult({str(shard.start): drawn}, len(drawn) == len(shard))

    def merge(self, left: Partial, right: Partial) -> Partial:
        """Both: they are copied into one once all are there."""
        return {**left, **right}

    def result(self, partial: Partial) -> NDArray[np.int16]:
        """The samples."""
        return np.concatenate([partial[start] for start in sorted(partial, key=int)])
