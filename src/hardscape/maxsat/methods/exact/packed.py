"""A formula as the process of a prover reads it."""

from __future__ import annotations

import json
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.exact.pace import programs_first


def file_of(formula: Formula, *, check: bool) -> IO[bytes]:
    """A formula in a file without a name, ready to be read, with clauses that break symmetries."""
    import tempfile  # takes milliseconds, and most problems need none

    from hardscape.maxsat.methods.symmetry.breaking import breaking

    arrays: dict[str, NDArray[Any]] = {
        "literals": np.asarray(formula.literals, dtype=np.int32),
        "offsets": np.asarray(formula.offsets, dtype=np.int64),
        "weights": np.asarray(formula.weights, dtype=np.uint64),
        "hard": np.asarray(formula.hard, dtype=np.uint8),
    }
    sizes: dict[str, Any] = {name: len(values) for name, values in arrays.items()}
    sizes |= {"variables": formula.num_variables, "counted": programs_first(formula)}
    sizes |= {"breaking": breaking(formula, check=check)}
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(json.dumps(sizes).encode() + b"\n")
    for values in arrays.values():
        file.write(values.tobytes())
    file.seek(0)
    return file
