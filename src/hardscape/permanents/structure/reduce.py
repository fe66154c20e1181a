r"""Structure first: what a matrix's zeros say about its permanent, exactly.

A nonzero entry (i, j) matters only if it is in a *perfect matching* of rows with columns, a choice
of one nonzero entry in each row and each column. With any perfect matching at hand, let row i point
to the rows whose matched columns hold nonzero entries of row i. The strongly connected components
of this digraph are the diagonal blocks of the fine Dulmage-Mendelsohn decomposition (A. L. Dulmage
and N. S. Mendelsohn, Can. J. Math. 10, 517 (1958); A. Pothen and C.-J. Fan, ACM TOMS 16, 303
(1990)): entries between components are in no perfect matching, and the permanent is the product of
the permanents of the blocks. A row or column with a single nonzero entry is such a block of size 1.

A row with only two nonzero entries a in column j and b in column k goes by expanding along it:
per(A) is the permanent of the matrix without the row and with one column b * A[:, j] + a * A[:, k]
in place of the two (H. Forbert and D. Marx, Comput. Phys. Commun. 150, 267 (2003)). The same holds
for columns. Exact kinds do so always. Floating entries round then, so they do it for large blocks only,
where it saves time, and keep a bound of each entry's error.
"""

from __future__ import annotations

import operator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardscape.errors import InputError
from hardscape.permanents.matrix import ZEROS, Kind, Matrix, Number
from hardscape.permanents.numbers.integers import bits
from hardscape.permanents.numbers.rounding import Rounded, parts_of, rounded_entries

#: Smallest block of floating entries whose lines of two are merged, and merges after which entries of
#: size 1 are still far from the ends of float64.
_MERGED_FROM, _MERGES_IN_RANGE = 20, 200


@dataclass(frozen=True)
class Reductions:
    """How often each reduction was applied.

    Attributes
    ----------
    zero_lines : int
        Rows and columns of zeros in the part that made the permanent 0.
    unmatched_rows : int
        Rows that a largest matching leaves over in the part that made the permanent 0.
    dropped_entries : int
        Nonzero entries that are in no perfect matching.
    splits : int
        Blocks gained by falling apart: one part that becomes three counts 2.
    single_entries : int
        1x1 blocks, taken out as scalar factors.
    merged_rows, merged_columns : int
        Rows (columns) with two nonzero entries, expanded; each makes the matrix smaller by one.
    expanded_lines : int
        Rows and columns of three or four entries along which a block became a sum of two.

    Examples
    --------
    >>> import numpy as np
    >>> import hardscape
    >>> matrix = np.kron(np.eye(3), np.random.default_rng(1).normal(size=(4, 4)))
    >>> found = hardscape.permanent(matrix, full_output=True)
    >>> isinstance(found.reductions.splits, int)
    True
    """

    zero_lines: int = 0
    unmatched_rows: int = 0
    dropped_entries: int = 0
    splits: int = 0
    single_entries: int = 0
    merged_rows: int = 0
    merged_columns: int = 0
    expanded_lines: int = 0

    def __add__(self, other: Reductions) -> Reductions:
        return Reductions(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left of a matrix: per(A) = 2**exponent * prod(factors) * prod(per(block))."""

    kind: Kind
    #: Entries of the matrix or of a merged one. A single 0 if the permanent is 0 by structure. Not
    #: multiplied, so that floating factors neither round nor overflow here.
    factors: tuple[Number | Rounded, ...]
    #: Square, of size 2 or more, with the entries' type of `Matrix`. Each is fully indecomposable,
    #: and for exact kinds has three nonzero entries or more in each row and column.
    blocks: tuple[NDArray[Any], ...]
    #: Bounds of the errors of each block's entries; None where nothing was rounded.
    errors: tuple[NDArray[np.float64] | None, ...]
    exponent: int  #: not 0 only where entries were rounded
    reductions: Reductions


def reduce(matrix: Matrix, *, merge: bool = True) -> Reduced:
    """Split a square matrix into scalar factors and irreducible blocks.

    Floating lines of two entries are merged in large blocks and if `merge`, exact ones always. Matching
    takes O(n) row visits for each of n rows at worst, of n/64 words each; the components take O(n) such
    visits; a merge costs the entries of the two columns. It is repeated until nothing changes. Merged entries
    of exact kinds grow as the permanent does.
    """
    if matrix.is_batch or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"matrix has shape {matrix.entries.shape}; one square matrix is accepted")
    return reduce_entries(matrix.entries, matrix.kind, merge=merge)


def reduce_entries(entries: NDArray[Any], kind: Kind, *, merge: bool = True) -> Reduced:
    """The same for square entries of a kind; floating ones may be `Rounded`."""
    counts: dict[str, int] = {}
    factors: list[Number | Rounded] = []
    blocks: list[NDArray[Any]] = []
    errors: list[NDArray[np.float64] | None] = []
    exact = kind not in ("real", "complex")
    dtype = np.dtype({"real": np.float64, "complex": np.complex128}.get(kind, object))
    exponent = 0
    pending = [entries]
    while pending:
        part = pending.pop()
        components = _components(part, counts)
        if components is None:
            return Reduced(kind, (ZEROS[kind],), (), (), 0, Reductions(**counts))
        for block in components:
            if len(block) == 1:
                _add(counts, "single_entries", 1)
                factors.append(block.item())
                continue
            smaller = block
            if exact:
                smaller = _merged(block, counts, len(block))
            elif merge and can_merge(block):
                block, power = rounded_entries(block, dtype)
                exponent += power
                smaller = _merged(block, counts, _MERGES_IN_RANGE)
            if len(smaller) < len(block):
                pending.append(smaller)
            else:
                plain, error = parts_of(block, dtype)
                blocks.append(plain)
                errors.append(error)
    found = tuple(factors), tuple(blocks), tuple(errors)
    return Reduced(kind, *found, exponent, Reductions(**counts))


def _add(counts: dict[str, int], name: str, number: int) -> None:
    counts[name] = counts.get(name, 0) + number


def _components(part: NDArray[Any], counts: dict[str, int]) -> list[NDArray[Any]] | None:
    """The diagonal blocks of the fine decomposition, or None if the permanent is 0."""
    support = part.astype(bool)
    zero_lines = int((~support.any(axis=0)).sum() + (~support.any(axis=1)).sum())
    _add(counts, "zero_lines", zero_lines)
    if zero_lines:
        return None
    rows = masks_of(support)
    column_of = matching(rows)
    unmatched = column_of.count(-1)
    _add(counts, "unmatched_rows", unmatched)
    if unmatched:
        return None
    matched = support[:, column_of]  # entry (i, r): row i points to row r
    groups = strong(masks_of(matched), masks_of(matched.T))
    if len(groups) <= 1:
        return [part] if len(part) else []
    blocks = [part[np.ix_(group, sorted(column_of[row] for row in group))] for group in groups]
    inside = sum(int(np.asarray(block != 0, dtype=bool).sum()) for block in blocks)
    _add(counts, "dropped_entries", int(support.sum()) - inside)
    _add(counts, "splits", len(blocks) - 1)
    return blocks


def masks_of(lines: NDArray[np.bool_]) -> list[int]:
    """The True positions of each line as bits of one integer."""
    packed = np.packbits(lines, axis=1, bitorder="little")
    return [int.from_bytes(line.tobytes(), "little") for line in packed]


def matching(rows: list[int]) -> list[int]:
    """A largest matching by breadth-first augmenting paths: the column of each row, or -1.

    A row from which no augmenting path starts stays unmatched for good, so one pass is enough.
    """
    column_of = [-1] * len(rows)
    row_of: dict[int, int] = {}
    free = (1 << len(rows)) - 1
    for start in range(len(rows)):
        reached_from: dict[int, int] = {}  # column -> the row that the search reached it from
        unseen = ~0
        queue = [start]
        for row in queue:
            if rows[row] & free:
                column = (rows[row] & free & -(rows[row] & free)).bit_length() - 1
                free ^= 1 << column
                while row != start:
                    previous = column_of[row]
                    column_of[row], row_of[column] = column, row
                    column, row = previous, reached_from[previous]
                column_of[start], row_of[column] = column, start
                break
            for column in bits(rows[row] & unseen):
                reached_from[column] = row
                queue.append(row_of[column])
            unseen &= ~rows[row]
    return column_of


def strong(forward: list[int], backward: list[int]) -> list[list[int]]:
    """Strongly connected components, from bits of successors and predecessors (Kosaraju)."""
    unvisited = (1 << len(forward)) - 1
    finished: list[int] = []
    for root in range(len(forward)):
        path = [root] if unvisited >> root & 1 else []
        unvisited &= ~(1 << root)
        while path:
            onward = forward[path[-1]] & unvisited
            if onward:
                low = onward & -onward
                unvisited ^= low
                path.append(low.bit_length() - 1)
            else:
                finished.append(path.pop())
    unvisited = (1 << len(forward)) - 1
    groups = []
    for root in reversed(finished):
        if not unvisited >> root & 1:
            continue
        unvisited ^= 1 << root
        group = [root]
        for vertex in group:
            onward = backward[vertex] & unvisited
            unvisited ^= onward
            group.extend(bits(onward))
        groups.append(sorted(group))
    return groups


def can_merge(block: NDArray[Any]) -> bool:
    """Whether a floating block is large enough, and has a row or a column of two nonzero entries."""
    if len(block) < _MERGED_FROM:
        return False
    support = np.asarray(block != 0, dtype=bool)
    return bool((support.sum(axis=0) == 2).any() or (support.sum(axis=1) == 2).any())


def _merged(block: NDArray[Any], counts: dict[str, int], most: int) -> NDArray[Any]:
    """Expand up to `most` rows with two entries, then as many columns with two."""
    by_rows = _merge_rows(block, most)
    _add(counts, "merged_rows", len(block) - len(by_rows))
    by_columns = _merge_rows(by_rows.T, most).T
    _add(counts, "merged_columns", len(by_rows) - len(by_columns))
    return by_columns


def _merge_rows(block: NDArray[Any], most: int) -> NDArray[Any]:
    """`block` after expanding along rows with two entries, `most` times or until there is none.

    Only nonzero entries are kept while merging; a merged entry that cancels to 0 leaves too.
    """
    support = block.astype(bool)
    if not (support.sum(axis=1) == 2).any():
        return block
    rows: dict[int, dict[int, Any]] = {i: {} for i in range(len(block))}
    columns: dict[int, set[int]] = {j: set() for j in range(len(block))}
    for i, j in zip(*(places.tolist() for places in np.nonzero(support)), strict=True):
        rows[i][j] = block.item(i, j)
        columns[j].add(i)
    queue = [i for i, line in rows.items() if len(line) == 2]
    while queue and len(block) - len(rows) < most:
        i = queue.pop()
        if len(rows.get(i, ())) != 2:
            continue
        (j, a), (k, b) = rows.pop(i).items()
        touched = (columns.pop(j) | columns[k]) - {i}
        for r in touched:
            value = b * rows[r].pop(j, 0) + a * rows[r].pop(k, 0)
            if value:
                rows[r][k] = value
            if len(rows[r]) == 2:
                queue.append(r)
        columns[k] = {r for r in touched if k in rows[r]}
    place = {j: new for new, j in enumerate(columns)}
    nothing = block.flat[0]
    smaller = np.full((len(rows), len(columns)), nothing - nothing, dtype=object)
    for new, line in enumerate(rows.values()):
        for j, value in line.items():
            smaller[new, place[j]] = value
    return smaller
