"""Symmetries of formulas, and clauses that break them."""
