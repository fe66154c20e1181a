"""The cheapest assignments in order, by a SAT solver."""
