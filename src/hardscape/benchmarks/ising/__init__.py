"""Benchmarks of low energies of Ising models."""
