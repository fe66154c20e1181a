"""Ctrl-C and SIGTERM: the best so far, exit codes 130 and 143, and a search that goes on later."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hardscape.cli import spectrum as spectrum_cli
from hardscape.errors import Interrupted
from hardscape.ising import formats
from helpers.instances import dense_integer
from helpers.running import done

COMMAND = [sys.executable, "-m", "hardscape", "spectrum"]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A search of a second or more, on one thread, with a checkpoint."""
    formats.write(dense_integer(37, seed=8), tmp_path / "model.npz")
    options = ["--no-prune", "--device", "cpu", "--threads", "1", "--num-states", "20", "--yes"]
    checkpoint = ["--checkpoint", str(tmp_path / "ledger")]
    return [str(tmp_path / "model.npz"), *options, *checkpoint]


def stopped(words: list[str], number: signal.Signals) -> tuple[int, str, str]:
    """Exit code and output of a search that gets a signal once its checkpoint holds something."""
    ledger = Path(words[words.index("--checkpoint") + 1])
    with subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and not done(ledger):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


def finished(words: list[str]) -> dict[str, Any]:
    resumed = subprocess.run(
        [*COMMAND, *words, "--json"], capture_output=True, text=True, timeout=120, check=True
    )
    found: dict[str, Any] = json.loads(resumed.stdout)
    return found


def test_sigterm_then_the_same_command_goes_on(words: list[str]) -> None:
    code, out, err = stopped([*words, "--json"], signal.SIGTERM)
    assert code == 143
    early = json.loads(out)
    assert out.count("\n") == 1
    assert early["certified"] is False
    assert "SIGTERM" in err
    assert words[-1] in err
    assert "Traceback" not in err
    resumed = finished(words)
    fresh = finished([x for x in words[:-2] if x != "--no-prune"])
    for key in ("energies", "states", "levels", "gap", "certified"):
        assert resumed[key] == fresh[key]
    assert resumed["certified"] is True


def test_sigint_prints_the_best_so_far(words: list[str]) -> None:
    code, out, err = stopped(words, signal.SIGINT)
    assert code == 130
    assert "ground energy" in out
    assert "SIGINT" in out
    assert words[-1] in err
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
def test_a_signal_outside_a_run(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from hardscape.cli import main

    before = [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)]

    def raise_signal(*arguments: object, **options: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(spectrum_cli.Ising, "from_file", raise_signal)
    assert main(["spectrum", str(tmp_path)]) == 128 + number
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"hardscape: stopped by {number.name}\n"
    assert [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)] == before


#: The command as it is installed, which gets a signal as some module is to be imported.
_AT_IMPORT = """
import os, sys
from importlib.metadata import entry_points

_, module, number, *words = sys.argv
sys.argv = ["hardscape", *words]

class Raising:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), int(number))

(command,) = entry_points(group="console_scripts", name="hardscape")
sys.meta_path.insert(0, Raising())
sys.exit(command.load()())
"""


@pytest.mark.parametrize("module", ["cli", "errors", "interrupts", "cli.terminal"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_command_line_is_there(
    module: str, number: signal.Signals, tmp_path: Path
) -> None:
    def answered(*words: str) -> tuple[int, str, str]:
        called = [sys.executable, "-c", _AT_IMPORT, f"hardscape.{module}", str(int(number)), *words]
        ended = subprocess.run(called, capture_output=True, text=True, timeout=60)
        return ended.returncode, ended.stdout, ended.stderr

    file = str(tmp_path / "none.wcnf")
    assert answered("maxsat", file)[:2] == (
        0,
        f"c stopped by {number.name}: the search had not begun\ns UNKNOWN\n",
    )
    told = f"hardscape: stopped by {number.name}\n"
    assert answered("spectrum", file) == (128 + number, "", told)


#: The command as it is installed, which gets signals as it prints its status, and as the interpreter ends.
_AT_STATUS = """
import atexit, os, signal, sys
from importlib.metadata import entry_points

atexit.register(os.kill, os.getpid(), signal.SIGTERM)

class Output:
    def __init__(self, stream):
        self.flush, self._write = stream.flush, stream.write

    def write(self, text):
        if text.startswith("s "):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                os.kill(os.getpid(), number)
        return self._write(text)

(command,) = entry_points(group="console_scripts", name="hardscape")
sys.stdout, sys.argv = Output(sys.stdout), ["hardscape", *sys.argv[1:]]
sys.exit(command.load()())
"""


#: Eight pigeons in seven holes.
PIGEONS = "".join(
    [f"h {' '.join(str(7 * i + j) for j in range(1, 8))} 0\n" for i in range(8)]
    + [f"h {-7 * i - j} {-7 * k - j} 0\n" for j in range(1, 8) for i in range(8) for k in range(i)]
)


@pytest.mark.parametrize(
    ("content", "options", "code", "status"),
    [
        ("h 1 2 0\n3 -1 0\n", [], 30, "OPTIMUM FOUND"),
        ("3 1 2 0\n3 -1 2 0\n3 1 -2 0\n2 -1 -2 0\n", ["--method", "cellular"], 10, "SATISFIABLE"),
        ("h 1 0\nh -1 0\n", [], 20, "UNSATISFIABLE"),
        (PIGEONS, ["--method", "cellular", "--max-flips", "99"], 0, "UNKNOWN"),
        ("h 1 2 0\n3 -1 0\n", ["--num-assignments", "2"], 30, "OPTIMUM FOUND"),
    ],
)
def test_a_status_that_is_printed_stands(
    content: str, options: list[str], code: int, status: str, tmp_path: Path
) -> None:
    (tmp_path / "formula.wcnf").write_text(content)
    called = [sys.executable, "-c", _AT_STATUS, "maxsat", str(tmp_path / "formula.wcnf"), *options]
    ended = subprocess.run(called, capture_output=True, text=True, timeout=60)
    assert [x for x in ended.stdout.splitlines() if x[0] == "s"] == [f"s {status}"]
    assert ended.returncode == code, ended.stderr
    assert ended.stderr == ""


def test_a_signal_before_anything_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hardscape.cli import main

    def interrupted(*arguments: object, **options: object) -> None:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(spectrum_cli, "find_spectrum", interrupted)
    formats.write(dense_integer(4, seed=1), tmp_path / "model.npz")
    assert main(["spectrum", str(tmp_path / "model.npz")]) == 130
    assert "SIGINT" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_between_the_end_of_a_search_and_its_table(
    number: signal.Signals,
    times: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from hardscape.cli import main

    find, others = spectrum_cli.find_spectrum, {signal.SIGTERM, signal.SIGINT} - {number}

    def late(*arguments: object, **options: object) -> object:
        found = find(*arguments, **options)  # type: ignore[arg-type]
        for one in (number, number, *others)[: times + 1]:  # the same one again is no second
            signal.raise_signal(one)
        return found

    monkeypatch.setattr(spectrum_cli, "find_spectrum", late)
    formats.write(dense_integer(30, seed=3), tmp_path / "model.npz")
    code = main(["spectrum", str(tmp_path / "model.npz"), "--threads", "2", "--json"])
    told = capsys.readouterr()
    if times == 1:
        assert code == 0
        assert json.loads(told.out)["certified"] is True
    else:
        assert code in {128 + x for x in others}
        assert told.out == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
def test_a_signal_that_an_import_swallows(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import hardscape.cli

    made = hardscape.cli.program

    def swallowing(*, installs: bool) -> object:
        with suppress(BaseException):
            signal.raise_signal(number)
        return made(installs=installs)

    monkeypatch.setattr(hardscape.cli, "program", swallowing)
    assert hardscape.cli.main(["devices"]) == 128 + number
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"hardscape: stopped by {number.name}\n"
