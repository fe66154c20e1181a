"""The program: its commands, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from cyclopts import App

from hardscape.version import __version__

__all__ = ["compose"]

#: Commands: each a function, or a program of its own, in the module here of the same name.
_COMMANDS = ("devices", "gauge", "maxsat", "permanent", "spectrum", "xorsat")


def compose(command: str = "") -> App:
    """Make the program: all of its commands, or the one that `command` names.

    Nobody then waits for the import of the other families.
    """
    app = App(
        name="hardscape",
        version=__version__,
        help="Computations over hard energy landscapes, each close to what the hardware allows.",
        help_format="plaintext",
    )
    for name in [command] if command in _COMMANDS else _COMMANDS:
        app.command(getattr(import_module(f"hardscape.cli.{name}"), name))
    return app
