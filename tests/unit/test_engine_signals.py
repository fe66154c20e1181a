"""Ctrl-C and SIGTERM: best so far, a ledger to go on with, and handlers put back."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardscape import gauge, ising, maxsat, permanents, xorsat
from hardscape.engine import Partial, Work, resolve
from hardscape.errors import (
    FormatError,
    HardscapeError,
    Interrupted,
    MissingDependencyError,
    NotConverged,
)
from hardscape.interrupts import interruptible
from hardscape.permanents import formats
from helpers.running import run
from helpers.works import SLOW, HarmonicSum, harmonic

TESTS = Path(__file__).resolve().parents[1]

#: Runs SLOW, says "go" once shards are done, and prints how it ended.
SCRIPT = """
import json, signal, sys
from concurrent.futures import ProcessPoolExecutor
from helpers.works import SLOW
from hardscape.engine import resolve
from helpers.running import run

def tell(event):
    if event.done:
        print("go", flush=True)

if __name__ == "__main__":
    handlers = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    pool = ProcessPoolExecutor(2) if sys.argv[2] == "processes" else None
    cpus = resolve("cpu", threads=2)
    outcome = run(SLOW, devices=cpus, checkpoint=sys.argv[1], progress=tell, executor=pool)
    assert handlers == [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    terms = 0 if outcome.partial is None else int(outcome.partial["terms"])
    assert signal.Signals(outcome.signum).name == outcome.stopped
    print(json.dumps([outcome.stopped, outcome.complete, outcome.shards_done, terms]))
"""

#: Runs a shard that is asked to stop and takes its time.
DEAF = """
import time
from hardscape.engine import resolve
from helpers.running import run
from helpers.works import HarmonicSum

class Deaf(HarmonicSum):
    def run(self, shard, context):
        print("go", flush=True)
        while not context.stop[0]:
            time.sleep(0.01)
        print("asked to stop", flush=True)
        time.sleep(1.5)
        print("end of shard", flush=True)
        return super().run(shard, context)

try:
    run(Deaf(), devices=resolve("cpu", threads=1))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def spawn(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"PYTHONPATH": str(TESTS)},
        start_new_session=True,
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU"])
def test_a_signal_stops_the_run_and_it_can_be_resumed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "job"
    process = spawn(SCRIPT, path, "threads")
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.Signals[name])
    told = process.communicate(timeout=60)[0]
    stopped, complete, done, terms = json.loads(told.splitlines()[-1])
    assert process.returncode == 0
    assert stopped == name
    assert not complete
    assert 0 < done < 40
    assert 10 * done <= terms < 400
    outcome = run(SLOW, devices=resolve("cpu", threads=3), checkpoint=path)
    assert outcome.resumed_shards == done
    assert outcome.partial is not None
    assert outcome.partial["sum"].tobytes() == harmonic(SLOW)["sum"].tobytes()


def test_ctrl_c_in_a_terminal_reaches_worker_processes_too(tmp_path: Path) -> None:
    process = spawn(SCRIPT, tmp_path / "job", "processes")
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate(timeout=60)[0]
    stopped, complete, done, _ = json.loads(told.splitlines()[-1])
    assert stopped == "SIGINT"
    assert not complete
    assert 0 < done < 40


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_the_second_signal_ends_it_at_once(name: str) -> None:
    process = spawn(DEAF)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.Signals[name])
    assert process.stdout.readline() == "asked to stop\n"
    process.send_signal(signal.Signals[name])  # timeout(1) sends two at once: they are one
    time.sleep(0.5)
    process.send_signal(signal.Signals[name])
    told = process.communicate(timeout=60)[0]
    assert told.splitlines() == ["interrupted", "end of shard"]


@pytest.mark.parametrize(
    "error",
    [
        FormatError("a.cnf", 3, "is wrong"),
        MissingDependencyError("h5py", "hdf5", "a file"),
        NotConverged("too slow", [1.5]),
        Interrupted(signal.SIGTERM, {"best": 2}),
    ],
)
def test_errors_travel_between_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


class Interrupting:
    """An argument that Ctrl-C comes upon while it is read, before any run listens."""

    def _interrupt(self, *_: object, **__: object) -> Any:
        signal.raise_signal(signal.SIGINT)

    __array__ = __getattr__ = __index__ = __iter__ = __len__ = _interrupt


@pytest.mark.parametrize(
    "call",
    [
        ising.spectrum,
        ising.mps_spectrum,
        ising.density_of_states,
        permanents.permanent,
        permanents.minors,
        permanents.value_and_grad,
        gauge.gluon_propagator,
        lambda argument: gauge.fix(argument, "landau"),
        lambda argument: gauge.generate(argument, 6.0),
        lambda argument: maxsat.solve(maxsat.Formula.from_clauses([[1]]), initial=argument),
        lambda argument: xorsat.quasi_greedy(xorsat.random_regular(24, seed=1), w1=argument),
    ],
)
def test_ctrl_c_is_interrupted_wherever_it_comes(call: Callable[[Any], Any]) -> None:
    with pytest.raises(Interrupted) as caught:
        call(Interrupting())
    assert (caught.value.signum, caught.value.result) == (signal.SIGINT, None)


class InterruptingPath(str):
    """The name of a file that Ctrl-C comes upon while it is read."""

    def __str__(self) -> str:
        signal.raise_signal(signal.SIGINT)
        return "never"


@pytest.mark.parametrize(
    "read",
    [
        ising.Ising.from_file,
        maxsat.Formula.from_file,
        xorsat.XorSystem.from_file,
        formats.read,
        gauge.GaugeField.from_file,
        gauge.inspect,
    ],
)
def test_ctrl_c_is_interrupted_while_a_file_is_read(read: Callable[[Any], Any]) -> None:
    with pytest.raises(Interrupted) as caught:
        read(InterruptingPath("model.txt"))
    assert caught.value.signum == signal.SIGINT


def test_ctrl_c_is_no_error_that_a_loop_passes_over() -> None:
    assert issubclass(Interrupted, KeyboardInterrupt)
    assert not issubclass(Interrupted, Exception | HardscapeError)


class Late(HarmonicSum):
    """Ctrl-C comes as its last shards are put together: too late to stop it."""

    def merge(self, left: Partial, right: Partial) -> Partial:
        whole = super().merge(left, right)
        if whole["terms"] == self.shards()[-1].stop:
            signal.raise_signal(signal.SIGINT)
        return whole


class Brief(Late):
    def brief(self, device: object) -> bool:
        return True


@pytest.mark.parametrize("first", [Late(), Brief(pause=1e-5)])  # whoever is brief hears after 2 ms
@pytest.mark.parametrize("second", [HarmonicSum(), Brief()])
def test_a_signal_that_comes_as_a_run_ends_stops_the_next_of_the_call(
    first: Work[Any], second: Work[Any]
) -> None:
    ended = []

    @interruptible
    def both() -> None:
        for work in (first, second):
            outcome = run(work, devices=resolve("cpu", threads=1))
            ended.append((outcome.complete, outcome.shards_done > 0, outcome.signum))

    with pytest.raises(Interrupted) as caught:
        both()
    assert caught.value.signum == signal.SIGINT
    assert ended[0] == (True, True, 0)
    assert ended[1] == (False, False, signal.SIGINT)
    # It was of that call.
    assert run(HarmonicSum(), devices=resolve("cpu", threads=1)).complete


def test_a_signal_that_comes_as_the_last_run_of_a_call_ends_has_its_whole_result() -> None:
    @interruptible
    def inner() -> bool:
        return run(Late(), devices=resolve("cpu", threads=1)).complete

    @interruptible
    def outer() -> list[bool]:
        return [inner()]

    with pytest.raises(Interrupted) as caught:
        outer()
    assert (caught.value.signum, caught.value.result) == (signal.SIGINT, [True])


#: Searches; a signal comes while a module is imported, where its exception is ignored, as it is in callbacks.
SWALLOWED = """
import signal, sys
from hardscape import maxsat
from hardscape.errors import Interrupted

class Swallows:
    def find_spec(self, name, path, target=None):
        if name == "hardscape.maxsat.methods.cellular.search":
            sys.meta_path.remove(self)
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                pass

sys.meta_path.insert(0, Swallows())
clauses = [[a, b] for a in (1, -1) for b in (2, -2)]
try:
    maxsat.solve(maxsat.Formula.from_clauses(clauses), method="cellular", seed=1, time_limit=2)
except Interrupted:
    print("heard")
"""


def test_a_signal_while_the_genetic_algorithm_is_imported_is_heard() -> None:
    words = [sys.executable, "-c", SWALLOWED]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout == "heard\n"
