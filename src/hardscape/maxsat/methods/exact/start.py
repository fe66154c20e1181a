"""How the process of a prover is started, and the formula told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardscape.maxsat.formula import Formula

#: What it runs: without `site`, which only looks for the packages that are known here, and the modules that lie
#: where it is called; and as a module, which is compiled once.
_PROGRAM, _FOLDER = "from prover.main import main; main()", str(Path(__file__).parent)


def started(
    descriptor: int = -1, number: int = 0, *, check: bool = False
) -> subprocess.Popen[bytes]:
    """A prover of the formula behind a file descriptor, or of what it is told; see `prover`."""
    arguments = map(str, (descriptor, number, int(check), os.getpid()))
    return subprocess.Popen(
        [sys.executable, "-SP", "-c", _PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[] if descriptor < 0 else [descriptor],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([_FOLDER, *filter(None, sys.path)])},
        # A signal of the terminal is for this process, which then ends the other.
        start_new_session=True,
    )


def file_of(formula: Formula, *, asymmetric: bool) -> IO[bytes]:
    """A formula in a file without a name, ready to be read; `asymmetric` with clauses that break symmetries."""
    import tempfile  # takes milliseconds, and most problems need none

    from hardscape.maxsat.methods.symmetry.breaking import breaking

    arrays: dict[str, NDArray[Any]] = {
        "literals": np.asarray(formula.literals, dtype=np.int32),
        "offsets": np.asarray(formula.offsets, dtype=np.int64),
        "weights": np.asarray(formula.weights, dtype=np.uint64),
        "hard": np.asarray(formula.hard, dtype=np.uint8),
    }
    sizes: dict[str, Any] = {name: len(values) for name, values in arrays.items()}
    sizes |= {"variables": formula.num_variables}
    sizes |= {"breaking": breaking(formula) if asymmetric else []}
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(json.dumps(sizes).encode() + b"\n")
    for values in arrays.values():
        file.write(values.tobytes())
    file.seek(0)
    return file
