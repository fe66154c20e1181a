"""Models beyond clauses: linear constraints over Booleans, those of other packages, formulas that grow."""
