"""A formula as the walks on a GPU read it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Kernel
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.walk import break_weights

__all__ = ["WalkTables", "fits", "walk_kernels"]

#: Literals, clauses, and occurrences of a literal are 16-bit numbers.
_MOST = 2**16
#: Occurrences that a walk fetches before it looks at the first.
_AHEAD = 24
#: NVRTC has no standard library; this is what the shared headers need of it.
_CSTDINT = """#pragma once
namespace std {
using uint8_t = unsigned char;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
}
"""


def fits(formula: Formula) -> bool:
    """Whether walks on a GPU can take a presolved formula: clauses of 1 to 3 literals, sizes of 16 bits."""
    lengths = np.diff(formula.offsets)
    return (
        0 < formula.num_clauses < _MOST
        and 2 * formula.num_variables + 1 < _MOST
        and int(lengths.min()) >= 1
        and int(lengths.max()) <= 3
    )


@dataclass(frozen=True, eq=False)
class WalkTables:
    """Literal 2 v is variable v, 2 v + 1 its negation; literal 2 n, which is never true, fills up.

    Attributes
    ----------
    clause : uint16, shape (m, 4)
        Three literals of each clause.
    occurrences : uint32, shape (n, 2)
        Where each variable's occurrences begin; how many are positive, and in the upper half negative.
    others : uint32, shape (nnz,)
        The two other literals of each occurrence.
    clause_of : uint16, shape (nnz,)
    weights : uint32, shape (256,)
        By break count.
    """

    clause: NDArray[np.uint16]
    occurrences: NDArray[np.uint32]
    others: NDArray[np.uint32]
    clause_of: NDArray[np.uint16]
    weights: NDArray[np.uint32]

    @classmethod
    def of(cls, formula: Formula) -> WalkTables:
        """Tables of a presolved formula that `fits`."""
        n, m = formula.num_variables, formula.num_clauses
        lengths = np.diff(formula.offsets)
        owner = np.repeat(np.arange(m), lengths)
        inside = np.arange(len(owner)) - formula.offsets[owner]
        codes = 2 * (np.abs(formula.literals) - 1) + (formula.literals < 0)
        clause = np.full((m, 4), 2 * n, dtype=np.uint16)
        clause[owner, inside] = codes
        # Occurrences literal by literal, in the order of the clauses.
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=2 * n)
        first = np.cumsum(counts) - counts
        rows, places = owner[order], inside[order]
        pairs = [clause[rows, (places + 1) % 3], clause[rows, (places + 2) % 3]]
        return cls(
            clause,
            np.stack([first[::2], counts[::2] | counts[1::2] << 16], axis=1).astype(np.uint32),
            pairs[0].astype(np.uint32) | pairs[1].astype(np.uint32) << 16,
            rows.astype(np.uint16),
            break_weights(len(codes) / max(1, m)),
        )

    @property
    def stride(self) -> int:
        """Entries of the list of violated clauses, of which a lane reads four at a time."""
        return -(-len(self.clause) // 4) * 4

    @property
    def words(self) -> int:
        """Words of 32 bits that hold the truth of all literals, and of the one that is never true."""
        return len(self.occurrences) // 16 + 1


def walk_kernels(
    *, group: int, threads: int, listed: int, resident: int = 1024
) -> tuple[Kernel, Kernel]:
    """The kernels that set up and run the walks, as data.

    Parameters
    ----------
    group : int
        Lanes of a walk: 4, 8, 16 or 32.
    threads : int
        Threads of a block.
    listed : int
        Violated clauses of a walk that shared memory holds; a multiple of 4.
    resident : int
        Threads of a multiprocessor for which there should be registers.
    """
    sizes = "\n".join(
        [
            "#pragma once",
            f"constexpr int kGroup = {group}, kThreads = {threads}, kListed = {listed};",
            f"constexpr unsigned kGroupMask = {(1 << group) - 1}u;",
            f"constexpr int kResident = {resident}, kAhead = {-(-_AHEAD // group)};",
            "",
        ]
    )
    package = files("hardscape")
    headers = (
        ("cstdint", _CSTDINT),
        ("native/random.hpp", (package / "native" / "random.hpp").read_text("utf-8")),
        ("maxsat/walker.hpp", (package / "maxsat" / "walker.hpp").read_text("utf-8")),
        ("sizes.cuh", sizes),
    )
    source = (package / "maxsat" / "walkers" / "kernel.cu").read_text("utf-8")
    return Kernel("walk_start", source, headers), Kernel("walk_run", source, headers)
