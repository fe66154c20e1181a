"""Benchmarks of gauge fixing."""
