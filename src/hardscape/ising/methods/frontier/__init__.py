"""Counting states by summing the spins away along a frontier."""
