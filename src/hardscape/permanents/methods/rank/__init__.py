"""Matrices of low rank, plus a diagonal."""
