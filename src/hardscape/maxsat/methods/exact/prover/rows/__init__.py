"""Rows of linear programs that clauses do not say one by one."""
