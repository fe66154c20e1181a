"""A search that prints what it finds, as solvers of the MAX-SAT Evaluation do, before much else is imported."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hardscape import memory
from hardscape.cli.terminal import cut_short, note, print_json
from hardscape.errors import Interrupted
from hardscape.interrupts import answer_is_told, signals_wait
from hardscape.maxsat.formats import FORMATS, FormatWarning

if TYPE_CHECKING:  # a first cost is printed before they are imported
    from hardscape.maxsat import Formula, Improvement, MaxsatResult
    from hardscape.maxsat.methods.exact.ahead import Ahead

#: Exit code of each status.
EXIT_CODES = {"UNKNOWN": 0, "SATISFIABLE": 10, "UNSATISFIABLE": 20, "OPTIMUM FOUND": 30}


def _among(kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], Any]:
    """What makes such a number of a word, from `least` to `most`; ValueError for others."""

    def read(word: str) -> Any:
        if not least <= (value := kind(word)) <= most:
            raise ValueError(word)
        return value

    return read


def _needs_no_gpu(word: str) -> str:
    if word not in ("auto", "cpu"):
        raise ValueError(word)
    return word


#: Options with a value that do not change what is told of a formula: where there are no others it is read
#: before all else is imported, and what understands words never is, which takes as long as many searches.
_PATIENT: dict[str, Callable[[str], Any]] = {
    "--device": _needs_no_gpu,
    "--seed": _among(int, 0, 2**64 - 1),
    "--threads": _among(int, 1, 64),
    "--time-limit": _among(float, math.ulp(0.0), math.inf),
}

#: Seconds between two lower bounds that are printed.
_BETWEEN_BOUNDS = 0.2

#: Seconds that a search waits for a solver's first assignment, and the share of the limit that they may be: by
#: then the solver has mostly looked for longer than that, and a search would begin anew.
_PATIENCE, _LIMITED = 0.25, 0.1

#: Share of a limit that a search has at least, however late it begins.
_SEARCHED = 0.5

#: Literals up to which a formula's first assignment takes milliseconds, and is told before all else.
EARLY = 300_000

#: Bytes of a file, packed or not, whose formula takes much memory.
_LARGE_FILE = 2**22


def say(line: str) -> None:
    """Print a line that is read at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Costs:
    """Prints sizes, and costs as they fall, the first one before the search is imported.

    Where a first assignment is hard to find, a SAT solver may look for one `ahead` of the search. Costs are
    `held` back until the search has begun where that may still refuse to.
    """

    def __init__(self, *, quiet: bool, ahead: bool, held: bool = False) -> None:
        self._quiet = quiet
        self._may_look_ahead = ahead
        self._held = held
        self._sized = False
        self.least: int | None = None
        self.first: str | None = None  # an assignment that the search begins with, too
        self._ahead: Ahead | None = None
        self._found: str | None = None  # the one that the solver found

    def read(self, file: Path, format: str | None = None) -> Formula:
        """Read a formula, and tell what is known of it."""
        if file.is_file() and file.stat().st_size > _LARGE_FILE:
            memory.give_back_at_once()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FormatWarning)
            formula: Formula = FORMATS.read(file, format=format, seen=self._seen)
        for warning in caught:
            note(f"warning: {warning.message}")
        self._size(formula)
        return formula

    def _size(self, formula: Any) -> None:
        """Tell once how large the formula is."""
        if not self._quiet and not self._sized:
            say(
                f"c {formula.num_variables} variables, {formula.num_hard} hard clauses, "
                f"{formula.num_soft} soft clauses of total weight {formula.total_weight}"
            )
        self._sized = True

    def _seen(self, text: Any) -> None:
        """Tell of the first assignment of a formula that was just read."""
        self._size(text)
        if text.num_literals > EARLY:
            return
        values, hard_violations, high, low = text.first()
        if hard_violations == 0:
            self.first = values
            self._tell((high << 64) + low)
        elif self._may_look_ahead:
            self._look_ahead(text)

    def _look_ahead(self, text: Any) -> None:
        """Have a SAT solver look for what was not found at once, until the search begins."""
        with signals_wait():
            from hardscape.maxsat.methods.exact.ahead import Ahead, has_a_core
            from hardscape.maxsat.methods.installed import can_prove

        def hear(values: str) -> None:
            hard_violations, high, low = text.cost(values)
            if hard_violations == 0:
                self.first = self._found = values
                self._tell((high << 64) + low)

        if has_a_core() and can_prove():
            self._ahead = Ahead(text.packed(), hear)

    def found(self, patience: float = 0.0) -> str | None:
        """What a SAT solver has found by now, or so many seconds later; it looks no longer."""
        if self._ahead is not None:
            self._ahead.end(patience)
            self._ahead = None
        return self._found

    def improved(self, offset: int, found: Improvement) -> None:
        """Tell of an improvement."""
        self.let_go()
        if found.hard_violations == 0:
            self._tell(found.cost + offset)

    def _tell(self, cost: int) -> None:
        if self.least is None or cost < self.least:
            self.least = cost
            self._say_least()

    def let_go(self) -> None:
        """Tell what was held back."""
        if self._held:
            self._held = False
            if self.least is not None:
                self._say_least()

    def _say_least(self) -> None:
        if not self._quiet and not self._held:
            say(f"o {self.least}")


class Early:
    """A formula that is read before all else is imported: where few options come after its name."""

    costs: Costs | None = None
    #: ``time.monotonic()`` when the command began.
    began = 0.0

    def begin(self, words: Sequence[str]) -> tuple[Formula, dict[str, Any]] | None:
        """Read it, if the words are ``maxsat FILE`` and patient options; forget what came before.

        With what these options say.
        """
        self.costs = None
        named = words[0] == "maxsat" and len(words) > 1 and not words[1].startswith("-")
        asked = _patient(words[2:]) if named else None
        if asked is None:
            return None
        with signals_wait():
            tuple(FORMATS)  # are imported
        self.costs = Costs(quiet=False, ahead=True)
        return self.costs.read(Path(words[1])), asked

    def end(self) -> None:
        """Look ahead no longer, whether there was a search or not."""
        if self.costs is not None:
            self.costs.found()


def _patient(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments that patient options stand for; None of others, or where one is there twice."""
    found = {}
    try:
        for option, value in zip(words[::2], words[1::2], strict=True):
            found[option[2:].replace("-", "_")] = _PATIENT[option](value)
    except (KeyError, ValueError):
        return None
    return found if 2 * len(found) == len(words) else None


early = Early()


def report_early(stop: KeyboardInterrupt, as_json: bool, costs: Costs | None = None) -> int:
    """Report what is known where the search had not begun; the exit code."""
    answer_is_told()
    stopped = signal.Signals(stop.signum if isinstance(stop, Interrupted) else signal.SIGINT).name
    costs = costs or early.costs
    if costs is not None:
        costs.found()
    first, cost = (None, None) if costs is None else (costs.first, costs.least)
    status = "UNKNOWN" if first is None else "SATISFIABLE"
    if as_json:
        known = {"cost": cost, "assignment": first, "status": status, "stopped": stopped}
        print_json({"command": "maxsat"} | known)
        return EXIT_CODES[status]
    if costs is not None:
        costs.let_go()
    say(f"c {cut_short(stopped, 'the search had not begun')}")
    say(f"s {status}")
    if first is not None:
        say(f"v {first}")
    return EXIT_CODES[status]


class Output(Protocol):
    """How the answer is told."""

    @property
    def json(self) -> bool:
        """Whether as one JSON object."""

    def cut_short(self, stopped: str, left: str) -> str:
        """The sentence that a run did not come to its end."""

    def draw(self, figure: Callable[[], Any]) -> None:
        """Draw it, if that is asked for."""


class Lines:
    """Lines alone: what options of the output say by default, without what it takes to understand these."""

    json = False

    def cut_short(self, stopped: str, left: str) -> str:
        """See `Output.cut_short`."""
        return cut_short(stopped, left)

    def draw(self, figure: Callable[[], Any]) -> None:
        """Nothing is drawn."""


def searched(read: Callable[[], Formula], costs: Costs, output: Output, **asked: Any) -> int:
    """Search the formula that is read, with these arguments of `solve`; the exit code."""
    bounds = _Bounds()
    try:
        formula = read()
        with signals_wait():
            from hardscape.maxsat import solve
        limit = asked.pop("time_limit", None)
        found = costs.found(_patience(limit))
        result = solve(
            formula,
            **asked,
            time_limit=left(limit),
            initial=None if found is None else list(map(int, found)),
            progress=output.json,  # else the costs tell how far it is
            on_improvement=partial(costs.improved, formula.offset),
            on_bound=None if output.json else partial(bounds.raised, formula.offset),
        )
    except KeyboardInterrupt as stop:
        if not isinstance(stop, Interrupted) or stop.result is None:  # before the search began
            return report_early(stop, output.json, costs)
        result = stop.result
    finally:
        bounds.end()
    costs.let_go()
    _report(formula, result, output)
    return EXIT_CODES[result.status]


def _patience(limit: float | None) -> float:
    """Seconds that a search with that limit waits for a first assignment that is being looked for."""
    return _PATIENCE if limit is None else min(_PATIENCE, _LIMITED * limit)


def left(limit: float | None) -> float | None:
    """Seconds of a limit that are left to a search, after the start, reading, and what else came before it."""
    return None if limit is None else max(_SEARCHED * limit, early.began + limit - time.monotonic())


class _Bounds:
    """Prints lower bounds, a few times a second, and the last one soon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._untold: int | None = None
        self._timer: threading.Timer | None = None  # while the next one is not to be told yet

    def raised(self, offset: int, lower: int) -> None:
        """Tell of a bound, now or when others that come soon are in."""
        with self._lock:
            self._untold = lower + offset
            if self._timer is None:
                self._tell()

    def _tell(self) -> None:
        if self._untold is None:
            return
        say(f"c lb {self._untold}")
        self._untold = None
        self._timer = threading.Timer(_BETWEEN_BOUNDS, self._again)
        self._timer.daemon = True
        self._timer.start()

    def _again(self) -> None:
        # Where nothing can be printed the thread that prints next says so.
        with self._lock, suppress(OSError):
            self._timer = None
            self._tell()

    def end(self) -> None:
        """Tell the last one; no other comes."""
        with self._lock:
            if self._untold is not None:
                say(f"c lb {self._untold}")
            if self._timer is not None:
                self._timer.cancel()
            self._untold = None


def _report(formula: Formula, result: MaxsatResult, output: Output) -> None:
    from hardscape.maxsat.methods.installed import can_prove
    from hardscape.maxsat.result import digits  # they are there by now

    answer_is_told()  # a status is printed once
    if output.json:
        sizes = {
            "command": "maxsat",
            "num_variables": formula.num_variables,
            "num_hard": formula.num_hard,
            "num_soft": formula.num_soft,
            "offset": formula.offset,
        }
        print_json(sizes | result.to_dict())
    else:
        if result.stopped:
            say(f"c {output.cut_short(result.stopped, 'this is the best so far')}")
        say(
            f"c {result.num_satisfied} of {result.num_clauses} clauses hold, {result.flips} flips, "
            f"{result.seconds:.3f} s, seed {result.seed}"
        )
        if result.ran:
            say(f"c by {'; '.join(result.ran)}")
        if result.gap:
            say(
                f"c the cost is at least {result.lower_bound + formula.offset}: a gap of {result.gap}"
            )
        if result.stopped and not can_prove():
            say("c pip install 'hardscape[sat]' brings solvers for first assignments and proofs")
        say(f"s {result.status}")
        if result.cost is not None:
            say(f"v {digits(result.assignment)}")
    output.draw(result.plot)
