"""Variable elimination by tables, for formulas whose variables hang together loosely."""
