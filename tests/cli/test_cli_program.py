"""The program around the commands: start-up, help, errors, exit codes, output that nobody reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hardscape
from hardscape.cli import main, program
from hardscape.cli.terminal import print_parts, table
from hardscape.engine import probe

ROOT = Path(__file__).resolve().parents[2]
SK24 = str(ROOT / "examples" / "sk24.txt")
COMMANDS = (
    "approximate",
    "bosons",
    "demo",
    "density",
    "devices",
    "examples",
    "gauge",
    "jobs",
    "maxsat",
    "permanent",
    "resume",
    "show",
    "spectrum",
    "xorsat",
)
HEAVY = {"argparse", "cyclopts", "numpy", "rich", "cuda", "cupy", "dimod", "matplotlib"}
HEAVY |= {"networkx", "scipy", "torch", "dask"}

Captured = pytest.CaptureFixture[str]


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hardscape", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(command, text=True, timeout=120, check=False, **streams)


def test_version_as_a_process() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout == f"{hardscape.__version__}\n"
    assert done.stderr == ""


def test_what_was_imported_is_not_looked_through_at_the_end() -> None:
    script = (
        "import gc, sys; from hardscape.__main__ import main; main(); print(len(gc.get_objects()))"
    )
    command = [sys.executable, "-c", script, "spectrum", SK24]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout.split()[-1]) < 10_000  # else some 40,000


@pytest.mark.parametrize(
    "code", ["import hardscape", "from hardscape.cli import main; main(['--version'])"]
)
def test_nothing_heavy_is_imported(code: str) -> None:
    script = f"{code}; import sys, json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert "hardscape" in loaded
    assert not loaded & HEAVY


#: Each part from a process that has imported no other.
PARTS = """
import os, sys, hardscape
for part in sys.argv[1:]:
    child = os.fork()
    if not child:
        print(getattr(hardscape, part).__name__, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_every_part_is_there_at_once() -> None:
    parts = ["engine", "errors", "gauge", "ising", "maxsat", "permanents", "xorsat"]
    done = subprocess.run([sys.executable, "-c", PARTS, *parts], capture_output=True, text=True)
    assert done.stdout.split() == [f"hardscape.{part}" for part in parts]


@pytest.mark.parametrize("word", ["1.5", "2.0", "1e1", ".5"])
def test_an_integer_has_no_point(word: str, capsys: Captured) -> None:
    assert main(["spectrum", SK24, "--threads", word]) == 2
    assert main(["spectrum", SK24, f"--num-states={word}"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err


def test_help_lists_the_commands(capsys: Captured) -> None:
    for words in (["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        told = capsys.readouterr()
        assert [x for x in COMMANDS if f" {x} " not in told.out] == []
        assert told.err == ""


@pytest.mark.parametrize("command", [["spectrum"], ["gauge"], ["xorsat", "tts"]])
def test_help_of_a_command(command: list[str], capsys: Captured) -> None:
    assert main(["help", *command]) == 0
    told = capsys.readouterr().out
    assert main([*command, "--help"]) == 0
    assert capsys.readouterr().out == told
    assert " ".join(command) in told


def test_what_hardscape_alone_prints_runs(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 5
    for name, *words in lines:
        assert name == "hardscape"
        assert words[:1] == ["demo"] or main(words) in (0, 30)


def test_completion_knows_commands_and_options() -> None:
    whole = program()
    for shell in ("bash", "zsh", "fish"):
        script = whole.generate_completion(shell=shell)
        assert [x for x in (*COMMANDS, "overrelaxation", "copies") if x not in script] == [], shell


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (["density", "torus30.rudy"], ""),  # by its cost
        (["approximate", "dodecahedron.mtx", "--num-samples", "5000000"], "samples"),
        (["xorsat", "tts", "regular64.cnf", "--runs", "100000"], "runs"),
        (["gauge", "fix", "hot4.nersc", "--copies", "100000", "-o", "fixed.nersc"], "copies"),
        (["gauge", "generate", "--shape", "4,4,4,4", "--beta=6", "--sweeps=1000000", "-o", "u.npz"], "sweeps"),
    ],
)  # fmt: skip
def test_estimates_of_what_is_tried(
    words: list[str], unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [str(ROOT / "examples" / x) if (ROOT / "examples" / x).exists() else x for x in words]
    limits = ["--device", "cpu", "--checkpoint", "ledger", "--time-limit", "1"]
    assert main([*given, *limits, "--estimate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unit"] == unit
    assert found["seconds"] > 0
    assert list(tmp_path.iterdir()) == []
    assert main([*given, *limits, "--estimate"]) == 0
    assert "about" in capsys.readouterr().out


OPTIONS = """--format --base --convention --num-states --window --method --device --threads --seed
--time-limit --checkpoint --no-prune --bond-dimension --beta --dbeta --estimate --yes --json
--plot"""


@pytest.mark.parametrize(("command", "options"), [("spectrum", OPTIONS), ("devices", "--json")])
def test_help_lists_the_options(command: str, options: str, capsys: Captured) -> None:
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert [x for x in options.split() if x not in told] == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["spektrum", SK24], "spectrum"),
        (["spectrum", SK24, "--num-statez", "3"], "--num-states"),
        (["spectrum", SK24, "--num-states", "many"], "many"),
        (["spectrum", SK24, "--num-states"], "--num-states"),
        (["spectrum", SK24, "--method", "magic"], "exhaustive"),
        (["spectrum", SK24, "another"], "another"),
        (["spectrum"], "FILE"),
        (["devices", "--jsn"], "--json"),
        (["gauge", "inspect", "links"], "gauge info"),
        (["xorsat", "time-to-solution", "a.cnf"], "xorsat tts"),
    ],
)
def test_usage_errors(words: list[str], hint: str, capsys: Captured) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("hardscape: error: ")
    assert told.err.count("\n") == 1
    assert hint in told.err


def test_an_error_as_a_process() -> None:
    done = run("spectrum", "no-such-file.coo", "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("hardscape: error: no-such-file.coo")
    assert done.stderr.count("\n") == 1


def test_devices_json(capsys: Captured) -> None:
    assert main(["devices", "--json"]) == 0
    told = capsys.readouterr()
    assert told.out.count("\n") == 1
    assert told.err == ""
    machine = json.loads(told.out)
    assert machine.pop("command") == "devices"
    install = machine.pop("install")
    expected = probe().to_dict()
    for found in (machine, expected):
        for gpu in found["cuda"]["gpus"]:
            del gpu["memory_free"]
    assert machine == expected
    missing = [x for x in ("nvrtc", "cuda_core", "cupy") if not machine["cuda"][x]]
    assert ("pip install" in install) == bool(missing)


def test_devices_for_people(capsys: Captured) -> None:
    assert main(["devices"]) == 0
    told = capsys.readouterr()
    machine = probe()
    assert machine.simd in told.out
    assert machine.cpu in told.out
    assert machine.cuda.reason in told.out
    assert machine.cuda.remedy in told.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_output_that_cannot_be_written(more: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run("spectrum", SK24, *more, stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith("hardscape: error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("more", [[], ["--json", "--num-states", "100000"], ["--help"]])
def test_a_reader_that_has_gone(more: list[str]) -> None:
    command = [sys.executable, "-m", "hardscape", "spectrum", SK24, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) != 0


def test_output_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = run("spectrum", SK24, "--num-states", "2")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "-80.0" in done.stdout


SLOW = {"logging.config", "multiprocessing", "numpy.ma", "rich.progress", "sqlite3", "tempfile"}


@pytest.mark.parametrize(
    "words", [["spectrum", SK24], ["maxsat", "cover.wcnf"], ["permanent", "dodecahedron.mtx"]]
)
def test_a_small_problem_waits_for_nothing_it_does_not_need(words: list[str]) -> None:
    code = f"import sys; from hardscape.cli import main; main({words!r}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT / "examples",
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "hardscape.engine" in loaded
    assert loaded & (SLOW | HEAVY - {"argparse", "cyclopts", "numpy", "rich"}) == set()


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    page = tmp_path / capsys.readouterr().out.strip()
    text = page.read_text()
    for family in ("spectrum", "density", "permanent", "maxsat", "xorsat", "gauge"):
        assert f"$ hardscape {family} " in text
    pictures = re.findall(r'<img src="([^"]+)"', text)
    assert len(pictures) > 5
    assert all((page.parent / x).read_bytes().startswith(b"\x89PNG") for x in pictures)
    assert main(["demo"]) == 2  # what is there is not replaced unasked
    assert page.read_text() == text


def test_examples_are_copied_and_left_alone(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "new" / "folder"
    folder.mkdir(parents=True)
    (folder / "sk24.txt").write_text("mine")
    assert main(["examples", str(folder), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    kept = {path.name: path.read_bytes() for path in (ROOT / "examples").iterdir()}
    assert set(files) == kept.keys()
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert found == kept | {"sk24.txt": b"mine"}


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["permanent", "FILE", "--shards", "1/3"], "--checkpoint"),
        (["permanent", "FILE", "--threads", "0"], "--threads 0"),
        (["spectrum", SK24, "--num-states", "0"], "--num-states 0"),
    ],
)
def test_refusals_name_the_options_of_the_command(
    words: list[str], option: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "ones.txt"
    path.write_text("1 1\n1 1\n")
    assert main([str(path) if word == "FILE" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert option in said
    assert "=" not in said


@pytest.mark.parametrize(
    ("words", "group", "meant"),
    [
        (["spectum", "x"], "hardscape;", "spectrum"),
        (["gauge", "fxi", "x"], "hardscape gauge;", "fix"),
        (["gauge", "gauge", "fix"], "hardscape gauge;", "propagator"),
        (["xorsat", "solv"], "hardscape xorsat;", "solve"),
    ],
)
def test_an_unknown_command_is_told_with_its_group_and_all_that_there_are(
    words: list[str], group: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert group in err
    assert meant in err


def test_words_too_many_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spectrum", "a.txt", "b.txt"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "'b.txt'" in err
    assert "'a.txt'" not in err
    assert "[" not in err


def test_a_caption_is_not_folded_to_the_width_of_its_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    caption = "words about what stands above " * 3
    print_parts(table("<", [("1",)], ("a",), caption))
    assert caption.strip() in capsys.readouterr().out
