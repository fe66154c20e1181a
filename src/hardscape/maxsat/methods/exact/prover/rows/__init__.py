"""Rows of linear programs that clauses do not say one by one."""

#: Most literals of all clauses that are looked through for sums.
MOST_LITERALS = 600_000
