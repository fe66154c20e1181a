"""Memory of whole runs on large formulas.

``python -m hardscape.benchmarks.maxsat.memory``.

The command runs on a file of 15 million literals; what is printed is the peak of its resident set above
that of a run on ten clauses, for each literal. Formulas are random: five million clauses of three literals,
weighted or not, and 1.36 million clauses of 2 to 20 literals, nine of ten of them hard.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cyclopts
import numpy as np

from hardscape.benchmarks.machine import machine

app = cyclopts.App(help=__doc__, result_action="return_value")

_RATIO = 4.2


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


def peak(path: Path, seconds: float, threads: int) -> int:
    """Most bytes that the command had in memory."""
    options = ["--time-limit", f"{seconds:g}", "--threads", f"{threads}", "--seed", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hardscape", "maxsat", str(path), "--device", "cpu", *options],
        stdout=subprocess.DEVNULL,
    )
    most = 0
    while process.poll() is None:
        # Of a child's usage the kernel counts what this process had when it began.
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                most = max(most, 1024 * int(line.split()[1]))
        time.sleep(0.01)
    return most


@app.default
def main(*, literals: int = 15_000_000, seconds: float = 12.0, threads: int = 2) -> None:
    """Print megabytes at the peak, those of an empty run, and bytes for each literal."""
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.wcnf"
        written(few, np.full(10, 3), ["1"] * 10, 100)
        empty = peak(few, seconds, threads)
        print("| formula | MB | MB of an empty run | bytes a literal |")
        print("| --- | --- | --- | --- |")
        for path, count in formulas(Path(folder), literals).items():
            most = peak(path, seconds, threads)
            each = (most - empty) / count
            print(
                f"| {path.stem} | {most / 1e6:.0f} | {empty / 1e6:.0f} | {each:.1f} |", flush=True
            )
            path.unlink()


if __name__ == "__main__":
    app()
