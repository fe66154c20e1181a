"""Simulated annealing, for low states of sparse models."""
