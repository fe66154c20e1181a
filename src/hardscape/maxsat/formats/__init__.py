"""Files of MAX-SAT formulas: DIMACS CNF, WCNF, OPB and WBO, read and written.

cnf
    ``p cnf n m``, then literals, 0 after each clause; all soft, weight 1.
wcnf
    Since 2022: no header, each line ``h`` or a weight, literals, 0. Before: ``p wcnf n m top``, each line
    a weight (``top``: hard), literals, 0; without ``top`` all clauses are soft. A first line ``c variables n``
    without a header, as written here, tells of variables after the last that occurs.
    Lines of WCNFPlus (python-sat, MiniCard) demand limits: ``h 1 -2 3 <= 2``, ``h w 2*1 3*-2 >= 4``; what the
    clauses for them need are variables after all others.
opb
    Linear constraints over Booleans ``+1 x1 -2 ~x2 >= 1 ;``, also with ``=``, ``<=`` and products ``3 x1 x2``,
    and an objective ``min: ... ;`` or ``max: ... ;``; or, in WBO files, prices ``[5]`` before constraints and
    a limit ``soft: 9 ;`` that the sum of those paid stays below. They become clauses; the cost and the
    formula's `offset` are the objective, its sign turned for ``max``. What is written has the same costs.

The content tells CNF from WCNF, not the name. A further suffix .gz, .xz or .bz2 stands for compression, and the
path ``-`` for standard input or output. Lines that start with ``c``, or with ``*`` in OPB files, are comments,
anywhere. Clauses may go over several lines, and in CNF files several may share one; a line ``%`` ends the file,
as in SATLIB. Where a header disagrees with the clauses, the clauses count, and a `FormatWarning` says so.
Some 100 MB/s are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardscape.formats import Formats
from hardscape.maxsat.formats.wcnf import FormatWarning

if TYPE_CHECKING:
    from hardscape.maxsat.formula import Formula

__all__ = ["FORMATS", "FormatWarning", "read", "write"]

#: The modules of formats by name.
FORMATS: Formats[Formula] = Formats(__name__)

read, write = FORMATS.read, FORMATS.write
