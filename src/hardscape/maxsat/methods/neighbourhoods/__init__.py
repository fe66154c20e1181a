"""Searches of parts of a formula, whose other variables keep their values."""
