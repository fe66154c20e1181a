"""Weighted partial MAX-SAT: formulas, files, presolve, anytime search and proofs."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardscape.maxsat.formats import FormatWarning
    from hardscape.maxsat.formula import Formula
    from hardscape.maxsat.methods.cellular.options import CellularOptions
    from hardscape.maxsat.methods.cellular.result import CellularResult
    from hardscape.maxsat.methods.cellular.search import cellular_search
    from hardscape.maxsat.methods.listing.listing import enumerate
    from hardscape.maxsat.methods.listing.result import MaxsatListing
    from hardscape.maxsat.methods.weighting.options import WeightingOptions
    from hardscape.maxsat.modelling.solver import SolveArguments, Solver
    from hardscape.maxsat.result import Improvement, MaxsatResult
    from hardscape.maxsat.solve import solve

#: What is offered here, and the module that has it: imported when it is first used, so that a command
#: reads its formula first.
_MODULES = {
    "CellularOptions": "methods.cellular.options",
    "CellularResult": "methods.cellular.result",
    "FormatWarning": "formats",
    "Formula": "formula",
    "Improvement": "result",
    "MaxsatListing": "methods.listing.result",
    "MaxsatResult": "result",
    "SolveArguments": "modelling.solver",
    "Solver": "modelling.solver",
    "WeightingOptions": "methods.weighting.options",
    "cellular_search": "methods.cellular.search",
    "enumerate": "methods.listing.listing",
    "solve": "solve",
}

__all__ = [
    "CellularOptions",
    "CellularResult",
    "FormatWarning",
    "Formula",
    "Improvement",
    "MaxsatListing",
    "MaxsatResult",
    "SolveArguments",
    "Solver",
    "WeightingOptions",
    "cellular_search",
    "enumerate",
    "solve",
]


class _Package(ModuleType):
    """A package in which a module of the name of a function does not take its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _MODULES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        # The module protocol asks for AttributeError.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
