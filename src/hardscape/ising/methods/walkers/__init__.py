"""Runs of a search on a GPU: many at once, each of them as on the CPU."""
