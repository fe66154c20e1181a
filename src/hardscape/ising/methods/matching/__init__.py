"""Ground states of planar models by perfect matching."""
