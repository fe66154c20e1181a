"""One-flip tabu search with path relinking."""
