"""The command ``hardscape spectrum``."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group

from hardscape.cli.options import (
    OUTPUT,
    Flag,
    LongOptions,
    PlotOptions,
    SeededShardRunOptions,
    file_help,
    format_help,
    option_group,
)
from hardscape.cli.terminal import note, seconds_text, show, table
from hardscape.errors import AccuracyWarning, BudgetError, HardscapeError, InputError, Interrupted
from hardscape.ising import search as find_low_states
from hardscape.ising import spectrum as find_spectrum
from hardscape.ising.formats import FORMATS
from hardscape.ising.methods.lowest import MOST_SEARCHED
from hardscape.ising.model import Ising
from hardscape.ising.result import Spectrum
from hardscape.ising.spectrum import Estimate, estimate
from hardscape.ising.states import read_states

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

#: Most spins of which states are counted a second.
_COUNTED_SPINS = 64
#: From this many spins on, a search may take long enough to be worth estimating first.
_ESTIMATED_FROM = 36
#: States that the table lists.
_ROWS = 20

_MODEL, _SEARCH, _TABU, _MPS = (
    Group(name, sort_key=i)
    for i, name in enumerate(
        (
            "Model",
            "Search",
            "Tabu search (--method search)",
            "Matrix product states (--method mps)",
        ),
        start=1,
    )
)


@option_group(_MODEL)
class ModelOptions:
    """How to read the file.

    Attributes
    ----------
    base
        First index of a text format, 0 or 1, where it is not the format's own.
    convention
        Signs of a coo file: dimod's E = sum J s s + sum h s, or ising, minus the same.
    problem
        Which one of a file of several, from 1 on (orlib).
    """

    format: Annotated[str | None, format_help(FORMATS)] = None
    base: int | None = None
    convention: Literal["dimod", "ising"] = "dimod"
    problem: int | None = None

    def read(self, file: Path) -> Ising:
        """The model of a file."""
        return Ising.from_file(
            file,
            format=self.format,
            base=self.base,
            convention=self.convention,
            problem=self.problem,
        )


@option_group(_SEARCH)
class SearchOptions:
    """What to search for, and how.

    Attributes
    ----------
    num_states
        How many states of lowest energy to list: 100, or all of --window, or 1 by --method search.
    window
        List only states with energy at most this much above the ground state.
    cutoff
        List only states of at most this energy.
    initial_states
        File of states that are known: what --json has printed, or a line of N characters 0 and 1 each.
    method
        search, mps and matching (one state of planar models) give no certificate; all others are certain and
        take up to 128 spins (semidefinite 512, exhaustive 64, partition one weighted sum of spins, squared,
        frontier and cuts sparse models of any size, race those that semidefinite and cuts take).
    prune
        Skip blocks of states that a lower bound excludes; --no-prune visits every state.
    """

    num_states: int | None = None
    window: float | None = None
    cutoff: float | None = None
    initial_states: Path | None = None
    method: Literal[
        "auto",
        "frontier",
        "cuts",
        "tree",
        "semidefinite",
        "cliques",
        "partition",
        "race",
        "exhaustive",
        "search",
        "matching",
        "mps",
    ] = "auto"
    prune: bool = True


@option_group(_TABU)
class TabuOptions:
    """Settings of the search without a proof.

    Attributes
    ----------
    target
        Stop at a state of this energy or a lower one.
    runs
        How many runs from random states, by default 16, or as many as --time-limit holds.
    moves
        Length of the shortest runs, by default 500 a spin (annealing 10,000), 20,000 at least.
    """

    target: float | None = None
    runs: int | None = None
    moves: int | None = None


@option_group(_MPS)
class MpsOptions:
    """Settings of the matrix-product-state solver.

    Attributes
    ----------
    bond_dimension
        Largest bond dimension D, by default 128.
    beta
        Inverse temperature that the evolution reaches, in 1/energy, by default what suits the couplings.
    dbeta
        Its step, by default a quarter of that.
    """

    bond_dimension: int | None = None
    beta: float | None = None
    dbeta: float | None = None


@option_group(OUTPUT)
class OutputOptions(LongOptions, PlotOptions):
    """What to print and draw, and whether to search at all.

    Attributes
    ----------
    plot_bounds
        Draw into --plot not the levels, but how the bounds of the lowest energy closed in time.
    """

    plot_bounds: Flag = False


#: What is said of models that another family solves at once.
_CLAUSES = "the file is the 2-body form of XORSAT clauses: try hardscape xorsat solve"
_DEFAULT_MODEL, _DEFAULT_SEARCH = ModelOptions(), SearchOptions()
_DEFAULT_TABU, _DEFAULT_MPS = TabuOptions(), MpsOptions()
_DEFAULT_RUN, _DEFAULT_OUTPUT = SeededShardRunOptions(), OutputOptions()


def spectrum(
    file: Annotated[Path, file_help("The model", FORMATS)],
    /,
    *,
    model: ModelOptions = _DEFAULT_MODEL,
    search: SearchOptions = _DEFAULT_SEARCH,
    tabu: TabuOptions = _DEFAULT_TABU,
    mps: MpsOptions = _DEFAULT_MPS,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: OutputOptions = _DEFAULT_OUTPUT,
) -> None:
    """Find the states of lowest energy of an Ising model or QUBO, exactly and with a certificate."""
    _check(search, tabu, mps, output)
    output.check([file])
    ising = model.read(file)
    if output.estimate:
        cost = _estimate(ising, search, run)
        plain = {"num_spins": ising.num_spins} | cost.to_dict()
        show(output.json, "spectrum", lambda: plain, _estimate_facts(ising, cost))
        return
    known = None
    if search.initial_states is not None:
        known = read_states(search.initial_states, ising.num_spins)
    try:
        if search.method == "mps":
            found = _mps_search(ising, search, mps, run)
        elif search.method in ("search", "matching"):
            found = find_low_states(
                ising,
                search.num_states,
                initial_states=known,
                method="auto" if search.method == "search" else search.method,
                progress=True,
                **vars(tabu),
                **vars(run),
            )
        else:
            found = _certain_search(file, ising, search, known, run, output)
    except Interrupted as stop:
        if stop.result is not None:
            _report(ising, stop.result, search, run, output)
        raise
    _report(ising, found, search, run, output)
    if not found.certified and _is_xorsat(file):
        note(_CLAUSES)


def _check(
    search: SearchOptions, tabu: TabuOptions, mps: MpsOptions, output: OutputOptions
) -> None:
    """Refuse, before the file is read, what cannot work or would be ignored."""
    if output.plot_bounds and output.plot is None:
        raise InputError("--plot-bounds says what --plot draws; give --plot FILE, too")
    own: dict[str, Any] = {"search": tabu, "mps": mps, "matching": None}
    for method, options in own.items():
        for name, value in vars(options).items() if options is not None else ():
            if value is not None and search.method != method:
                raise InputError(
                    f"{_flag(name)} is for --method {method}; leave it out, or give that method"
                )
    if search.method in own:
        given = {_flag(x): getattr(search, x) is not None for x in ("window", "cutoff")}
        given["--estimate"] = output.estimate
        given["--initial-states"] = search.method != "search" and search.initial_states is not None
        for flag, there in given.items():
            if there:
                raise InputError(
                    f"{flag} is not for --method {search.method}; leave it out, or give another method"
                )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _certain_search(
    file: Path,
    ising: Ising,
    search: SearchOptions,
    known: NDArray[np.int8] | None,
    run: SeededShardRunOptions,
    output: OutputOptions,
) -> Spectrum:
    unlimited = run.time_limit is None and not output.yes
    try:
        if unlimited and ising.num_spins >= _ESTIMATED_FROM:
            cost = _estimate(ising, search, run)
            output.refuse_unasked(
                f"a search of {ising.num_spins} spins on {cost.device}", cost.seconds
            )
        return find_spectrum(
            ising,
            search.num_states,
            window=search.window,
            cutoff=search.cutoff,
            initial_states=known,
            method=search.method,
            prune=search.prune,
            progress=True,
            **vars(run),
        )
    except (InputError, BudgetError) as error:
        small = ising.num_spins <= MOST_SEARCHED
        if (isinstance(error, InputError) and small) or not _is_xorsat(file):
            raise
        raise type(error)(f"{error}; {_CLAUSES}") from None


def _is_xorsat(file: Path) -> bool:
    """Whether the file holds the 3-XORSAT challenge's 2-body form, which another family solves at once."""
    if str(file) == "-":  # which was read to its end
        return False
    from hardscape.xorsat import XorSystem

    try:
        return XorSystem.from_file(file, format="qh").num_clauses > 0
    except HardscapeError:
        return False


def _estimate(ising: Ising, search: SearchOptions, run: SeededShardRunOptions) -> Estimate:
    return estimate(
        ising,
        search.num_states,
        window=search.window,
        device=run.device,
        threads=run.threads,
        seed=run.seed,
        method=search.method,
        prune=search.prune,
    )


def _mps_search(
    ising: Ising, search: SearchOptions, mps: MpsOptions, run: SeededShardRunOptions
) -> Spectrum:
    from hardscape.ising import mps_spectrum

    given: dict[str, Any] = {name: x for name, x in vars(mps).items() if x is not None}
    states = 100 if search.num_states is None else search.num_states
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", AccuracyWarning)
        found = mps_spectrum(ising, states, progress=True, **vars(run), **given)
    for doubt in doubts:
        note(f"warning: {doubt.message}")
    return found


def _report(
    ising: Ising,
    found: Spectrum,
    search: SearchOptions,
    run: SeededShardRunOptions,
    output: OutputOptions,
) -> None:
    """Print a result, draw it, and say on standard error why it is not certified."""
    show(
        output.json,
        "spectrum",
        found.to_dict,
        _spectrum_facts(ising, found, output),
        _states(found),
    )
    if not found.certified and found.stopped:
        note(f"not certified: {_shortfall(found, output)}")
        if run.checkpoint is not None:
            note(f"the same command resumes from {run.checkpoint}")
    output.draw(found.plot_bounds if output.plot_bounds else found.plot)


def _spectrum_facts(
    ising: Ising, found: Spectrum, output: OutputOptions
) -> Iterator[tuple[str, str]]:
    yield "model", _describe(ising)
    if found.levels:
        ground = found.levels[0]
        more = "" if ground.complete else " or more"
        yield "ground energy", f"{ground.energy!r} (degeneracy {ground.count}{more})"
    yield "gap", "none: only one level is listed" if found.gap is None else repr(found.gap)
    yield "certified", _certificate(found, output)
    if not found.certified and found.num_states and math.isfinite(found.lower_bound):
        far = float(found.energies[0]) - found.lower_bound
        yield "lower bound", f"{found.lower_bound!r} ({far:.6g} below the lowest state found)"
    if "parts" in found.info:
        yield "searched", _parts(found.info["parts"])
    if "discarded_weight" in found.info:
        yield "discarded weight", f"{found.info['discarded_weight']:.2g}"
    if found.info.get("states_per_second") and found.num_spins <= _COUNTED_SPINS:
        yield "rate", f"{found.info['states_per_second']:.3g} states/s"
    yield "time", seconds_text(found.info["seconds"])
    yield "device", str(found.info["device"])
    if found.seed is not None:
        yield "seed", str(found.seed)


def _describe(ising: Ising) -> str:
    kind = "integer" if ising.is_integer else "real"
    return f"{ising.num_spins} spins, {ising.num_couplings} couplings, {kind} coefficients"


def _parts(parts: Sequence[tuple[int, str]]) -> str:
    """What was left of the model, and by what it was searched."""
    told = [f"{count} of {size} spins ({name})" for (size, name), count in Counter(parts).items()]
    return ", ".join(told) or "nothing: all spins could be minimised over"


def _certificate(found: Spectrum, output: OutputOptions) -> str:
    """Whether the states are proven to be the lowest, and why."""
    if found.certified:
        return f"yes: all 2^{found.num_spins} states are accounted for"
    if found.stopped:
        return f"no: {_shortfall(found, output)}"
    if found.info.get("search") == "matching":
        return "no: the lowest energy rests on PyMatching, and states that tie are not listed"
    what = (
        "matrix product states give" if found.method == "mps" else f"{found.info['search']} gives"
    )
    return f"no: {what} no certificate"


def _shortfall(found: Spectrum, output: OutputOptions) -> str:
    if found.method == "search":
        return output.cut_short(
            found.stopped, f"{found.info['runs']} runs; these are the best so far"
        )
    far = "beta was not reached"
    if "total_states" in found.info:
        share = found.info["states_searched"] / found.info["total_states"]
        far = f"{100 * share:.3g}% of the 2^{found.num_spins} states are searched"
        needed = found.info.get("seconds_needed")
        far += "" if needed is None else f", the rest may take {seconds_text(needed)}"
    return output.cut_short(found.stopped, f"{far}; these are the best so far")


def _states(found: Spectrum) -> Iterator[Table | str]:
    """The first states; character i of a state is spin i, 1 for +1."""
    yield ""
    if not found.num_states:
        yield "no states were found"
        return
    rows: list[Sequence[str]] = []
    level, first = 0, 0
    shown = dataclasses.replace(found, states=found.states[:_ROWS]).bit_strings()
    energies = found.energies[:_ROWS].tolist()
    for rank, (energy, bits) in enumerate(zip(energies, shown, strict=True)):
        if rank == first + found.levels[level].count:
            first, level = rank, level + 1
        here = found.levels[level]
        count = f"{here.count}" if here.complete else f"{here.count} or more"
        more = count if rank == first else ""
        rows.append((str(rank + 1), repr(energy), str(level), more, bits))
    head = ("rank", "energy", "level", "degeneracy", "state")
    yield table(">>>><", rows, head, "state: character i is spin i, 1 for +1, 0 for -1")
    if found.num_states > _ROWS:
        yield f"and {found.num_states - _ROWS} more; --json prints all states"


def _estimate_facts(ising: Ising, cost: Estimate) -> Iterator[tuple[str, str]]:
    yield "model", _describe(ising)
    counted = f" = {cost.total_states}" if ising.num_spins <= MOST_SEARCHED else ""
    yield "states", f"2^{ising.num_spins}{counted}"
    yield "time", f"about {seconds_text(cost.seconds)}"
    yield "memory", f"about {cost.memory_bytes / 1e6:.2g} MB for lists of states"
    if ising.num_spins <= _COUNTED_SPINS:
        yield "rate", f"{cost.states_per_second:.3g} states/s"
    yield "device", cost.device
