"""The commands ``hardscape run`` and ``merge``: parts of a computation, for jobs that share but a folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hardscape.cli.jobs import resume, show, words_of
from hardscape.cli.options import with_options
from hardscape.cli.terminal import note
from hardscape.engine.cluster.parts import Part, part_of, whole_of
from hardscape.engine.jobs import is_ledger, job, merged
from hardscape.errors import CheckpointError, InputError


def run(*work: Annotated[str, Parameter(allow_leading_hyphen=True)], shards: str) -> int:
    """Do a part of the shards of a command or a checkpoint, in a checkpoint of its own: model.03-of-64.ledger.

    Parameters
    ----------
    work
        A command with its --checkpoint, in one word or several, or a checkpoint: the command that began it.
    shards
        3/64: the third of 64 parts. hardscape merge puts all of them together.
    """
    from hardscape.cli import main

    if not work:
        raise InputError("no command is given; a command, or a checkpoint, is accepted")
    Part.checked(shards)
    words = list(work) if len(work) > 1 else _words(work[0])
    return main(with_options(words, "--shards", shards))


def _words(told: str) -> list[str]:
    """The command that one word is: the one that began a checkpoint, or all of it."""
    if is_ledger(Path(told)):
        return words_of(job(told))
    try:
        words = shlex.split(told)
    except ValueError as error:
        raise InputError(f"{told!r}: {error}; a command is accepted") from None
    if len(words) < 2:  # no command with a checkpoint is so short
        what = "is no checkpoint" if Path(told).exists() else "is not there"
        raise CheckpointError(
            f"{told} {what}; a checkpoint that a command has begun is accepted, or that command with its "
            "options, --checkpoint among them"
        )
    return words


def merge(*files: Path) -> int:
    """Put the checkpoints of parts together, in model.ledger beside them, and print the answer.

    Parameters
    ----------
    files
        Checkpoints of parts, those of jobs that still run too; others are passed over.
    """
    wholes = merged(files)
    if not wholes:
        raise CheckpointError(
            "no checkpoint of a part is among the files; names such as model.03-of-64.ledger are accepted"
        )
    for whole in wholes:
        found = job(whole)
        note(f"{found.done} of {found.total} shards are in {whole}{_missing(whole, files)}")
    # Others are of blocks of the same problem.
    first = min(wholes, key=lambda whole: len(whole.name))
    if not job(first).command:
        return 0
    return (
        resume(first, here=True) if all(job(x).state == "finished" for x in wholes) else show(first)
    )


def _missing(whole: Path, files: Sequence[Path]) -> str:
    """Which parts are not there, or not finished."""
    parts = {part_of(path): path for path in files if part_of(path) and whole_of(path) == whole}
    count = max(part.count for part in parts if part is not None)
    ended = {part.number for part, path in parts.items() if part and job(path).state == "finished"}
    left = [str(number) for number in range(1, count + 1) if number not in ended]
    return f"; not finished: part {','.join(left)} of {count}" if left else ""
