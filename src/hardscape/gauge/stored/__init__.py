"""Matrices of a lattice as they lie on a GPU, and what its kernels are compiled for."""
