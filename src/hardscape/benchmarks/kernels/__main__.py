"""Time each kernel of a family alone.

``python -m hardscape.benchmarks.kernels FAMILY``.

A case is a call of the library; it is made once to warm up, then repeated, and the time is that of the
kernels in it, launch by launch, without what lies between them. The rate is that of the kernel that takes
most of it. CUDA cases run where a GPU is.
"""

from __future__ import annotations

import json
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Literal

import cyclopts

from hardscape.benchmarks.kernels.trace import Ran, Trace
from hardscape.benchmarks.machine import facts

app = cyclopts.App(name="hardscape.benchmarks.kernels", help=__doc__, result_action="return_value")

Family = Literal["gauge", "ising", "maxsat", "permanents", "xorsat"]
PACKAGES = ("cuda-core", "cupy-cuda13x", "nvidia-cuda-nvrtc")
#: Kernels that take a smaller share of a case are not shown.
_LEAST_SHARE = 0.02


@app.default
def main(
    family: Family,
    /,
    *,
    device: Literal["all", "cpu", "cuda"] = "all",
    only: str = "",
    repeats: int = 5,
    smaller: int = 0,
    as_json: Annotated[bool, cyclopts.Parameter(name="--json", negative="")] = False,
) -> None:
    """Time the kernels of a family.

    Parameters
    ----------
    family
        gauge, ising, maxsat, permanents or xorsat.
    device
        Cases of the CPU (one thread), of the first GPU, or all that can run here.
    only
        Only cases with this in their name.
    repeats
        Calls that are timed.
    smaller
        Takes sizes smaller by so much, for a quick look.
    as_json
        Print one JSON object instead of a table.
    """
    trace = Trace()  # before the families load what it watches
    from hardscape.benchmarks.kernels.cases import FAMILIES

    measured_on = facts(*PACKAGES)
    places = [x for x in ("cpu", "cuda") if device in ("all", x)]
    if not measured_on["gpus"] and "cuda" in places:
        print("no GPU that CUDA can use here: its cases are left out", file=sys.stderr)
        places.remove("cuda")
    rows = []
    for case in FAMILIES[family]:
        for place in places:
            if place not in case.sizes or only not in case.name:
                continue
            size = max(case.sizes[place] - smaller, 1)
            call = partial(case.make(size), "cuda:0" if place == "cuda" else "cpu")
            head = {"case": case.name, "size": size, "device": place, "unit": case.unit}
            rows += [head | row for row in _measured(trace, call, repeats)]
            print(f"{case.name}, {place}", file=sys.stderr)
    if as_json:
        command = shlex.join([sys.executable, "-m", "hardscape.benchmarks.kernels", *sys.argv[1:]])
        print(json.dumps(measured_on | {"command": command, "family": family, "rows": rows}))
    else:
        _print(measured_on, rows)


def _measured(trace: Trace, call: Callable[[], float], repeats: int) -> Iterator[dict[str, Any]]:
    """A row for each kernel of a call: those of a GPU first, then the one that takes longest."""
    trace.of(call)
    every = [trace.of(call) for _ in range(repeats)]
    names = {name for _, ran in every for name in ran}
    seconds = {
        name: [ran[name].seconds if name in ran else 0.0 for _, ran in every] for name in names
    }
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    last: dict[str, Ran] = {name: kernel for _, ran in every for name, kernel in ran.items()}
    ordered = sorted(names, key=lambda name: (not last[name].facts, -middle[name]))
    for place, name in enumerate(ordered):
        if place and middle[name] < _LEAST_SHARE * middle[ordered[0]]:
            continue
        row = {"kernel": name, "launches": last[name].launches, "seconds": _spread(seconds[name])}
        if place == 0:
            rates = [units / spent for (units, _), spent in zip(every, seconds[name], strict=True)]
            row["rate"] = _spread(rates)
        yield row | last[name].facts


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def _print(measured_on: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    print(json.dumps(measured_on))
    print(
        "\n| case | size | device | kernel | launches | s, median (least to most) | rate a second "
        "| registers | spilled B | shared B |\n" + "| --- " * 10 + "|"
    )
    for row in rows:
        rate = f"{_text(row['rate'])} {row['unit']}" if "rate" in row else ""
        resources = (str(row.get(name, "")) for name in ("registers", "spilled", "shared"))
        print(
            f"| {row['case']} | {row['size']} | {row['device']} | {row['kernel']} "
            f"| {row['launches']} | {_text(row['seconds'])} | {rate} | {' | '.join(resources)} |"
        )


def _text(spread: dict[str, float]) -> str:
    return f"{spread['median']:.4g} ({spread['least']:.4g} to {spread['most']:.4g})"


if __name__ == "__main__":
    app()
