"""One door: the options of all functions of the family, and what stops them."""

from __future__ import annotations

import io
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest

import hardscape
from hardscape.engine import Cpu, ProgressEvent, RunOptions, team
from hardscape.errors import CheckpointError, InputError, Interrupted
from hardscape.ising import ExactSampler, Ising, Spectrum, density_of_states, mps_spectrum
from hardscape.ising.exact import from_limbs
from hardscape.ising.methods.exhaustive.blocks import Wanted
from hardscape.ising.methods.exhaustive.work import BlockWork
from hardscape.ising.methods.mps.annealing import Annealing, Line
from hardscape.ising.methods.tree.tree import Tree
from helpers.instances import dense_gaussian, dense_integer, plus_minus_lattice


def sample(model: Ising, **options: Any) -> Any:
    return ExactSampler().sample(model.to_bqm(), **options)


def annealed(model: Ising, **options: Any) -> Spectrum:
    return mps_spectrum(model, bond_dimension=8, **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "spectrum": hardscape.spectrum,
    "density_of_states": density_of_states,
    "mps_spectrum": annealed,
    "ExactSampler": sample,
}


def energies_of(found: Any) -> np.ndarray:
    return found.record.energy if isinstance(found, dimod.SampleSet) else found.energies


def bytes_of(found: Spectrum) -> tuple[bytes, bytes]:
    return found.states.tobytes(), found.energies.tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", True),
        ("seed", np.True_),
        ("seed", 2**64),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", "1"),
        ("threads", 1.5),
        ("threads", True),
        ("threads", 0),
        ("threads", "2"),
        ("time_limit", "1"),
        ("time_limit", True),
        ("time_limit", 0),
        ("time_limit", float("nan")),
        ("checkpoint", 3),
        ("executor", 3),
        ("progress", 3),
    ],
)
def test_options_are_refused_at_the_door(function: str, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        FUNCTIONS[function](dense_integer(5, 1), **{name: value})


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", [np.int64(3), np.uint64(2**64 - 1), 2**64 - 1])
def test_seeds_of_any_integer_type(function: str, seed: Any) -> None:
    model = dense_integer(16, 2, bound=3)
    found, same = (FUNCTIONS[function](model, seed=s, threads=1) for s in (seed, int(seed)))
    assert energies_of(found).tobytes() == energies_of(same).tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_progress_and_executor_are_taken(function: str) -> None:
    events: list[ProgressEvent] = []
    model = dense_integer(15, 2, bound=3)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = FUNCTIONS[function](model, progress=events.append, executor=pool)
    plain = FUNCTIONS[function](model)
    assert events
    assert energies_of(found).tobytes() == energies_of(plain).tobytes()


@pytest.mark.parametrize(("prune", "method"), [(True, "tree"), (False, "exhaustive")])
def test_a_result_says_what_made_it_and_the_log_what_was_passed_over(
    prune: bool, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG", logger="hardscape.ising"):
        found = hardscape.spectrum(dense_integer(9, 1), prune=prune, device="cpu", threads=1)
    assert found.info["method"] == method
    assert found.info["device"] == "1 CPU thread(s)"
    assert found.info["stopped"] == ""
    assert ("tree" in caplog.text) == (method != "tree")


def test_the_search_starts_where_it_did_without_a_seed(tmp_path: Path) -> None:
    model = dense_gaussian(27, 3)
    options = {"device": "cpu", "prune": False, "checkpoint": tmp_path / "ledger"}
    first = hardscape.spectrum(model, 20_000, **options)
    again = hardscape.spectrum(model, 20_000, **options)
    assert again.info["resumed_shards"] > 1
    assert bytes_of(again) == bytes_of(first)


def test_workers_of_an_executor_get_the_raised_floors() -> None:
    options = RunOptions.checked(device="cpu", threads=1, seed=0)
    work = Tree().work(Wanted(dense_gaussian(38, 2).exact, 10, None), options)
    assert isinstance(work, BlockWork)
    sent = pickle.loads(pickle.dumps(work))
    floors, there = (from_limbs(w.search.layout.search.floors()) for w in (work, sent))
    assert floors == there == list(work.search.floors)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_while_floors_are_raised(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    ended = threading.Event()

    def interrupt() -> None:
        while signal.getsignal(number) is before and not ended.is_set():
            time.sleep(0.005)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(Interrupted) as caught:
            hardscape.spectrum(dense_gaussian(64, 1), device="cpu")
    finally:
        ended.set()
        thread.join()
    assert caught.value.signum == number
    assert caught.value.result is None


# -- the matrix product state as a chain ------------------------------------------------------


def annealing(model: Ising) -> Annealing:
    return Annealing(Line.of(model, spectral=False), 8, 0.25, 3, Cpu())


def finished(chain: Annealing, done: int = 0) -> dict[str, bytes]:
    with team(1) as alone:
        assert chain.advance(chain.total - done, alone) == chain.total - done
    return {name: array.tobytes() for name, array in chain.state().items()}


@pytest.mark.parametrize("fields", [True, False])
def test_any_cut_of_the_annealing_gives_the_same_bytes(fields: bool) -> None:
    model = dense_gaussian(14, 3, fields=fields)
    whole = finished(annealing(model))
    for done in range(annealing(model).total + 1):
        first = annealing(model)
        with team(1) as alone:
            first.advance(done, alone)
        kept = io.BytesIO()
        np.savez(kept, **first.state())
        kept.seek(0)
        second = annealing(model)
        second.restore(dict(np.load(kept)))
        assert finished(second, done) == whole
        assert finished(pickle.loads(pickle.dumps(first)), done) == whole


def interrupted(progress: Callable[[ProgressEvent], None], **options: Any) -> Interrupted:
    with pytest.raises(Interrupted) as caught:
        mps_spectrum(plus_minus_lattice(8, 8, 1), 10, progress=progress, **options)
    return caught.value


@pytest.mark.filterwarnings("ignore::hardscape.errors.AccuracyWarning")
def test_an_interrupted_annealing_tells_the_best_so_far_and_goes_on(tmp_path: Path) -> None:
    model = plus_minus_lattice(8, 8, 1)
    options = {"bond_dimension": 8, "dbeta": 0.1}
    plain = mps_spectrum(model, 10, **options)

    def stop(event: ProgressEvent) -> None:
        if event.done:
            os.kill(os.getpid(), signal.SIGINT)

    ledger = tmp_path / "ledger"
    stopped = interrupted(stop, checkpoint=ledger, **options)
    assert stopped.signum == signal.SIGINT
    best = stopped.result
    assert best.info["stopped"] == "SIGINT"
    assert 0 < best.info["beta"] < 1
    assert not best.certified
    np.testing.assert_array_equal(best.energies, model.energy(best.states))
    resumed = mps_spectrum(model, 10, checkpoint=ledger, **options)
    assert bytes_of(resumed) == bytes_of(plain)
    for fact in ("discarded_weight", "beta", "candidates", "stopped"):
        assert resumed.info[fact] == plain.info[fact]
    with pytest.raises(CheckpointError):
        mps_spectrum(model, 10, checkpoint=ledger, bond_dimension=6, dbeta=0.1)


def test_a_time_limit_ends_the_annealing_early() -> None:
    model = dense_gaussian(40, 1)
    found = mps_spectrum(model, 10, bond_dimension=64, dbeta=1e-4, time_limit=0.5)
    assert found.info["stopped"] == "time_limit"
    assert 0 <= found.info["beta"] < 1
    assert found.num_states == 10
    np.testing.assert_array_equal(found.energies, model.energy(found.states))


def test_a_reason_of_many_methods_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        hardscape.spectrum(dense_gaussian(70, 1), 1, prune=False)
    reasons = str(caught.value).split("; ")
    assert len(reasons) == len(set(reasons)) > 1
    assert sum("prune=False" in reason for reason in reasons) == 1
