"""The command ``hardscape density``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from hardscape.cli.options import EstimatePlotOptions, ShardRunOptions, file_help
from hardscape.cli.spectrum import ModelOptions
from hardscape.cli.terminal import seconds_text, show, table
from hardscape.ising.density import DensityOfStates, Method, density_of_states
from hardscape.ising.formats import FORMATS

if TYPE_CHECKING:
    from rich.table import Table

#: Levels that the table lists.
_ROWS = 40
_COUNT = Group("Count", sort_key=1)
_DEFAULT_MODEL, _DEFAULT_RUN = ModelOptions(), ShardRunOptions()
_DEFAULT_OUTPUT = EstimatePlotOptions()


def density(
    file: Annotated[Path, file_help("The model", FORMATS)],
    /,
    *,
    model: ModelOptions = _DEFAULT_MODEL,
    method: Annotated[Method, Parameter(group=_COUNT)] = "auto",
    run: ShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Count the states of every energy of an Ising model or QUBO, exactly.

    Parameters
    ----------
    method
        auto (the cheaper), frontier (sparse or narrow models) or exhaustive (dense ones).
    """
    output.check([file])
    ising = model.read(file)
    keywords: dict[str, Any] = {"method": method, **vars(run)}
    if output.estimated("density", density_of_states, ising, **keywords):
        return
    found = density_of_states(ising, progress=True, **keywords)
    show(output.json, "density", found.to_dict, _facts(found), _levels(found))
    output.draw(found.plot)


def _facts(found: DensityOfStates) -> Iterator[tuple[str, str]]:
    yield "states", f"2^{found.num_spins}, all of them counted"
    yield "levels", str(found.num_levels)
    yield "ground energy", f"{found.ground_energy!r} (degeneracy {found.ground_degeneracy})"
    yield "highest energy", f"{float(found.energies[-1])!r} (degeneracy {found.counts[-1]})"
    yield "method", found.info["explanation"]
    yield "time", seconds_text(found.seconds)
    yield "device", found.device


def _levels(found: DensityOfStates) -> Iterator[Table | str]:
    pairs = zip(found.energies[:_ROWS].tolist(), found.counts, strict=False)
    rows = [(repr(energy), str(count)) for energy, count in pairs]
    left = found.num_levels - len(rows)
    yield ""
    yield table(">>", rows, ("energy", "states"))
    if left:
        yield f"and {left} more; --json prints all levels"
