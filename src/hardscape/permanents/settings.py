"""What is asked of a permanent, checked at the door."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import numpy as np

from hardscape.engine import Cuda, Deadline, Device, RunArguments, RunOptions, resolve
from hardscape.errors import InputError
from hardscape.permanents.matrix import Kind, Matrix
from hardscape.permanents.methods.method import Arithmetic, Choice
from hardscape.permanents.methods.table import NAMES
from hardscape.permanents.result import value_type

Precision = Literal["auto", "double", "extended", "exact"]
if TYPE_CHECKING:
    MethodName = str
else:
    MethodName = Literal[NAMES]  # for the command line, which lists them

#: More gigabytes than machines have.
_MOST_GIGABYTES = 1e9
#: Factors of all terms above which a GPU is worth starting.
_GPU_TERMS = 2.0**33


@dataclass(frozen=True)
class Settings:
    """What to compute, as :func:`hardscape.permanent` takes it."""

    precision: Precision
    method: MethodName
    rtol: float
    full_output: bool
    memory: float | None = None

    def __post_init__(self) -> None:
        for name, accepted in (("precision", get_args(Precision)), ("method", NAMES)):
            value = getattr(self, name)
            if value not in accepted:
                raise InputError(f"{name}={value!r}; {', '.join(map(repr, accepted))} are accepted")
        if not self.rtol >= 0:
            raise InputError(f"rtol={self.rtol}; 0 or more is accepted")
        if self.memory is not None and not self.memory > 0:
            raise InputError(f"memory={self.memory}; gigabytes above 0 are accepted")

    def arithmetic(self, kind: Kind) -> Arithmetic:
        """That of matrices of a kind."""
        if self.precision != "auto":
            return self.precision
        return "double" if kind in ("real", "complex") else "exact"

    def value_type(self, dtype: Any, kind: Kind) -> np.dtype[Any] | None:
        """The type in which values are asked for, checked; None for that in which they are found."""
        if dtype is not None and (self.full_output or self.arithmetic(kind) == "exact"):
            raise InputError(
                f"dtype={dtype!r} is for floating values; exact ones, and those of full_output, have no "
                "other type than their own"
            )
        return value_type(dtype, kind in ("gaussian", "complex"))

    def choice(
        self, kind: Kind, devices: tuple[Device, ...], deadline: Deadline | None = None
    ) -> Choice:
        """What methods are chosen by."""
        arithmetic = self.arithmetic(kind)
        most = None if self.memory is None else int(min(self.memory, _MOST_GIGABYTES) * 1e9)
        return Choice(kind, arithmetic, self.method, devices, most, deadline or Deadline(None))


def run_options(matrix: Matrix, **run: Unpack[RunArguments]) -> RunOptions:
    """Where a permanent may run: what was asked for; by "auto" GPUs beside the CPU for large ones."""
    *batch, rows, columns = matrix.entries.shape
    terms = math.prod(batch) * columns * 2.0 ** (min(rows, 100) - 1)
    free = run.get("device", "auto") == "auto"
    if free and matrix.gpu is not None:
        run["device"] = f"cuda:{matrix.gpu}"  # what is on a GPU stays there
    options = RunOptions.checked(big_enough=terms > _GPU_TERMS, **run)
    if free and isinstance(options.devices[0], Cuda):
        return options.on((*options.devices, *resolve("cpu", threads=run.get("threads"))))
    return options
