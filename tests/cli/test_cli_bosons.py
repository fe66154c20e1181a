"""``hardscape bosons``: samples, their options and refusals."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hardscape.cli import main
from hardscape.permanents import sample
from helpers.boson_oracle import interferometer
from helpers.commands import Captured, answered

U = interferometer(5, 1)


@pytest.fixture
def file(tmp_path: Path) -> str:
    np.save(tmp_path / "u.npy", U)
    return str(tmp_path / "u.npy")


answer = partial(answered, "bosons")


def test_the_samples_of_the_function(file: str, capsys: Captured) -> None:
    words = ["--num-samples", "7", "--seed", "3"]
    found = answer(capsys, file, "--photons", "2,0,1,0,0", *words)
    assert found["occupations"] == sample(U, [2, 0, 1, 0, 0], 7, seed=3).occupations.tolist()
    assert (found["command"], found["seed"], found["stopped"]) == ("bosons", 3, "")
    first = answer(capsys, file, "--photons", "3", *words)["occupations"]
    assert first == sample(U, [1, 1, 1, 0, 0], 7, seed=3).occupations.tolist()
    every = answer(capsys, file, *words, "--overlap", "0.5", "--transmission", "0.7")["occupations"]
    expected = sample(U, [1] * 5, 7, seed=3, overlap=0.5, transmission=0.7)
    assert every == expected.occupations.tolist()


def test_for_people(file: str, capsys: Captured) -> None:
    assert main(["bosons", file, "--photons", "2", "--num-samples", "50", "--seed", "1"]) == 0
    told = capsys.readouterr().out
    counts = sample(U, [1, 1, 0, 0, 0], 50, seed=1).occupations[0]
    assert " ".join(map(str, np.repeat(np.arange(5), counts))) in told


def test_refusals(file: str, tmp_path: Path, capsys: Captured) -> None:
    np.save(tmp_path / "large.npy", 2 * U)
    np.save(tmp_path / "batch.npy", np.stack([U, U]))
    for words in (
        [file, "--photons", "6"],
        [file, "--photons", "1,1"],
        [file, "--photons", "1,x,0,0,0"],
        [file, "--overlap", "2"],
        [file, "--num-samples", "-1"],
        [str(tmp_path / "large.npy")],
        [str(tmp_path / "batch.npy")],
    ):
        assert main(["bosons", *words]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("hardscape: error: ")
