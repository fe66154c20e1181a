"""Counting states with one histogram over all of them."""
