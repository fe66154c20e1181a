"""Time and error, after Elbek et al., SUperman: Efficient Permanent Computation on GPUs."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np

from hardscape.figures import COLORS, finish
from hardscape.permanents.permanent import permanent
from hardscape.permanents.plan import plan
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request
from hardscape.reproduce.kernels import RECORD, matrix

_PAPER = "Elbek, Taşyaran, Uçar, Kaya, SUperman (2025)"
_KINDS = ("real", "complex", "nonnegative", "sparse")


def _errors(request: Request) -> Findings:
    sizes = range(8, 25, 2) if request.full else range(6, 19, 2)
    rows: list[tuple[Any, ...]] = []
    outside = 0
    for kind in _KINDS:
        for n in sizes:
            request.tell(f"{kind}, n = {n}")
            a = matrix(kind, n, request.seed)
            exact = permanent(a, precision="exact", **request.run)
            found = permanent(
                a, precision="double", method="glynn", full_output=True, **request.run
            )
            size = abs(found.value) or 1.0
            off = _distance(found.value, exact)
            outside += off > found.error_bound
            rows.append((kind, n, off / size, found.error_bound / size))
    worst = {kind: max(row[2] for row in rows if row[0] == kind) for kind in _KINDS}
    quantities = [Quantity(f"largest relative error, {kind}", worst[kind]) for kind in _KINDS]
    quantities.append(Quantity("errors above their bound", outside, None, 0.0))
    text = "Errors against the exact permanents of the same floating-point numbers, Glynn's formula in double."
    return Findings(("kind", "n", "relative error", "bound"), rows, quantities, text)


def _distance(value: complex, exact: Any) -> float:
    """Of a floating-point number from a rational one, which may have two parts; rounded once."""
    real = Fraction(value.real) - exact.real
    imaginary = Fraction(value.imag) - exact.imag
    return math.hypot(float(real), float(imaginary))


def _draw_errors(data: dict[str, list[Any]], ax: Any) -> Any:
    kind, n, off, bound = (np.array(data[name]) for name in data)
    for i, name in enumerate(_KINDS):
        mine = kind == name
        ax.plot(n[mine], np.maximum(off[mine], 1e-17), "o-", color=COLORS[i], label=name)
        ax.plot(n[mine], bound[mine], ":", color=COLORS[i])
    ax.set_yscale("log")
    title = "Error of permanents in double precision, dotted its bound"
    return finish(ax, title, "side $n$", "relative error", whole="x", legend=True)


def _times(request: Request) -> Findings:
    sizes = range(24, 41, 2) if request.full else range(16, 29, 2)
    rows: list[tuple[Any, ...]] = []
    for kind in ("real", "complex", "sparse"):
        method = "auto" if kind == "sparse" else "glynn"
        for n in sizes:
            request.tell(f"{kind}, n = {n}")
            a = matrix(kind, n, request.seed)
            taken = []
            for _ in range(4):
                began = time.perf_counter()
                permanent(a, precision="double", method=method, **request.run)
                taken.append(time.perf_counter() - began)
            rows.append((kind, n, float(np.median(taken[1:])), max(taken[1:]) - min(taken[1:])))
    real = [row for row in rows if row[0] == "real"]
    n = real[-1][1]
    side, gpus, days = RECORD
    whole, off = (
        x * 2.0 ** (side - n) * side / n / 86400 / gpus for x in (real[-1][2], real[-1][3] / 2)
    )
    planned = plan(matrix("real", side, request.seed), **_device(request))
    at_192 = planned.seconds_elsewhere["192 H200s"] / 86400
    name = f"days of a dense {side} x {side} on {gpus} devices like this one"
    quantities = [
        Quantity(name, whole, off, days,
                 remark=f"extrapolated from n = {n}; paper: {gpus} A100"),
        Quantity(f"days of it on {gpus} H200, as planned", at_192, None, days),
        Quantity("slowest growth of time with n, a row more", _growth(real), None, 2.0),
    ]  # fmt: skip
    text = (
        "Whole calls, medians of three after one that warms up, with half of their spread. Dense ones by "
        "Glynn's formula, sparse ones by what is cheapest."
    )
    return Findings(("kind", "n", "seconds", "spread"), rows, quantities, text)


def _device(request: Request) -> dict[str, Any]:
    return {name: value for name, value in request.run.items() if name == "device"}


def _growth(rows: list[tuple[Any, ...]]) -> float:
    """The factor of the last step, for one row more."""
    (_, n, before, _), (_, m, after, _) = rows[-2:]
    return math.exp(math.log(after / before) / (m - n))


def _draw_times(data: dict[str, list[Any]], ax: Any) -> Any:
    kind, n, seconds = (np.array(data[name]) for name in ("kind", "n", "seconds"))
    for i, name in enumerate(("real", "complex", "sparse")):
        mine = kind == name
        ax.plot(n[mine], seconds[mine], "o-", color=COLORS[i], label=name)
    ax.set_yscale("log")
    title = "Permanents: time of a call against the side"
    return finish(ax, title, "side $n$", "seconds", whole="x", legend=True)


FIGURES = (
    Figure("permanents-error", _PAPER, "Error against the side, and its bound", _errors,
           _draw_errors),
    Figure("permanents-time", _PAPER, "Time against the side, and the 62 x 62 matrix", _times,
           _draw_times),
)  # fmt: skip
