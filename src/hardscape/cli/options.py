"""Options that several commands have, each declared once.

Annotations are evaluated here: classes elsewhere inherit the fields, and cyclopts reads them there.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

from cyclopts import Group, Parameter

from hardscape.cli.terminal import cut_short, seconds_text, show
from hardscape.errors import BudgetError, CheckpointError
from hardscape.files import COMPRESSED, check_outputs
from hardscape.formats import Formats

if TYPE_CHECKING:
    from hardscape.engine.estimates.forecast import Forecast

#: Whether the command goes on with what it began: what it wrote then may be replaced.
goes_on = False

#: Options that do not change what comes out of a command that comes to its end.
_WHERE = ("--time-limit", "--threads", "--device", "--executor", "--cluster")
#: Seconds that a computation may take without being asked for.
_UNASKED_SECONDS = 600.0

RUN, OUTPUT = Group("Run", sort_key=8), Group("Output", sort_key=9)
_Options = TypeVar("_Options")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option_group(group: Group) -> Callable[[type[_Options]], type[_Options]]:
    """Make a frozen dataclass of a class; help shows its fields as options under `group`."""

    def made(fields: type[_Options]) -> type[_Options]:
        return Parameter(name="*", group=group)(dataclass(frozen=True, kw_only=True)(fields))

    return made


def file_help(what: str, formats: Formats[Any]) -> Parameter:
    """What help says of a file to read: `what` it holds, and the formats in their own words."""
    known = "; ".join(
        module.DESCRIPTION
        for module in formats.values()
        if module.SUFFIXES or hasattr(module, "READS")
    )
    packed = ", ".join(COMPRESSED)
    return Parameter(help=f"{what}, also {packed}, or - for standard input. Formats: {known}.")


def format_help(formats: Formats[Any]) -> Parameter:
    """What help says of the format of a file to read."""
    return Parameter(help=f"{', '.join(formats)}, where name and content do not tell.")


def target_help(formats: Formats[Any]) -> Parameter:
    """What help says of the format of a file to write."""
    return Parameter(help=f"{', '.join(formats)}, where the suffix does not tell.")


Flag = Annotated[bool, Parameter(negative="")]
Seed = Annotated[
    int | None, Parameter(help="0 to 2^64 - 1; one seed gives one answer, none draws one.")
]
Json = Annotated[
    bool,
    Parameter(
        name="--json",
        negative="",
        help="Print one JSON object on standard output, and nothing else there.",
    ),
]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]


def without(words: Iterable[str], *options: str) -> list[str]:
    """The words but some options and their values."""
    kept = list(words)
    for option in options:
        kept = [word for word in kept if not word.startswith(f"{option}=")]
        while option in kept:
            at = kept.index(option)
            del kept[at : at + 2]
    return kept


def began(words: Sequence[str]) -> bool:
    """Whether a command in these words, in this folder, began the checkpoint that it names.

    How long it may take, and where it runs, may differ.
    """
    from hardscape.engine.jobs import job

    named = [after for word, after in pairwise(words) if word == "--checkpoint"]
    named += [word.partition("=")[2] for word in words if word.startswith("--checkpoint=")]
    try:
        found = job(named[-1])
    except (IndexError, CheckpointError):
        return False
    told, asked = (
        [
            word
            for word in without(command, "--checkpoint", *_WHERE)
            if word not in ("--force", "--so-far")
        ]
        for command in (found.command, words)
    )
    return told == asked and found.folder == os.getcwd()


def with_options(words: Iterable[str], *options: str) -> list[str]:
    """The words and some options, before a lone "--", behind which there are none."""
    before = list(words)
    end = before.index("--") if "--" in before else len(before)
    return [*before[:end], *options, *before[end:]]


@option_group(RUN)
class RunOptions:
    """Where to compute, and for how long.

    Attributes
    ----------
    device
        auto, cpu, cuda, cuda:0 or cuda:0,1.
    threads
        CPU threads, by default all.
    time_limit
        Seconds after which it stops, with the best so far where there is one.
    checkpoint
        File that records finished parts; the same command resumes from it.
    executor
        What runs the parts instead of this process: processes:8, dask://host:port, dask:cluster.yaml, mpi,
        ray or ray://host:port.
    """

    device: str = "auto"
    threads: int | None = None
    time_limit: float | None = None
    checkpoint: Path | None = None
    executor: Annotated[str | None, Parameter(name=["--executor", "--cluster"])] = None


@option_group(RUN)
class SeededRunOptions(RunOptions):
    """The same for what draws random numbers."""

    seed: Seed = None


@option_group(RUN)
class ShardRunOptions(RunOptions):
    """The same for what is cut into shards.

    Attributes
    ----------
    shards
        3/64: only the third of 64 parts, in a checkpoint of its own; `hardscape merge` puts them together.
    """

    shards: str | None = None


@option_group(RUN)
class SeededShardRunOptions(ShardRunOptions, SeededRunOptions):
    """Both."""


@option_group(OUTPUT)
class JsonOptions:
    """What to print.

    Attributes
    ----------
    so_far
        Whether the answer is that of a checkpoint, which is but shown: `hardscape show` says so.
    """

    json: Json = False
    so_far: Annotated[Flag, Parameter(show=False)] = False

    def cut_short(self, stopped: str, left: str) -> str:
        """The sentence that a run did not come to its end; what is shown, no limit of its own has stopped."""
        return f"not finished: {left}" if self.so_far else cut_short(stopped, left)


@option_group(OUTPUT)
class EstimateOptions(JsonOptions):
    """What to print, and whether to compute at all.

    Attributes
    ----------
    estimate
        Print what it would take here, and stop.
    """

    estimate: Flag = False

    def estimated(
        self, command: str, call: Callable[..., object], *given: object, **run: object
    ) -> bool:
        """Whether it is asked what a call takes, which is then tried and told."""
        if self.estimate:
            from hardscape.engine.estimates.forecast import forecast  # as below

            found = forecast(call, *given, **run)
            show(self.json, command, found.to_dict, _forecast_facts(found))
        return self.estimate


def _forecast_facts(found: "Forecast") -> Iterator[tuple[str, str]]:
    tried = seconds_text(found.tried_seconds)
    if found.seconds is None:
        yield "time", f"unknown: of {found.total} {found.unit} none was over after {tried}"
    else:
        yield "time", f"about {seconds_text(found.seconds)}"
    if found.total:
        yield "tried", f"{tried}, {found.share:.2%} of {found.total} {found.unit}"


@option_group(OUTPUT)
class LongOptions(EstimateOptions):
    """The same for what refuses to take long unasked.

    Attributes
    ----------
    yes
        Go on even if that is estimated to take more than ten minutes.
    """

    yes: Flag = False

    def refuse_unasked(self, what: str, seconds: float) -> None:
        """Refuse what is estimated to take long, unless --yes asks for it."""
        if seconds > _UNASKED_SECONDS and not self.yes:
            from hardscape.engine.progress import duration  # takes as long as all of the above

            raise BudgetError(
                f"{what} is estimated to take {duration(seconds)}; --yes computes it all the same, "
                "--time-limit SECONDS bounds it, --checkpoint FILE lets it go on later, --estimate tells more"
            )


@option_group(OUTPUT)
class FileOptions(JsonOptions):
    """What to print and to write.

    Attributes
    ----------
    force
        Replace files that are there.
    """

    force: Flag = False

    def check(self, inputs: Iterable[Path] = (), outputs: Iterable[Path | None] = ()) -> None:
        """Refuse, before work begins, files that could not be written after it."""
        check_outputs((x for x in outputs if x is not None), inputs, force=self.force or goes_on)


@option_group(OUTPUT)
class PlotOptions(FileOptions):
    """What to print and draw.

    Attributes
    ----------
    plot
        Also draw it into this file: .png, .pdf or .svg.
    """

    plot: Path | None = None

    def check(self, inputs: Iterable[Path] = (), outputs: Iterable[Path | None] = ()) -> None:
        """Refuse, before work begins, files that could not be written after it."""
        super().check(inputs, [*outputs, self.plot])
        if self.plot is not None:
            from hardscape.figures import check_plot_path

            check_plot_path(self.plot)

    def draw(self, figure: Callable[[], Any]) -> None:
        """Draw the figure, if it is asked for."""
        if self.plot is not None:
            from hardscape.figures import save_plot

            save_plot(figure(), self.plot)


@option_group(OUTPUT)
class EstimatePlotOptions(EstimateOptions, PlotOptions):
    """What to print and draw, and whether to compute at all."""
