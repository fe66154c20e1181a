"""The focused random walk for formulas without weights: probSAT."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Weights are integers, the largest of them this; three of them fit 32 bits.
_SCALE = 2**27
#: Base of the exponential weight for clauses of 4, 5, 6, and 7 or more literals.
_BASES = (3.0, 3.7, 5.0, 5.4)
#: Offset and exponent of the polynomial weight for clauses of up to 3 literals.
_OFFSET, _EXPONENT = 0.9, 2.06
#: Exponents of a walk alone, whose time is seconds, and of many at once: they find out sooner where
#: greed leads.
ONE_EXPONENT, MANY_EXPONENT = 2.2, 2.3
#: That of a walk alone on random clauses of three literals, so many for each variable that hardly any such
#: formula is satisfiable.
FULL_EXPONENT, FULL = 2.6, 4.3
#: Break counts that have a weight of their own.
_COUNTS = 256


def break_weights(
    longest: float, exponent: float = _EXPONENT, greedier: float = 1.0
) -> NDArray[np.uint32]:
    r"""How likely a variable is to be flipped, by the number b of clauses that the flip would violate.

    Proportional to :math:`(0.9 + b)^{-e}` where a clause has typically up to 3 literals, e the exponent, and
    to :math:`c_k^{-b}` above, at least 1; the last is for all larger b. These are the functions and constants
    of probSAT (A. Balint and U. Schoening, SAT 2012, LNCS 7317, 16), or such a power of them.
    """
    b = np.arange(_COUNTS, dtype=np.float64)
    if longest <= 3.5:
        weight = (1 + b / _OFFSET) ** -exponent
    else:
        base = _BASES[min(round(longest) - 4, len(_BASES) - 1)]
        weight = base**-b
    return np.maximum(1, np.rint(_SCALE * weight**greedier)).astype(np.uint32)
