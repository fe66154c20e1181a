"""The command ``hardscape gauge generate``."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from cyclopts import Group

from hardscape.cli.gauge.ensembles import EnsembleOptions, deliver_ensemble, resumed
from hardscape.cli.gauge.files import FileOptions, extents, named
from hardscape.cli.gauge.ranks import all_ranks, started_by_mpi
from hardscape.cli.options import EstimatePlotOptions, Flag, Output, SeededRunOptions, option_group
from hardscape.cli.terminal import aside, cut_short, deliver, note, show
from hardscape.errors import InputError, Interrupted
from hardscape.files import check_outputs
from hardscape.gauge import Domains, domains, formats, layouts
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.ensembles.generating import generate_ensemble, numbered
from hardscape.gauge.generate import generate as make_field

_CHAIN = Group("Markov chain", sort_key=1)


@option_group(_CHAIN)
class ChainOptions:
    """How to generate.

    Attributes
    ----------
    nc
        Number of colours, 2 to 8.
    sweeps
        Heatbath sweeps.
    overrelax
        Overrelaxation sweeps after each of them.
    start
        hot (random links) or cold (identities).
    boundary
        In time: periodic, open, sf (Schroedinger functional), or open-sf (at its end alone).
    xi
        Bare anisotropy: plaquettes with time count xi times, others 1 / xi times.
    chain
        Configurations of one chain to write, to 'cfg.{number}.lime'.
    every
        Heatbath sweeps from one of these to the next.
    domains
        Hold the lattice on all ranks of `mpiexec -n 4 hardscape gauge generate ... --domains`, --threads
        in each of them, with a GPU each by `--device cuda`; without mpiexec on GPUs of this host,
        `--domains --device cuda:0,1`.
    """

    nc: int = 3
    sweeps: int = 200
    overrelax: int = 2
    start: Literal["hot", "cold"] = "hot"
    boundary: Boundary = "periodic"
    xi: float = 1.0
    chain: int | None = None
    every: int = 10
    domains: Flag = False


_DEFAULT_CHAIN, _DEFAULT_RUN = ChainOptions(), SeededRunOptions()
_DEFAULT_FILE, _DEFAULT_ENSEMBLE = FileOptions(), EnsembleOptions()
_DEFAULT_TOLD = EstimatePlotOptions()


def generate(
    *,
    shape: str,
    beta: float,
    output: Output,
    chain: ChainOptions = _DEFAULT_CHAIN,
    run: SeededRunOptions = _DEFAULT_RUN,
    file: FileOptions = _DEFAULT_FILE,
    ensemble: EnsembleOptions = _DEFAULT_ENSEMBLE,
    told: EstimatePlotOptions = _DEFAULT_TOLD,
) -> None:
    """Generate quenched configurations of the Wilson action by heatbath and overrelaxation.

    Parameters
    ----------
    shape
        Extents X,Y,Z,T, each 2 or more: 16,16,16,32; two to five of them, the last one time.
    beta
        Coupling 2 Nc / g^2.
    output
        File to write; see `hardscape gauge convert`. With --chain its name has {number}.
    """
    if chain.chain is not None:
        _generate_many(shape, beta, output, chain, run, file, ensemble, told)
    elif chain.domains:
        on_gpus = str(run.device).startswith("cuda")
        lanes = replace(run, device="auto") if on_gpus else run
        if on_gpus and not started_by_mpi():
            _generate_one(shape, beta, output, chain, lanes, file, told, run.device)
            return
        with domains(all_ranks("gauge generate"), on_gpus=on_gpus) as ranks:
            if ranks is not None:
                _generate_one(shape, beta, output, chain, lanes, file, told, ranks)
    else:
        _generate_one(shape, beta, output, chain, run, file, told, None)


def _generate_one(
    shape: str,
    beta: float,
    output: Path,
    chain: ChainOptions,
    run: SeededRunOptions,
    file: FileOptions,
    told: EstimatePlotOptions,
    held: Domains | str | None,
) -> None:
    told.check((), [])
    name = file.check(output)
    lattice_shape = extents(shape)
    formats.rehearse(lattice_shape, chain.nc, chain.boundary, format=name, **file.choices())
    settings: dict[str, Any] = vars(chain) | vars(run)
    settings = {x: settings[x] for x in settings if x not in ("chain", "every")}
    settings["domains"] = held
    if told.estimated("gauge generate", make_field, lattice_shape, beta, **settings):
        return
    began = time.perf_counter()
    try:
        field = make_field(lattice_shape, beta, progress=True, **settings)
    except Interrupted as stop:
        note(cut_short(signal.Signals(stop.signum).name, f"{output} is not written"))
        raise
    seconds = time.perf_counter() - began
    facts = {
        "file": str(output),
        "format": name,
        "shape": list(field.shape),
        "beta": beta,
        **{key: settings[key] for key in ("nc", "sweeps", "overrelax", "start", "boundary", "xi")},
        "seed": field.seed,
        "plaquette": field.plaquette(),
        "link_trace": field.link_trace(),
        "seconds": seconds,
    }
    lattice = f"{layouts.extents(field.shape)}, SU({field.nc}), beta = {beta:g}"
    shown = [
        ("lattice", lattice),
        ("plaquette", f"{field.plaquette():.9g}"),
        ("seed", str(field.seed)),
        ("time", f"{seconds:.2f} s"),
        ("file", f"{output} ({name})"),
    ]

    def report() -> None:
        with aside(output):
            show(told.json, "gauge generate", lambda: facts, shown)

    deliver(lambda: file.write(field, output, precision=file.precision), report)


def _generate_many(
    shape: str,
    beta: float,
    output: Path,
    chain: ChainOptions,
    run: SeededRunOptions,
    file: FileOptions,
    ensemble: EnsembleOptions,
    told: EstimatePlotOptions,
) -> None:
    if told.estimate:
        raise InputError("--estimate is for one configuration")
    settings: dict[str, Any] = vars(chain) | vars(run)
    count = settings.pop("chain")
    if settings.pop("domains"):
        raise InputError("--domains is for one configuration; without --chain it is accepted")
    files = [Path(x) for x in numbered(output, count)]
    force = file.force or resumed(run.checkpoint)
    check_outputs(files, force=force, folders=True)
    replace(told, force=force).check()
    ensemble.check(files, force)
    name = named(files[0], file.to, None)
    deliver_ensemble(
        "gauge generate",
        lambda: generate_ensemble(
            extents(shape),
            beta,
            count,
            output,
            to=name,
            written=file.choices(),
            error_method=ensemble.error_method,
            bin_size=ensemble.bin_size,
            progress=True,
            **settings,
        ),
        ensemble,
        told,
    )
