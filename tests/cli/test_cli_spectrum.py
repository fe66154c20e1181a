"""``hardscape spectrum``: answers, JSON, options, plots, estimates and refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hardscape
from hardscape.cli import main
from hardscape.cli import spectrum as spectrum_cli
from hardscape.ising import Estimate, Ising, formats
from helpers.commands import Captured, answered, refused
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice
from helpers.oracles import lowest_states

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
KEYS = {
    "command",
    "method",
    "seed",
    "stopped",
    "num_spins",
    "num_states",
    "energies",
    "states",
    "levels",
    "gap",
    "certified",
    "lower_bound",
    "bounds",
    "labels",
    "states_per_second",
    "seconds",
    "device",
}


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "model.coo"
    formats.write(dense_integer(12, seed=6, bound=3), path)
    return path


answer = partial(answered, "spectrum")
refusal = partial(refused, "spectrum")


def test_json_is_the_spectrum(instance: Path, capsys: Captured) -> None:
    found = answer(capsys, instance, "--num-states", 30)
    model = Ising.from_file(instance)
    energies, states = lowest_states(model, 30)
    assert set(found) == KEYS
    assert found["command"] == "spectrum"
    assert found["method"] == "tree"
    assert (found["num_spins"], found["num_states"]) == (12, 30)
    assert found["energies"] == energies.tolist()
    assert found["states"] == ["".join("01"[x > 0] for x in row) for row in states.tolist()]
    expected = hardscape.spectrum(model, 30)
    assert found["levels"] == [
        {"energy": x.energy, "count": x.count, "complete": x.complete} for x in expected.levels
    ]
    assert found["gap"] == expected.gap
    assert found["certified"] is True
    assert found["seconds"] > 0
    assert found["states_per_second"] > 0


def test_the_same_from_a_process() -> None:
    command = [sys.executable, "-m", "hardscape", "spectrum", EXAMPLES / "sk24.txt", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    expected = hardscape.spectrum(EXAMPLES / "sk24.txt")
    assert found["energies"] == expected.energies.tolist()
    assert found["states"] == expected.bit_strings()


def test_table_for_people(instance: Path, capsys: Captured) -> None:
    assert main(["spectrum", str(instance), "--num-states", "50"]) == 0
    told = capsys.readouterr()
    found = hardscape.spectrum(instance, 50)
    assert told.err == ""
    assert f"{found.levels[0].energy!r} (degeneracy {found.levels[0].count})" in told.out
    assert repr(found.gap) in told.out
    listed = [bits for bits in found.bit_strings() if bits in told.out]
    assert 1 < len(listed) < 50
    assert listed == found.bit_strings()[: len(listed)]
    assert f"{50 - len(listed)} more" in told.out


def test_energies_are_printed_exactly(tmp_path: Path, capsys: Captured) -> None:
    formats.write(dense_gaussian(6, seed=1), tmp_path / "model.npz")
    assert main(["spectrum", str(tmp_path / "model.npz"), "--num-states", "3"]) == 0
    told = capsys.readouterr().out
    for energy in hardscape.spectrum(tmp_path / "model.npz", 3).energies.tolist():
        assert repr(energy) in told


def test_window_and_states(instance: Path, capsys: Captured) -> None:
    everything = hardscape.spectrum(instance, 4096).energies
    near = everything[everything <= everything[0] + 4].tolist()
    assert answer(capsys, instance, "--window", 4)["energies"] == near
    assert answer(capsys, instance, "--window", 4, "--num-states", 2)["energies"] == near[:2]


def test_options_of_the_file(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("1 1 0.5\n1 2 -1\n")
    assert answer(capsys, path)["energies"] == [-1.5, -0.5, 0.5, 1.5]
    assert answer(capsys, path, "--convention", "ising")["gap"] == 1.0
    assert answer(capsys, path, "--convention", "ising")["states"][0] == "10"
    assert answer(capsys, path, "--base", 0)["num_spins"] == 3
    path.write_text("2 1\n1 2 3\n")
    assert answer(capsys, path)["energies"][0] == -3.0
    assert answer(capsys, path, "--format", "rudy")["energies"][0] == -3.0
    assert answer(capsys, path, "--format", "biqmac")["energies"][-1] == 6.0


@pytest.mark.parametrize("options", [["--threads", "1"], ["--no-prune"], ["--seed", "5"]])
def test_options_that_keep_the_answer(options: list[str], instance: Path, capsys: Captured) -> None:
    plain = answer(capsys, instance)
    other = answer(capsys, instance, *options)
    assert plain["energies"] == other["energies"]
    assert plain["states"] == other["states"]


def test_matrix_product_states(instance: Path, capsys: Captured) -> None:
    found = answer(capsys, instance, "--method", "mps", "--num-states", 4, "--bond-dimension", 64)
    assert set(found) == KEYS
    assert found["method"] == "mps"
    assert found["certified"] is False
    assert found["energies"] == hardscape.spectrum(instance, 4).energies.tolist()
    words = ["--method", "mps", "--num-states", "4", "--beta", "0.5", "--dbeta", "0.5"]
    assert main(["spectrum", str(instance), *words]) == 0
    assert "certificate" in capsys.readouterr().out


def test_tabu_search(instance: Path, capsys: Captured) -> None:
    words = ["--method", "search", "--runs", 2, "--seed", 1, "--num-states", 3]
    found = answer(capsys, instance, *words)
    assert set(found) == KEYS
    assert (found["method"], found["certified"]) == ("search", False)
    expected = hardscape.spectrum(instance, 3)
    assert found["energies"] == expected.energies.tolist()
    assert main(["spectrum", str(instance), *map(str, words)]) == 0
    assert "certificate" in capsys.readouterr().out
    aim = expected.energies[0] + 1e6
    assert answer(capsys, instance, "--method", "search", "--target", aim)["num_states"] == 1


def test_a_planar_model_by_matching(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "lattice.npz"
    formats.write(plus_minus_lattice(4, 5, seed=1), path)
    found = answer(capsys, path, "--method", "matching")
    assert found["energies"] == hardscape.spectrum(path, 1).energies.tolist()
    assert (found["certified"], found["lower_bound"]) == (False, found["energies"][0])
    for words in (["--num-states", 2], ["--window", 1], ["--estimate"]):
        assert "matching" in refusal(capsys, path, "--method", "matching", *words)


def test_states_that_are_known(instance: Path, tmp_path: Path, capsys: Captured) -> None:
    plain = answer(capsys, instance, "--num-states", 3)
    known = tmp_path / "known.json"
    known.write_text(json.dumps(plain))
    for content in (None, "".join(f"{x}\n" for x in plain["states"])):
        if content is not None:
            known.write_text(content)
        again = answer(capsys, instance, "--num-states", 3, "--initial-states", known)
        assert again["states"] == plain["states"]
        words = ["--method", "search", "--runs", 1, "--moves", 1, "--initial-states", known]
        assert answer(capsys, instance, *words)["energies"] == plain["energies"][:1]
    for content in ("0101\n", "2" * 12, "-1 " * 11 + "0", '{"states": [1]}', "{"):
        known.write_text(content)
        assert "known.json" in refusal(capsys, instance, "--initial-states", str(known))


def test_cutoff(instance: Path, capsys: Captured) -> None:
    plain = answer(capsys, instance, "--num-states", 50)
    top = plain["energies"][7]
    found = answer(capsys, instance, "--num-states", 50, "--cutoff", top)
    assert found["energies"] == [x for x in plain["energies"] if x <= top]


def test_a_stopped_search_tells_its_lower_bound(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "large.npz"
    formats.write(dense_gaussian(100, seed=1), path)
    assert main(["spectrum", str(path), "--time-limit", "0.3", "--num-states", "2"]) == 0
    assert "lower bound" in capsys.readouterr().out


def test_a_spin_glass_of_clauses_is_named(tmp_path: Path, capsys: Captured) -> None:
    system = hardscape.xorsat.random_regular(200, seed=1)
    system.to_file(tmp_path / "system.qh")
    assert "hardscape xorsat solve" in refusal(capsys, tmp_path / "system.qh")
    for words in (
        ["--method", "search", "--runs", "1"],
        ["--num-states", "1", "--time-limit", "0.5"],
    ):
        assert main(["spectrum", str(tmp_path / "system.qh"), *words]) == 0
        assert "hardscape xorsat solve" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--beta", "2"],
        ["--bond-dimension", "8"],
        ["--dbeta", "0.1"],
        ["--method", "mps", "--window", "1"],
        ["--method", "mps", "--estimate"],
        ["--method", "mps", "--initial-states", "x"],
        ["--target", "1"],
        ["--method", "mps", "--runs", "1"],
        ["--method", "search", "--cutoff", "1"],
        ["--method", "search", "--beta", "1"],
    ],
)
def test_options_of_the_other_method(words: list[str], instance: Path, capsys: Captured) -> None:
    flag = words[0] if len(words) < 3 or words[0] != "--method" else words[2]
    assert flag in refusal(capsys, instance, *words)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--num-states", "0"], "0"),
        (["--num-states", str(2**24 + 1)], str(2**24 + 1)),
        (["--window", "-1"], "-1"),
        (["--window", "nan"], "nan"),
        (["--threads", "0"], "0"),
        (["--seed", "-3"], "-3"),
        (["--time-limit", "0"], "0"),
        (["--device", "tpu"], "tpu"),
        (["--device", "cuda:99"], "cuda:99"),
        (["--format", "xml"], "xml"),
        (["--base", "2"], "2"),
        (["--method", "mps", "--bond-dimension", "0"], "0"),
    ],
)
def test_values_out_of_range(
    words: list[str], value: str, instance: Path, capsys: Captured
) -> None:
    assert value in refusal(capsys, instance, *words)


def test_a_malformed_line(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "bad.coo"
    path.write_text("0 1 1.0\n\n0 2 one\n")
    assert f"{path}:3:" in refusal(capsys, path)
    assert "nowhere.coo" in refusal(capsys, tmp_path / "nowhere.coo")
    assert str(tmp_path) in refusal(capsys, tmp_path)


def test_too_many_spins(tmp_path: Path, capsys: Captured) -> None:
    squares = np.arange(513) ** 2
    np.save(tmp_path / "dense.npy", np.triu(np.outer(squares, squares) % 1009 + 1.0, 1))
    line = refusal(capsys, tmp_path / "dense.npy")
    assert "513" in line
    assert "512" in line


def test_plot(instance: Path, tmp_path: Path, capsys: Captured) -> None:
    picture = tmp_path / "levels.png"
    found = answer(capsys, instance, "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert found["certified"] is True


def test_a_plot_is_refused_before_the_search(
    instance: Path, tmp_path: Path, capsys: Captured
) -> None:
    line = refusal(capsys, instance, "--plot", tmp_path / "levels.doc")
    assert ".doc" in line
    assert ".png" in line
    assert "nowhere" in refusal(capsys, instance, "--plot", tmp_path / "nowhere" / "x.png")
    assert [x.name for x in tmp_path.iterdir()] == [instance.name]


def test_estimate(instance: Path, capsys: Captured) -> None:
    cost = answer(capsys, instance, "--estimate")
    assert cost["command"] == "spectrum"
    assert cost["num_spins"] == 12
    assert cost["total_states"] == 2**12
    assert cost["seconds"] > 0
    assert cost["memory_bytes"] > 0
    assert "energies" not in cost
    assert main(["spectrum", str(instance), "--estimate"]) == 0
    told = capsys.readouterr().out
    assert str(2**12) in told
    assert "memory" in told


@pytest.fixture
def big_instance(tmp_path: Path) -> Path:
    path = tmp_path / "big.npz"
    formats.write(dense_integer(36, seed=1), path)
    return path


def hour(*arguments: object, **options: object) -> Estimate:
    return Estimate(2**36, 3600.0, 10**6, 2**36 / 3600, "1 abacus")


def test_long_searches_must_be_asked_for(
    big_instance: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum_cli, "estimate", hour)
    line = refusal(capsys, big_instance, "--device", "cpu")
    assert "60 min" in line
    assert "--yes" in line
    assert answer(capsys, big_instance, "--device", "cpu", "--yes")["certified"] is True
    limited = answer(capsys, big_instance, "--device", "cpu", "--time-limit", 300)
    assert limited["certified"] is True


def test_small_searches_are_not_estimated(
    instance: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum_cli, "estimate", hour)
    assert answer(capsys, instance)["certified"] is True


def test_time_limit(tmp_path: Path, capsys: Captured) -> None:
    formats.write(dense_integer(60, seed=2), tmp_path / "large.npz")
    words = [tmp_path / "large.npz", "--device", "cpu", "--time-limit", 0.3, "--no-prune"]
    ledger = tmp_path / "ledger"
    assert main(["spectrum", *map(str, words), "--checkpoint", str(ledger), "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["certified"] is False
    assert not any(x["complete"] for x in found["levels"])
    assert "not certified" in told.err
    assert str(ledger) in told.err
    model = Ising.from_file(tmp_path / "large.npz")
    spins = [[1 if bit == "1" else -1 for bit in bits] for bits in found["states"]]
    assert found["energies"] == model.energy(np.array(spins, dtype=int).reshape(-1, 60)).tolist()
    assert main(["spectrum", *map(str, words)]) == 0
    assert "time limit" in capsys.readouterr().out


def test_examples_are_what_their_script_writes(tmp_path: Path) -> None:
    script = EXAMPLES / "make_instances.py"
    code = f"import runpy, pathlib; runpy.run_path({str(script)!r})['main'](pathlib.Path('.'))"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in EXAMPLES.iterdir() if path.suffix != ".py"}
    assert set(written) <= set(kept)
    assert len(written) == 6
    assert all(kept[name] == content for name, content in written.items())


@pytest.mark.parametrize(
    ("name", "ground", "degeneracy"),
    [("sk24.txt", -80.0, 2), ("torus30.rudy", -16.0, 96), ("partition20.json", 36.0, 2)],
)
def test_examples(name: str, ground: float, degeneracy: int, capsys: Captured) -> None:
    found = answer(capsys, EXAMPLES / name, "--window", 0)
    assert found["energies"] == [ground] * degeneracy


def test_what_only_says_how_to_run_ends_no_command(instance: Path, capsys: Captured) -> None:
    words = ["--method", "mps", "--threads", "1", "--seed", "1", "--no-prune"]
    assert answer(capsys, instance, *words)["num_states"] == 100


def test_density(tmp_path: Path, capsys: Captured) -> None:
    torus = str(ROOT / "examples" / "torus30.rudy")
    ledger = ["--checkpoint", str(tmp_path / "parts")]
    for more in ([], ["--method", "frontier", "--threads", "1"], ledger, ledger):
        assert main(["density", torus, "--json", *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["command"], found["num_spins"]) == ("density", 30)
        assert sum(found["counts"]) == 2**30
    assert main(["spectrum", torus, "--json", "--num-states", "5000"]) == 0
    levels = json.loads(capsys.readouterr().out)["levels"]
    assert [x["count"] for x in levels if x["complete"]] == found["counts"][:2]
    assert main(["density", torus, "--time-limit", "0"]) == 2
