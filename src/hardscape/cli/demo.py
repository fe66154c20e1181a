"""The command ``hardscape demo``: one of each family, with pictures and a page of what came out."""

from __future__ import annotations

import html
import io
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from importlib.util import find_spec
from pathlib import Path

from hardscape.cli import program
from hardscape.cli.examples import examples
from hardscape.cli.options import Flag
from hardscape.cli.terminal import note, print_parts
from hardscape.errors import InputError
from hardscape.figures import page
from hardscape.files import store

#: What is shown: a heading, a command line, and the picture that it draws, if any.
_SHOWN = (
    ("The lowest states of a spin glass", "spectrum examples/sk24.txt --num-states 200", "levels"),
    ("All 2^30 states of a lattice, counted", "density examples/torus30.rudy", "density"),
    ("The permanent of a graph", "permanent examples/dodecahedron.mtx", ""),
    ("A weighted MAX-SAT problem", "maxsat examples/cover.wcnf --seed 1", "cost"),
    ("A 3-XORSAT system", "xorsat solve examples/regular64.cnf --seed 1", ""),
    (
        "How long its search takes",
        "xorsat tts examples/regular64.cnf --runs 100 --timeout 1 --time-limit 15 --seed 1",
        "times",
    ),
    ("Why it takes that long", "xorsat theory", "barrier"),
    (
        "A lattice gauge configuration, fixed to Landau gauge",
        "gauge fix examples/hot4.nersc --seed 1 -o landau.npz",
        "violation",
    ),
    ("The gluon propagator on it", "gauge propagator landau.npz --beta 6 --no-cut", "propagator"),
)
_INTRODUCTION = """\
<p>Each command runs as it stands in this folder; <code>hardscape help COMMAND</code> tells its options.</p>
"""


def demo(folder: Path = Path("hardscape-demo"), /, *, force: Flag = False) -> None:
    """Compute one of each family, in less than a minute, with pictures and a page about it.

    Parameters
    ----------
    folder
        Where to: examples, pictures, and index.html with each command and what it printed.
    force
        Replace what is there.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is there and is no folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise InputError(f"{folder} is there and is not empty; --force replaces what is there")
    with redirect_stdout(io.StringIO()):
        examples(folder / "examples")
    drawing = find_spec("matplotlib") is not None
    if not drawing:
        note("no pictures: they need matplotlib, pip install 'hardscape[plot]'")
    with chdir(folder):
        body = "".join(_sections(drawing))
        store("index.html", page("hardscape: one of each family", _INTRODUCTION + body))
    print_parts(str(folder / "index.html"))


def _sections(drawing: bool) -> Iterator[str]:
    for number, (title, line, picture) in enumerate(_SHOWN, start=1):
        drawn = f"{picture}.png" if picture and drawing else ""
        asked = f"{line} --plot {drawn}" if drawn else line
        note(f"{number} of {len(_SHOWN)}: hardscape {asked}")
        words = asked.split()
        printed = io.StringIO()
        with redirect_stdout(printed):
            again = ["--force"] if drawn or "-o" in words else []
            command, bound, *_ = program().parse_args([*words, *again])
            command(*bound.args, **bound.kwargs)
        yield f"<h2>{html.escape(title)}</h2>\n<pre><b>$ hardscape {html.escape(asked)}</b>\n"
        yield f"{html.escape(printed.getvalue())}</pre>\n"
        if drawn:
            yield f'<img src="{drawn}" alt="{html.escape(title)}">\n'
