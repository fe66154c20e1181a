"""Benchmarks of MAX-SAT."""
