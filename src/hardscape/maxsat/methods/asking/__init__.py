"""Searches that ask a SAT solver: for soft clauses one by one, in exchange, or all together."""
