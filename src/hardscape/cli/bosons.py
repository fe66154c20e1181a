"""The command ``hardscape bosons``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Group

from hardscape.cli.options import (
    EstimateOptions,
    SeededShardRunOptions,
    file_help,
    format_help,
    option_group,
)
from hardscape.cli.permanent import multiplicities
from hardscape.cli.terminal import seconds_text, show, table
from hardscape.errors import InputError, Interrupted
from hardscape.permanents import formats
from hardscape.permanents.sampling.sample import Samples, sample

if TYPE_CHECKING:
    from rich.table import Table

#: Samples that the table lists.
_ROWS = 40


@option_group(Group("Photons", sort_key=1))
class PhotonOptions:
    """What goes in, and how.

    Attributes
    ----------
    photons
        Photons in each input, separated by commas, "1,1,0"; a single number is that of the first inputs, one
        in each. By default one in every input.
    num_samples
        How often to draw.
    overlap
        How alike any two photons are, from 0 (distinguishable) to 1.
    transmission
        Probability of a photon to get to the interferometer.
    """

    format: Annotated[str | None, format_help(formats.FORMATS)] = None
    photons: str | None = None
    num_samples: int = 1
    overlap: float = 1.0
    transmission: float = 1.0


_DEFAULT_PHOTONS, _DEFAULT_RUN, _DEFAULT_OUTPUT = (
    PhotonOptions(),
    SeededShardRunOptions(),
    EstimateOptions(),
)


def bosons(
    file: Annotated[Path, file_help("The interferometer: outputs against inputs", formats.FORMATS)],
    /,
    *,
    given: PhotonOptions = _DEFAULT_PHOTONS,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimateOptions = _DEFAULT_OUTPUT,
) -> None:
    """Draw where photons come out of an interferometer: boson sampling."""
    matrix = formats.read_matrix(file, format=given.format)
    wanted = (matrix, _inputs(given.photons, matrix.shape[1]), given.num_samples)
    keywords: dict[str, Any] = {"overlap": given.overlap, "transmission": given.transmission}
    keywords |= vars(run)
    if output.estimated("bosons", sample, *wanted, **keywords):
        return
    try:
        found = sample(*wanted, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report(stop.result, output)
        raise
    _report(found, output)


def _report(found: Samples, output: EstimateOptions) -> None:
    show(output.json, "bosons", found.to_dict, _facts(found), _samples(found))


def _inputs(photons: str | None, inputs: int) -> list[int]:
    counts = multiplicities("--photons", photons) or [1] * inputs
    if len(counts) > 1 or inputs == 1:
        return counts
    if counts[0] > inputs:
        raise InputError(
            f"--photons is {counts[0]}; one in each of the {inputs} inputs is the most"
        )
    return [1] * counts[0] + [0] * (inputs - counts[0])


def _facts(found: Samples) -> Iterator[tuple[str, str]]:
    samples, outputs = found.occupations.shape
    yield "samples", f"{samples}, of {outputs} outputs"
    if found.stopped:
        yield "stopped", found.stopped
    yield "seed", str(found.seed)
    yield "time", seconds_text(found.seconds)
    yield "device", found.device


def _samples(found: Samples) -> Iterator[Table]:
    """Outputs, counted from 0, that photons come out of."""
    rows = []
    for number, counts in enumerate(found.occupations[:_ROWS]):
        outputs = np.repeat(np.arange(len(counts)), counts)
        rows.append((str(number), " ".join(map(str, outputs.tolist()))))
    more = len(found.occupations) - len(rows)
    yield table(
        "><", rows, ("sample", "outputs"), f"{more} more; --json prints all" if more else ""
    )
