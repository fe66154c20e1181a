"""Local search: clause weighting and the focused random walk."""
