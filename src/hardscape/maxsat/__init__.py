"""Weighted partial MAX-SAT."""

from hardscape.maxsat.formula import Formula

__all__ = ["Formula"]
