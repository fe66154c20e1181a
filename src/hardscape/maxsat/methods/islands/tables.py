"""A formula as the walks on a GPU read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel, kernel
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.weighting.walk import MANY_EXPONENT, break_weights

#: Literals, occurrences, and occurrences of one literal are numbers of so many bits.
_LITERAL_BITS, _PLACE_BITS, _COUNT_BITS = 15, 18, 14
#: Entries that are read behind all occurrences.
_BEHIND = 32
#: Bits that say which place in its clause an occurrence has.
_PLACES = np.array([0, 1 << 15, 1 << 31], dtype=np.uint32)


def fits(formula: Formula) -> bool:
    """Whether walks on a GPU can take a presolved formula.

    Clauses of 1 to 3 literals, up to 16,383 variables, 262,143 literals, and 16,383 occurrences of one.
    """
    if not formula.num_clauses or 2 * formula.num_variables >= 2**_LITERAL_BITS:
        return False
    lengths = np.diff(formula.offsets)
    return (
        int(lengths.min()) >= 1
        and int(lengths.max()) <= 3
        and len(formula.literals) < 2**_PLACE_BITS
        and int(np.bincount(_codes(formula)).max()) < 2**_COUNT_BITS
    )


def _codes(formula: Formula) -> NDArray[np.int64]:
    return 2 * (np.abs(formula.literals.astype(np.int64)) - 1) + (formula.literals < 0)


@dataclass(frozen=True, eq=False)
class WalkTables:
    """Literal 2 v is variable v, 2 v + 1 its negation; literal 2 n, which is never true, fills up."""

    clause: NDArray[np.uint16]  # three literals of each clause, shape (m, 4)
    #: Of each literal: where the occurrences of its negation begin, and from bit 18 on how many there are.
    rows: NDArray[np.uint32]
    #: The two other literals of each occurrence, in the cyclic order of the clause, in bits 0 to 14 and 16
    #: to 30; bit 15 or bit 31 says that its place in the clause is 1 or 2, not 0. Shape (nnz + 32,).
    others: NDArray[np.uint32]
    weights: NDArray[np.uint32]  # by break count, shape (256,)
    uniform: bool  # whether every clause has three literals

    @classmethod
    def of(cls, formula: Formula, weights: NDArray[np.uint32] | None = None) -> WalkTables:
        """Tables of a presolved formula that `fits`; weights by default those for many walks at once."""
        n, m = formula.num_variables, formula.num_clauses
        lengths = np.diff(formula.offsets)
        codes = _codes(formula).astype(np.uint16)  # sorted by radix
        there = np.arange(3) < lengths[:, None]
        clause = np.full((m, 4), 2 * n, dtype=np.uint16)
        clause[:, :3][there] = codes
        three = clause[:, :3].astype(np.uint32)
        pairs = three[:, [1, 2, 0]] | three[:, [2, 0, 1]] << 16 | _PLACES
        # Occurrences literal by literal, in the order of the clauses.
        others = pairs[there][np.argsort(codes, kind="stable")]
        counts = np.bincount(codes, minlength=2 * n + 2)
        first = np.cumsum(counts) - counts
        negations = np.arange(2 * n + 2) ^ 1
        return cls(
            clause,
            (first | counts << _PLACE_BITS)[negations].astype(np.uint32),
            # Lanes without an occurrence read behind the others.
            np.append(others, np.zeros(_BEHIND, dtype=np.uint32)),
            break_weights(len(codes) / m, MANY_EXPONENT) if weights is None else weights,
            bool((lengths == 3).all()),
        )

    @property
    def num_variables(self) -> int:
        """Variables of the formula."""
        return len(self.rows) // 2 - 1

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels read, in their order."""
        return self.clause, self.rows, self.others, self.weights

    @property
    def sizes(self) -> tuple[int, ...]:
        """Variables, clauses; entries of `others`, places of a list; most occurrences of a literal."""
        n, m = self.num_variables, len(self.clause)
        longest = int(self.rows.max()) >> _PLACE_BITS
        return n | m << 32, len(self.others) | self.places << 32, longest

    @property
    def places(self) -> int:
        """Places of a list of violated clauses, of which a warp reads 32 at a time."""
        return -(-len(self.clause) // 32) * 32

    @property
    def words(self) -> int:
        """Words of 32 bits that hold the truth of all literals, and of the one that is never true."""
        return len(self.rows) // 32 + 1

    @property
    def cached_bytes(self) -> int:
        """Bytes of shared memory for what a flip reads."""
        return self.rows.nbytes + self.others.nbytes


def walk_kernels(
    *, threads: int, cached: bool, uniform: bool, synchronous: bool
) -> dict[str, Kernel]:
    """The kernels that set up walks, run them, and let them take over assignments, as data.

    `threads` are those of a block, a warp of 32 for each walk; `cached` if shared memory holds the formula;
    `uniform` if every clause has three literals. A step flips several variables if `synchronous`, else one.
    """
    constants = {
        "kThreads": threads,
        "kCached": cached,
        "kThree": uniform,
        "kSynchronous": synchronous,
    }
    return {
        name: kernel("maxsat/methods/islands/walks.cu", f"walk_{name}", constants=constants)
        for name in ("start", "run", "adopt")
    }
