"""Local search: clause weighting, the focused random walk, and a walk over sets of soft clauses."""
