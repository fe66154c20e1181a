"""Two methods at once, where it is open which is quicker."""
