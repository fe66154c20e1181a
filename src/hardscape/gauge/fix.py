r"""Fixing a gauge: Landau, Coulomb, maximally Abelian.

A transformation g(x) of SU(Nc) is sought that maximizes

.. math::
    F_g = \frac{1}{N_d N_c V} \sum_{x, \mu} \mathrm{Re\,tr}\,
    g(x) U_\mu(x) g(x + \hat\mu)^\dagger

over the directions of the gauge (Landau: all, Coulomb: those of space), or, for the
maximally Abelian gauge, the mean of :math:`|(g U g^\dagger)_{jj}|^2`. The gauge violation is
:math:`\theta = \mathrm{tr}\,\Delta \Delta^\dagger / N_c`, averaged over sites or at its largest, with
:math:`\Delta = \sum_\mu [U_\mu(x) - U_\mu(x - \hat\mu)] - \mathrm{h.c.}` without its trace, and for the
maximally Abelian gauge :math:`\Delta = \sum_\mu \sum_j [U_\mu(x) P_j U_\mu(x)^\dagger +
U_\mu(x-\hat\mu)^\dagger P_j U_\mu(x-\hat\mu), P_j]`.

M. Schröck and H. Vogt, PoS LATTICE2012, 187 (2012).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np

from hardscape.arguments import integer
from hardscape.arrays import to_device
from hardscape.engine import (
    Cpu,
    Cuda,
    Device,
    RunArguments,
    RunOptions,
    cuda_device,
    solve,
)
from hardscape.engine.device import device_names
from hardscape.engine.lanes import on_its_threads
from hardscape.errors import BudgetError, InputError, Interrupted, NotConverged
from hardscape.gauge.domains.gpus import together
from hardscape.gauge.domains.ranks import Domains
from hardscape.gauge.domains.together import Together
from hardscape.gauge.field import GaugeField, checked_field
from hardscape.gauge.intake import require_links
from hardscape.gauge.measure import measured
from hardscape.gauge.options import FixOptions, Gauge, MethodName, Precision, Reduction, checked_xi
from hardscape.gauge.result import DTYPES, GaugeFixResult
from hardscape.gauge.work import GaugeFixWork
from hardscape.interrupts import interruptible

#: Memory of a fix on a CPU, in fields of double precision, beside the one that is given.
_FIELDS = 1.3
#: What rounding may add to a theta that was reached.
_ROUNDED = 1.01
#: Distance from the group that leaves theta where double precision can take it.
_ROUNDING = 1e-13


@interruptible
@on_its_threads
def fix(
    field: GaugeField | Any,
    gauge: Gauge = "landau",
    *,
    method: MethodName = "auto",
    theta: float = 1e-12,
    reduction: Reduction = "mean",
    per_slice: bool | None = None,
    omega: float | None = None,
    copies: int = 1,
    precision: Precision = "double",
    max_sweeps: int = 20000,
    xi: float = 1.0,
    omega_order: Literal[1, 2] = 1,
    probability: float = 0.5,
    annealing_sweeps: int = 15,
    microcanonical: int = 1,
    temperatures: tuple[float, float] | None = None,
    strict: bool = True,
    output_precision: Literal["single", "double"] | None = None,
    reproject: bool = False,
    domains: Domains | str | Sequence[str | Device] | None = None,
    **run: Unpack[RunArguments],
) -> GaugeFixResult:
    """Find the transformation that fixes a gauge. The field stays as it is.

    Parameters
    ----------
    field : GaugeField, path of a file of one, or links of shape (T, Z, Y, X, 4, Nc, Nc)
        Of two to five dimensions, Nc = 2 to 8, complex64 or complex128, on the CPU or a GPU, of any boundary;
        of the Schroedinger functional the first and the last timeslice keep their gauge. Links that left the
        group by rounding are brought back for the computation.
    gauge : {"landau", "coulomb", "mag"}
    method : str
        "relaxation", "overrelaxation" and "stochastic" go through the SU(2) subgroups;
        "matrix-overrelaxation" finds a site's maximum and overrelaxes the whole matrix, in about a
        tenth of their sweeps; "annealing" comes first with heatbath sweeps at falling temperature;
        "fourier-cg" is the Fourier-accelerated conjugate gradient. "auto" takes what is fastest, and for
        copies what finds the best one soonest: sweeps of the whole matrix, the first ones near omega = 2.
    theta : float
        Gauge violation to reach.
    reduction : {"mean", "max"}
        Whether theta is the mean or the maximum over sites.
    per_slice : bool, optional
        Whether every timeslice must reach theta by itself; by default for Coulomb only.
    omega : float, optional
        Overrelaxation, from 1 to 2; by default 1.4 for "overrelaxation" and tuned on the way for
        "matrix-overrelaxation".
    copies : int
        1 starts from the field as it is; more start from so many random gauge transformations and
        give the converged one of largest functional.
    precision : {"double", "single", "mixed"}
        "mixed" sweeps in single precision as far as that goes, and then in double.
    max_sweeps : int
        Sweeps after which a copy is given up.
    xi : float
        Spacing in space over that in time, for Landau and maximally Abelian gauge: links in t weigh xi**2.
    omega_order : {1, 2}
        Order of the power r^omega in "overrelaxation".
    probability : float
        With which "stochastic" squares an update.
    annealing_sweeps, microcanonical : int
        Heatbath sweeps of "annealing", and microcanonical sweeps after each.
    temperatures : (float, float), optional
        First and last temperature of "annealing", by default from above to below where g orders.
    strict : bool
        Whether a result that did not converge is an error.
    output_precision : {"single", "double"}, optional
        Of the links that are returned, by default the field's own.
    reproject : bool
        Whether the links are brought to the group, in double, before they are transformed. Links of
        single precision, or farther from the group than rounding, have a violation that no g removes;
        with this and ``output_precision="double"`` any theta is reached, also of links that are too far from
        the group to be taken without it.
    domains : Domains, str or sequence of str, optional
        What holds the lattice together, in slabs of timeslices, or of rows of them too. Ranks of MPI, see
        :func:`hardscape.gauge.domains`; `threads` are then those of each rank, by default 1, and the answer
        is the same bit for bit for any number of ranks. Or GPUs of this host that have access to each other's
        memory, named as those of `device` are ("cuda:0,1"): the answer is that of one of them, bit for bit.
    **run
        How to compute; see :class:`hardscape.engine.RunArguments`. A unit of progress is a copy.

    Returns
    -------
    GaugeFixResult

    Raises
    ------
    InputError
        If an argument is out of range, a link is not in the group, or `theta` is below what the
        precision can reach.
    NotConverged
        If no copy reached `theta` in `max_sweeps` sweeps or before the time limit, or the links that
        are returned miss it, and `strict`; its ``result`` is the best so far.
    Interrupted
        On Ctrl-C or SIGTERM; its ``result`` is the best so far, or None.

    Notes
    -----
    A sweep costs about 3000 floating-point operations a site for SU(3). For one seed the result is
    the same bit for bit for any number of threads. GPUs round differently: from one start they may come
    to another maximum of the functional, another Gribov copy, as good on average.

    Examples
    --------
    >>> from hardscape.gauge import GaugeField, fix
    >>> found = fix(GaugeField.random((4, 4, 4, 4), nc=2, seed=1), "landau", theta=1e-20, seed=1)
    >>> found.converged, found.theta < 1e-20
    (True, True)
    """
    began = time.perf_counter()
    links = checked_field(field)
    options = FixOptions(
        gauge=gauge,
        method=method,
        theta=float(theta),
        reduction=reduction,
        per_slice=gauge == "coulomb" if per_slice is None else bool(per_slice),
        omega=omega,
        precision=precision,
        max_sweeps=max_sweeps,
        xi=checked_xi(xi),
        omega_order=omega_order,
        probability=probability,
        annealing_sweeps=annealing_sweeps,
        microcanonical=microcanonical,
        temperatures=temperatures,
        boundary=links.boundary,
        dimensions=links.dimensions,
    )
    if output_precision not in (None, *DTYPES):
        raise InputError(
            f"output_precision={output_precision!r}; 'single' and 'double' are accepted"
        )
    many = integer(copies, "copies", 1, 2**31 - 1)
    held = together(domains)
    lanes = _lanes(links, many, held, run)
    if isinstance(lanes.devices[0], Cpu):
        require_links(links.shape, links.nc, _FIELDS)
    work = GaugeFixWork.build(_checked(links, lanes, reproject), options, many, lanes, held)
    if held is not None:
        held.forget()  # what lies there is for the gauge of the call before
    outcome = solve(work, lanes)
    if outcome.answer is None:
        if outcome.signum:
            raise Interrupted(outcome.signum)
        raise BudgetError("the time limit came before the first sweep; allow more")
    own: Literal["single", "double"] = "single" if links.dtype.itemsize == 8 else "double"
    found = replace(
        outcome.answer,
        g=to_device(outcome.answer.g, links.device),
        field=links,
        output_precision=output_precision or own,
        reproject=bool(reproject),
    )
    found = replace(
        as_returned(found, options),
        seconds=time.perf_counter() - began,
        device=held.names() if held else device_names(lanes.devices),
        stopped=outcome.cut,
    )
    if outcome.signum:
        raise Interrupted(outcome.signum, found)
    if strict and not found.converged:
        raise NotConverged(_shortfall(found, options), found)
    return found


def as_returned(found: GaugeFixResult, options: FixOptions) -> GaugeFixResult:
    """The result with functional, theta and plaquette of the very links that it returns."""
    fixed = found.fixed()
    with np.errstate(all="ignore"):
        seen = measured(fixed, options)
    reached = seen.violation(options).max() <= options.theta * _ROUNDED
    functional, theta_mean, theta_max = (values[0] for values in seen[:3])
    return replace(
        found,
        functional=float(seen.whole_functional()[0]),
        theta_mean=float(seen.whole_theta("mean")[0]),
        theta_max=float(seen.whole_theta("max")[0]),
        plaquette=fixed.plaquette(),
        slice_functional=functional,
        slice_theta_mean=theta_mean,
        slice_theta_max=theta_max,
        converged=found.converged and bool(reached),
    )


def _checked(field: GaugeField, run: RunOptions, reproject: bool) -> GaugeField:
    """Check the links where they are needed: on the one GPU that works, if one does."""
    device = run.devices[0]
    if run.executor is not None or len(run.devices) > 1 or not isinstance(device, Cuda):
        return in_the_group(field, reproject)
    with cuda_device(device.ordinal):
        return in_the_group(field.to("cuda"), reproject)


def in_the_group(field: GaugeField, reproject: bool = False) -> GaugeField:
    """Links that were single precision once miss the group by 1e-7: a violation no g removes."""
    if not reproject and field.require_unitary() <= _ROUNDING:
        return field
    return field.astype(np.complex128).reproject()


def _lanes(
    field: GaugeField, copies: int, domains: Together | None, run: RunArguments
) -> RunOptions:
    """How to compute: with domains, in one lane that asks all of them."""
    if domains is None:
        return RunOptions.checked(big_enough=pays_for_gpu(field, copies), **run)
    if run.get("executor") is not None:
        raise InputError("domains and executor exclude one another; one of them is accepted")
    device = run.get("device", "auto")
    if device not in ("auto", "cpu"):
        raise InputError(
            f"device={device!r} beside domains, which name the devices; 'auto' is accepted"
        )
    threads = run.get("threads")
    given: RunArguments = {**run, "device": "cpu", "threads": 1 if threads is None else threads}
    lanes = RunOptions.checked(**given)
    return replace(lanes, devices=lanes.devices[:1])


def pays_for_gpu(field: GaugeField, copies: int) -> bool:
    """Whether "auto" takes a GPU for it."""
    even = not any(extent % 2 for extent in field.shape)
    return even and (field.device == "cuda" or field.volume * copies >= 2**15)


def _shortfall(result: GaugeFixResult, options: FixOptions) -> str:
    best = result.copies.best
    if result.copies.converged[best]:
        return (
            f"theta is {result.theta:.3g} in the links that are returned, {options.theta:g} was asked for and "
            f"{result.copies.theta[best]:.3g} reached for links in the group: these are "
            f"{result.field.unitarity():.3g} away from it, in {result.output_precision} precision; "
            "output_precision='double' (--output-precision double) and reproject=True (--reproject) have "
            "what was reached, strict=False (--no-strict) takes the links as they are"
        )
    return (
        f"theta is {result.copies.theta[best]:.3g} after {result.sweeps} sweeps, {options.theta:g} was "
        "asked for; more sweeps or time, another method or omega may reach it; strict=False "
        "(--no-strict) takes it as it is"
    )
