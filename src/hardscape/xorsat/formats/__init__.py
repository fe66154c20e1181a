r"""Files of XOR systems: reading, writing and telling the formats apart.

Each format is a module here, which `hardscape.formats` finds; :data:`FORMATS` lists them. A further suffix
.gz, .xz or .bz2 stands for compression, and the path ``-`` for standard input or output.

xcnf, cnf
    ``p cnf variables clauses``, then clauses that end in 0, variables counted from 1. ``x1 2 -3 0``
    says that the XOR of its literals is true: x1 + x2 + (1 + x3) = 1. Ordinary clauses are accepted
    where they come in groups of 2^(k-1) over the same k variables that together exclude every
    assignment of one parity, which is a XOR; the group stands where its first clause stood. Comments
    start with ``c``; a line ``%`` ends the file, as in SATLIB's. A XOR that has cancelled
    to 0 = 0 or 0 = 1 is written ``x1 -1 0`` or ``x1 1 0``.
qh
    Spins counted from 1, fields at i = j, :math:`E = \sum J s s + \sum h s` with
    :math:`s = 1 - 2x`. The first half are the variables, the second half one ancilla a clause of
    three; a comment ``# hardscape variables=N clauses=M`` says otherwise. The clause of an ancilla
    are its three neighbours, and :math:`s_1 s_2 s_3 = -h_a J_a / 4`. Every field and coupling is
    checked (see :class:`hardscape.xorsat.QuadraticModel`).
"""

from __future__ import annotations

from hardscape.formats import Formats
from hardscape.xorsat.system import XorSystem

__all__ = ["FORMATS", "read", "write"]

#: The modules of formats by name.
FORMATS: Formats[XorSystem] = Formats(__name__)

read, write = XorSystem.from_file, XorSystem.to_file
