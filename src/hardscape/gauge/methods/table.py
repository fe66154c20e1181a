"""The methods, a row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hardscape.errors import InputError
from hardscape.gauge.lattice.lattices import Sweep
from hardscape.gauge.methods import relaxation
from hardscape.gauge.options import FixOptions


@dataclass(frozen=True)
class Method:
    """How a gauge is fixed."""

    #: What a sweep does, given the options and the overrelaxation of the moment.
    sweep: Callable[[FixOptions, float], Sweep]
    omega: float | None = None  # overrelaxation where none is asked for; None: tuned on the way
    #: Whether heatbath sweeps come first.
    anneals: bool = False
    #: Whether what is hot, by them or as copies start at random, cools slowly.
    cools: bool = False
    #: Whether the conjugate gradient takes over; "slow": where sweeps gain less.
    accelerates: Literal["never", "slow", "always"] = "never"
    linear: bool = (
        False  # whether it needs a functional linear in the links, as that of "mag" is not
    )


METHODS = {
    "relaxation": Method(relaxation.relaxed, omega=1.0),
    "overrelaxation": Method(relaxation.subgroups, omega=1.4),
    "stochastic": Method(relaxation.stochastic, omega=1.0),
    "annealing": Method(relaxation.matrix, anneals=True, cools=True),
    "matrix-overrelaxation": Method(relaxation.matrix),
    "fourier-cg": Method(relaxation.matrix, accelerates="always", linear=True),
    "auto": Method(relaxation.matrix, cools=True, accelerates="slow"),
}


def method_of(options: FixOptions) -> Method:
    """The row of the options' method, where it fits the gauge."""
    method = METHODS[options.method]
    if method.linear and options.gauge == "mag":
        raise InputError(
            f"method={options.method!r} does not fit gauge='mag', whose functional is not linear in "
            "the links; 'matrix-overrelaxation' is accepted"
        )
    return method
