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
    """How a gauge is fixed.

    Attributes
    ----------
    sweep : callable
        What a sweep does, given the options and the overrelaxation of the moment.
    omega : float or None
        Overrelaxation where none is asked for; None: tuned on the way.
    anneals : {"never", "copies", "always"}
        Whether heatbath sweeps come first; "copies": where there are several to choose from.
    accelerates : {"never", "slow", "always"}
        Whether the conjugate gradient takes over; "slow": where sweeps gain less.
    linear : bool
        Whether it needs a functional that is linear in the links, as that of "mag" is not.
    """

    sweep: Callable[[FixOptions, float], Sweep]
    omega: float | None = None
    anneals: Literal["never", "copies", "always"] = "never"
    accelerates: Literal["never", "slow", "always"] = "never"
    linear: bool = False


METHODS = {
    "relaxation": Method(relaxation.relaxed, omega=1.0),
    "overrelaxation": Method(relaxation.subgroups, omega=1.4),
    "stochastic": Method(relaxation.stochastic, omega=1.0),
    "annealing": Method(relaxation.matrix, anneals="always"),
    "matrix-overrelaxation": Method(relaxation.matrix),
    "fourier-cg": Method(relaxation.matrix, accelerates="always", linear=True),
    "auto": Method(relaxation.matrix, anneals="copies", accelerates="slow"),
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
