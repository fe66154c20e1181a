"""XORSAT and diluted p-spin models: quasi-greedy search, elimination, time to solution, theory."""

from hardscape.xorsat.generators import random_regular, random_system
from hardscape.xorsat.methods.elimination.elimination import Elimination, eliminate
from hardscape.xorsat.methods.quasi_greedy.improvements import Improvement
from hardscape.xorsat.methods.quasi_greedy.search import quasi_greedy
from hardscape.xorsat.quadratic import QuadraticModel, quadratize
from hardscape.xorsat.result import QuasiGreedyResult, XorsatResult
from hardscape.xorsat.solve import solve
from hardscape.xorsat.studies import theory
from hardscape.xorsat.studies.energy import EnergyTrace, energy_trace
from hardscape.xorsat.studies.population import Population, fit_population
from hardscape.xorsat.studies.runner import QuasiGreedyRunner
from hardscape.xorsat.studies.runs import Runner
from hardscape.xorsat.studies.scans import ExponentFit, W1Scan, fit_exponent, fit_w1, scan_w1
from hardscape.xorsat.studies.time_to_solution import (
    measure,
    time_to_solution,
    times_to_solution,
)
from hardscape.xorsat.studies.times import TimeToSolution, median_tts
from hardscape.xorsat.system import XorSystem

__all__ = [
    "Elimination",
    "EnergyTrace",
    "ExponentFit",
    "Improvement",
    "Population",
    "QuadraticModel",
    "QuasiGreedyResult",
    "QuasiGreedyRunner",
    "Runner",
    "TimeToSolution",
    "W1Scan",
    "XorSystem",
    "XorsatResult",
    "eliminate",
    "energy_trace",
    "fit_exponent",
    "fit_population",
    "fit_w1",
    "measure",
    "median_tts",
    "quadratize",
    "quasi_greedy",
    "random_regular",
    "random_system",
    "scan_w1",
    "solve",
    "theory",
    "time_to_solution",
    "times_to_solution",
]
