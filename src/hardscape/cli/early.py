"""What ``hardscape maxsat`` reads and tells before much else is imported."""

from __future__ import annotations

import math
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardscape import memory
from hardscape.cli.terminal import cut_short, note, print_json
from hardscape.errors import Interrupted
from hardscape.interrupts import answer_is_told, signals_wait
from hardscape.maxsat.formats import FORMATS, FormatWarning

if TYPE_CHECKING:  # a first cost is printed before they are imported
    from hardscape.maxsat import Formula, Improvement
    from hardscape.maxsat.methods.exact.ahead import Ahead

#: Exit code of each status.
EXIT_CODES = {"UNKNOWN": 0, "SATISFIABLE": 10, "UNSATISFIABLE": 20, "OPTIMUM FOUND": 30}


def _among(kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], None]:
    """A check that a word is such a number, from `least` to `most`."""

    def check(word: str) -> None:
        if not least <= kind(word) <= most:
            raise ValueError(word)

    return check


def _needs_no_gpu(word: str) -> None:
    if word not in ("auto", "cpu"):
        raise ValueError(word)


#: Options with a value that neither change what is told of a formula nor how it is searched: it is read before
#: they are understood, but for whether such values are accepted on any machine.
_PATIENT: dict[str, Callable[[str], Any]] = {
    "--device": _needs_no_gpu,
    "--seed": _among(int, 0, 2**64 - 1),
    "--threads": _among(int, 1, 64),
    "--time-limit": _among(float, math.ulp(0.0), math.inf),
}

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
    """A formula that is read before the words are understood: where few options come after its name."""

    costs: Costs | None = None
    _formula: Formula | None = None

    def begin(self, words: Sequence[str]) -> None:
        """Read it, if the words are ``maxsat FILE`` and patient options; forget what came before."""
        self.costs = self._formula = None
        named = words[0] == "maxsat" and len(words) > 1 and not words[1].startswith("-")
        if named and _patient(words[2:]):
            with signals_wait():
                tuple(FORMATS)  # are imported
            self.costs = Costs(quiet=False, ahead=True)
            self._formula = self.costs.read(Path(words[1]))

    def end(self) -> None:
        """Look ahead no longer, whether there was a search or not."""
        if self.costs is not None:
            self.costs.found()

    def take(self) -> tuple[Formula, Costs] | None:
        """What was read, once."""
        formula, self._formula = self._formula, None
        return None if formula is None or self.costs is None else (formula, self.costs)


def _patient(words: Sequence[str]) -> bool:
    """Whether words are patient options, and their values such as they take."""
    try:
        for option, value in zip(words[::2], words[1::2], strict=True):
            _PATIENT[option](value)
    except (KeyError, ValueError):
        return False
    return True


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
