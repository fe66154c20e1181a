"""XORSAT and diluted p-spin models: quasi-greedy search, elimination, time to solution, theory."""

from hardscape.xorsat.system import XorSystem

__all__ = ["XorSystem"]
