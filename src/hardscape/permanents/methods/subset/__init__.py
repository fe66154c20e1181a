"""Sums over subsets of lines."""
