"""A process that runs python-sat's RC2: ``python -m hardscape.maxsat.methods.exact.rc2_process``.

It lives apart because a call of the SAT solver can neither be interrupted at once nor share the
interpreter. Standard input is a file, an npz archive of the formula. Standard output takes lines of
JSON: ``{"lower": cost}`` whenever the lower bound rises, and at the end ``{"model": "0110..."}``, or
``{"model": null}`` where the hard clauses contradict one another. The process ends with its parent.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from typing import Any

import numpy as np


def main() -> None:
    """Solve the formula that standard input holds."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with np.load(sys.stdin.buffer, allow_pickle=False) as arrays:
        formula = {name: arrays[name] for name in arrays.files}
    model = _solve(formula)
    _say({"model": None if model is None else "".join(map(str, model))})


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _solve(formula: dict[str, Any]) -> list[int] | None:
    from pysat.examples.rc2 import RC2, RC2Stratified
    from pysat.formula import WCNF

    literals, offsets = formula["literals"].tolist(), formula["offsets"].tolist()
    clauses = [literals[a:b] for a, b in itertools.pairwise(offsets)]
    weights, hard = formula["weights"].tolist(), formula["hard"].tolist()
    wcnf = WCNF()
    for clause, weight, firm in zip(clauses, weights, hard, strict=True):
        wcnf.append(clause, weight=None if firm else weight)
    wcnf.nv = max(wcnf.nv, int(formula["variables"]))
    plain = len({weight for weight, firm in zip(weights, hard, strict=True) if not firm}) <= 1
    base = RC2 if plain else RC2Stratified

    class Reporting(base):  # type: ignore[misc, valid-type]
        """RC2 that tells its lower bound after each core."""

        def process_core(self) -> None:
            super().process_core()
            _say({"lower": self.cost})

    with Reporting(wcnf, solver="g4", adapt=True, exhaust=True, minz=True) as solver:
        start = formula["initial"].tolist()
        solver.oracle.set_phases([v if x else -v for v, x in enumerate(start, start=1)])
        model = solver.compute()
    if model is None:
        return None
    values = [0] * int(formula["variables"])
    for literal in model:
        if 0 < literal <= len(values):
            values[literal - 1] = 1
    return values


if __name__ == "__main__":
    main()
