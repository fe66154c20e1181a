"""The command ``hardscape approximate``."""

from __future__ import annotations

import cmath
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group

from hardscape.cli.options import (
    EstimatePlotOptions,
    SeededShardRunOptions,
    file_help,
    format_help,
    option_group,
)
from hardscape.cli.terminal import seconds_text, show
from hardscape.errors import Interrupted
from hardscape.permanents import formats
from hardscape.permanents.approximation.approximate import (
    Approximation,
    Estimator,
)
from hardscape.permanents.approximation.approximate import (
    approximate as find_approximation,
)
from hardscape.permanents.approximation.bounds import Bounds, bounds


@option_group(Group("Estimate", sort_key=1))
class EstimatorOptions:
    """How to estimate it.

    Attributes
    ----------
    method
        auto, huber-law (nonnegative matrices) or gurvits.
    num_samples
        By default 10000; the interval narrows with its square root.
    relative_error
        Instead: as many as it takes until the error is at most this part of the permanent.
    confidence
        Probability, below 1, with which the interval holds the permanent.
    """

    format: Annotated[str | None, format_help(formats.FORMATS)] = None
    method: Estimator = "auto"
    num_samples: int | None = None
    relative_error: float | None = None
    confidence: float = 0.95


_DEFAULT_ESTIMATOR, _DEFAULT_RUN = EstimatorOptions(), SeededShardRunOptions()
_DEFAULT_OUTPUT = EstimatePlotOptions()


def approximate(
    file: Annotated[Path, file_help("The matrix", formats.FORMATS)],
    /,
    *,
    given: EstimatorOptions = _DEFAULT_ESTIMATOR,
    run: SeededShardRunOptions = _DEFAULT_RUN,
    output: EstimatePlotOptions = _DEFAULT_OUTPUT,
) -> None:
    """Estimate the permanent of a matrix that is too large to be found, and bound it."""
    output.check([file])
    matrix = formats.read_matrix(file, format=given.format)
    keywords: dict[str, Any] = {
        "method": given.method,
        "num_samples": given.num_samples,
        "relative_error": given.relative_error,
        "confidence": given.confidence,
        **vars(run),
    }
    if output.estimated("approximate", find_approximation, matrix, **keywords):
        return
    between = bounds(matrix)
    try:
        found = find_approximation(matrix, progress=True, **keywords)
    except Interrupted as stop:
        if stop.result is not None:
            _report(stop.result, between, output)
        raise
    _report(found, between, output)


def _report(found: Approximation, between: Bounds, output: EstimatePlotOptions) -> None:
    show(
        output.json,
        "approximate",
        lambda: {**found.to_dict(), **between.to_dict()},
        _facts(found, between),
    )
    output.draw(partial(found.plot, between=between))


def _facts(found: Approximation, between: Bounds) -> Iterator[tuple[str, str]]:
    whole = cmath.isfinite(complex(found.value))
    yield "permanent", f"{found.value!r}" if whole else f"{found.mantissa!r} * 2^{found.exponent}"
    percent = f"{100 * found.confidence:g}%"
    yield (
        "error",
        f"at most {found.relative_error_bound:.2g} of it, with a probability of {percent}",
    )
    yield (
        "bounds",
        f"{between.lower:.6g} ({between.lower_by}) to {between.upper:.6g} ({between.upper_by})",
    )
    yield "method", f"{found.method}, {found.num_samples} samples"
    if found.stopped:
        yield "stopped", found.stopped
    yield "seed", str(found.seed)
    yield "time", seconds_text(found.seconds)
    yield "device", found.device
