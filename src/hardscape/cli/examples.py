"""The command ``hardscape examples``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from hardscape.cli.options import Json
from hardscape.cli.terminal import print_json, print_parts
from hardscape.errors import InputError
from hardscape.files import store


def examples(folder: Path, /, *, json: Json = False) -> None:
    """Copy small instances of every family into a folder, which is made if it is not there.

    Parameters
    ----------
    folder
        Where to. Files of these names that are there are left as they are.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None
    names = []
    for file in sorted((files("hardscape") / "examples").iterdir(), key=lambda x: x.name):
        if file.is_file():
            names.append(file.name)
            if not (folder / file.name).exists():
                store(folder / file.name, file.read_bytes())
    if json:
        print_json({"command": "examples", "folder": str(folder), "files": names})
    else:
        print_parts(*(str(folder / name) for name in names))
