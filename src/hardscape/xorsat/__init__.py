"""XORSAT and diluted p-spin models: quasi-greedy search, elimination, time to solution, theory."""

from hardscape.xorsat.elimination import Elimination, eliminate
from hardscape.xorsat.generators import random_regular, random_system
from hardscape.xorsat.quadratic import QuadraticModel, quadratize
from hardscape.xorsat.system import XorSystem

__all__ = [
    "Elimination",
    "QuadraticModel",
    "XorSystem",
    "eliminate",
    "quadratize",
    "random_regular",
    "random_system",
]
