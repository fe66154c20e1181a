"""The command line: runs one command, and turns errors and signals into exit codes.

==== =====================================================================
exit meaning
==== =====================================================================
0    done; also when a time limit ended the search (the output says so)
1    the output could not be written, or the results were and a file could not; or memory ran out
2    the command line or an input is at fault; one line on standard error
130  stopped by SIGINT (Ctrl-C), the best so far printed
141  whoever read the output has closed it
143  stopped by SIGTERM, the best so far printed; 129 by SIGHUP, 152 by SIGXCPU
==== =====================================================================

``HARDSCAPE_LOG=debug`` prints on standard error why methods were passed over.

``hardscape maxsat`` ends with the codes of the MAX-SAT Evaluation instead of 0, 130 and 143, whatever
ended it: 30 the optimum is proven, 10 all hard clauses hold, 20 they cannot, 0 nothing is known.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, get_args

from hardscape.cli.terminal import note, show
from hardscape.errors import HardscapeError, InputError, Interrupted, OutputError, PartDone
from hardscape.interrupts import hear, one_call, signals_wait, waits
from hardscape.stops import STOPS
from hardscape.version import __version__

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError, Token

__all__ = ["main"]

#: When this was imported, as the command of a process begins.
_IMPORTED = time.monotonic()

#: Commands: each a function, or a program of its own, in the module here of the same name.
_COMMANDS = {
    "approximate": "The permanent of a matrix too large for that, estimated and bounded",
    "bosons": "Where photons come out of an interferometer, drawn: boson sampling",
    "demo": "One of each family in less than a minute, with pictures and a page about it",
    "density": "The states of every energy of an Ising model or QUBO, counted",
    "devices": "What this machine offers: processor, memory, GPUs, and why CUDA cannot be used",
    "examples": "Copy small instances of every family into a folder",
    "gauge": "Lattice gauge configurations: info, convert, generate, fix, measure",
    "jobs": "What the checkpoints of a folder hold: command, progress, speed, time left, who works on it",
    "maxsat": "The best assignment of a CNF, WCNF or OPB formula",
    "merge": "Put the checkpoints of parts together, and print the answer",
    "permanent": "The permanent of a matrix",
    "reproduce": "Figures and tables of the five papers, done again beside the published numbers",
    "resume": "Go on with a checkpoint: the command that began it, in its folder",
    "run": "A part of the shards of a command or a checkpoint, for arrays of jobs",
    "show": "The answer so far of a checkpoint",
    "spectrum": "The states of lowest energy of an Ising model or QUBO, with a certificate",
    "xorsat": "XORSAT and p-spin models: solve, measure the time to solution, generate, theory",
}
#: Commands whose module is called differently.
_MODULES = {"resume": "jobs", "show": "jobs", "run": "parts", "merge": "parts"}
#: Commands called otherwise than the function of Python that does the same.
_FUNCTIONS = {
    "gauge ghost_propagator": "gauge ghost",
    "gauge inspect": "gauge info",
    "gauge wilson_flow": "gauge flow",
    "xorsat energy_trace": "xorsat energy",
    "xorsat scan_w1": "xorsat scan",
    "xorsat time_to_solution": "xorsat tts",
    "xorsat times_to_solution": "xorsat tts",
}
#: What hardscape alone prints: lines that run as they stand, one after another.
_WELCOME = """\
hardscape examples examples
hardscape spectrum examples/sk24.txt
hardscape maxsat examples/cover.wcnf
hardscape demo
hardscape help
"""
#: Levels of the log that HARDSCAPE_LOG may name.
_LOG_LEVELS = ("debug", "info", "warning", "error")


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    tokens : sequence of str, optional
        The words after ``hardscape``; by default those of this process.

    Returns
    -------
    int
        The exit code.
    """
    words = sys.argv[1:] if tokens is None else list(tokens)
    began = _IMPORTED if tokens is None else time.monotonic()
    if not _open_streams():
        note("error: standard output is closed; nothing could be printed")
        return 1
    if tokens is None:
        _prepare_output()
    try:
        with one_call(), _signals_interrupt(last=tokens is None and words[:1] == ["maxsat"]):
            _log_as_asked()
            code = run(words, began)
            sys.stdout.flush()
    except KeyboardInterrupt as stop:
        return _stopped(words, stop)
    except PartDone as part:
        _tell(words, part)
        return 0
    except HardscapeError as error:
        note(f"error: {_with_options(str(error), words)}")
        return 1 if isinstance(error, OutputError) else 2
    except BrokenPipeError:
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        _drop_output()
        where = "what was printed could not be written: " if error.filename is None else ""
        note(f"error: {where}{error.strerror if where else error}")
        return 1
    except MemoryError as error:
        note(f"error: out of memory: {error}".removesuffix(": "))
        return 1
    return code


def _stopped(words: list[str], stop: KeyboardInterrupt) -> int:
    """What is left to say after a signal that the command did not answer; the exit code."""
    if words[:1] == ["maxsat"]:  # which has words for that, also before it was imported
        from hardscape.cli.early import report_early

        return report_early(stop, "--json" in words)
    number = stop.signum if isinstance(stop, Interrupted) else signal.SIGINT
    if not isinstance(stop, Interrupted) or stop.result is None:
        note(f"stopped by {signal.Signals(number).name}")
    return 128 + number


def _tell(words: list[str], part: PartDone) -> None:
    """Tell that a part is done, in the place of an answer."""
    plain = {
        "checkpoint": str(part.checkpoint),
        "shards_done": part.done,
        "shards_total": part.total,
    }
    facts = [("shards", f"{part.done} of {part.total}"), ("checkpoint", str(part.checkpoint))]
    show("--json" in words, words[0], lambda: plain, facts)


#: An argument of Python with the option that it is in parentheses, ``strict=False (--no-strict)``.
_BOTH = re.compile(
    r"(?<![\w.-])[a-z]\w*=(?:\([^()]*\)|[^\s,;()]*) \((--[^()]*(?:\([^()]*\))?[^()]*)\)"
)


def _with_options(message: str, words: list[str]) -> str:
    """A message that names arguments of Python, ``threads=0``, with the command's options, ``--threads 0``."""
    if "=" not in message:
        return message
    try:
        with signals_wait():
            *_, command = program(installs=False).parse_commands(words)[1]
            known = command.assemble_argument_collection(parse_docstring=False)
    except Exception:  # the message is told in any case
        return message
    options = {name for argument in known for name in argument.names}

    def option(found: re.Match[str]) -> str:
        name = "--" + found[1].replace("_", "-")
        return name + " " * bool(found[2]) if name in options else found[0]

    message = _BOTH.sub(r"\1", message)
    message = re.sub(r"(?<![\w.-])([a-z]\w*)=(?=([^\s,;)]?))", option, message)
    return re.sub(r"(--[a-z-]+) True\b", r"\1", message)  # a flag


def _open_streams() -> bool:
    """Whether there is a standard output; the others, where they are closed, are nothing from now on."""
    ready = sys.stdout is not None
    if not ready or sys.stdin is None or sys.stderr is None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        while nowhere < 2:  # else a file of ours would be the stream
            nowhere = os.dup(nowhere)
        if sys.stdin is None:
            sys.stdin = open(os.devnull)  # noqa: SIM115
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    return ready


def _prepare_output() -> None:
    """Have this process's output lose nothing of an answer.

    Where PYTHONUNBUFFERED left it without a buffer, it has one up to the end of each line: what one write
    leaves, as on a disk that is nearly full, would be lost without a word. Characters that its encoding
    does not have, of the names of files, are escaped, as on standard error.
    """
    if isinstance(raw := getattr(sys.stdout, "buffer", None), io.RawIOBase):
        how = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), *how, line_buffering=True)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _log_as_asked() -> None:
    """Print the library's log on standard error, from the level on that HARDSCAPE_LOG names."""
    asked = os.environ.get("HARDSCAPE_LOG", "")
    if not asked:
        return
    import logging

    if asked.lower() not in _LOG_LEVELS:
        raise InputError(f"HARDSCAPE_LOG={asked!r}; {', '.join(_LOG_LEVELS)} are accepted")
    logging.basicConfig(format="%(name)s: %(message)s")
    logging.getLogger("hardscape").setLevel(asked.upper())


def run(words: list[str], began: float | None = None) -> int:
    """Do what the words say; the exit code, or whatever `main` turns into one.

    They were said when ``time.monotonic()`` was `began`, by default now.
    """
    if words == ["--version"]:  # nobody waits for imports for that
        print(__version__)
        return 0
    if not words:
        print(_WELCOME, end="")
        return 0
    if words[0] != "maxsat":
        return _parsed(words)
    with signals_wait():
        from hardscape.cli.early import Lines, early, searched
    early.began = time.monotonic() if began is None else began
    try:
        begun = early.begin(words)
        if begun is None or early.costs is None:
            return _parsed(words)
        formula, asked = begun
        return searched(lambda: formula, early.costs, Lines(), **asked)
    finally:
        early.end()


def _parsed(words: list[str]) -> int:
    """Understand the words, and do what they say; the exit code."""
    with signals_wait():
        from cyclopts import CycloptsError

    if words[0] == "help":
        words = [*words[1:], "--help"]
    # cyclopts takes a lone "-" for an option; as paths the two are the same.
    named = ["./-" if word == "-" else word for word in words]
    try:
        with signals_wait():
            known = program(installs=words[0] not in _COMMANDS)
            command, bound, *_ = known.parse_args(named, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        meant = _FUNCTIONS.get(" ".join(words[:2]).replace("-", "_"))
        note(f"error: the command is hardscape {meant}" if meant else f"error: {_reason(error)}")
        return 2
    console = bound.arguments.get("console")
    if console is None:
        with _recorded(words):
            return command(*bound.args, **bound.kwargs) or 0
    # Help, on rich's console, which would end the process by itself if nobody reads.
    with console.capture() as captured:
        command(*bound.args, **bound.kwargs)
    sys.stdout.write(captured.get())
    return 0


def _reason(error: CycloptsError) -> str:
    """What is wrong with the words; of a command that is unknown, also where it is so."""
    from cyclopts import UnknownCommandError, UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        group = " ".join(["hardscape", *(error.command_chain or ())])
        return f"{' '.join(map(repr, error.unused_tokens))} is more than {group} takes"
    if not isinstance(error, UnknownCommandError) or not error.unused_tokens or error.app is None:
        return str(error)
    from difflib import get_close_matches

    word = error.unused_tokens[0]
    names = [name for name in error.app if not name.startswith("-")]
    meant = "".join(f"did you mean {name}? " for name in get_close_matches(word, names, 1))
    group = " ".join(["hardscape", *(error.command_chain or ())])
    return f"{word!r} is no command of {group}; {meant}{', '.join(names)} are accepted"


@contextmanager
def _recorded(words: list[str]) -> Iterator[None]:
    """Have a checkpoint that is begun keep the command."""
    if not any(word.startswith("--checkpoint") for word in words):
        yield
        return
    from hardscape.cli import options
    from hardscape.engine import ledger

    # Of a part the name of its checkpoint tells.
    ledger.command = options.without(words, "--shards")
    options.goes_on = options.began(ledger.command)
    try:
        yield
    finally:
        ledger.command, options.goes_on = [], False


def program(*, installs: bool = True) -> App:
    """All commands; those that are not used are not imported. One installs completion in shells."""
    from cyclopts import App, Parameter

    made = App(
        name="hardscape",
        version=__version__,
        help="Computations over hard energy landscapes, each close to what the hardware allows.",
        help_format="plaintext",
        default_parameter=Parameter(converter=_converted, show_default=_default),
    )
    for name, told in _COMMANDS.items():
        made.command(f"hardscape.cli.{_MODULES.get(name, name)}:{name}", name=name, help=told)
    if installs:
        made.register_install_completion_command(add_to_startup=False)
    return made


def _converted(hint: Any, tokens: Sequence[Token]) -> Any:
    """What cyclopts makes of words, but that 1.5 is not rounded where an integer is wanted."""
    from cyclopts import convert

    for token in tokens:
        if int in (hint, *get_args(hint)) and "." in token.value:
            raise ValueError(f"{token.value!r}; an integer is accepted")
    return convert(hint, tokens)


def _default(value: object) -> str | None:
    """How help tells a default; of a flag, and of what may be left out, nothing."""
    return None if value is None or value is False else str(value)


def _drop_output() -> None:
    """Send what is left in the buffer nowhere, else the interpreter fails on it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def _signals_interrupt(*, last: bool) -> Iterator[None]:
    """Let signals that stop unwind the stack as Ctrl-C does, also where no run looks after them.

    The `last` thing that a process does is not to be killed after it: it ends with the code that it told.
    """
    ours = threading.current_thread() is threading.main_thread()
    before = {x: signal.getsignal(x) for x in STOPS if ours}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    left = {number: handler for number, handler in before.items() if handler in usual}
    for number in left:
        signal.signal(number, _interrupt)
    try:
        if ours:  # those that came while this was imported are heard now
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        yield
    finally:
        for number, handler in left.items():
            signal.signal(number, signal.SIG_IGN if last else handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Stop; but the answer of a run that is over is told first."""
    if not waits(number):
        hear(number)  # should code of others swallow what is raised
        raise Interrupted(number)
