"""Checkpoints: resume, refusal, damage, and sudden death."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardscape import errors
from hardscape.engine import (
    Context,
    Ledger,
    Outcome,
    Partial,
    ProgressEvent,
    Shard,
    ShardResult,
    resolve,
)
from hardscape.engine import ledger as ledger_module
from hardscape.engine.fold import Block
from hardscape.engine.ledger import pack, unpack
from helpers.running import run
from helpers.works import SLOW, HarmonicSum, Lowest, harmonic

TESTS = Path(__file__).resolve().parents[1]
ONE = resolve("cpu", threads=1)
TWO = resolve("cpu", threads=2)


def raw(outcome: Outcome) -> dict[str, bytes]:
    assert outcome.partial is not None
    return {name: array.tobytes() for name, array in outcome.partial.items()}


def exact(work: HarmonicSum) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in harmonic(work).items()}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "job.ledger"
    outcome = run(SLOW, devices=TWO, checkpoint=path, time_limit=0.4)
    assert 0 < outcome.shards_done < 40
    return path


@pytest.fixture
def half_done(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


@given(
    st.dictionaries(
        st.text("abcxyz_file", min_size=1, max_size=6),
        st.sampled_from(["f8", "i8", "u1", "c16", "?"]).flatmap(
            lambda kind: st.lists(st.integers(0, 1), max_size=5).map(
                lambda values: np.array(values, dtype=kind)
            )
        ),
        max_size=4,
    )
)
@settings(max_examples=30, deadline=None)
def test_partials_survive_packing(partial: dict[str, np.ndarray]) -> None:
    back = unpack(pack(partial))
    assert list(back) == list(partial)
    for name, array in partial.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert pack(back) == pack(partial)


def test_resume_gives_the_same_bytes(half_done: Path) -> None:
    outcome = run(SLOW, devices=TWO, checkpoint=half_done)
    assert 0 < outcome.resumed_shards < 40
    assert outcome.shards_done == 40
    assert raw(outcome) == exact(SLOW)


def test_a_finished_ledger_runs_nothing(tmp_path: Path) -> None:
    first = run(HarmonicSum(), devices=TWO, checkpoint=tmp_path / "job")
    again = run(HarmonicSum(pause=60.0), devices=TWO, checkpoint=tmp_path / "job")
    assert again.resumed_shards == again.shards_total
    assert again.complete
    assert raw(again) == raw(first)


def test_incomplete_shards_are_not_written(tmp_path: Path) -> None:
    work = HarmonicSum(units=4000, count=2, pause=0.01)
    outcome = run(work, devices=TWO, checkpoint=tmp_path / "job", time_limit=0.1)
    assert outcome.partial is not None
    assert outcome.partial["terms"] > 0
    with Ledger(tmp_path / "job", work) as ledger:
        assert list(ledger.load()) == []


@pytest.mark.parametrize(
    ("other", "culprit"),
    [
        (HarmonicSum(units=401, count=40), "digest"),
        (HarmonicSum(units=400, count=39), "39"),
        (Lowest(units=400, count=40), "test.lowest"),
    ],
)
def test_other_work_is_refused(half_done: Path, other: HarmonicSum | Lowest, culprit: str) -> None:
    before = half_done.read_bytes()
    with pytest.raises(errors.CheckpointError, match=culprit):
        run(other, devices=ONE, checkpoint=half_done)
    assert half_done.read_bytes() == before


def test_an_older_algorithm_is_refused(half_done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = half_done.read_bytes()
    monkeypatch.setattr(HarmonicSum, "revision", HarmonicSum.revision + 1)
    with pytest.raises(errors.CheckpointError, match="revision"):
        run(SLOW, devices=ONE, checkpoint=half_done)
    assert half_done.read_bytes() == before


def test_the_revision_is_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = SLOW.identity()
    monkeypatch.setattr(HarmonicSum, "revision", HarmonicSum.revision + 1)
    assert SLOW.identity().digest != before.digest


def test_another_format_is_refused(half_done: Path) -> None:
    with sqlite3.connect(half_done) as database:
        database.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    database.close()
    with pytest.raises(errors.CheckpointError, match="99"):
        run(SLOW, devices=ONE, checkpoint=half_done)


@pytest.mark.parametrize(
    "content", [b"precious notes\n", b"x" * 5000, b"SQLite format 3\0" + bytes(84), b"SQLite"]
)
def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(errors.CheckpointError, match=r"notes\.txt"):
        run(HarmonicSum(), devices=ONE, checkpoint=path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(errors.CheckpointError):
        run(HarmonicSum(), devices=ONE, checkpoint=path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "job"
    path.touch()
    assert run(HarmonicSum(), devices=ONE, checkpoint=path).complete
    assert run(HarmonicSum(), devices=ONE, checkpoint=path).resumed_shards == 23


@pytest.mark.parametrize("keep", [50, 99, 100, 4096, 6000])
def test_a_truncated_ledger_is_reported_and_left_alone(half_done: Path, keep: int) -> None:
    data = half_done.read_bytes()[:keep]
    half_done.write_bytes(data)
    with pytest.raises(errors.CheckpointError, match=half_done.name):
        run(SLOW, devices=ONE, checkpoint=half_done)
    assert half_done.read_bytes() == data


def test_scribbled_pages_are_reported_and_left_alone(half_done: Path) -> None:
    data = bytearray(half_done.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 64] = b"\xa5" * 64
    half_done.write_bytes(data)
    with pytest.raises(errors.CheckpointError, match=half_done.name):
        run(SLOW, devices=ONE, checkpoint=half_done)
    assert half_done.read_bytes() == data


def test_a_flipped_bit_of_any_page_is_reported_or_does_no_harm(half_done: Path) -> None:
    with Ledger(half_done, SLOW) as ledger:
        written = [(index, pack(partial)) for index, partial in ledger.load()]
    whole = half_done.read_bytes()
    places = random.Random(1)
    refused = 0
    for page in range(0, len(whole), 4096):
        for _ in range(12):
            data = bytearray(whole)
            data[page + places.randrange(4096)] ^= 1 << places.randrange(8)
            half_done.write_bytes(data)
            try:
                with Ledger(half_done, SLOW) as ledger:
                    found = [(index, pack(partial)) for index, partial in ledger.load()]
            except errors.CheckpointError:
                refused += 1
            else:
                assert found == written
    assert refused > 0


@pytest.mark.parametrize("change", ["flip", "cut", "junk"])
def test_a_damaged_partial_is_reported(half_done: Path, change: str) -> None:
    database = sqlite3.connect(half_done)
    index, blob = database.execute("SELECT start, data FROM blocks LIMIT 1").fetchone()
    start = blob.index(b"\x93NUMPY")
    damaged = {
        "flip": blob[: start + 130] + bytes([blob[start + 130] ^ 1]) + blob[start + 131 :],
        "cut": blob[: len(blob) // 2],
        "junk": b"no zip archive at all",
    }[change]
    database.execute("UPDATE blocks SET data = ? WHERE start = ?", (damaged, index))
    database.commit()
    database.close()
    with pytest.raises(errors.CheckpointError, match=f"shard {index} "):
        run(SLOW, devices=ONE, checkpoint=half_done)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE blocks SET start = 38, stop = 39 WHERE start = 0",
        "UPDATE blocks SET stop = stop + 1",
        "UPDATE blocks SET stop = start",
        "UPDATE blocks SET stop = 'x'",
        "UPDATE blocks SET data = CAST(data AS TEXT)",
        "INSERT OR REPLACE INTO blocks SELECT 1, stop, data, crc FROM blocks WHERE start = 0",
        "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'digest'",
        "DELETE FROM meta",
        "DROP TABLE blocks",
    ],
)
def test_rows_that_nobody_wrote_are_reported(half_done: Path, change: str) -> None:
    database = sqlite3.connect(half_done)
    database.execute(change)
    database.commit()
    database.close()
    with pytest.raises(errors.CheckpointError, match=half_done.name):
        run(SLOW, devices=ONE, checkpoint=half_done)


def test_a_partial_under_another_name_is_reported(half_done: Path) -> None:
    database = sqlite3.connect(half_done)
    ((blob,),) = database.execute("SELECT data FROM blocks LIMIT 1")
    database.execute("UPDATE blocks SET data = ?", (blob.replace(b"terms.npy", b"turms.npy"),))
    database.commit()
    database.close()
    with pytest.raises(errors.CheckpointError):
        run(SLOW, devices=ONE, checkpoint=half_done)


def test_a_shard_out_of_range_is_reported(half_done: Path) -> None:
    database = sqlite3.connect(half_done)
    database.execute("INSERT INTO blocks VALUES (40, 41, x'00', 0)")
    database.commit()
    database.close()
    with pytest.raises(errors.CheckpointError, match="40"):
        run(SLOW, devices=ONE, checkpoint=half_done)


def test_places_that_cannot_hold_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(errors.CheckpointError, match="missing"):
        run(HarmonicSum(), devices=ONE, checkpoint=tmp_path / "missing" / "job")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(errors.CheckpointError):
        run(HarmonicSum(), devices=ONE, checkpoint=tmp_path)


def test_one_ledger_serves_one_run_at_a_time(half_done: Path) -> None:
    script = (
        "import sys\n"
        "from hardscape import errors\n"
        "from hardscape.engine import Ledger\n"
        "from helpers.works import SLOW\n"
        "try:\n"
        "    Ledger(sys.argv[1], SLOW)\n"
        "except errors.CheckpointError as error:\n"
        "    print(error)\n"
    )
    with Ledger(half_done, SLOW):
        with pytest.raises(errors.CheckpointError):
            Ledger(half_done, SLOW)
        second = spawn(script, half_done)
        assert half_done.name in second.communicate(timeout=60)[0]
    assert run(SLOW, devices=TWO, checkpoint=half_done).complete


def test_kill_9_loses_nothing_that_was_complete(tmp_path: Path) -> None:
    path = tmp_path / "job.ledger"
    script = (
        "import sys\n"
        "from hardscape.engine import resolve\n"
        "from helpers.running import run\n"
        "from helpers.works import SLOW\n"
        "run(SLOW, devices=resolve('cpu', threads=2), checkpoint=sys.argv[1],\n"
        "    progress=lambda event: print(event.done, flush=True))\n"
    )
    resumed = -1
    for _ in range(2):  # the second victim dies on a ledger that has been resumed
        victim = spawn(script, path)
        assert victim.stdout is not None
        told = int(victim.stdout.readline())
        start = told
        while told <= start + 20:
            told = int(victim.stdout.readline())
        victim.send_signal(signal.SIGKILL)
        assert victim.wait(timeout=60) == -signal.SIGKILL
        victim.stdout.close()
        with Ledger(path, SLOW) as ledger:
            kept = sum(len(block) for block, _ in ledger.load())
        # Work is counted after it is in the ledger: all that was told is there.
        assert 10 * kept >= told
        assert kept > resumed
        resumed = kept
    outcome = run(SLOW, devices=TWO, checkpoint=path)
    assert outcome.resumed_shards == resumed < 40
    assert raw(outcome) == exact(SLOW)


@dataclass(frozen=True)
class Bulky(HarmonicSum):
    """Its answer is no larger than what one shard finds: 100 kB."""

    def run(self, shard: Shard, context: Context) -> ShardResult:
        found = super().run(shard, context)
        return ShardResult({**found.partial, "bulk": np.full(12_500, shard.index)}, found.complete)

    def merge(self, left: Partial, right: Partial) -> Partial:
        return {**super().merge(left, right), "bulk": np.maximum(left["bulk"], right["bulk"])}


@contextmanager
def room(size: int) -> Iterator[None]:
    """A limit of the bytes of each file, as where a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [1000, 20_000, 300_000])
def test_a_full_disk_ends_a_run_that_then_goes_on(tmp_path: Path, size: int) -> None:
    path, work = tmp_path / "job", Bulky(units=200, count=200, pause=0.001)
    for _ in range(2):
        with room(size), pytest.raises(errors.CheckpointError):
            run(work, devices=ONE, checkpoint=path)
        assert not path.exists() or path.stat().st_size > 0
    outcome = run(work, devices=ONE, checkpoint=path)
    assert (outcome.resumed_shards > 0) == (size == 300_000)
    assert raw(outcome) == raw(run(work, devices=ONE))


def test_killed_before_anything_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []
    create = Ledger._create

    def copying(self: Ledger, expected: dict[str, str]) -> None:
        copies.append(shutil.copy(tmp_path / "job", tmp_path / "copy"))
        create(self, expected)

    monkeypatch.setattr(Ledger, "_create", copying)
    with Ledger(tmp_path / "job", HarmonicSum()):
        pass
    assert len(copies) == 1
    assert run(HarmonicSum(), devices=ONE, checkpoint=tmp_path / "copy").complete


def spawn(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(TESTS)},
    )


def test_a_copy_of_the_file_alone_holds_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_BETWEEN_FOLDS", 0.0)
    monkeypatch.setattr(ledger_module, "_FOLDING", 0.0)
    copies = []

    class Copying(HarmonicSum):
        def run(self, shard: Shard, context: Context) -> ShardResult:
            if shard.index == 20:
                copies.append(shutil.copy(tmp_path / "job", tmp_path / "copy"))
            return super().run(shard, context)

    run(Copying(), devices=ONE, checkpoint=tmp_path / "job")
    assert len(copies) == 1
    outcome = run(HarmonicSum(), devices=ONE, checkpoint=tmp_path / "copy")
    assert 18 <= outcome.resumed_shards <= 20
    assert raw(outcome) == exact(HarmonicSum())


def test_a_finished_ledger_that_nobody_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(HarmonicSum(), devices=ONE, checkpoint=tmp_path / "job")
    half = run(SLOW, devices=TWO, checkpoint=tmp_path / "half", time_limit=0.4)
    assert half.shards_done < 40
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(os, "access", lambda *_: False)
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        again = run(HarmonicSum(pause=60.0), devices=ONE, checkpoint=tmp_path / "job")
        assert raw(again) == raw(first)
        with pytest.raises(errors.CheckpointError):
            run(SLOW, devices=TWO, checkpoint=tmp_path / "half")
    finally:
        tmp_path.chmod(0o755)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_ledger_stays_bounded_by_the_answer(tmp_path: Path) -> None:
    work = Bulky(units=200, count=200, pause=0.001)
    sizes = []

    def look(event: ProgressEvent) -> None:
        sizes.append(
            sum(
                path.stat().st_size for path in tmp_path.iterdir() if not path.name.endswith("-wal")
            )
        )

    whole = run(work, devices=TWO, checkpoint=tmp_path / "job", progress=look)
    assert 4 * max(sizes) < 200 * 100_000
    assert raw(run(work, devices=ONE, checkpoint=tmp_path / "job")) == raw(whole)
    with Ledger(tmp_path / "job", work) as ledger:
        kept = [block for block, _ in ledger.load()]
    assert sum(map(len, kept)) == 200
    assert len(kept) < 40


def test_a_block_takes_the_place_of_those_within_it(tmp_path: Path) -> None:
    work = HarmonicSum(units=8, count=8)
    with Ledger(tmp_path / "job", work) as ledger:
        for block in (Block(0, 2), Block(3, 4), Block(4, 5), Block(0, 4)):
            ledger.commit(block, {"terms": np.array(len(block))})
        assert [block for block, _ in ledger.load()] == [Block(0, 4), Block(4, 5)]
        ledger.replace([(Block(0, 8), {"terms": np.array(8)})])
        assert [(block, int(x["terms"])) for block, x in ledger.load()] == [(Block(0, 8), 8)]
