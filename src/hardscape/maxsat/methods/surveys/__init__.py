"""Survey propagation, which says how likely clauses are to need a variable."""
