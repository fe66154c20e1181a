"""Parts of a computation, each by a job of its own that knows nothing of the others, and put together."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.cli.parts import run
from hardscape.engine import Outcome, RunOptions, solve
from hardscape.engine.jobs import job, merged
from hardscape.errors import CheckpointError, InputError, PartDone
from hardscape.gauge import GaugeField
from hardscape.ising import formats
from hardscape.permanents import answers, permanent
from hardscape.xorsat import random_regular
from helpers.instances import dense_integer
from helpers.jobs import JOBS
from helpers.works import FirstHit, HarmonicSum

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "checkpoints.md"
#: Those that have several shards in these sizes, and those that are a chain, or no sum of shards.
CUT = {
    "approximate",
    "cellular",
    "clones",
    "gribov",
    "permanent, complex",
    "permanent, real",
    "spectrum",
    "spectrum, bounds",
    "trials",
}
WHOLE = {"links", "patterns", "permanent, batch", "product state", "weighting"}
Captured = pytest.CaptureFixture[str]


def ran(work: Any, **options: Any) -> Outcome[Any]:
    return solve(work, RunOptions.checked(device="cpu", threads=1, **options))


def raw(outcome: Outcome[Any]) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


@pytest.mark.parametrize("name", sorted(JOBS.keys() - WHOLE))
def test_parts_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "job.ledger"
    told = []
    for part in ("1/3", "2/3", "3/3"):
        try:
            JOBS[name](threads=1, checkpoint=whole, shards=part)
        except PartDone as done:
            told.append(done)
    assert not whole.exists()
    if told:
        assert merged(tmp_path.iterdir()) == [whole]
        parts = [path for path in tmp_path.iterdir() if path != whole]
        assert len(parts) == 3
        assert job(whole).done == told[0].total == sum(job(part).done for part in parts)
        assert (told[0].total >= 3) == (name in CUT)
        assert job(whole).state == "finished"
    assert told or name not in CUT
    assert JOBS[name](threads=1, checkpoint=whole) == JOBS[name](
        threads=1, checkpoint=tmp_path / "x"
    )


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_has_no_shards_has_no_parts(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        JOBS[name](threads=1, checkpoint=tmp_path / "job.ledger", shards="1/2")
    assert not list(tmp_path.iterdir())


def test_a_permanent_of_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block has a ledger, and each job does its part of all of them."""
    monkeypatch.setattr(answers, "_CHECKPOINTED", 0.0)
    rng = np.random.default_rng(9)
    a = np.zeros((42, 42))
    a[:21, :21], a[21:, 21:] = rng.normal(size=(2, 21, 21))

    def found(**run: Any) -> Any:
        return permanent(a, method="glynn", threads=1, device="cpu", **run)

    whole = tmp_path / "a.ledger"
    for part in ("1/2", "2/2"):
        with pytest.raises(PartDone):
            found(checkpoint=whole, shards=part)
    assert len(list(tmp_path.iterdir())) == 4
    wholes = merged(sorted(tmp_path.iterdir()))
    assert sorted(path.name for path in wholes) == ["a.ledger", "a.ledger.2"]
    assert {job(path).state for path in wholes} == {"finished"}
    assert found(checkpoint=whole) == found(checkpoint=tmp_path / "x")


def parts_of(work: HarmonicSum, folder: Path, count: int) -> list[Path]:
    for number in range(1, count + 1):
        with pytest.raises(PartDone) as done:
            ran(work, checkpoint=folder / "a.b.ledger", shards=f"{number}/{count}", seed=4)
        assert done.value.checkpoint.exists()
    return sorted(folder.glob("*-of-*"))


def test_more_parts_than_shards(tmp_path: Path) -> None:
    work = HarmonicSum(count=5)
    count = 7
    parts = parts_of(work, tmp_path, count)
    assert len(parts) == count
    assert {job(part).state for part in parts} == {"finished"}
    assert sum(job(part).done for part in parts) == len(work.shards())
    assert merged(parts) == [tmp_path / "a.b.ledger"]
    found = ran(work, checkpoint=tmp_path / "a.b.ledger")
    assert found.resumed_shards == len(work.shards())
    assert raw(found) == raw(ran(work))


def test_some_parts_now_and_the_others_later(tmp_path: Path) -> None:
    work, whole = HarmonicSum(), tmp_path / "a.b.ledger"
    parts = parts_of(work, tmp_path, 4)
    merged(parts[1:3])
    half = job(whole).done
    assert half == sum(job(part).done for part in parts[1:3])
    assert raw(ran(work, checkpoint=whole)) == raw(ran(work))  # computes the others
    merged(parts)
    assert job(whole).done == len(work.shards()) > half


def test_a_settled_answer_needs_no_later_parts(tmp_path: Path) -> None:
    work, whole = FirstHit(targets=(150, 350)), tmp_path / "hit"
    for number in (1, 2, 3):
        with pytest.raises(PartDone):
            ran(work, checkpoint=whole, shards=f"{number}/3")
    merged(tmp_path.iterdir())
    found = ran(work, checkpoint=whole)
    assert found.stopped == "finished"
    assert raw(found) == raw(ran(work))


def test_parts_of_other_work_are_refused(tmp_path: Path) -> None:
    parts = parts_of(HarmonicSum(), tmp_path, 2)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(parts_of(HarmonicSum(units=77), other, 2)[1], parts[1])
    with pytest.raises(CheckpointError):
        merged(parts)


def test_damaged_parts_are_refused(tmp_path: Path) -> None:
    parts = parts_of(HarmonicSum(), tmp_path, 2)
    parts[1].write_bytes(parts[1].read_bytes()[:2000])
    with pytest.raises(CheckpointError):
        merged(parts)


@pytest.mark.parametrize(
    "told", ["", "0/4", "5/4", "1", "1/0", "-1/4", "1/4/2", "a/b", 3, "1/99999999"]
)
def test_parts_that_are_none(told: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        ran(HarmonicSum(), checkpoint=tmp_path / "x", shards=told)
    with pytest.raises(InputError):
        ran(HarmonicSum(), shards="1/2")  # nothing would keep it


def test_parts_share_a_seed(tmp_path: Path) -> None:
    whole = tmp_path / "x"
    assert {RunOptions.checked(checkpoint=whole, shards=f"{i}/2").seed for i in (1, 2)} == {0}
    ran(HarmonicSum(), checkpoint=whole, seed=11)
    assert {RunOptions.checked(checkpoint=whole, shards=f"{i}/2").seed for i in (1, 2)} == {11}


# -- the commands ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    formats.write(dense_integer(31, seed=3), tmp_path / "model.npz")
    return tmp_path


COMMAND = ["spectrum", "model.npz", "--no-prune", "--device", "cpu", "--num-states", "3", "--json"]


def answer(out: str) -> dict[str, Any]:
    found = json.loads(out)
    return {key: found[key] for key in ("energies", "states", "certified")}


def test_from_parts_to_the_answer(folder: Path, capsys: Captured) -> None:
    assert main(COMMAND) == 0
    expected = answer(capsys.readouterr().out)
    assert main(["run", *COMMAND, "--checkpoint", "m.ledger", "--shards", "1/3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["checkpoint"] == "m.1-of-3.ledger"
    assert 0 < told["shards_done"] < told["shards_total"]
    quoted = shlex.join([*COMMAND, "--checkpoint=m.ledger"])
    assert main(["run", quoted, "--shards=3/3"]) == 0
    capsys.readouterr()
    assert main(["merge", "m.1-of-3.ledger", "m.3-of-3.ledger"]) == 0
    told = answer(capsys.readouterr().out)
    assert not told["certified"]
    assert main(["run", "m.ledger", "--shards", "2/3"]) == 0
    capsys.readouterr()
    assert main(["merge", *map(str, folder.glob("*.ledger"))]) == 0
    assert answer(capsys.readouterr().out) == expected
    assert main(["jobs", "--json"]) == 0
    states = {Path(x["file"]).name: x["state"] for x in json.loads(capsys.readouterr().out)["jobs"]}
    assert set(states.values()) == {"finished"}
    assert len(states) == 4


#: Long commands with several shards, and what their answers must have in common.
LONG = {
    "permanent matrix.npy": ("value", "error_bound"),
    "density model.npz --method exhaustive": ("energies", "counts"),
    "approximate matrix.npy --num-samples 300000 --seed 2": ("value", "standard_error"),
    "bosons unitary.npy --photons 1,1,1,1,1,0,0,0 --num-samples 40000 --seed 3": ("occupations",),
    "xorsat tts system.qh --runs 8 --seed 3": ("tau_sweeps", "num_solved"),
    "gauge fix links.nersc -o fixed.nersc --force --copies 4 --theta 1e-4 --seed 1": (
        "functional",
    ),
}


@pytest.fixture
def problems(folder: Path) -> Path:
    rng = np.random.default_rng(4)
    np.save("matrix.npy", rng.normal(size=(22, 22)))
    np.save("unitary.npy", np.linalg.qr(rng.normal(size=(8, 8)))[0])
    random_regular(64, seed=1).to_file("system.qh")
    GaugeField.random((4, 4, 4, 4), 2, seed=11).to_file("links.nersc")
    formats.write(dense_integer(31, seed=3, bound=2, fields=False), "model.npz")
    return folder


@pytest.mark.parametrize("command", LONG)
def test_every_command_does_its_part_alone(command: str, problems: Path, capsys: Captured) -> None:
    words, names = [*command.split(), "--device", "cpu", "--threads", "1", "--json"], LONG[command]
    assert main(words) == 0
    expected = json.loads(capsys.readouterr().out)
    for number in (1, 2):
        assert main(["run", *words, "--checkpoint", "x", "--shards", f"{number}/2"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert 0 < told["shards_done"] < told["shards_total"]
        assert not Path("x").exists()
    assert main(["merge", *map(str, problems.glob("x*"))]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}


def test_options_come_before_a_lone_dash(folder: Path, capsys: Captured) -> None:
    words = [*COMMAND, "--checkpoint", "m.ledger", "--time-limit", "0.01", "--"]
    assert main(words) == 0
    assert main(["show", "m.ledger"]) == 0
    assert main(["run", shlex.join(words), "--shards", "1/2"]) == 0
    assert Path("m.1-of-2.ledger").exists()


def test_a_part_that_was_stopped_is_gone_on_with(folder: Path, capsys: Captured) -> None:
    words = ["run", *COMMAND, "--checkpoint", "m.ledger", "--shards", "2/2", "--threads", "1"]
    assert main([*words, "--time-limit", "0.01"]) == 0
    first = job("m.2-of-2.ledger")
    assert first.done < first.total
    assert main(words) == main(["resume", "m.2-of-2.ledger"]) == 0
    assert job("m.2-of-2.ledger").state == "finished"
    assert not Path("m.ledger").exists()
    capsys.readouterr()
    assert main(["show", "m.2-of-2.ledger"]) == 0
    assert not answer(capsys.readouterr().out)["certified"]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--shards", "1/2"],
        ["run", *COMMAND, "--shards", "1/2"],
        ["run", *COMMAND, "--checkpoint", "x", "--shards", "3/2"],
        ["run", "nothing.ledger", "--shards", "1/2"],
        ["run", "model.npz", "--shards", "1/2"],
        ["run", "spectrum 'model.npz", "--shards", "1/2"],
        ["resume", "nothing.ledger"],
        ["show", "model.npz"],
        ["merge"],
        ["merge", "model.npz"],
        ["maxsat", "x.cnf", "--checkpoint", "x", "--shards", "1/2"],
        ["xorsat", "tts", "a.qh", "b.qh", "--checkpoint", "x", "--shards", "1/2"],
    ],
)
def test_what_is_refused(words: list[str], folder: Path) -> None:
    assert main(words) == 2
    assert [path.name for path in folder.iterdir()] == ["model.npz"]


@pytest.mark.parametrize("name", ["nothing.ledger", "model.npz"])
def test_what_is_no_checkpoint_is_told_from_a_command(name: str, folder: Path) -> None:
    with pytest.raises(CheckpointError):
        run(name, shards="1/2")


# -- the scripts for Slurm -------------------------------------------------------------------

SBATCH = """#!/bin/bash
array=$(sed -n 's/^#SBATCH.*--array=1-\\([0-9]*\\).*/\\1/p' "$1")
for task in $(seq 1 ${array:-1}); do
    SLURM_ARRAY_TASK_ID=$task bash "$1" || exit
done
"""
SRUN = """#!/bin/bash
export HYDRA_LAUNCHER=fork
exec mpiexec -n 3 "$@"
"""


def scripts() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "#SBATCH" in block]


@pytest.fixture
def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the model, and a Slurm of one host."""
    (folder / "bin").mkdir()
    for name, script in {"sbatch": SBATCH, "srun": SRUN}.items():
        (folder / "bin" / name).write_text(script)
        (folder / "bin" / name).chmod(0o755)
    places = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    shutil.copy(PAGE.parents[2] / "examples" / "sk24.txt", folder / "model.txt")
    return folder


def submitted(script: str, folder: Path) -> str:
    (folder / "job.sh").write_text(script)
    done = subprocess.run(["sbatch", "job.sh"], stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0
    return done.stdout


def named(word: str) -> str:
    (found,) = [script for script in scripts() if word in script and "--device cuda" not in script]
    return found


def test_an_array(slurm: Path, capsys: Captured) -> None:
    assert main(["spectrum", "model.txt", "--json"]) == 0
    expected = answer(capsys.readouterr().out)
    submitted(named("--array").replace("64", "2"), slurm)
    submitted(named("hardscape merge").replace("64", "2"), slurm)
    assert job("model.ledger").state == "finished"
    assert answer(Path("model.json").read_text()) == expected


def test_one_node(slurm: Path, capsys: Captured) -> None:
    assert main(["spectrum", "model.txt", "--json"]) == 0
    expected = answer(capsys.readouterr().out)
    submitted(named("trap"), slurm)
    assert answer(Path("model.json").read_text()) == expected


def test_ranks(slurm: Path) -> None:
    told = submitted(named("--executor mpi"), slurm)
    assert "certified      yes" in told
    assert job("model.ledger").state == "finished"
