"""Files of MAX-SAT formulas: DIMACS CNF and WCNF, read and written.

cnf
    ``p cnf n m``, then literals, 0 after each clause; all soft, weight 1.
wcnf
    Since 2022: no header, each line ``h`` or a weight, literals, 0. Before: ``p wcnf n m top``, each line
    a weight (``top``: hard), literals, 0; without ``top`` all clauses are soft.

The content tells the format, not the name. A further suffix .gz, .xz or .bz2 stands for compression, and the
path ``-`` for standard input or output. Lines that start with ``c`` are comments, anywhere. Clauses may go
over several lines, and in CNF files several may share one; a line ``%`` ends the file, as in SATLIB. Where
a header disagrees with the clauses, the clauses count, and a `FormatWarning` says so.
"""

from __future__ import annotations

from pathlib import Path

from hardscape.formats import Formats
from hardscape.maxsat.formats.wcnf import FormatWarning
from hardscape.maxsat.formula import Formula

__all__ = ["FORMATS", "FormatWarning", "read", "write"]

#: The modules of formats by name.
FORMATS: Formats[Formula] = Formats(__name__)


def read(path: str | Path, *, format: str | None = None) -> Formula:
    """Read a CNF or WCNF file.

    Parameters
    ----------
    path : str or Path
    format : str, optional
        A name in `FORMATS`; the content tells as well.

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
    return FORMATS.read(path, format)


def write(formula: Formula, path: str | Path, *, format: str | None = None) -> None:
    """Write a formula so that :func:`read` gives the same clauses back in the same order.

    Parameters
    ----------
    formula : Formula
    path : str or Path
        Ends in .cnf, for soft clauses of weight 1 alone, or in .wcnf, which is written in the format
        of 2022 with a comment ``c variables n``; then perhaps in .gz, .xz or .bz2. The number of
        variables is only kept as far as they occur, except in .cnf.
    format : str, optional
        A name in `FORMATS`, where the suffix does not tell.

    Raises
    ------
    InputError
        If the suffix is another one, the format cannot hold the formula, or the file cannot be
        written. A file that was there before is then still there.
    """
    FORMATS.write(formula, path, format)
