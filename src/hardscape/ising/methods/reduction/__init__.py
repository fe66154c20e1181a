"""Smaller models that have the lowest states of larger ones, before any method searches."""
