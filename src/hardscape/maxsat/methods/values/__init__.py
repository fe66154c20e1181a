"""Annealing over the values of things."""
