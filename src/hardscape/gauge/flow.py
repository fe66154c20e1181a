r"""The gradient flow of the Wilson action: scales t0 and w0, and the topological charge.

Links follow

.. math::
    \dot V_t(x, \mu) = -\mathcal{P}[V_t(x, \mu) A_t(x, \mu)]\, V_t(x, \mu),\qquad V_0 = U,

with the sum A of the six staples and the antihermitian traceless part P
(M. Lüscher, JHEP 08 (2010) 071, eq. 1.4). Flow times are in units of the lattice spacing squared.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from hardscape import native
from hardscape.engine import Chain, Cpu, Partial, RunArguments, RunOptions, Team, steps
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import BudgetError, CheckpointError, DeviceError, InputError, Interrupted
from hardscape.figures import COLORS, GREY, finish, new_figure
from hardscape.gauge.boundary import Boundary
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.intake import require_links
from hardscape.gauge.layouts import OURS
from hardscape.interrupts import interruptible
from hardscape.plain import Plain

#: What t^2 E, and t d/dt t^2 E, are at t0 and at w0^2.
REFERENCE = 0.3
#: Largest step whose error is far below the statistical one of any ensemble, and most steps.
_LARGEST_STEP, _MOST_STEPS = 0.1, 10**6
#: What the first and the last timeslice are, in the words of the compiled part.
_ENDS: dict[Boundary, tuple[str, str]] = {
    "periodic": ("NONE", "NONE"),
    "open": ("OPEN", "OPEN"),
    "sf": ("FIXED", "FIXED"),
    "open-sf": ("OPEN", "FIXED"),
}
#: Memory, in fields of double precision, beside the one that is given.
_FIELDS = 2.1


@dataclass(frozen=True, eq=False)
class WilsonFlow(Plain):
    """Measurements along the flow, the first at time 0.

    Attributes
    ----------
    flow_time : float64, shape (S,)
        Flow times t, in units of the lattice spacing squared.
    energy : float64, shape (S,)
        Density E = -sum over mu < nu of tr G G, with the clover definition of the field strength G.
    energy_plaquette : float64, shape (S,)
        E = 2 sum over mu < nu of Re tr (1 - P), from plaquettes P.
    charge : float64, shape (S,)
        Topological charge Q = -(1 / 32 pi^2) sum of eps tr G G, of the clovers.
    field : GaugeField
        The field at the last time.
    stopped : str
        What cut the flow short; "" if nothing did.
    seconds : float
        Wall-clock time.

    Examples
    --------
    >>> from hardscape import gauge
    >>> field = gauge.generate((4, 4, 4, 4), 6.0, seed=1, sweeps=5, device="cpu")
    >>> found = gauge.wilson_flow(field, 0.2, device="cpu")
    >>> bool(found.energy[-1] < found.energy[0])
    True
    """

    COLUMNS: ClassVar[str] = "flow_time energy energy_plaquette charge"

    flow_time: NDArray[np.float64]
    energy: NDArray[np.float64]
    energy_plaquette: NDArray[np.float64]
    charge: NDArray[np.float64]
    field: GaugeField
    stopped: str
    seconds: float

    @property
    def t0(self) -> float | None:
        """Time at which t^2 E is 0.3, by linear interpolation; None if the flow does not come to it."""
        return _crossing(self.flow_time, self.flow_time**2 * self.energy)

    @property
    def w0(self) -> float | None:
        """Root of the time at which t d/dt (t^2 E) is 0.3 (S. Borsanyi et al., JHEP 09 (2012) 010); or None."""
        if len(self.flow_time) < 3:
            return None
        slope = np.gradient(self.flow_time**2 * self.energy, self.flow_time)
        found = _crossing(self.flow_time[1:-1], (self.flow_time * slope)[1:-1])
        return None if found is None else math.sqrt(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.listed("t0 w0 flow_time energy energy_plaquette charge stopped seconds")

    def plot(self, ax: Any = None) -> Any:
        """Draw t^2 E against t, with t0; returns the matplotlib axes."""
        ax = new_figure().add_subplot() if ax is None else ax
        for values, name, color in (
            (self.energy, "clover", COLORS[0]),
            (self.energy_plaquette, "plaquette", COLORS[1]),
        ):
            ax.plot(self.flow_time, self.flow_time**2 * values, color=color, label=name)
        ax.axhline(REFERENCE, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        title = f"Wilson flow of {_sizes(self.field)}"
        if self.t0 is not None:
            ax.plot([self.t0], [REFERENCE], "o", color=COLORS[0], markersize=5)
            title += f"\n$t_0/a^2$ = {self.t0:.4f}, Q = {self.charge[-1]:.2f}"
        ax.set_ylim(bottom=0)
        return finish(ax, title, "flow time $t/a^2$", "$t^2 E$", legend=True)

    def __repr__(self) -> str:
        last = f"t={self.flow_time[-1]:g}, Q={self.charge[-1]:.3f}"
        return (
            f"<WilsonFlow: {_sizes(self.field)}, {len(self.flow_time)} times, {last}, t0={self.t0}>"
        )


def _sizes(field: GaugeField) -> str:
    return f"SU({field.nc}), {'x'.join(map(str, field.shape))}"


def _crossing(times: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    """Where values reach `REFERENCE` for the first time."""
    above = np.flatnonzero(values >= REFERENCE)
    if not len(above) or not above[0]:
        return None
    i = int(above[0])
    share = (REFERENCE - values[i - 1]) / (values[i] - values[i - 1])
    return float(times[i - 1] + share * (times[i] - times[i - 1]))


@interruptible
@on_its_threads
def wilson_flow(
    field: GaugeField | str | Path | Any,
    flow_time: float,
    *,
    step: float = 0.02,
    **run: Unpack[RunArguments],
) -> WilsonFlow:
    """Let a configuration flow, and measure after every step.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)
        Stays as it is.
    flow_time : float
        Flow time to come to, in units of the lattice spacing squared. Smearing reaches over sqrt(8 t): more
        than a quarter of the shortest extent is of no use.
    step : float
        Largest step, up to 0.1; equal ones are made. The error of t^2 E at a fixed time is of third order:
        below 1e-5 for 0.02 at beta = 6.
    **run
        How it is run: see :class:`hardscape.engine.RunArguments`; on CPU threads alone, the same bytes for
        any number. A checkpoint holds the field of the moment, and a longer flow goes on from it.

    Returns
    -------
    WilsonFlow

    Raises
    ------
    InputError
        If a link is not in the group, an argument is out of range, or two timeslices have a boundary.
    DeviceError
        If `device` is a GPU.
    Interrupted
        On Ctrl-C or SIGTERM; its `result` is the flow so far.

    Notes
    -----
    A step costs some 60,000 floating-point operations a site for SU(3); sums over sites are added up in one
    order. After M. Lüscher, JHEP 08 (2010) 071, appendix C.

    With a boundary in time the links that are not fixed flow, as in openQCD (M. Lüscher, S. Schaefer, Comput.
    Phys. Commun. 184, 519 (2013), appendix B), and E and Q are of the timeslices between the first and the last
    one. The boundaries are felt some way into the lattice: t0 is that of a long one only.

    Examples
    --------
    >>> from hardscape.gauge import generate, wilson_flow
    >>> flow = wilson_flow(generate((4, 4, 4, 4), 5.7, seed=3, sweeps=30), 0.2)
    >>> len(flow.flow_time), bool(flow.energy[-1] < flow.energy[0])
    (11, True)
    """
    began = time.perf_counter()
    links = checked_field(field)
    count, size = checked_steps(flow_time, step)
    options = RunOptions.checked(**run).undivided("a flow")
    if not isinstance(options.devices[0], Cpu):
        raise DeviceError(f"the flow does not run on {options.devices[0]}; use device='cpu'")
    if links.dimensions != 4:
        raise InputError(f"{links!r}; the flow's scales and charge are of four dimensions")
    require_links(links.shape, links.nc, _FIELDS)
    chain = flowing(links, size, count)
    outcome = steps(chain, options)
    if not len(chain.result()):
        if outcome.signum:
            raise Interrupted(outcome.signum)
        raise BudgetError("the time limit came before the first step; allow more")
    found = flow_of(chain, links, outcome.cut, time.perf_counter() - began)
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    return found


def checked_steps(flow_time: float, step: float) -> tuple[int, float]:
    """How many equal steps come to `flow_time`, and their size."""
    for name, value, most in (("flow_time", flow_time, math.inf), ("step", step, _LARGEST_STEP)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
            raise InputError(
                f"{name}={value!r}; a number above 0 is accepted, a step of at most 0.1"
            )
    count = math.ceil(flow_time / step * (1 - 1e-12)) if flow_time < math.inf else _MOST_STEPS + 1
    if count > _MOST_STEPS:
        raise InputError(f"step={step!r} makes {count} steps; at most {_MOST_STEPS} are made")
    return count, flow_time / count


def flowing(field: GaugeField, size: float, count: int) -> Flow:
    """The chain of steps of a field that can flow."""
    field.require_unitary()
    if field.boundary != "periodic" and field.shape[-1] < 3:
        raise InputError(f"{field!r} has no timeslice between its boundaries")
    return Flow(field.to("cpu").astype(np.complex128).links, size, count, field.boundary)


def flow_of(chain: Flow, field: GaugeField, stopped: str, seconds: float) -> WilsonFlow:
    """The result of a chain that has begun."""
    measured = chain.result()
    slices = field.shape[-1]
    between = slices if field.boundary == "periodic" else slices - 2
    density = measured / (field.volume // slices * between)
    return WilsonFlow(
        flow_time=np.linspace(0, (len(measured) - 1) * chain.size, len(measured)),
        energy=density[:, 1].copy(),
        energy_plaquette=density[:, 0].copy(),
        charge=measured[:, 2].copy(),
        field=GaugeField(chain.links, boundary=field.boundary, layout=OURS),
        stopped=stopped,
        seconds=seconds,
    )


class Flow(Chain[NDArray[np.float64]]):
    """Steps of the flow; the answer are the sums measured so far, shape (steps + 1, 3)."""

    name: ClassVar[str] = "gauge.flow"
    revision: ClassVar[int] = 2
    unit: ClassVar[str] = "steps"

    def __init__(
        self, links: NDArray[np.complex128], size: float, total: int, boundary: Boundary
    ) -> None:
        self.total = total
        self.size = size
        self._boundary = boundary
        self._start = hashlib.sha256(
            repr((links.shape, size, boundary)).encode() + links.tobytes()
        ).hexdigest()
        self._set(links)
        self._measured: list[NDArray[np.float64]] = []

    def _set(self, links: NDArray[np.complex128]) -> None:
        self._flow = native.vector.gauge.WilsonFlow(np.ascontiguousarray(links))

    @property
    def links(self) -> NDArray[np.complex128]:
        """The links of the moment."""
        return self._flow.links()

    def digest(self) -> str:
        """Digest of the links at time 0 and of the step."""
        return self._start

    def advance(self, count: int, team: Team) -> int:
        """Do `count` steps, and measure at time 0 before the first."""
        if not self._measured:
            self._run(0.0, 1, team)
        self._run(self.size, count, team)
        return count

    def _run(self, size: float, count: int, team: Team) -> None:
        first, last = (getattr(native.vector.gauge.End, name) for name in _ENDS[self._boundary])
        work = native.vector.gauge.FlowSteps(self._flow, size, count, team.size, first, last)
        team.run(work.run)
        self._measured.append(work.measured())

    def state(self) -> Partial:
        """The links, and what was measured."""
        return {"links": self.links, "measured": self.result()}

    def restore(self, state: Partial) -> None:
        """Take over links and measurements, if they are not farther than this run is to go."""
        done = len(state["measured"]) - 1
        if done > self.total:
            raise CheckpointError(
                f"the checkpoint holds the flow after {done} steps, {self.total} are asked for; a time of "
                f"{done * self.size:g} or more goes on from it"
            )
        self._measured = [state["measured"]]
        self._set(state["links"])

    def result(self) -> NDArray[np.float64]:
        """Sums over the sites at each time."""
        return np.concatenate([np.empty((0, 3)), *self._measured])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_flow": self.links}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set(state["_flow"])
