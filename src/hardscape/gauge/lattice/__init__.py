"""Transformations g(x) over the links of a lattice, on a CPU and on a GPU."""
