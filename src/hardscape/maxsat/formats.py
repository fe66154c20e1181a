"""Files of MAX-SAT formulas: DIMACS CNF and WCNF, read and written.

==========  ========  ==================================================================
format      suffix    clauses
==========  ========  ==================================================================
CNF         .cnf      ``p cnf n m``, then literals, 0 after each clause; all soft, weight 1
WCNF        .wcnf     since 2022: no header, each line ``h`` or a weight, literals, 0
old WCNF    .wcnf     ``p wcnf n m top``, each line a weight (``top``: hard), literals, 0
==========  ========  ==================================================================

The content tells the format, not the name. A further suffix .gz or .xz stands for compression.
Lines that start with ``c`` are comments, anywhere. Clauses may go over several lines, and in CNF files
several may share one; a line ``%`` ends the file, as in SATLIB. Old WCNF headers without ``top``
have only soft clauses. Where a header disagrees with the clauses, the clauses count, and a
`FormatWarning` says so.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from hardscape import native
from hardscape.errors import InputError
from hardscape.files import load, path_of, plain_name, store
from hardscape.maxsat.formula import Formula

__all__ = ["FormatWarning", "read", "write"]


class FormatWarning(UserWarning):
    """A file's header disagrees with its clauses."""


def read(path: str | Path) -> Formula:
    """Read a CNF or WCNF file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Formula
        The clauses in the file's order, as they stand there.

    Raises
    ------
    FormatError
        If the file is missing, unreadable or malformed; with path and line.

    Warns
    -----
    FormatWarning
        If the header announces other numbers than the file holds.

    Notes
    -----
    Some 100 MB/s; cost O(size of the file).
    """
    source = load(path)
    found = native.core.maxsat.parse_wcnf(source.data)
    if len(found) == 2:
        line, reason = found
        raise source.error(line or None, reason)
    variables, literals, offsets, weights, hard, doubts = found
    for doubt in doubts:
        warnings.warn(f"{source.path}:{doubt}", FormatWarning, stacklevel=2)
    return Formula(variables, literals, offsets, weights, hard.view(np.bool_))


def write(formula: Formula, path: str | Path) -> None:
    """Write a formula so that :func:`read` gives the same clauses back in the same order.

    Parameters
    ----------
    formula : Formula
    path : str or Path
        Ends in .cnf, for soft clauses of weight 1 alone, or in .wcnf, which is written in the format
        of 2022 with a comment ``c variables n``; then perhaps in .gz or .xz. The number of variables
        is only kept as far as they occur, except in .cnf.

    Raises
    ------
    InputError
        If the suffix is another one, the format cannot hold the formula, or the file cannot be
        written. A file that was there before is then still there.
    """
    place = path_of(path)
    kind = Path(plain_name(place)).suffix
    if kind == ".cnf":
        if formula.num_hard or (formula.weights != 1).any():
            raise InputError(f"{place}: a .cnf file holds soft clauses of weight 1; write .wcnf")
        head = f"p cnf {formula.num_variables} {formula.num_clauses}\n"
        marks = [""] * formula.num_clauses
    elif kind == ".wcnf":
        head = f"c variables {formula.num_variables}\n"
        marks = [
            "h " if firm else f"{weight} "
            for firm, weight in zip(formula.hard.tolist(), formula.weights.tolist(), strict=True)
        ]
    else:
        raise InputError(f"{place} ends neither in .cnf nor in .wcnf, with .gz or .xz or without")
    literals, offsets = formula.literals.tolist(), formula.offsets.tolist()
    lines = [head]
    for mark, begin, end in zip(marks, offsets, offsets[1:], strict=False):
        lines.append(f"{mark}{' '.join(map(str, [*literals[begin:end], 0]))}\n")
    store(place, "".join(lines).encode())
