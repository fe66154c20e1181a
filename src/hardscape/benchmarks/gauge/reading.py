"""Reading a configuration with all its checks, beside the plain bytes of its file.

``python -m hardscape.benchmarks.gauge.reading --save FOLDER``: `hardscape.gauge.inspect` of SU(3) in double
precision, with checksums, plaquette, trace and the distance of every link from the group.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from cyclopts import App

from hardscape.benchmarks.tables import Table
from hardscape.gauge import GaugeField, generate, inspect

app = App(help=__doc__, result_action="return_value")

_FORMATS = {"ildg": "ILDG with CRC-32 of every site", "nersc": "NERSC"}


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processors."""
    used, began = time.process_time(), time.perf_counter()
    call()
    return time.perf_counter() - began, time.process_time() - used


def plain(path: Path) -> int:
    """Read the bytes."""
    with path.open("rb") as file:
        return len(file.read())


@app.default
def main(*, save: Path | None = None, extent: int = 32, repeats: int = 7) -> None:
    """Print the table; "times" are by the medians of the clock and of the processors.

    Parameters
    ----------
    save
        Folder for the table as JSON.
    extent
        A multiple of 4.
    repeats
        The bytes and the file by turns.
    """
    columns = [
        "file",
        "seconds",
        "bytes alone",
        "times",
        "processor s",
        "alone",
        "times, processor",
    ]
    table = Table.begun("gauge-reading", columns)
    part = generate((4, 4, 4, 4), 6.0, seed=1, sweeps=3, device="cpu").links
    many = extent // 4
    field = GaugeField(np.tile(part, (many, many, many, many, 1, 1, 1)))
    with tempfile.TemporaryDirectory() as folder:
        for suffix, name in _FORMATS.items():
            path = Path(folder) / f"u.{suffix}"
            field.to_file(path)
            inspect(path)
            pairs = [
                (timed(partial(plain, path)), timed(partial(inspect, path))) for _ in range(repeats)
            ]
            alone, whole = np.array(pairs).transpose(1, 2, 0)
            ratio = np.median(whole, axis=1) / np.median(alone, axis=1)
            cells = [[whole[i].tolist(), alone[i].tolist(), float(ratio[i])] for i in range(2)]
            table.add(name, *cells[0], *cells[1])
            path.unlink()
    if save is not None:
        table.save(save)


if __name__ == "__main__":
    app()
