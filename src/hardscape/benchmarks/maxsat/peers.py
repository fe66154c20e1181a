"""Packages' solvers as commands of the MAX-SAT Evaluation.

``python -m hardscape.benchmarks.maxsat.peers NAME FILE``.

``rc2`` is python-sat's, ``cpsat`` OR-tools', and any other name that of a class of hermax: EvalMaxSAT,
UWrMaxSATCompetition, CASHWMaxSAT, WMaxCDCL and more. Its anytime solvers tell nothing when its limit ends
them, and solvers that know no limit are ended at it. The limit is the solver's own: reading the file comes
before it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import cyclopts

app = cyclopts.App(help=__doc__, result_action="return_value")


def told(model: Any, proven: bool) -> None:
    """Print what the Evaluation wants."""
    if model:
        true = {x for x in model if x > 0}
        values = "".join(str(int(v in true)) for v in range(1, max(map(abs, model)) + 1))
        print(f"v {values}", flush=True)
    print("s " + ("OPTIMUM FOUND" if proven else "UNKNOWN"), flush=True)


def ends_after(seconds: float) -> None:
    """Let the system end this process then."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def rc2(wcnf: Any, seconds: float) -> None:
    """Stratified RC2; it says nothing before its end."""
    from pysat.examples.rc2 import RC2Stratified

    ends_after(seconds)
    with RC2Stratified(wcnf, solver="g4", adapt=True, exhaust=True, minz=True) as solver:
        told(solver.compute(), True)


def cpsat(wcnf: Any, seconds: float) -> None:
    """One worker of CP-SAT, a Boolean more for each soft clause of several literals."""
    from ortools.sat.python import cp_model

    from hardscape.maxsat import Formula

    model = Formula.from_pysat(wcnf).to_cpsat()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    known = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    variables = (model.get_bool_var_from_proto_index(v) for v in range(wcnf.nv))
    values = [v if solver.value(x) else -v for v, x in enumerate(variables, 1)] if known else []
    told(values, status == cp_model.OPTIMAL)


def hermax(name: str, wcnf: Any, seconds: float) -> None:
    """A solver of hermax."""
    from hermax import non_incremental
    from hermax.non_incremental import incomplete

    if anytime := getattr(incomplete, name, None):
        solver = anytime(wcnf)
        found = solver.solve(time_limit=seconds)
    else:
        ends_after(seconds)
        solver = getattr(non_incremental, name)(wcnf)
        found = solver.solve()
    told(solver.get_model() if found else [], solver.get_status().name == "OPTIMUM")


@app.default
def main(name: str, file: Path, seconds: float = 5.0) -> None:
    """Solve a WCNF file and print the answer."""
    from hardscape.maxsat import Formula

    wcnf = Formula.from_file(file).to_pysat()
    own = {"rc2": rc2, "cpsat": cpsat}
    if name in own:
        own[name](wcnf, seconds)
    else:
        hermax(name, wcnf, seconds)


if __name__ == "__main__":
    sys.exit(app())
