"""QUBO files of MQLib: ``n m``, then ``i j q`` of a symmetric matrix; maximised."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hardscape.files import Source, plain_name
from hardscape.ising.formats.biqmac import form
from hardscape.ising.formats.text import counts
from hardscape.ising.model import Ising

NAME = "mqlib"
SUFFIXES = ()
READS = (".qubo",)
DESCRIPTION = "a QUBO of MQLib: 'n m', then 'i j q' of a symmetric matrix, maximised"
MEMORY = 45


def sniff(source: Source) -> bool:
    """Whether there is a header of two numbers in a file ``.qubo``: others are of the Biq Mac library."""
    return plain_name(Path(source.path)).endswith(READS) and counts(source, 2)


def read(source: Source, *, base: Literal[0, 1] = 1) -> Ising:
    """Read E(q) = -q^T Q q, where one line ``i j x`` stands for both Q[i, j] and Q[j, i]."""
    return form(source, base, -1)
