"""Memory of whole runs on large formulas.

``python -m hardscape.benchmarks.maxsat.memory``.

The command runs on a file of 15 million literals; what is printed is the peak of its resident set above
that of a run on ten clauses, for each literal, and the processor time to its first cost. Formulas are
random: five million clauses of three literals, weighted or not, and 1.36 million clauses of 2 to 20
literals, nine of ten of them hard.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import cyclopts
import numpy as np

from hardscape.benchmarks.tables import Table

app = cyclopts.App(help=__doc__, result_action="return_value")

_RATIO = 4.2
#: Runs on ten clauses.
_STARTS = 9


def written(path: Path, lengths: np.ndarray, marks: list[str], variables: int) -> int:
    """Write random clauses, one a line after its mark; the number of literals."""
    rng = np.random.default_rng(1)
    ends = np.cumsum(lengths)
    # Distinct in each clause: steps from a random one on, which add up to less than all.
    step = rng.integers(1, variables // 21, ends[-1])
    place = np.cumsum(step)
    place -= np.repeat(place[ends - lengths], lengths)
    place += np.repeat(rng.integers(0, variables, len(lengths)), lengths)
    literals = (1 + place % variables) * rng.choice([-1, 1], ends[-1])
    words = list(map(str, literals.tolist()))
    with path.open("w") as file:
        for mark, begin, end in zip(marks, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            file.write(f"{mark} {' '.join(words[begin:end])} 0\n")
    return int(ends[-1])


def formulas(folder: Path, literals: int) -> dict[Path, int]:
    """The files, and how many literals they have."""
    rng = np.random.default_rng(2)
    m = literals // 3
    three, n = np.full(m, 3), round(m / _RATIO)
    lengths = rng.integers(2, 21, literals // 11)  # eleven in the mean
    kinds = {
        "weighted": (three, list(map(str, rng.integers(1, 20, m).tolist())), n),
        "weights of 1": (three, ["1"] * m, n),
        "mixed": (
            lengths,
            ["h" if x else "7" for x in (rng.random(len(lengths)) < 0.9).tolist()],
            literals // 20,
        ),
    }
    return {
        folder / f"{name}.wcnf": written(folder / f"{name}.wcnf", *kind)
        for name, kind in kinds.items()
    }


def peak(path: Path, threads: int, *limits: str) -> tuple[int, float, float]:
    """Most bytes that the command had in memory; seconds to its first cost, of the processor and the clock."""
    began = time.monotonic()
    options = ["--threads", f"{threads}", "--seed", "1", *limits]
    process = subprocess.Popen(
        [sys.executable, "-m", "hardscape", "maxsat", str(path), "--device", "cpu", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    pages: list[int] = []
    listener = threading.Thread(target=_watch, args=(process, pages), daemon=True)
    listener.start()
    first = clock = 0.0
    for line in process.stdout:
        if line.startswith("o ") and not clock:
            first, clock = _seconds(process.pid), time.monotonic() - began
    process.wait()
    listener.join()
    return max(pages), first, clock


def _watch(process: subprocess.Popen[str], most: list[int]) -> None:
    """Note its peaks until it ends: of a child's usage the kernel counts what this process had, too."""
    while process.poll() is None:
        with suppress(OSError):  # it may end meanwhile
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    most.append(1024 * int(line.split()[1]))
        time.sleep(0.01)


def _seconds(number: int) -> float:
    """Processor time of a process so far."""
    words = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@app.default
def main(
    *,
    literals: int = 15_000_000,
    flips: int = 1_000_000,
    threads: list[int] | None = None,
    save: Path | None = None,
) -> None:
    """Print megabytes at the peak, bytes for each literal, and the time to the first cost.

    Parameters
    ----------
    literals
        Of each formula.
    flips
        Of each thread.
    threads
        Numbers of threads; 1 and 2.
    save
        Folder for the table.
    """
    names = ["formula", "threads", "MB", "bytes a literal", "CPU s to the first cost", "s"]
    table = Table.begun("maxsat-memory", names)
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.wcnf"
        written(few, np.full(10, 3), ["1"] * 10, 100)
        starts = [peak(few, 1) for _ in range(_STARTS)]
        empty = min(most for most, _, _ in starts)
        table.add(
            "ten clauses", 1, empty / 1e6, None, *map(list, list(zip(*starts, strict=True))[1:])
        )
        for path, count in formulas(Path(folder), literals).items():
            for number in threads or [1, 2]:
                most, first, clock = peak(path, number, "--max-flips", f"{flips}")
                table.add(path.stem, number, most / 1e6, (most - empty) / count, first, clock)
            path.unlink()
    if save:
        table.save(save)


if __name__ == "__main__":
    app()
