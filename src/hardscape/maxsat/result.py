"""What a MAX-SAT search found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hardscape.engine import Cpu, RunOptions
from hardscape.figures import COLORS, INK, finish, new_figure
from hardscape.plain import Plain

#: Largest cost that may be asked for.
MOST_COST = 2**128 - 1

#: Ratio of costs from which the axis is logarithmic.
_LOG_FROM = 30

#: As in the MAX-SAT Evaluation. SATISFIABLE: all hard clauses hold, and the optimum is not proven.
Status = Literal["OPTIMUM FOUND", "SATISFIABLE", "UNSATISFIABLE", "UNKNOWN"]


@dataclass(frozen=True, eq=False, repr=False)
class Improvement(Plain):
    """A best assignment so far.

    Attributes
    ----------
    seconds : float
        Wall-clock time since the search began.
    cost : int
        Weight of the soft clauses violated, evaluated on the original formula.
    hard_violations : int
        Hard clauses violated; the cost means nothing before this is 0.
    num_satisfied : int
        Clauses that hold, of both kinds.
    assignment : uint8, shape (n,)
        Of results of large formulas only the last ones have theirs, up to 8 MiB; others are empty.

    Examples
    --------
    >>> from hardscape.maxsat import Formula, solve
    >>> found = solve(Formula.from_clauses([[1], [2]], [3, 1], hard=[[-1, -2]]), seed=1)
    >>> found.improvements[-1].cost
    1
    """

    seconds: float
    cost: int
    hard_violations: int
    num_satisfied: int
    assignment: NDArray[np.uint8]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the assignment as a string of 0 and 1."""
        bits = digits(self.assignment)
        return self.listed("seconds cost hard_violations num_satisfied assignment", assignment=bits)


@dataclass(frozen=True, eq=False)
class MaxsatResult(Plain):
    """The best assignment found, and what is known about it.

    Attributes
    ----------
    status : str
        "OPTIMUM FOUND" if the cost is proven to be the least; "SATISFIABLE" if all hard clauses hold;
        "UNSATISFIABLE" if it is proven that they cannot; "UNKNOWN" otherwise.
    cost : int or None
        Weight of the soft clauses that `assignment` violates, evaluated on the clauses as they were
        given; None if hard clauses are violated.
    assignment : uint8, shape (n,)
        Value 0 or 1 of variables 1 to n: the best found, also where hard clauses are violated.
    num_clauses, num_satisfied : int
        All clauses, and those that hold.
    hard_violations : int
        Hard clauses that do not hold.
    lower_bound : int
        No assignment costs less.
    improvements : tuple of Improvement
        In order of time; the last one is the result. Assignments passed within a few milliseconds
        of one another are not listed.
    bounds : tuple of (float, int)
        Seconds since the search began, and the lower bound that was proven then; of those that follow one
        another within a hundredth of the time the last.
    method : str
        As asked.
    ran : tuple of str
        What searched, and where, in order.
    flips, generations : int
        Work done, over all threads.
    seconds : float
    device : str
        Where the search ran, or its first part.
    seed : int
        With which the search can be repeated.
    stopped : str
        What ended the search before it proved or reached anything: "time_limit", "max_flips",
        "stagnation" (where no limit was given), "SIGINT" or "SIGTERM"; else "".

    Examples
    --------
    >>> from hardscape.maxsat import Formula, solve
    >>> found = solve(Formula.from_clauses([[1], [2]], [3, 1], hard=[[-1, -2]]), seed=1)
    >>> found.status, found.cost, found.lower_bound, found.model
    ('OPTIMUM FOUND', 1, 1, [1, -2])
    """

    status: Status
    cost: int | None
    num_clauses: int
    num_satisfied: int
    hard_violations: int
    lower_bound: int
    assignment: NDArray[np.uint8]
    method: str
    ran: tuple[str, ...]
    flips: int
    generations: int
    seconds: float
    device: str
    seed: int
    stopped: str
    improvements: tuple[Improvement, ...]
    bounds: tuple[tuple[float, int], ...]

    @property
    def model(self) -> list[int]:
        """The assignment as literals: +v where variable v is true, -v where it is false."""
        signs = 2 * self.assignment.astype(np.int64) - 1
        found: list[int] = (signs * np.arange(1, len(signs) + 1)).tolist()
        return found

    @property
    def gap(self) -> int | None:
        """How far the cost may be above the least one; None if hard clauses are violated."""
        return None if self.cost is None else self.cost - self.lower_bound

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the assignment as a string of 0 and 1, improvements and bounds in pairs with seconds."""
        return {
            **vars(self),
            "gap": self.gap,
            "assignment": digits(self.assignment),
            "ran": list(self.ran),
            "improvements": [
                [round(x.seconds, 6), x.cost] for x in self.improvements if not x.hard_violations
            ],
            "bounds": [[round(seconds, 6), lower] for seconds, lower in self.bounds],
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the cost of the best assignment against time, and lower bounds above 0 as a dashed line.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default the axes of a new figure that pyplot does not know.

        Returns
        -------
        matplotlib.axes.Axes
            Time is horizontal, the cost vertical; each is logarithmic where it spans a factor of 30 or more
            and stays above 0. Assignments that violate hard clauses are not drawn.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        if ax is None:
            ax = new_figure().add_subplot()
        points = [(x.seconds, float(x.cost)) for x in self.improvements if not x.hard_violations]
        title = f"{self.status.lower()}, {self.method}, {self.seconds:.3g} s"
        if not points:
            none = self.status == "UNSATISFIABLE"
            told = "no assignment satisfies" if none else "no assignment was found that satisfies"
            told += "\nall hard clauses"
            ax.text(0.5, 0.5, told, ha="center", va="center", color=INK, transform=ax.transAxes)
            ax.set_axis_off()
            return finish(ax, title, "", "")
        seconds, costs = zip(*points, strict=True)
        end = max(self.seconds, seconds[-1])
        style = {"color": COLORS[0], "linewidth": 1.5, "label": f"best assignment: {self.cost}"}
        ax.step([*seconds, end], [*costs, costs[-1]], where="post", **style)
        ax.plot(seconds, costs, "o", color=COLORS[0], markersize=4)
        if end >= _LOG_FROM * seconds[0]:
            ax.set_xscale("log")
        else:
            ax.set_xlim(0, end * 1.02)
        if costs[-1] > 0 and costs[0] >= _LOG_FROM * costs[-1]:
            ax.set_yscale("log")
        proven = "optimum, proven" if self.lower_bound == self.cost else "lower bound, proven"
        if self.lower_bound > 0:  # 0 is known anyway, and would press the curve to the top
            style = {"color": COLORS[1], "linestyle": "--", "linewidth": 1}
            times = [*(max(at, seconds[0]) for at, _ in self.bounds), end]
            lower = [*(float(bound) for _, bound in self.bounds), float(self.lower_bound)]
            label = f"{proven}: {self.lower_bound}"
            ax.step(times, lower, where="post", label=label, **style)
        ax.margins(y=0.1)
        x, y = "wall-clock time", "cost: weight of violated soft clauses"
        return finish(ax, title, x, y, whole="y", seconds="x", legend=True)

    def __repr__(self) -> str:
        return (
            f"<MaxsatResult: {self.status}, cost={self.cost}, {self.num_satisfied} of "
            f"{self.num_clauses} clauses hold, by {self.method} in {self.seconds:.3g} s>"
        )


def digits(assignment: NDArray[np.uint8]) -> str:
    """An assignment as characters 0 and 1."""
    return (assignment + ord("0")).tobytes().decode()


def told(options: RunOptions) -> str:
    """Where something ran, for a result."""
    names = {"cpu" if isinstance(device, Cpu) else str(device) for device in options.devices}
    where = " ".join(sorted(names))
    return where if options.executor is None else f"{where} of {type(options.executor).__name__}"
