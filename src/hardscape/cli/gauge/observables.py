"""The command ``hardscape gauge observables``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from hardscape.cli.gauge.ensembles import EnsembleOptions, deliver_ensemble, measuring
from hardscape.cli.gauge.files import FileArgument, ReadOptions, pair
from hardscape.cli.options import PlotOptions, ShardRunOptions
from hardscape.errors import InputError
from hardscape.gauge import observables as measure
from hardscape.gauge import static_potential
from hardscape.gauge.ensembles.files import listed
from hardscape.gauge.ensembles.result import Ensemble

_DEFAULT_READ, _DEFAULT_RUN = ReadOptions(), ShardRunOptions()
_DEFAULT_OUTPUT, _DEFAULT_ENSEMBLE = PlotOptions(), EnsembleOptions()


def observables(
    *files: FileArgument,
    loops: str | None = None,
    lines: str | None = None,
    smearing: str = "0.5,0",
    flow_time: float | None = None,
    step: float = 0.02,
    read: ReadOptions = _DEFAULT_READ,
    ensemble: EnsembleOptions = _DEFAULT_ENSEMBLE,
    run: ShardRunOptions = _DEFAULT_RUN,
    output: PlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Measure configurations: plaquettes, Polyakov and Wilson loops, t0, w0 and topological charge.

    Parameters
    ----------
    files
        One configuration or several of one ensemble, or patterns of their names in quotes.
    loops
        Largest R,D of Wilson loops: 6,6. The plot is then the static potential.
    lines
        The same of lines in time, for configurations in Coulomb gauge.
    smearing
        alpha,steps of APE smearing in space, for the loops.
    flow_time
        Flow time to come to, in units of the lattice spacing squared; by default there is no flow.
    step
        Largest step of the flow, up to 0.1.
    """
    names = [Path(x) for x in listed(files)]
    output.check(names)
    ensemble.check(names, output.force)
    source: Literal["loops", "lines"] = "loops" if loops is not None else "lines"

    def draw(found: Ensemble) -> object:
        if source in found.values:
            return static_potential(found, source).plot()
        return found.plot()

    deliver_ensemble(
        "gauge observables",
        lambda: measure(
            names,
            loops=pair("loops", loops),
            lines=pair("lines", lines),
            smearing=_smearing(smearing),
            flow_time=flow_time,
            step=step,
            progress=True,
            **measuring(read, ensemble, run),
        ),
        ensemble,
        output,
        draw,
    )


def _smearing(text: str) -> tuple[float, int]:
    found = re.fullmatch(r"([0-9.]{1,12}),([0-9]{1,4})", text)
    try:
        if found is not None:
            return float(found[1]), int(found[2])
    except ValueError:
        pass
    raise InputError(f"--smearing {text!r}; alpha,steps is accepted: 0.5,10")
