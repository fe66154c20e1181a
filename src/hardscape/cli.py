"""The command line: composes the families' commands, and turns errors and signals into exit codes.

==== =====================================================================
exit meaning
==== =====================================================================
0    done; also when a time limit ended the search (the output says so)
1    the output could not be written
2    the command line or an input is at fault; one line on standard error
130  stopped by SIGINT (Ctrl-C), the best so far printed
141  whoever read the output has closed it
143  stopped by SIGTERM, the best so far printed
==== =====================================================================

``hardscape maxsat`` ends with the codes of the MAX-SAT Evaluation instead of 0, 130 and 143, whatever
ended it: 30 the optimum is proven, 10 all hard clauses hold, 20 they cannot, 0 nothing is known.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

from cyclopts import App, CycloptsError, Parameter

from hardscape.errors import HardscapeError, Interrupted
from hardscape.terminal import fact_table, note, print_json, print_parts
from hardscape.version import __version__

if TYPE_CHECKING:
    from hardscape.engine import Machine

__all__ = ["compose", "main"]

#: Commands and the families that they belong to.
_FAMILIES = {
    "gauge": "gauge",
    "maxsat": "maxsat",
    "permanent": "permanents",
    "spectrum": "ising",
    "xorsat": "xorsat",
}


def compose(command: str = "") -> App:
    """Make the program: all of its commands, or one family's where `command` is one of that family.

    Nobody then waits for the import of the others.
    """
    app = App(
        name="hardscape",
        version=__version__,
        help="Computations over hard energy landscapes, each close to what the hardware allows.",
        help_format="plaintext",
    )
    app.command(devices)
    for family in [_FAMILIES[command]] if command in _FAMILIES else _FAMILIES.values():
        import_module(f"hardscape.{family}.cli").register(app)
    return app


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
    try:
        with _sigterm_interrupts():
            command, bound, *_ = compose(words[0] if words else "").parse_args(
                words,
                exit_on_error=False,
                print_error=False,
            )
            code = command(*bound.args, **bound.kwargs)
            sys.stdout.flush()
    except Interrupted as stop:
        if stop.result is None:
            note(f"stopped by {signal.Signals(stop.signum).name}")
        return 128 + stop.signum
    except KeyboardInterrupt:
        note("stopped by SIGINT")
        return 128 + signal.SIGINT
    except (HardscapeError, CycloptsError) as error:
        note(f"error: {error}")
        return 2
    except BrokenPipeError:
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        _drop_output()
        note(f"error: {error}")
        return 1
    return code or 0


def _drop_output() -> None:
    """Send what is left in the buffer nowhere, else the interpreter fails on it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does, also where no run looks after it."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def devices(*, json_: Annotated[bool, Parameter(name="--json", negative="")] = False) -> None:
    """Show what this machine offers: processor, memory, GPUs, and why CUDA cannot be used.

    Parameters
    ----------
    json_
        Print one JSON object and nothing else.
    """
    from hardscape.engine import probe

    machine = probe()
    if json_:
        print_json({"command": "devices", **machine.to_json(), "install": _install(machine)})
    else:
        print_parts(fact_table(_machine_facts(machine)))


def _install(machine: Machine) -> str:
    """The line that installs missing packages for CUDA, or "" if none is missing."""
    cuda = machine.cuda
    complete = cuda.nvrtc and cuda.cuda_core and cuda.cupy
    return "" if complete else "pip install 'hardscape[cuda]'"


def _machine_facts(machine: Machine) -> Iterator[tuple[str, str]]:
    cuda = machine.cuda
    yield "hardscape", machine.hardscape
    yield "processor", machine.cpu
    yield "cores", str(machine.cores)
    yield "memory", _gib(machine.memory)
    yield "SIMD level", f"{machine.simd} (usable here: {', '.join(machine.simd_levels) or 'none'})"
    yield "CUDA", "usable" if cuda.usable else f"not usable: {cuda.reason}"
    if cuda.remedy:
        yield "", f"remedy: {cuda.remedy}"
    if _install(machine) and _install(machine) != cuda.remedy:
        yield "", f"missing packages: {_install(machine)}"
    yield "CUDA driver", f"CUDA {cuda.driver}" if cuda.driver else "missing"
    for name, version in (
        ("NVRTC", cuda.nvrtc),
        ("cuda-core", cuda.cuda_core),
        ("CuPy", cuda.cupy),
    ):
        yield name, version or "missing"
    for gpu in cuda.gpus:
        free = "" if gpu.memory_free is None else f", {_gib(gpu.memory_free)} free"
        yield (
            f"GPU {gpu.ordinal}",
            f"{gpu.name}, compute capability {gpu.compute_capability}, "
            f"{gpu.multiprocessors} multiprocessors, {_gib(gpu.memory_total)}{free}",
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
