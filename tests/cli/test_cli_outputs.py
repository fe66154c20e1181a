"""Files that commands write: checked before the work, never replaced unasked, results told all the same."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from hardscape.cli import main
from hardscape.errors import InputError
from hardscape.files import check_outputs
from hardscape.gauge import formats, generate
from hardscape.xorsat import random_regular

ROOT = Path(__file__).resolve().parents[2]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "links.nersc"
    formats.write(generate((4, 4, 4, 4), 6.0, nc=2, sweeps=2, seed=1), path)
    return path


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "system.cnf"
    random_regular(24, seed=1).to_file(path)
    return path


def lines(folder: Path) -> dict[str, list[str]]:
    """A command for each option that names an output, which is the last word."""
    links, system, sk24 = folder / "links.nersc", folder / "system.cnf", ROOT / "examples/sk24.txt"
    few = ["--runs", "2", "--seed", "1", "--device", "cpu"]
    chain = ["--shape", "2,2,2,2", "--beta", "6", "--sweeps", "1"]
    found = {
        "gauge convert": ["gauge", "convert", links],
        "gauge fix": ["gauge", "fix", links, "--theta", "1e-6", "-o"],
        "gauge fix --transformation": ["gauge", "fix", links, "--transformation"],
        "gauge fix --plot": ["gauge", "fix", links, "--plot"],
        "gauge generate": ["gauge", "generate", *chain, "-o"],
        "spectrum": ["spectrum", sk24, "--plot"],
        "approximate": ["approximate", ROOT / "examples/dodecahedron.mtx", "--plot"],
        "maxsat": ["maxsat", ROOT / "examples/cover.wcnf", "--plot"],
        "xorsat generate": ["xorsat", "generate", "--num-variables", "24", "-o"],
        "xorsat tts": ["xorsat", "tts", system, *few, "--plot"],
        "xorsat theory": ["xorsat", "theory", "--plot"],
    }
    return {name: [str(word) for word in words] for name, words in found.items()}


SUFFIXES = {"gauge convert": ".npz", "gauge fix": ".npz", "gauge fix --transformation": ".npz"}
SUFFIXES |= {"gauge generate": ".npz", "xorsat generate": ".npz"}


@pytest.mark.parametrize("command", lines(Path()))
def test_nothing_is_replaced_unless_forced(
    command: str, links: Path, system: Path, tmp_path: Path, capsys: Captured
) -> None:
    if command not in SUFFIXES:
        pytest.importorskip("matplotlib")
    path = tmp_path / f"there{SUFFIXES.get(command, '.svg')}"
    path.write_bytes(b"precious")
    words = [*lines(tmp_path)[command], str(path)]
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""  # before the work
    assert told.err.count("\n") == 1
    assert path.read_bytes() == b"precious"
    assert main([*words, "--force"]) in (0, 30)
    assert path.read_bytes() != b"precious"


@pytest.mark.parametrize("more", [[], ["--force"]])
def test_the_input_is_never_replaced(more: list[str], links: Path, capsys: Captured) -> None:
    before = links.read_bytes()
    for words in (["fix", str(links), "-o", str(links)], ["convert", str(links), str(links)]):
        assert main(["gauge", *words, *more]) == 2
        assert capsys.readouterr().out == ""
    assert links.read_bytes() == before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("command", lines(Path()))
@pytest.mark.parametrize("folder", ["/proc", "no-such-folder"])
def test_a_folder_that_cannot_be_written_to(
    command: str, folder: str, links: Path, system: Path, tmp_path: Path, capsys: Captured
) -> None:
    place = f"{folder}/out{SUFFIXES.get(command, '.svg')}"
    assert main([*lines(tmp_path)[command], place]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert place in told.err


def test_two_outputs_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    check_outputs([path, tmp_path / "b.npz", "-", "-"])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError):
        check_outputs([path, tmp_path / "." / "a.npz"])
    for taken in (tmp_path, Path("/dev/null")):
        with pytest.raises(InputError):
            check_outputs([taken], force=True)


def no_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


@pytest.mark.parametrize("command", ["gauge fix", "gauge generate", "xorsat generate", "spectrum"])
def test_results_are_told_where_the_file_cannot_be_written(
    command: str, links: Path, system: Path, tmp_path: Path
) -> None:
    if command not in SUFFIXES:
        pytest.importorskip("matplotlib")
    path = tmp_path / f"out{SUFFIXES.get(command, '.svg')}"
    words = [*lines(tmp_path)[command], str(path), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "hardscape", *words],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=no_room,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["command"] == command
    assert str(path) in done.stderr
    assert not path.exists()


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    line = f"{sys.executable} -m hardscape spectrum {ROOT}/examples/sk24.txt --json {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    if closed == ">&-":
        assert done.returncode == 1
        assert done.stderr.startswith("hardscape: error: ")
        assert done.stderr.count("\n") == 1
    else:
        assert done.returncode == 0
        assert json.loads(done.stdout)["certified"]


@pytest.mark.parametrize("words", ["--help", "spectrum --help", "gauge --help", ""])
def test_help_that_nobody_reads_to_its_end(words: str) -> None:
    line = f"({sys.executable} -m hardscape {words}; echo code $? >&2) | head -n 1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 1
    assert done.stderr in ("code 0\n", "code 141\n")


def test_one_time_limit_for_all_files(tmp_path: Path, capsys: Captured) -> None:
    paths = [tmp_path / f"{seed}.cnf" for seed in range(3)]
    for seed, path in enumerate(paths):
        random_regular(24, seed=seed, planted=False, full_rank=False).to_file(path)
    hard = tmp_path / "hard.cnf"
    random_regular(400, seed=1).to_file(hard)
    limits = ["--runs", "1000", "--timeout", "0.05", "--time-limit", "1", "--device", "cpu"]
    assert main(["xorsat", "tts", str(hard), *map(str, paths), *limits, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [x["stopped"] for x in found["instances"]] == ["time_limit"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_is_cut_is_an_error(unbuffered: str, tmp_path: Path) -> None:
    """The first write takes a part of it, as on a disk that is nearly full."""
    words = ["spectrum", str(ROOT / "examples/sk24.txt"), "--num-states", "1000", "--json"]
    with (tmp_path / "answer.json").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "hardscape", *words],
            stdout=file,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"hardscape: error: ")


def test_a_caller_keeps_its_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where that has no buffer, as what pytest captures in."""
    with (tmp_path / "out").open("wb", buffering=0) as raw:
        theirs = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr(sys, "stdout", theirs)
        assert main(["--version"]) == 0
        assert sys.stdout is theirs
        assert not raw.closed
    assert (tmp_path / "out").read_bytes()


def test_names_that_the_output_has_no_characters_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An answer is not lost for the name of its file."""
    raw = io.BytesIO()
    written = tmp_path / "β\udcff.ildg"
    words = ["gauge", "convert", str(ROOT / "examples/hot4.nersc"), str(written)]
    monkeypatch.setattr(sys, "argv", ["hardscape", *words])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "latin-1"))
    assert main() == 0
    assert raw.getvalue().endswith(rb"\u03b2\udcff.ildg (ildg)" + b"\n")
    assert written.exists()


def test_a_name_that_tells_no_format_is_told_the_option(capsys: Captured) -> None:
    assert main(["xorsat", "generate", "--num-variables", "24", "-o", "-"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--to " in err
    assert "format=" not in err
