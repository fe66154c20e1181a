"""Lattice gauge fields: links of SU(2) to SU(8), their files, their generation, their gauges."""

from hardscape.gauge.domains.ranks import Domains, domains
from hardscape.gauge.ensembles.fixing import fix_ensemble
from hardscape.gauge.ensembles.generating import generate_ensemble
from hardscape.gauge.ensembles.observing import observables
from hardscape.gauge.ensembles.result import Ensemble
from hardscape.gauge.field import GaugeField
from hardscape.gauge.fix import fix
from hardscape.gauge.flow import WilsonFlow, wilson_flow
from hardscape.gauge.formats import FileReport, inspect
from hardscape.gauge.generate import WilsonChain, generate
from hardscape.gauge.ghost.horizon import FaddeevPopovEigenvalues, faddeev_popov_eigenvalues
from hardscape.gauge.ghost.propagator import (
    GhostPropagator,
    RunningCoupling,
    ghost_propagator,
    running_coupling,
)
from hardscape.gauge.gluon.propagator import GluonPropagator, gluon_propagator
from hardscape.gauge.loops.potential import StaticPotential, static_potential
from hardscape.gauge.loops.smearing import smear
from hardscape.gauge.loops.wilson import line_correlators, polyakov_loop, wilson_loops
from hardscape.gauge.methods.scan import scan
from hardscape.gauge.methods.scanned import GaugeScan
from hardscape.gauge.result import GaugeFixResult, GribovCopies

__all__ = [
    "Domains",
    "Ensemble",
    "FaddeevPopovEigenvalues",
    "FileReport",
    "GaugeField",
    "GaugeFixResult",
    "GaugeScan",
    "GhostPropagator",
    "GluonPropagator",
    "GribovCopies",
    "RunningCoupling",
    "StaticPotential",
    "WilsonChain",
    "WilsonFlow",
    "domains",
    "faddeev_popov_eigenvalues",
    "fix",
    "fix_ensemble",
    "generate",
    "generate_ensemble",
    "ghost_propagator",
    "gluon_propagator",
    "inspect",
    "line_correlators",
    "observables",
    "polyakov_loop",
    "running_coupling",
    "scan",
    "smear",
    "static_potential",
    "wilson_flow",
    "wilson_loops",
]
