"""The low-energy spectrum: energies, states, degeneracies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import needed
from hardscape.ising.exact import ExactTerms, from_limbs, to_limbs
from hardscape.ising.levels import Level, Levels
from hardscape.ising.model import Ising
from hardscape.plain import Plain


def spectral_order(words: NDArray[np.uint64], codes: NDArray[Any]) -> NDArray[np.intp]:
    """Order of states by exact energy (words) and code (columns), least significant ones first."""
    limbs = words.shape[1]
    energy = [words[:, i] for i in range(limbs - 1)] + [words[:, limbs - 1].view(np.int64)]
    return np.lexsort((*codes.T, *energy))


def code_words(num_spins: int) -> int:
    """64-bit words of a state."""
    return max(1, -(-num_spins // 64))


def to_codes(states: Sequence[int], words: int) -> NDArray[np.uint64]:
    """Words of states that are integers, bit i set where spin i is +1; shape (n, words)."""
    data = b"".join(state.to_bytes(8 * words, "little") for state in states)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(-1, words)


def from_codes(code: NDArray[np.uint64]) -> int:
    """The integer of one state's words."""
    return int.from_bytes(np.ascontiguousarray(code, dtype="<u8").tobytes(), "little")


def unpack(codes: NDArray[np.uint64], num_spins: int) -> NDArray[np.int8]:
    """Spins -1 and +1, int8 of shape (n, num_spins), of states of shape (n, words)."""
    octets = np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=num_spins, bitorder="little")
    return bits.astype(np.int8) * np.int8(2) - np.int8(1)


def pack(states: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Words, shape (n, words), of states of spins -1 and +1, int8 of shape (n, num_spins)."""
    octets = np.zeros((len(states), 8 * code_words(states.shape[1])), dtype=np.uint8)
    bits = np.packbits(states > 0, axis=1, bitorder="little")
    octets[:, : bits.shape[1]] = bits
    return octets.view("<u8").astype(np.uint64)


#: Facts that are part of a spectrum's plain data.
_TOLD = ("method", "states_per_second", "seconds", "device", "seed", "stopped")


class Informed(Plain):
    """A result with facts about its computation in ``info``, which cannot be changed."""

    info: Mapping[str, Any]

    @property
    def method(self) -> str:
        """What found it."""
        return str(self.info["method"])

    @property
    def device(self) -> str:
        """Where it was found, in words."""
        return str(self.info["device"])

    @property
    def seconds(self) -> float:
        """Wall-clock time."""
        return float(self.info["seconds"])

    @property
    def stopped(self) -> str:
        """What cut the call short: "time_limit", "SIGINT" or "SIGTERM"; "" if nothing did."""
        return str(self.info["stopped"])

    @property
    def seed(self) -> int | None:
        """With which the call can be repeated; None where nothing is drawn."""
        return self.info.get("seed")

    def __getstate__(self) -> dict[str, Any]:
        # A mapping proxy does not pickle.
        return {**vars(self), "info": dict(vars(self)["info"])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, info=MappingProxyType(state["info"]))


@dataclass(frozen=True, eq=False)
class Spectrum(Informed):
    """States of lowest energy, in order of energy and then of the integer ``sum((s_i + 1)/2 * 2**i)``.

    Attributes
    ----------
    energies : float64, shape (S,)
        Exact energies, rounded once.
    states : int8, shape (S, N)
        Spins, -1 or +1.
    levels : sequence of Level
        Distinct energies with their counts.
    gap : float or None
        Energy of the second level above the first, exact and rounded once; None with one level.
    certified : bool
        Whether these are proven to be the lowest states.
    labels : tuple
        Names of the spins.
    lower_bound : float
        No state of the model has a lower energy; the ground energy where that is proven.
    info : mapping
        Facts about the computation: ``method``, ``device``, ``seconds``, ``states_per_second``,
        ``candidates`` and more. ``parts`` are those that were searched, where spins were taken out before
        or the model falls apart: a pair each, of the number of spins and the method's name.

    Examples
    --------
    >>> import hardscape
    >>> found = hardscape.spectrum({(0, 1): -1.0, (1, 2): -1.0}, 4)
    >>> found.energies.tolist(), found.certified
    ([-2.0, -2.0, 0.0, 0.0], True)
    >>> found.states[:2].tolist(), found.bit_strings()[:2]
    ([[-1, -1, -1], [1, 1, 1]], ['000', '111'])
    >>> found.gap
    2.0
    """

    COLUMNS: ClassVar[str] = "energies states"

    energies: NDArray[np.float64]
    states: NDArray[np.int8]
    levels: Sequence[Level]
    gap: float | None
    certified: bool
    labels: tuple[Hashable, ...] = ()
    lower_bound: float = -math.inf
    info: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def from_states(
        cls,
        model: Ising,
        states: NDArray[np.int8],
        num_states: int,
        *,
        certified: bool,
        info: Mapping[str, Any],
    ) -> Self:
        """Evaluate, sort and cut arbitrary states of `model`, repeated ones counted once.

        Parameters
        ----------
        model : Ising
        states : int8, shape (n, N)
        num_states : int
            How many to keep.
        certified : bool
            Whether the caller knows that no lower state is missing.
        info : mapping
        """
        unique = np.unique(np.ascontiguousarray(states, dtype=np.int8), axis=0)
        words = model.exact.words(unique)
        order = spectral_order(words, unique)
        # One state more than wanted tells whether the last level is cut.
        return cls.from_sorted(
            model,
            unique[order],
            words[order],
            num_states,
            certified=certified,
            info=info,
        )

    @classmethod
    def from_sorted(
        cls,
        model: Ising,
        states: NDArray[np.int8],
        words: NDArray[np.uint64],
        num_states: int,
        *,
        certified: bool,
        info: Mapping[str, Any],
        lower_bound: int | None = None,
    ) -> Self:
        """Build from states in spectral order with their exact energies.

        If `certified`, no state outside the list has an energy at or below its last one, so that the
        last level is complete unless `num_states` cuts it. Else no state lies below `lower_bound`, an
        exact integer.
        """
        exact = model.exact
        kept = words[:num_states]
        changes = np.flatnonzero((kept[1:] != kept[:-1]).any(axis=1)) + 1
        starts = np.concatenate([[0], changes]) if len(kept) else np.empty(0, dtype=np.intp)
        counts = np.diff(np.append(starts, len(kept)))
        cut_short = len(words) > len(kept) and bool((words[len(kept)] == kept[-1]).all())
        energies = exact.round(kept)
        complete = np.full(len(counts), certified)
        if cut_short:
            complete[-1] = False
        levels = Levels(energies[starts], counts, complete)
        gap = None
        if len(starts) > 1:
            ground, excited = from_limbs(kept[starts[:2]])
            gap = float(exact.round(to_limbs([excited - ground], exact.limbs))[0])
        return cls(
            energies,
            states[:num_states],
            levels,
            gap,
            certified,
            model.labels,
            float(energies[0]) if certified and len(energies) else _bound(exact, lower_bound),
            MappingProxyType(dict(info)),
        )

    @property
    def num_states(self) -> int:
        """Number of states listed."""
        return len(self.energies)

    @property
    def num_spins(self) -> int:
        """Number of spins N."""
        return int(self.states.shape[1])

    @property
    def bounds(self) -> NDArray[np.float64]:
        """How far it was known, and when: rows of seconds, lowest energy met, proven lower bound.

        Of calls that took longer than some 0.3 seconds; the last row is the end.
        """
        rows = [tuple(row) for row in self.info.get("bounds") or ()]
        if self.num_states:
            rows.append((self.seconds, float(self.energies[0]), self.lower_bound))
        closing = np.array(rows, dtype=np.float64).reshape(-1, 3)
        np.minimum.accumulate(closing[:, 1], out=closing[:, 1])
        np.maximum.accumulate(closing[:, 2], out=closing[:, 2])
        return closing

    @property
    def ground_states(self) -> NDArray[np.int8]:
        """All listed states of the lowest level, shape (g, N)."""
        return self.states[: self.levels[0].count] if self.levels else self.states

    def bit_strings(self) -> list[str]:
        """States as strings of 0 and 1: character i is spin i, 1 for +1."""
        digits = np.where(self.states > 0, ord("1"), ord("0")).astype(np.uint8)
        return [row.tobytes().decode("ascii") for row in digits]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``to_json`` writes."""
        return self.listed(
            "num_spins num_states energies states levels gap certified lower_bound bounds labels",
            states=self.bit_strings(),
            labels=[x if isinstance(x, str | int) else repr(x) for x in self.labels],
            levels=[
                {"energy": x.energy, "count": x.count, "complete": x.complete} for x in self.levels
            ],
        ) | {key: self.info.get(key) for key in _TOLD}

    def to_dimod(self) -> Any:
        """Return a ``dimod.SampleSet`` (SPIN); its info has `certified` and `lower_bound`, too."""
        dimod = needed("dimod", "dimod", "dimod", "Spectrum.to_dimod")
        return dimod.SampleSet.from_samples(
            (self.states, list(self.labels)),
            vartype="SPIN",
            energy=self.energies,
            info=dict(self.info, certified=self.certified, lower_bound=self.lower_bound),
            sort_labels=False,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the levels with their degeneracies; returns the matplotlib axes."""
        from hardscape.ising.plots import draw_levels

        return draw_levels(self, ax)

    def plot_bounds(self, ax: Any = None) -> Any:
        """Draw the lowest energy met and the proven lower bound against time; returns the matplotlib axes."""
        from hardscape.ising.plots import draw_bounds

        return draw_bounds(self, ax)

    def __repr__(self) -> str:
        if not self.levels:
            return f"<Spectrum: no states, certified={self.certified}>"
        ground = self.levels[0]
        return (
            f"<Spectrum: {self.num_states} states of {self.num_spins} spins, "
            f"E0={ground.energy!r} (x{ground.count}), gap={self.gap!r}, certified={self.certified}>"
        )


def _bound(exact: ExactTerms, known: int | None) -> float:
    """A lower bound of all energies, rounded down; without a known one that of the coefficients' sizes."""
    least = exact.offset + abs(exact.offset) - exact.bound
    bound = least if known is None else max(least, known)
    value = float(exact.floats([bound])[0])
    above = Fraction(value) > bound * Fraction(2) ** exact.exponent
    return math.nextafter(value, -math.inf) if above else value
