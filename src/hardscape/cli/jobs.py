"""The commands ``hardscape jobs``, ``resume`` and ``show``: what checkpoints hold, and going on with them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from cyclopts import App

from hardscape.cli.options import Flag, Json, with_options, without
from hardscape.cli.terminal import print_json, print_parts, seconds_text, table
from hardscape.engine.cluster.parts import part_of
from hardscape.engine.jobs import Job, copied, job
from hardscape.engine.jobs import jobs as found_jobs
from hardscape.errors import BudgetError, CheckpointError
from hardscape.files import check_outputs

jobs = App(name="jobs")
#: Options that say where a command computes; not --device, on which its shards depend.
_PLACES = ("--executor", "--cluster", "--threads")


@jobs.default
def show_jobs(folder: Path = Path(), /, *, json: Json = False) -> None:
    """List the jobs whose checkpoints lie in a folder, also those that run.

    Parameters
    ----------
    folder
        Where they are.
    """
    found = list(found_jobs(folder))
    if json:
        print_json({"command": "jobs", "folder": str(folder), "jobs": [x.to_dict() for x in found]})
        return
    if not found:
        print_parts(f"no checkpoints in {folder}")
        return
    head = ("file", "state", "done", "spent", "left", "host", "begun", "command")
    print_parts(table("<<>>><<<", map(_row, found), head))


@jobs.command
def copy(file: Path, output: Path, /, *, force: Flag = False) -> None:
    """Copy a checkpoint whole, also while a command works on it.

    Parameters
    ----------
    file
        The checkpoint.
    output
        The copy.
    force
        Replace a file that is there.
    """
    check_outputs([output], [file], force=force)
    copied(file, output)


def resume(file: Path, /, *, here: Flag = False, time_limit: float | None = None) -> int:
    """Go on with a checkpoint: the command that began it, in its folder.

    Parameters
    ----------
    file
        The checkpoint.
    here
        On the threads of this machine, whatever executor and number of threads the command names.
    time_limit
        Seconds after which it stops, in place of those that the command names.
    """
    from hardscape.cli import main

    words = words_of(job(file))
    if here:
        words = without(words, *_PLACES)
    if time_limit is not None:
        words = with_options(without(words, "--time-limit"), "--time-limit", f"{time_limit}")
    return main(words)


def show(file: Path, /) -> int:
    """Print the answer so far of a checkpoint, as the command that began it prints it when it is stopped.

    Parameters
    ----------
    file
        The checkpoint.
    """
    from hardscape.cli import run

    found = job(file)
    if found.state == "running":
        raise CheckpointError(
            f"checkpoint {file} is in use on {found.host}; 'hardscape jobs copy' makes a copy to look at"
        )
    if found.state == "finished" and part_of(found.path) is None:
        return resume(file, here=True)
    words = without(words_of(found), "--time-limit", "--shards", *_PLACES)
    try:
        return run(with_options(words, "--time-limit", "0.001", "--so-far"))
    except BudgetError:
        raise CheckpointError(
            f"checkpoint {file}: {_done(found)} are done, which tell no answer; 'hardscape resume' goes on"
        ) from None


def words_of(found: Job) -> list[str]:
    """The command of a job, its folder entered."""
    if found.state == "damaged":
        raise CheckpointError(f"checkpoint {found.path} is damaged: {found.reason}")
    if not found.command:
        raise CheckpointError(
            f"checkpoint {found.path} was begun in Python ({found.name}); the same call goes on with it"
        )
    place = found.path.resolve()
    try:
        os.chdir(found.folder)
    except OSError as error:
        raise CheckpointError(f"checkpoint {place}: {found.folder}: {error.strerror}") from None
    part = part_of(place)
    divided = [] if part is None else ["--shards", str(part)]
    words = without(found.command, "--checkpoint")
    return with_options(words, "--checkpoint", str(place), *divided)


def _done(found: Job) -> str:
    """How many parts are done, in words."""
    return f"{found.done} of {found.total}" if found.total else f"{found.done} steps"


def _row(found: Job) -> tuple[str, ...]:
    left = "" if found.eta is None or found.state == "finished" else seconds_text(found.eta)
    told = shlex.join(["hardscape", *found.command]) if found.command else found.name
    return (
        found.path.name,
        found.state,
        "" if found.state == "damaged" else _done(found),
        seconds_text(found.seconds) if found.seconds else "",
        left,
        found.host,
        found.created,
        found.reason or told,
    )
