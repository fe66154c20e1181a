"""Weighted partial MAX-SAT: formulas, files, presolve, anytime search and proofs."""

from hardscape.maxsat.formats import FormatWarning
from hardscape.maxsat.formula import Formula
from hardscape.maxsat.methods.cellular import CellularOptions, CellularResult, cellular_search
from hardscape.maxsat.methods.weighting.options import WeightingOptions
from hardscape.maxsat.modelling.solver import SolveArguments, Solver
from hardscape.maxsat.result import Improvement, MaxsatResult
from hardscape.maxsat.solve import solve

__all__ = [
    "CellularOptions",
    "CellularResult",
    "FormatWarning",
    "Formula",
    "Improvement",
    "MaxsatResult",
    "SolveArguments",
    "Solver",
    "WeightingOptions",
    "cellular_search",
    "solve",
]
