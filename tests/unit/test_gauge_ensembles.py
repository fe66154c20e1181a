"""Many configurations at once: files, tables, errors, and the same numbers however they are run."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from hardscape import gauge
from hardscape.engine import ProgressEvent
from hardscape.errors import (
    CheckpointError,
    ChecksumError,
    FormatError,
    InputError,
    Interrupted,
    NotConverged,
)
from hardscape.gauge.ensembles.averages import Average, average, jackknife
from hardscape.gauge.ensembles.files import listed, outputs
from hardscape.gauge.ensembles.result import with_error

NAMES = ("cfg.9", "cfg.10", "cfg.100")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ensemble")
    for n, name in enumerate(NAMES):
        field = gauge.generate((4, 2, 4, 4), 6.0, sweeps=8, seed=n, device="cpu")
        field.to_file(place / name, format="nersc")
    return place


def fixed(folder: Path, output: Path, **more: object) -> gauge.Ensemble:
    return gauge.fix_ensemble(
        folder / "cfg.*", "landau", output / "{stem}.landau.lime", seed=5, **more
    )


def test_files_in_the_order_of_their_numbers(folder: Path) -> None:
    assert [Path(x).name for x in listed(str(folder / "cfg.*"))] == list(NAMES)
    assert listed([folder / "cfg.10", str(folder / "cfg.[9]")])[1].endswith("cfg.9")
    with pytest.raises(InputError):
        listed(str(folder / "nothing.*"))
    with pytest.raises(InputError):
        listed([])


def test_a_configuration_counts_once(tmp_path: Path) -> None:
    one, other = tmp_path / "cfg.1", tmp_path / "cfg.2"
    for path in (one, other):
        path.touch()
    (tmp_path / "latest").symlink_to(one)
    assert listed([other, one]) == (str(other), str(one))
    name = str(one)
    for twice in ([name, name], [tmp_path / "cfg.*", one], [one, tmp_path / "latest"]):
        with pytest.raises(InputError):
            listed(twice)


def test_outputs_are_of_the_names() -> None:
    files = ("a/cfg.1000", "b/u.7.lime", "b/x12y.nersc.gz")
    assert outputs("o/{stem}.l", files) == ("o/cfg.1000.l", "o/u.7.l", "o/x12y.l")
    assert outputs("{name}", files) == ("cfg.1000", "u.7.lime", "x12y.nersc.gz")
    assert outputs("{number}", files) == ("1000", "7", "12")
    for wrong in ("same", "{other}{stem}", "{stem", "{0}"):
        with pytest.raises(InputError):
            outputs(wrong, files)


def test_every_configuration_as_by_itself(folder: Path, tmp_path: Path) -> None:
    found = fixed(folder, tmp_path, device="cpu")
    assert (len(found), found.files_total, found.stopped) == (3, 3, "")
    for i, name in enumerate(NAMES):
        alone = gauge.fix(folder / name, device="cpu")
        assert found["functional"][i] == pytest.approx(alone.functional, abs=1e-10)
        written = gauge.GaugeField.from_file(tmp_path / f"{name}.landau.lime")
        assert written == alone.fixed()
        assert found["sweeps"][i] == alone.sweeps
    assert found["converged"].all()


def test_the_same_table_however_it_is_run(folder: Path, tmp_path: Path) -> None:
    places = [tmp_path / x for x in ("one", "two", "three")]
    for place in places:
        place.mkdir()
    job = tmp_path / "job"
    one = fixed(folder, places[0], arguments={"copies": 2}, threads=1, device="cpu")
    two = fixed(folder, places[1], arguments={"copies": 2}, threads=2, device="cpu", checkpoint=job)
    three = fixed(folder, places[2], arguments={"copies": 2}, executor="processes:2", device="cpu")
    for other in (two, three):
        assert {x: y.tolist() for x, y in other.values.items()} == {
            x: y.tolist() for x, y in one.values.items()
        }
    for name in NAMES:
        bytes_of = {(place / f"{name}.landau.lime").read_bytes() for place in places}
        assert len(bytes_of) == 1
    (places[1] / "cfg.9.landau.lime").unlink()
    again = fixed(folder, places[1], arguments={"copies": 2}, device="cpu", checkpoint=job)
    assert again.values["functional"].tolist() == one.values["functional"].tolist()
    assert not (places[1] / "cfg.9.landau.lime").exists()  # it is done, says the checkpoint


def test_what_does_not_converge_is_told_and_not_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotConverged) as told:
        fixed(folder, tmp_path, arguments={"max_sweeps": 1}, device="cpu")
    assert len(told.value.result) == 3
    assert not told.value.result["converged"].any()
    assert list(tmp_path.iterdir()) == []
    found = fixed(folder, tmp_path, arguments={"max_sweeps": 1, "strict": False}, device="cpu")
    assert len(list(tmp_path.iterdir())) == len(found) == 3


def test_refusals(folder: Path, tmp_path: Path) -> None:
    for wrong in (
        {"arguments": {"speed": 3}},
        {"arguments": {"theta": -1.0}},
        {"arguments": {"output_precision": "half"}},
        {"error_method": "guess"},
        {"bin_size": 0},
        {"read": {"colour": 3}},
        {"to": "word"},
    ):
        with pytest.raises(InputError):
            fixed(folder, tmp_path, **wrong)
    with pytest.raises(FormatError):
        gauge.fix_ensemble([folder / "cfg.9", folder / "cfg.11"], device="cpu")
    damaged = tmp_path / "cfg.1"
    data = bytearray((folder / "cfg.9").read_bytes())
    data[-300] ^= 64
    damaged.write_bytes(data)
    with pytest.raises(ChecksumError):
        gauge.fix_ensemble(damaged, device="cpu")


def test_what_the_format_does_not_hold_is_refused_before_the_work(tmp_path: Path) -> None:
    gauge.GaugeField.random((4, 4, 4, 3), seed=1).to_file(tmp_path / "u.nersc")
    never = {"theta": 1e-26, "max_sweeps": 10**9}
    with pytest.raises(InputError):
        gauge.fix_ensemble(tmp_path / "u.nersc", output=tmp_path / "u.openqcd", arguments=never)
    with pytest.raises(InputError):
        gauge.generate_ensemble((4, 4, 4, 4), 2.3, 2, tmp_path / "u.{number}.bmw", 2, sweeps=10**6)
    with pytest.raises(InputError):
        gauge.generate_ensemble(
            (4, 4, 4, 4), 6.0, 2, tmp_path / "u.{number}.nersc", sweeps=10**6, written={"rows": 5}
        )


def test_broken_files_among_many_are_left_out_and_told_of(folder: Path, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    data = bytearray((folder / "cfg.10").read_bytes())
    data[-300] ^= 64
    (tmp_path / "cfg.10").write_bytes(data)
    (tmp_path / "cfg.1").write_bytes(data[:-5])
    (tmp_path / "cfg.2").write_bytes(b"no links")

    def run(**more: object) -> gauge.Ensemble:
        with pytest.raises(FormatError) as told:
            fixed(tmp_path, tmp_path / "new" / "folder", device="cpu", **more)
        assert "cfg.1:" in str(told.value)
        found = told.value.result
        assert [Path(x).name for x in found.left_out] == ["cfg.1", "cfg.2", "cfg.10"]
        assert [Path(x).name for x in found.files] == ["cfg.9", "cfg.100"]
        return found

    whole = fixed(folder, tmp_path / "whole", device="cpu")
    one, two = run(), run(executor="processes:2")
    three, again = run(checkpoint=tmp_path / "job"), run(checkpoint=tmp_path / "job")
    for found in (one, two, three, again):
        assert found["functional"].tolist() == whole["functional"][[0, 2]].tolist()
        assert found.left_out == one.left_out
        assert found.to_dict()["left_out"] == dict(one.left_out)
    names = sorted(x.name for x in (tmp_path / "new" / "folder").iterdir())
    assert names == ["cfg.100.landau.lime", "cfg.9.landau.lime"]
    with pytest.raises(ChecksumError) as refused:
        gauge.observables([tmp_path / "cfg.9", tmp_path / "cfg.10"])
    assert len(refused.value.result) == 1
    with pytest.raises(ChecksumError) as refused:
        gauge.observables(tmp_path / "cfg.10")
    assert refused.value.result is None


@pytest.mark.parametrize(
    "measured",
    [
        gauge.gluon_propagator,
        partial(gauge.ghost_propagator, momenta=2),
        partial(gauge.faddeev_popov_eigenvalues, count=2),
    ],
    ids=["gluon", "ghost", "eigenvalues"],
)
def test_broken_files_are_left_out_of_averages_and_told_of(
    measured: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    fixed(folder, tmp_path, device="cpu")
    whole = [tmp_path / f"{name}.landau.lime" for name in NAMES[:2]]
    (tmp_path / "cfg.1.landau.lime").write_bytes(b"no links")
    (tmp_path / "cfg.5.landau.lime").write_bytes(whole[0].read_bytes()[:-5])
    unfixed = gauge.GaugeField.from_file(folder / "cfg.100")
    unfixed.to_file(tmp_path / "cfg.100.landau.lime")
    alone = measured(whole, device="cpu")
    for run in ({}, {"executor": "processes:2"}, {"checkpoint": tmp_path / "job"}):
        with pytest.raises(FormatError) as told:
            measured(tmp_path / "*.landau.lime", device="cpu", **run)
        assert "cfg.1." in str(told.value)
        found = told.value.result
        assert type(found) is type(alone)
        assert found.configurations == 2
        assert found.value.tolist() == alone.value.tolist()
        assert found.error.tolist() == alone.error.tolist()
    with pytest.raises(InputError) as told:
        measured([tmp_path / "cfg.1.landau.lime", tmp_path / "cfg.100.landau.lime"], device="cpu")
    assert told.value.result is None


def test_tables(folder: Path, tmp_path: Path) -> None:
    found = fixed(folder, tmp_path, device="cpu")
    for suffix in (".csv", ".json", ".h5"):
        found.save(tmp_path / f"table{suffix}")
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [float(row["functional"]) for row in rows] == found["functional"].tolist()
    assert [Path(row["output"]).name for row in rows] == [f"{x}.landau.lime" for x in NAMES]
    plain = json.loads((tmp_path / "table.json").read_text())
    assert plain["values"]["plaquette"] == found["plaquette"].tolist()
    with h5py.File(tmp_path / "table.h5") as file:
        np.testing.assert_array_equal(file["functional"], found["functional"])
        assert file["functional"].attrs["error"] == found.averages["functional"].error
    with pytest.raises(InputError):
        found.save(tmp_path / "table.txt")
    assert found.plot(column="plaquette") is not None


def test_ten_configurations_through_hdf5_cut_short_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardscape.engine.progress._INTERVAL", 0.0)  # every block is told
    for n in range(10):
        field = gauge.GaugeField.random((2, 2, 4, 4), 2, seed=n)
        field.to_file(tmp_path / f"u.{n}.h5")

    def made(place: str, **more: object) -> gauge.Ensemble:
        (tmp_path / place).mkdir(exist_ok=True)
        output = tmp_path / place / "{stem}.landau.h5"
        return gauge.fix_ensemble(
            tmp_path / "u.*.h5", "landau", output, seed=3, threads=1, device="cpu", **more
        )

    whole = made("whole")

    def stop(event: ProgressEvent) -> None:
        if 4 <= event.done < 10:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted) as cut:
        made("parts", checkpoint=tmp_path / "job", progress=stop)
    assert 4 <= len(cut.value.result) < 10
    assert len(list((tmp_path / "parts").iterdir())) < 10
    parts = made("parts", checkpoint=tmp_path / "job")
    for found, name in ((whole, "whole.h5"), (parts, "parts.h5")):
        found.save(tmp_path / name)
    with h5py.File(tmp_path / "whole.h5") as one, h5py.File(tmp_path / "parts.h5") as two:
        assert len(one["functional"]) == 10
        assert {"functional", "plaquette"} <= set(whole.averages)
        for column in whole.averages:
            assert one[column][:].tobytes() == two[column][:].tobytes()
            assert one[column].attrs["error"] == two[column].attrs["error"]
    for n in range(10):
        name = f"u.{n}.landau.h5"
        once, twice = (tmp_path / place / name for place in ("whole", "parts"))
        assert gauge.GaugeField.from_file(once) == gauge.GaugeField.from_file(twice)
        assert once.read_bytes() == twice.read_bytes()


def test_an_ensemble_is_asked_by_the_names_of_its_columns(folder: Path) -> None:
    found = gauge.observables(folder / "cfg.*", device="cpu")
    assert list(found) == list(found.values)
    assert "plaquette" in found
    assert 0 not in found
    assert all(found[name] is found.values[name] for name in found)
    for name in ("plaquete", 0):
        with pytest.raises(InputError, match="plaquette"):
            found[name]  # type: ignore[index]


def test_the_jackknife() -> None:
    random = np.random.default_rng(2)
    samples = random.normal(3.0, 1.0, size=(40, 2))
    value, error = jackknife(samples)
    np.testing.assert_allclose(value, samples.mean(axis=0))
    np.testing.assert_allclose(error, samples.std(axis=0, ddof=1) / np.sqrt(40))
    # of a function, by leaving out one after the other
    left_out = [np.log(np.delete(samples, i, axis=0).mean(axis=0)) for i in range(40)]
    _, error = jackknife(samples, np.log)
    np.testing.assert_allclose(error, np.std(left_out, axis=0) * np.sqrt(39))
    # bins of equal numbers are one number each
    _, apart = jackknife(samples)
    _, binned = jackknife(np.repeat(samples, 3, axis=0), bin_size=3)
    np.testing.assert_allclose(binned, apart)
    assert np.isnan(jackknife(samples[:1])[1]).all()


def test_the_gamma_method_sees_autocorrelations() -> None:
    random = np.random.default_rng(3)
    chain = np.zeros(4000)
    for i in range(1, len(chain)):  # tau = (1 + 0.8) / (1 - 0.8) / 2
        chain[i] = 0.8 * chain[i - 1] + random.normal()
    seen = average(chain, "gamma")
    assert seen.tau_int == pytest.approx(4.5, rel=0.25)
    naive = average(chain, "jackknife").error
    assert seen.error == pytest.approx(naive * np.sqrt(2 * seen.tau_int), rel=0.05)
    assert np.isnan(average(chain[:3], "gamma").error)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [(0.593647, 0.00012, "0.59365(12)"), (6.18e-13, 1.1e-14, "6.18(11)e-13"), (2.5, np.nan, "2.5")],
)
def test_means_as_papers_print_them(value: float, error: float, shown: str) -> None:
    assert with_error(Average(value, error)) == shown


def test_a_chain_in_files_goes_on(tmp_path: Path) -> None:
    def made(folder: str, count: int, **more: object) -> gauge.Ensemble:
        (tmp_path / folder).mkdir(exist_ok=True)
        place = tmp_path / folder / "u.{number}.nersc"
        return gauge.generate_ensemble(
            (4, 4, 4, 4), 6.0, count, place, sweeps=6, every=3, seed=2, **more
        )

    whole = made("whole", 4)
    made("parts", 2, checkpoint=tmp_path / "job")
    parts = made("parts", 4, checkpoint=tmp_path / "job")
    assert parts["sweep"].tolist() == [6, 9, 12, 15]
    assert parts["plaquette"].tolist() == whole["plaquette"].tolist()
    for n in range(1, 5):
        files = [tmp_path / folder / f"u.{n}.nersc" for folder in ("whole", "parts")]
        assert files[0].read_bytes() == files[1].read_bytes()
    field = gauge.GaugeField.from_file(files[0])
    chain = gauge.generate((4, 4, 4, 4), 6.0, sweeps=15, seed=2)
    assert field == chain
    assert whole["plaquette"][-1] == pytest.approx(chain.plaquette(), abs=1e-12)
    with pytest.raises(InputError):
        gauge.generate_ensemble((4, 4, 4, 4), 6.0, 2, tmp_path / "u.nersc")


def test_propagators_of_files_are_those_of_fields(folder: Path, tmp_path: Path) -> None:
    found = fixed(folder, tmp_path, device="cpu")
    fields = [gauge.GaugeField.from_file(x) for x in found.outputs]
    by_files = gauge.gluon_propagator(tmp_path / "*.lime", cylinder=None, device="cpu")
    by_fields = gauge.gluon_propagator(fields, cylinder=None)
    assert by_files == by_fields
    samples = [gauge.gluon_propagator(one, cylinder=None).value for one in fields]
    np.testing.assert_allclose(
        by_files.error, np.std(samples, axis=0, ddof=1) / np.sqrt(3), atol=1e-12
    )
    with pytest.raises(InputError):
        gauge.gluon_propagator(fields, checkpoint=tmp_path / "job")


def test_fields_in_memory_are_measured_as_files_are(folder: Path, tmp_path: Path) -> None:
    found = fixed(folder, tmp_path, device="cpu")
    fields = [gauge.GaugeField.from_file(x) for x in found.outputs]
    momenta = [(1, 0, 0, 0), (0, 0, 1, 1)]
    by_files = gauge.ghost_propagator(tmp_path / "*.lime", momenta, device="cpu")
    for given in (fields, [found.outputs[0], *fields[1:]]):
        by_fields = gauge.ghost_propagator(given, momenta, device="cpu")
        assert by_fields.value.tobytes() == by_files.value.tobytes()
    by_workers = gauge.observables(fields, loops=(2, 2), executor="processes:1")
    alone = [gauge.observables(field, loops=(2, 2), device="cpu") for field in fields]
    for name in ("plaquette", "link_trace", "loops"):
        assert by_workers[name].tolist() == [one[name][0].tolist() for one in alone]
    ledger = tmp_path / "fields.job"
    gauge.observables(fields, checkpoint=ledger, device="cpu")
    with pytest.raises(CheckpointError):
        gauge.observables(fields[::-1], checkpoint=ledger, device="cpu")
    for measure in (gauge.ghost_propagator, gauge.gluon_propagator):
        with pytest.raises(InputError, match=r"cfg\.10:"):  # many files are given, and one is wrong
            measure([*found.outputs, folder / "cfg.10"], device="cpu")
    for wrong in (5, [fields[0], 5]):
        with pytest.raises(InputError):
            gauge.observables(wrong, device="cpu")
    with pytest.raises(InputError):
        gauge.fix_ensemble(fields, "landau", device="cpu")
