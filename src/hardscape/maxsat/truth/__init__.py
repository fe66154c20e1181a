"""Whether clauses hold under assignments."""
