"""Glynn's formula with eliminated signs, in kernels generated for a matrix."""
