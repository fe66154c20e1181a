"""Figures 3, 6, 7 of Jałowiecki, Rams, Gardas, Brute-forcing spin-glass problems with CUDA (2021)."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np

from hardscape.engine import RunOptions
from hardscape.errors import AccuracyWarning
from hardscape.figures import COLORS, GREY, INK, finish
from hardscape.ising.model import Ising
from hardscape.ising.mps import mps_spectrum
from hardscape.ising.result import Spectrum
from hardscape.ising.spectrum import spectrum
from hardscape.reproduce.figure import Figure, Findings, Quantity, Request

PAPER = "Jałowiecki, Rams, Gardas, Comput. Phys. Commun. 260, 107728 (2021)"
_OWN = "Models are our own, fully connected; the paper says of its own only that they are random."
#: Seconds at N = 32 and 100 states: one core of a Core i7-6950X, and a Titan V.
_CORE, _TITAN = 1500.0, 3.5
#: beta and dbeta of matrix product states: the paper's, and what follows the couplings; longer steps.
_SCHEDULES: tuple[tuple[float | None, float | None], ...] = ((1.0, 0.25), (None, None))
_STEPS = ((1.0, 0.5), (1.0, 1.0))


def random_model(n: int, seed: int, couplings: str = "Gaussian") -> Ising:
    """Fields and couplings of variance 1, or uniform from -1 to 1."""
    random = np.random.default_rng([n, seed])
    draw = random.normal if couplings == "Gaussian" else lambda size: random.uniform(-1, 1, size)
    pairs = np.triu(draw(size=(n, n)), 1)
    return Ising(draw(size=n), pairs)


def _brute_force(request: Request) -> Findings:
    sizes = range(24, 43, 2) if request.full else range(16, 31, 2)
    rows: list[tuple[Any, ...]] = []
    for n in sizes:
        request.tell(f"N = {n}")
        model = random_model(n, request.seed)
        found = [
            _timed(lambda m=model, kind=kind: _solved(m, kind, request), 3)
            for kind in ("exhaustive", "auto")
        ]
        rows.append((n, *(x for pair in found for x in pair), 2.0**n / found[0][0]))
    n, *last = rows[-1]
    at_32, off = (x * 2.0 ** (32 - n) for x in (last[0], last[1] / 2))
    device = "this device" if request.full else "all cores here"
    quantities = [
        Quantity(f"seconds at N = 32, every state, {device}", at_32, off, _CORE,
                 remark=f"paper: one core; scaled from N = {n}"),
        Quantity("the same beside the paper's GPU", at_32, off, _TITAN, remark="paper: Titan V"),
        Quantity(f"seconds at N = {n} with bounds (auto)", last[2], last[3] / 2),
    ]  # fmt: skip
    columns = ("N", "every state, s", "spread", "auto, s", "spread of auto", "states a second")
    return Findings(
        columns,
        rows,
        quantities,
        f"{_OWN} 100 states of each, medians of 3 runs with half of their spread.",
    )


def _solved(model: Ising, method: str, request: Request) -> Spectrum:
    if method == "auto":
        return spectrum(model, 100, **request.run)
    return spectrum(model, 100, method="exhaustive", prune=False, **request.run)


def _timed(call: Any, repeats: int) -> tuple[float, float]:
    """Median and spread of the seconds of a call, after one that warms up."""
    taken = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    taken = taken[1:]
    return float(np.median(taken)), max(taken) - min(taken)


def _draw_brute_force(data: dict[str, list[Any]], ax: Any) -> Any:
    n = np.array(data["N"])
    ax.plot(n, data["every state, s"], "o-", color=COLORS[0], label="every state")
    ax.plot(n, data["auto, s"], "s-", color=COLORS[1], label="with bounds (auto), as exact")
    for seconds, name, style in ((_CORE, "one core", ":"), (_TITAN, "Titan V", "--")):
        label = f"paper, {name}"
        ax.plot(n, seconds * 2.0 ** (n - 32.0), style, color=GREY, label=label)
    ax.set_yscale("log")
    title = "The 100 lowest states: time against size"
    return finish(ax, title, "spins $N$", "seconds", whole="x", legend=True)


def _mps(request: Request) -> Findings:
    sizes, bonds, instances = (
        ((24, 32, 40, 50), (16, 32, 64, 128), 16)
        if request.full
        else ((20, 24, 28), (16, 32, 64), 10)
    )
    cases = [
        (couplings, n, bond, *schedule)
        for couplings in ("uniform", "Gaussian")
        for n in sizes
        for bond in bonds
        for schedule in (*_SCHEDULES, *(_STEPS if bond == bonds[-1] else ()))
    ]
    known = {}
    for couplings, n in {case[:2]: None for case in cases}:
        request.tell(f"{couplings}, N = {n}: certified spectra")
        models = [random_model(n, request.seed + i, couplings) for i in range(instances)]
        known[couplings, n] = [(model, spectrum(model, 1000, **request.run)) for model in models]
    rows: list[tuple[Any, ...]] = []
    with _workers(request) as submit:
        found = [
            [submit(_both, *pair, *case[2:]) for pair in known[case[:2]]] for case in cases[::-1]
        ][::-1]  # the longest begin first
        for case, calls in zip(cases, found, strict=True):
            request.tell("{}, N = {}, D = {}, beta = {}, dbeta = {}".format(*case))
            answers = [call.result() for call in calls]
            hits = sum(hit for hit, _, _ in answers)
            states = float(np.median([count for _, count, _ in answers]))
            warned = sum(told for _, _, told in answers)
            missed = sum(told for hit, _, told in answers if not hit)
            rows.append((*case, hits / instances, _rate_error(hits, instances), states, warned, missed,
                         instances))  # fmt: skip
    quantities = []
    for couplings in ("uniform", "Gaussian"):
        for beta, dbeta in _SCHEDULES:
            row = [r for r in rows if (r[0], r[2:5]) == (couplings, (bonds[-1], beta, dbeta))][-1]
            way = f"{couplings}, N = {row[1]}, D = {row[2]}, {_named(beta)}"
            published = 1.0 if row[2] == 128 and beta else None
            quantities += [
                Quantity(f"ground states found, {way}", row[5], row[6], published),
                Quantity(f"of the 1000 lowest found, median, {way}", row[7]),
            ]
    missing = sum(round((1 - row[5]) * row[10]) for row in rows)
    quantities += [
        Quantity("runs without the ground state, of all", missing / sum(row[10] for row in rows)),
        Quantity("of these, runs that warned", sum(row[9] for row in rows) / max(missing, 1)),
        Quantity("warnings where the ground state was found", sum(row[8] - row[9] for row in rows)),
    ]
    columns = ("couplings", "N", "D", "beta", "dbeta", "ground states found, share", "error",
               "of the 1000 lowest found, median", "runs that warned", "of them without the ground state",
               "instances")  # fmt: skip
    text = (
        f"{_OWN} Truth: certified spectra. The paper has beta = 1, whatever the couplings; by default beta "
        "follows them."
    )
    return Findings(columns, rows, quantities, text)


@contextmanager
def _workers(request: Request) -> Iterator[Callable[..., Future[Any]]]:
    """Gives calls to as many processes as there may be threads, of one BLAS thread each; to none if 1."""
    threads = RunOptions.checked(**request.run).threads
    if threads == 1:
        yield _called
        return
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))  # read by a library when a process loads it
    try:
        with ProcessPoolExecutor(threads, get_context("spawn")) as pool:
            yield pool.submit
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _called(function: Callable[..., Any], *args: Any) -> Future[Any]:
    done: Future[Any] = Future()
    done.set_result(function(*args))
    return done


def _named(beta: float | None) -> str:
    return "beta by the couplings" if beta is None else f"beta = {beta:g}"


def _both(
    model: Ising, known: Spectrum, bond: int, beta: float | None, dbeta: float | None
) -> tuple[bool, int, bool]:
    """Whether the ground state was found, how many of the known states, and whether it warned."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", AccuracyWarning)
        found = mps_spectrum(
            model, len(known.energies), bond_dimension=bond, beta=beta, dbeta=dbeta
        )
    return (
        bool(found.energies[0] <= known.energies[0]),
        len(set(found.bit_strings()) & set(known.bit_strings())),
        any(issubclass(one.category, AccuracyWarning) for one in heard),
    )


def _rate_error(hits: int, trials: int) -> float:
    """Standard error of a rate, with one success and one failure added, so that it is never 0."""
    rate = (hits + 1) / (trials + 2)
    return math.sqrt(rate * (1 - rate) / (trials + 2))


def _draw_mps(data: dict[str, list[Any]], ax: Any) -> Any:
    table = list(zip(*data.values(), strict=True))
    sizes = sorted({row[1] for row in table})
    for i, n in enumerate(sizes):
        for beta, dbeta in _SCHEDULES:
            mine = [r for r in table if (r[0], r[1], r[3], r[4]) == ("Gaussian", n, beta, dbeta)]
            style = "o-" if beta is None else "s--"
            label = f"N = {n}, {_named(beta)}"
            shares = [r[7] / 1000 for r in mine]
            ax.plot([r[2] for r in mine], shares, style, color=COLORS[i], label=label)
    ax.set_xscale("log", base=2)
    ax.set_ylim(0, 1.02)
    title = "Matrix product states, Gaussian couplings: share of the 1000 lowest found"
    return finish(ax, title, "bond dimension $D$", "median share found", legend=True)


def _spectra(request: Request) -> Findings:
    n, bond = (50, 128) if request.full else (40, 64)
    rows: list[tuple[Any, ...]] = []
    quantities = []
    for couplings in ("uniform", "Gaussian"):
        request.tell(f"{couplings}, N = {n}, D = {bond}")
        model = random_model(n, request.seed, couplings)
        known = spectrum(model, 1000, **request.run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            paper = mps_spectrum(model, 1000, bond_dimension=bond, beta=1.0, dbeta=0.125)
            found = mps_spectrum(model, 1000, bond_dimension=bond)
        rows += [
            (couplings, rank, *map(float, energies))
            for rank, energies in enumerate(
                zip(known.energies, paper.energies, found.energies, strict=False), start=1
            )
        ]
        for way, some in ((_named(1.0), paper), (_named(None), found)):
            common = len(set(some.bit_strings()) & set(known.bit_strings()))
            gap = float(some.energies[0] - known.energies[0])
            quantities += [
                Quantity(f"of the 1000 lowest found, {couplings}, {way}", common),
                Quantity(f"lowest energy above the true one, {couplings}, {way}", gap, None, 0.0),
            ]
    columns = ("couplings", "rank", "energy", "by MPS, beta = 1", "by MPS")
    return Findings(
        columns, rows, quantities, f"{_OWN} N = {n}, D = {bond}; beta = 1: steps of 0.125."
    )


def _draw_spectra(data: dict[str, list[Any]], ax: Any) -> Any:
    kind, rank, exact, paper, guess = (np.array(data[name]) for name in data)
    for i, name in enumerate(("uniform", "Gaussian")):
        mine = kind == name
        low = exact[mine].min()
        ax.plot(rank[mine], exact[mine] - low, color=COLORS[i], label=f"{name}, certified")
        ax.plot(rank[mine], guess[mine] - low, "--", color=COLORS[i], label=f"{name}, MPS")
        ax.plot(rank[mine], paper[mine] - low, ":", color=COLORS[i], label=f"{name}, MPS, beta = 1")
    ax.axhline(0, color=INK, linewidth=0.6)
    title = "Low-energy spectrum: exact and by a matrix product state"
    return finish(ax, title, "state", "energy above the ground state", whole="x", legend=True)


def _figure(number: int, shows: str, measure: Any, draw: Any) -> Figure:
    return Figure(f"ising-{number}", f"{PAPER}, Fig. {number}", shows, measure, draw)


FIGURES = (
    _figure(3, "Time of exhaustive search against the number of spins", _brute_force,
            _draw_brute_force),
    _figure(6, "How often matrix product states find the ground state, and how many of 1000",
            _mps, _draw_mps),
    _figure(7, "A spectrum, exact and by a matrix product state", _spectra, _draw_spectra),
)  # fmt: skip
