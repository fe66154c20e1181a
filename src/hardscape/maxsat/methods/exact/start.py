"""How the process of a prover is started; numbers are not imported, which takes longer than that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: What it runs: without `site`, which only looks for the packages that are known here, and the modules that lie
#: where it is called; and as a module, which is compiled once.
_PROGRAM, _FOLDER = "from prover.main import main; main()", str(Path(__file__).parent)


def started(
    descriptor: int = -1, number: int = 0, *, check: bool = False
) -> subprocess.Popen[bytes]:
    """A prover of the formula behind a file descriptor, or of what it is told; see `prover`."""
    arguments = map(str, (descriptor, number, int(check), os.getpid()))
    # What finds the compiled parts of a package that is worked on where it lies; `site` would import it.
    finders = {type(finder).__module__ for finder in sys.meta_path}
    editable = [f"import {name}; " for name in finders if name.startswith("_editable_")]
    return subprocess.Popen(
        [sys.executable, "-SP", "-c", "".join(editable) + _PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[] if descriptor < 0 else [descriptor],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([_FOLDER, *filter(None, sys.path)])},
        # A signal of the terminal is for this process, which then ends the other.
        start_new_session=True,
    )
