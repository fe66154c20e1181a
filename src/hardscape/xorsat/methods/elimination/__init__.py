"""Gaussian elimination over GF(2)."""
